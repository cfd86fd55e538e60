"""A table of values, and its five forms: text, CSV, JSON, Markdown, HTML.

CSV and JSON are for programs and keep the numbers as they are, fractions as fractions. The other
three are for readers: fractions in percent, two decimals, and a dash where there is no number.
"""

from __future__ import annotations

import csv
import html
import io
import json
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from cache.errors import InputError, UsageError

#: What stands for a number that does not exist.
NOTHING = "\N{EN DASH}"

_GAP = 2

#: Text longer than this may be folded to fit beside other columns.
_FOLD = 40


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
class _Block:
    """The rows of one heading, as text, without the columns that are in the heading."""

    heading: str
    columns: tuple[str, ...]
    numeric: tuple[bool, ...]
    cells: tuple[tuple[str, ...], ...]


def render(table: Table, form: str, width: int = 80) -> str:
    """Return ``table`` as text of one form: table, csv, json, md or html.

    ``width`` is the number of characters of a line and matters to ``table`` only. Raises
    ``UsageError`` for another form.
    """
    if form not in FORMS:
        raise UsageError(f"no such format: {form}; there are {', '.join(FORMS)}")
    return FORMS[form](table, width)


def write(text: str, path: Path) -> None:
    """Write ``text`` to a file, whole or not at all; raises ``InputError`` where it cannot."""
    partial = path.with_name(f"{path.name}.partial")
    try:
        partial.write_text(text, "utf-8")
        partial.replace(path)
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror}") from error


def _text(table: Table, width: int) -> str:
    from rich.console import Console

    out = io.StringIO()
    # Every automatic touch is off: names hold brackets and colons, and the text may go to a file.
    console = Console(
        file=out,
        width=width,
        color_system=None,
        force_terminal=False,
        legacy_windows=False,
        markup=False,
        emoji=False,
        highlight=False,
    )
    console.print(table.title)
    for block in _blocks(table) if table.rows else ():
        if block.heading:
            console.print()
            console.print(block.heading)
        for at, panel in enumerate(_panels(block, width)):
            if at or not block.heading:
                console.print()
            console.print(_grid(block, panel))
    for note in table.notes if table.rows else ("No rows.", *table.notes):
        console.print()
        console.print(note)
    return "".join(f"{line.rstrip()}\n" for line in out.getvalue().splitlines())


def _grid(block: _Block, panel: Sequence[int]) -> object:
    from rich import box
    from rich.table import Table as Grid

    grid = Grid(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, _GAP - 1, 0, 0))
    for at in panel:
        grid.add_column(
            block.columns[at],
            justify="right" if block.numeric[at] else "left",
            overflow="fold",
        )
    for cells in block.cells:
        grid.add_row(*(cells[at] for at in panel))
    return grid


def _panels(block: _Block, width: int) -> Iterator[list[int]]:
    """Yield the columns to put side by side; names of rows lead each panel."""
    from rich.cells import cell_len

    widths = [
        max(cell_len(text) for text in (name, *(cells[at] for cells in block.cells)))
        for at, name in enumerate(block.columns)
    ]
    # Long text may take several lines; a number may not.
    widths = [
        size if numeric else min(size, _FOLD)
        for size, numeric in zip(widths, block.numeric, strict=True)
    ]
    lead = list(range(block.numeric.index(True) if True in block.numeric else 0))
    panel = list(lead)
    for at in range(len(lead), len(widths)):
        asked = sum(widths[i] + _GAP for i in (*panel, at)) - _GAP
        if asked > width and len(panel) > len(lead):
            yield panel
            panel = list(lead)
        panel.append(at)
    yield panel


def _csv(table: Table, width: int) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(table.columns)
    for row in table.rows:
        writer.writerow(["" if (cell := _plain(value)) is None else cell for value in row])
    return out.getvalue()


def _json(table: Table, width: int) -> str:
    rows = [
        {name: _finite(value) for name, value in zip(table.columns, row, strict=True)}
        for row in table.rows
    ]
    text = json.dumps(rows, ensure_ascii=False, allow_nan=False, indent=2, default=_jsonable)
    return f"{text}\n"


