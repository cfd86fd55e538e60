"""The six forms of a table: text, CSV, JSON, Markdown, HTML, LaTeX.

CSV and JSON are for programs and keep the numbers as they are, fractions as fractions. The other
four are for readers: fractions in percent, two decimals, and a dash where there is no number.
"""

from __future__ import annotations

import csv
import html
import io
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from batcher.cells import Block, Table, blocks, finite, jsonable, plain
from batcher.latex import latex
from cache.errors import InputError, UsageError

__all__ = ["FORMS", "Table", "render", "render_all", "write"]

_GAP = 2

#: Text longer than this may be folded to fit beside other columns.
_FOLD = 40


def render(table: Table, form: str, width: int = 80) -> str:
    """Return ``table`` as text of one form: table, csv, json, md, html or latex.

    ``width`` is the number of characters of a line and matters to ``table`` only. Raises
    ``UsageError`` for another form.
    """
    if form not in FORMS:
        raise UsageError(f"no such format: {form}; there are {', '.join(FORMS)}")
    return FORMS[form](table, width)


def render_all(tables: Mapping[str, Table], form: str, width: int = 80) -> str:
    """Return several tables as one text: an object of lists as JSON, one page as HTML.

    In the other forms they stand below each other, an empty line between.
    """
    if form == "json":
        lists = (f"{json.dumps(name)}: {_json(one, width)}" for name, one in tables.items())
        return f"{{{','.join(lists)}}}\n"
    if form == "html":
        return _page([*tables.values()])
    return "\n".join(render(one, form, width) for one in tables.values())


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
    for block in blocks(table) if table.rows else ():
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


def _grid(block: Block, panel: Sequence[int]) -> object:
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


def _panels(block: Block, width: int) -> Iterator[list[int]]:
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
        writer.writerow(["" if (cell := plain(value)) is None else cell for value in row])
    return out.getvalue()


def _json(table: Table, width: int) -> str:
    rows = [
        {name: finite(value) for name, value in zip(table.columns, row, strict=True)}
        for row in table.rows
    ]
    text = json.dumps(rows, ensure_ascii=False, allow_nan=False, indent=2, default=jsonable)
    return f"{text}\n"


def _markdown(table: Table, width: int) -> str:
    lines = [f"## {_mark(table.title)}", ""]
    for block in blocks(table):
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
    return _page([table])


def _page(tables: Sequence[Table]) -> str:
    title = html.escape(tables[0].title)
    parts = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        f"<title>{title}</title>",
        "<style>body{font:15px/1.4 system-ui,sans-serif;margin:2em}"
        "table{border-collapse:collapse;margin:1em 0}"
        "caption{text-align:left;font-weight:bold}"
        "th,td{padding:.2em .7em;text-align:left;border-bottom:1px solid #ccc}"
        ".n{text-align:right;font-variant-numeric:tabular-nums}</style>",
        "</head><body>",
    ]
    for table in tables:
        parts.append(f"<h1>{html.escape(table.title)}</h1>")
        parts += fragment(table)
    return "\n".join([*parts, "</body></html>", ""])


def fragment(table: Table) -> list[str]:
    """Return the blocks and notes of a table as lines of HTML, to be put into a page."""
    parts: list[str] = []
    for block in blocks(table):
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
    "latex": lambda table, width: latex(table),
}


def _mark(text: str) -> str:
    """Return ``text`` so that Markdown shows it as it is."""
    return "".join(f"\\{c}" if c in "\\|*`[]<>" else c for c in text)
