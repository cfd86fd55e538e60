"""The figures by name; one module each. Numbers come from views, drawing is altair's.

altair and vl-convert are the extra ``needless[figures]`` and take a while to load: reading the rows
needs neither, and without them everything but the drawing works.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import cast

from batcher.figures.base import Drawn, Figure, Row
from cache.errors import InputError, UsageError
from cache.store import Connection

__all__ = ["FIGURES", "Drawn", "draw", "missing", "read", "save"]

#: figure name: module
FIGURES = {
    "lengths": "lengths",
    "scores_by_length": "scores_by_length",
    "cost_against_score": "cost_against_score",
    "recall_by_kind": "recall_by_kind",
    "calibration": "calibration",
}


def figure(name: str) -> Figure:
    """Return one figure."""
    return cast("Figure", import_module(f"{__name__}.{FIGURES[name]}").FIGURE)


def missing() -> str:
    """Return what to do to get figures, or nothing where they can be drawn."""
    lacking = [name for name in ("altair", "vl_convert") if find_spec(name) is None]
    if not lacking:
        return ""
    return (
        f"figures are left out: {' and '.join(lacking)} not installed; "
        "`pip install 'needless[figures]'` brings what draws them"
    )


def read(con: Connection) -> dict[str, list[Row]]:
    """Return the rows of every figure that has something to show."""
    found = {}
    for name in FIGURES:
        result = con.execute(figure(name).query)
        columns = [str(column[0]) for column in result.description or ()]
        if rows := [dict(zip(columns, row, strict=True)) for row in result.fetchall()]:
            found[name] = rows
    return found


def draw(rows: Mapping[str, list[Row]], *, png: bool = False) -> list[Drawn]:
    """Return the figures, with pixels too if so asked; raises ``UsageError`` without altair."""
    if said := missing():
        raise UsageError(said)
    return [figure(name).draw(name, found, png=png) for name, found in rows.items()]


def save(drawn: Sequence[Drawn], folder: Path) -> list[Path]:
    """Write each figure as SVG and PNG and return the files; raises ``InputError``."""
    written = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for one in drawn:
            for form, content in (("svg", one.svg.encode()), ("png", one.png)):
                path = folder / f"{one.name}.{form}"
                partial = path.with_name(f"{path.name}.partial")
                partial.write_bytes(content)
                written.append(partial.replace(path))
    except OSError as error:
        raise InputError(f"{folder}: cannot be written: {error.strerror}") from error
    return written
