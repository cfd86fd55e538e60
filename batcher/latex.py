"""A table as LaTeX for a paper: a ``table`` of its own, with rules of the package booktabs."""

from __future__ import annotations

import re

from batcher.cells import NOTHING, Block, Table, blocks

#: What TeX would take for a command, or set as another sign. A bracket or star at the head of a row
#: would be read as an argument of the line break before it; two hyphens would become a dash.
_SIGNS = {
    "\\": r"\textbackslash{}",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "'": r"\textquotesingle{}",
    "`": r"\textasciigrave{}",
    "·": r"\textperiodcentered{}",
    "×": r"$\times$",
    "−": r"$-$",
    NOTHING: "--",
    "[": "{[}",
    "]": "{]}",
    "*": "{*}",
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
}


def latex(table: Table) -> str:
    """Return ``table`` as one LaTeX ``table``: caption, label, rows in blocks, notes below.

    Numbers are right-aligned and have the same decimals, so that their points stand in a line.
    """
    parts = [r"% \usepackage{booktabs} and, for quotation marks, \usepackage[T1]{fontenc}"]
    parts += [r"\begin{table}", r"\centering"]
    if table.title:
        parts += [rf"\caption{{{escaped(table.title)}}}", rf"\label{{tab:{_label(table.title)}}}"]
    some = blocks(table)
    columns = "".join("r" if numeric else "l" for numeric in some[0].numeric)
    parts += [rf"\begin{{tabular}}{{{columns}}}", r"\toprule", _row(some[0], some[0].columns)]
    for block in some:
        parts.append(r"\midrule")
        if block.heading:
            span = len(block.columns)
            parts.append(rf"\multicolumn{{{span}}}{{l}}{{{escaped(block.heading)}}} \\")
        parts += [_row(block, cells) for cells in block.cells]
    parts += [r"\bottomrule", r"\end{tabular}"]
    parts += [rf"\par\smallskip\footnotesize {escaped(note)}" for note in table.notes]
    return "\n".join([*parts, r"\end{table}", ""])


def escaped(text: str) -> str:
    """Return ``text`` so that TeX sets it as it is."""
    return "".join(
        "-{}" if sign + after == "--" else _SIGNS.get(sign, sign)
        for sign, after in zip(text, f"{text[1:]} ", strict=True)
    )


def _row(block: Block, cells: tuple[str, ...]) -> str:
    return " & ".join(map(_cell, cells, block.numeric)) + r" \\"


def _cell(text: str, numeric: bool) -> str:
    """Return one cell; in a column of numbers a hyphen is a minus."""
    if numeric and re.fullmatch(r"-[\d.]+(e[-+]?\d+)?", text):
        return f"$-${escaped(text[1:])}"
    return escaped(text)


def _label(title: str) -> str:
    """Return the title up to its colon as a label: ``tab:kind-recall``."""
    return re.sub(r"[^a-z0-9]+", "-", title.partition(": ")[0].lower()).strip("-")
