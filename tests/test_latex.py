r"""The LaTeX form: what TeX would trip over is escaped, and every row has its columns."""

from __future__ import annotations

import re

import pytest

from batcher.latex import escaped
from batcher.table import Table, render

ODD = Table(
    title="kind_recall: 50 % of {all} & more",
    columns=("judge", "a_name", "score", "change", "n"),
    rows=(
        ("o:x", r"\input{a}_$&%#^~", 1 / 3, -0.5, 1),
        ("o:x", "[red]*", 1.0, 0.25, 20),
        ("o:y?p=0.3&q=1", "--gold \N{EN DASH} <b>|'\"`", None, None, 300),
    ),
    notes=("in 100 %",),
    shares=frozenset({"score"}),
    headings=("judge",),
)


def lines(table: Table) -> list[str]:
    return render(table, "latex").splitlines()


def test_the_whole_table() -> None:
    """Caption, label, booktabs rules, blocks under their headings, numbers on the right, notes."""
    assert lines(ODD)[1:] == [
        r"\begin{table}",
        r"\centering",
        r"\caption{kind\_recall: 50 \% of \{all\} \& more}",
        r"\label{tab:kind-recall}",
        r"\begin{tabular}{lrrr}",
        r"\toprule",
        r"a\_name & score & change & n \\",
        r"\midrule",
        r"\multicolumn{4}{l}{judge: o:x} \\",
        r"\textbackslash{}input\{a\}\_\$\&\%\#\textasciicircum{}\textasciitilde{} & 33.33 & "
        r"$-$0.5000 & 1 \\",
        r"{[}red{]}{*} & 100.00 & 0.2500 & 20 \\",
        r"\midrule",
        r"\multicolumn{4}{l}{judge: o:y?p=0.3\&q=1} \\",
        r"-{}-gold -- \textless{}b\textgreater{}\textbar{}\textquotesingle{}\textquotedbl{}"
        r"\textasciigrave{} & -- & -- & 300 \\",
        r"\bottomrule",
        r"\end{tabular}",
        r"\par\smallskip\footnotesize in 100 \%",
        r"\end{table}",
    ]


@pytest.mark.parametrize("table", [ODD, Table("", ("a", "b"), (("[", 1),)), Table("t", ("a",), ())])
def test_it_is_well_formed(table: Table) -> None:
    """Braces and environments close; no row has more or fewer cells than the head."""
    text = "\n".join(line for line in lines(table) if not line.startswith("%"))
    bare = re.sub(r"\\[\\{}$&%#_]", "", text)
    depth = 0
    for sign in bare:
        depth += {"{": 1, "}": -1}.get(sign, 0)
        assert depth >= 0
    assert depth == 0
    assert re.findall(r"\\begin{(\w+)}", text) == re.findall(r"\\end{(\w+)}", text)[::-1]
    (kinds,) = re.findall(r"\\begin{tabular}{(\w+)}", text)
    rows = [line for line in text.splitlines() if line.endswith(r" \\")]
    cells = [re.sub(r"\\&", "", row).count("&") + 1 for row in rows if "multicolumn" not in row]
    assert cells == [len(kinds)] * len(cells)
    assert "%" not in re.sub(r"\\%", "", text)
    # After a line break TeX reads a bracket or a star as an argument.
    assert not re.search(r"(\\\\|rule)\s*[\[*]", text)


def test_a_statement_of_a_user_s_has_no_caption() -> None:
    """A table without a title has no empty one, and no label that two could share."""
    text = render(Table("", ("a",), ((1,),)), "latex")
    assert "caption" not in text
    assert "label" not in text


def test_hyphens_stay_hyphens() -> None:
    """Flags keep both of theirs, and ids with one look as they are."""
    assert escaped("--a-b---") == "-{}-a-b-{}-{}-"
