"""Lists for people: strategies, judges, and the state of health of an installation."""

from __future__ import annotations

import os
import tomllib
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from batcher.offline import JUDGES
from batcher.providers import PROVIDERS
from batcher.restore import forgotten
from batcher.table import Table
from batcher.tokens import vocabulary
from cache.errors import NeedlessError
from cache.store import Store
from prompts.strategy import load


def strategies(folder: Path | None) -> Table:
    """Return one row a strategy."""
    rows = tuple(
        (one.name, one.scope, one.answer, one.digest, one.summary) for one in load(folder).values()
    )
    return Table("Strategies", ("strategy", "scope", "answer", "digest", "shows"), rows)


def judges() -> Table:
    """Return one row an offline judge, and one a provider with whether its key is set."""
    rows = [(f"offline:{name}", "ready", judge.summary) for name, judge in JUDGES.items()]
    for name, (_, key, summary) in PROVIDERS.items():
        if key:
            rows.append((f"{name}:MODEL", _key(key), summary))
    return Table("Judges", ("judge", "state", "what it is"), tuple(rows))


def checks(store: Store) -> tuple[Table, bool]:
    """Return what was checked, and whether all that must hold does. A missing key is no fault."""
    rows: list[tuple[str, str, str]] = []
    for package in ("needless", "duckdb", "openai", "anthropic", "tiktoken", "genai-prices"):
        rows.append((f"package {package}", "ok", version_of(package)))
    rows += [
        (f"key {key}", "ok" if os.environ.get(key) else "absent", f"judges {name}:…")
        for name, (_, key, _) in PROVIDERS.items()
        if key
    ]
    for name in ("o200k_base", "cl100k_base"):
        folder = vocabulary(name)
        state = "ok" if folder else "absent"
        rows.append((f"vocabulary {name}", state, "exact" if folder else "token counts are rough"))
    try:
        with store.writing() as con:
            row = con.execute("select max(version) from schema_versions").fetchone()
        rows.append((f"database {store.path}", "ok", f"writable, schema {row[0] if row else '?'}"))
        if count := forgotten(store):
            cure = "`needless doctor --repair` puts them back"
            rows.append(("journal of batches", "behind", f"{count} the database lacks; {cure}"))
    except NeedlessError as error:
        rows.append((f"database {store.path}", "failed", str(error)))
    healthy = all(state != "failed" for _, state, _ in rows)
    return Table("Health", ("what", "state", "detail"), tuple(rows)), healthy


def version_of(package: str) -> str:
    """Return the installed version, or this clone's own."""
    try:
        return version(package)
    except PackageNotFoundError:
        own = Path(__file__).parents[1] / "pyproject.toml"
        if package != "needless" or not own.is_file():
            return "not installed"
        return str(tomllib.loads(own.read_text("utf-8"))["project"]["version"])


def _key(name: str) -> str:
    return "ready" if os.environ.get(name) else f"needs {name}"
