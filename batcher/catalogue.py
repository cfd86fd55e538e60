"""Lists for people: strategies, judges, and the state of health of an installation."""

from __future__ import annotations

import os
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from batcher.offline import JUDGES
from batcher.providers import PROVIDERS
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
        rows.append((f"package {package}", "ok", _version(package)))
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
    except NeedlessError as error:
        rows.append((f"database {store.path}", "failed", str(error)))
    healthy = all(state != "failed" for _, state, _ in rows)
    return Table("Health", ("what", "state", "detail"), tuple(rows)), healthy


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed as a package"


def _key(name: str) -> str:
    return "ready" if os.environ.get(name) else f"needs {name}"