def _markdown(table: Table, width: int) -> str:
    lines = [f"## {_mark(table.title)}", ""]
    for block in _blocks(table):
        if block.heading:
            lines += [f"**{_mark(block.heading)}**", ""]
        rule = ["---:" if numeric else "---" for numeric in block.numeric]
        rows = [[_mark(text) for text in row] for row in (block.columns, *block.cells)]
        lines += [f"| {' | '.join(row)} |" for row in (rows[0], rule, *rows[1:])]
        lines.append("")
    for note in table.notes:
        lines += [_mark(note), ""]
    return "\n".join(lines)


def _html(table: Table, width: int) -> str:
    title = html.escape(table.title)
    parts = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        f"<title>{title}</title>",
        "<style>body{font:15px/1.4 system-ui,sans-serif;margin:2em}"
        "table{border-collapse:collapse;margin:1em 0}"
        "caption{text-align:left;font-weight:bold}"
        "th,td{padding:.2em .7em;text-align:left;border-bottom:1px solid #ccc}"
        ".n{text-align:right;font-variant-numeric:tabular-nums}</style>",
        f"</head><body><h1>{title}</h1>",
    ]
    parts += fragment(table)
    return "\n".join([*parts, "</body></html>", ""])


def fragment(table: Table) -> list[str]:
    """Return the blocks and notes of a table as lines of HTML, to be put into a page."""
    parts: list[str] = []
    for block in _blocks(table):
        kinds = [' class="n"' if numeric else "" for numeric in block.numeric]
        parts.append("<table>")
        if block.heading:
            parts.append(f"<caption>{html.escape(block.heading)}</caption>")
        for tag, row in (("th", block.columns), *(("td", cells) for cells in block.cells)):
            cells = zip(kinds, row, strict=True)
            filled = "".join(f"<{tag}{kind}>{html.escape(text)}</{tag}>" for kind, text in cells)
            parts.append(f"<tr>{filled}</tr>")
        parts.append("</table>")
    return parts + [f"<p>{html.escape(note)}</p>" for note in table.notes]


#: The forms by name.
FORMS: dict[str, Callable[[Table, int], str]] = {
    "table": _text,
    "csv": _csv,
    "json": _json,
    "md": _markdown,
    "html": _html,
}


def _blocks(table: Table) -> list[_Block]:
    """Return the rows under their headings, in the order in which the headings come first."""
    heads = [at for at, name in enumerate(table.columns) if name in table.headings]
    rest = [at for at in range(len(table.columns)) if at not in heads]
    groups: dict[str, list[tuple[object, ...]]] = {} if table.rows else {"": []}
    for row in table.rows:
        heading = " · ".join(f"{table.columns[at]}: {_shown(row[at])}" for at in heads)
        groups.setdefault(heading, []).append(row)
    # By the whole table, so that a block without a number is aligned like its neighbours.
    numeric = tuple(_is_numeric([row[at] for row in table.rows]) for at in rest)
    return [
        _Block(
            heading=heading,
            columns=tuple(table.columns[at] for at in rest),
            numeric=numeric,
            cells=tuple(
                tuple(_shown(row[at], share=table.columns[at] in table.shares) for at in rest)
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


def _finite(value: object) -> object:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _jsonable(value: object) -> object:
    return float(value) if isinstance(value, Decimal) else str(value)


def _plain(value: object) -> object:
    """Return what CSV holds: numbers as they are, true and false, lists as JSON; None is empty."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | tuple | dict):
        return json.dumps(value, ensure_ascii=False, default=_jsonable)
    return _finite(value)


def _shown(value: object, *, share: bool = False) -> str:
    value = _plain(value)
    if value is None:
        return NOTHING
    if isinstance(value, float):
        return f"{100 * value:.2f}" if share else f"{value:.4f}"
    text = str(value)
    if text.isprintable():
        return text
    # A control character of a name would move the cursor or break the row.
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def _mark(text: str) -> str:
    """Return ``text`` so that Markdown shows it as it is."""
    return "".join(f"\\{c}" if c in "\\|*`[]<>" else c for c in text)
