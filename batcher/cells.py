"""A table of values, and its cells as a reader or a program is shown them."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

#: What stands for a number that does not exist.
NOTHING = "\N{EN DASH}"


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under named columns.

    ``shares`` names the columns whose numbers are fractions from 0 to 1. ``headings`` names the
    columns that, for a reader, stand once above a block of rows instead of in each of them.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[object, ...], ...]
    notes: tuple[str, ...] = ()
    shares: frozenset[str] = frozenset()
    headings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Block:
    """The rows of one heading, as text, without the columns that are in the heading."""

    heading: str
    columns: tuple[str, ...]
    numeric: tuple[bool, ...]
    cells: tuple[tuple[str, ...], ...]


def blocks(table: Table) -> list[Block]:
    """Return the rows under their headings, in the order in which the headings come first."""
    heads = [at for at, name in enumerate(table.columns) if name in table.headings]
    rest = [at for at in range(len(table.columns)) if at not in heads]
    groups: dict[str, list[tuple[object, ...]]] = {} if table.rows else {"": []}
    for row in table.rows:
        heading = " · ".join(f"{table.columns[at]}: {shown(row[at])}" for at in heads)
        groups.setdefault(heading, []).append(row)
    # By the whole table, so that a block without a number is aligned like its neighbours.
    numeric = tuple(_is_numeric([row[at] for row in table.rows]) for at in rest)
    return [
        Block(
            heading=heading,
            columns=tuple(table.columns[at] for at in rest),
            numeric=numeric,
            cells=tuple(
                tuple(shown(row[at], share=table.columns[at] in table.shares) for at in rest)
                for row in rows
            ),
        )
        for heading, rows in groups.items()
    ]


def _is_numeric(values: Sequence[object]) -> bool:
    known = [value for value in values if value is not None]
    return all(
        isinstance(value, int | float | Decimal) and not isinstance(value, bool) for value in known
    ) and bool(values)


def finite(value: object) -> object:
    """Return a value that JSON has: no infinity and no NaN, but None."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def jsonable(value: object) -> object:
    """Return what JSON holds of a value that it does not know: a number, or its text."""
    return float(value) if isinstance(value, Decimal) else str(value)


def plain(value: object) -> object:
    """Return what CSV holds: numbers as they are, true and false, lists as JSON; None is empty."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | tuple | dict):
        return json.dumps(value, ensure_ascii=False, default=jsonable)
    return finite(value)


def shown(value: object, *, share: bool = False) -> str:
    """Return what a reader is shown: a ``share`` in percent, a dash for None, one line."""
    value = plain(value)
    if value is None:
        return NOTHING
    if isinstance(value, float):
        return f"{100 * value:.2f}" if share else f"{value:.4f}"
    text = str(value)
    if text.isprintable():
        return text
    # A control character of a name would move the cursor or break the row.
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
