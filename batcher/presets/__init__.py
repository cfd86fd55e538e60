"""Runs that belong together, as TOML: what is asked of whom, so that one word stands for it all.

A preset is a list of ``[[run]]`` tables whose keys are flags' names without their dashes; each
table is one selection. Flags of the command line go before the keys of the same name, in every
table. A copy of a file here, with changes, is a preset of one's own.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cache.errors import InputError, UsageError

_HERE = Path(__file__).parent

#: key: whether it holds several names; the others hold one value of the type beside it.
_SEVERAL = ("dataset", "domain", "strategy", "judge")
_SINGLE: dict[str, type] = {"gold": bool, "limit": int, "repeats": int, "success-only": bool}


@dataclass(frozen=True, slots=True)
class Preset:
    """``runs`` maps parameters' names (dashes as underscores) to values, one dict a selection."""

    name: str
    summary: str
    runs: tuple[dict[str, Any], ...]


def names() -> list[str]:
    """Return the names of the presets that come with the program."""
    return sorted(path.stem for path in _HERE.glob("*.toml"))


def load(name: str) -> Preset:
    """Return a preset by its name, or from a file of one's own.

    Raises ``UsageError`` for an unknown name and ``InputError``, with the key, for a bad file.
    """
    path = _HERE / f"{name}.toml"
    if name.endswith(".toml") or not path.is_file():
        path = Path(name)
    if not path.is_file():
        raise UsageError(
            f"no preset is called {name!r}; there are: {', '.join(names())}, or give a .toml file"
        )
    try:
        found = tomllib.loads(path.read_text("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: not readable as TOML: {error}") from error
    runs = found.pop("run", None)
    summary = found.pop("summary", "")
    if found or not isinstance(summary, str):
        raise InputError(f"{path}: it takes a summary and [[run]] tables, not {sorted(found)}")
    if not isinstance(runs, list) or not runs:
        raise InputError(f"{path}: there is no [[run]] table in it, so it asks nothing")
    return Preset(path.stem, summary, tuple(_run(run, f"{path}: run {n}") for n, run in _nth(runs)))


def _nth(runs: list[Any]) -> list[tuple[int, Any]]:
    return list(enumerate(runs, 1))


def _run(run: Any, where: str) -> dict[str, Any]:
    if not isinstance(run, dict):
        raise InputError(f"{where}: not a table")
    chosen: dict[str, Any] = {}
    for key, value in run.items():
        name = key.replace("-", "_")
        if key in _SEVERAL:
            some = [value] if isinstance(value, str) else value
            if not isinstance(some, list) or not all(isinstance(one, str) for one in some):
                raise InputError(f"{where}: {key} must be a name or a list of names")
            chosen[name] = tuple(some)
        elif key in _SINGLE:
            if type(value) is not _SINGLE[key]:
                kind = "true or false" if _SINGLE[key] is bool else "a whole number"
                raise InputError(f"{where}: {key} must be {kind}")
            chosen[name] = value
        else:
            known = ", ".join((*_SEVERAL, *_SINGLE))
            raise InputError(f"{where}: unknown key {key!r}; known: {known}")
    return chosen
