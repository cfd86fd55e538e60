"""Two settings held against each other: their scores, and every step on which they differ.

No number is computed here; the views ``comparisons`` and ``settings`` do that.
"""

from __future__ import annotations

import sql
from batcher.report import share_columns
from batcher.table import Table
from cache.errors import UsageError
from cache.store import Connection


def compared(con: Connection, a: str, b: str, label_set: str | None, most: int) -> dict[str, Table]:
    """Return the tables ``comparison`` and ``flips`` of settings ``a`` and ``b``.

    ``a`` and ``b`` are written as ``resolved`` takes them. ``label_set`` of None means all. At most
    ``most`` flips are shown; a note counts the rest. Raises ``UsageError`` for what names nothing.
    """
    a, b = resolved(con, a), resolved(con, b)
    if a == b:
        raise UsageError(f"{a}: cannot be compared with itself; name two settings")
    known = [
        row[0]
        for row in con.execute("select distinct label_set from annotations order by 1").fetchall()
    ]
    if label_set is not None and label_set not in known:
        raise UsageError(f"no such label set: {label_set}; there are {', '.join(known) or 'none'}")
    scores = _asked(con, "compared", f"a = {a}, b = {b}", [a, b, label_set])
    none = () if scores.rows else ("No labelled trajectory was scored by both.",)
    flips = _asked(con, "flips", "Steps on which they differ", [a, b, label_set])
    rest = len(flips.rows) - most
    more = (f"{rest} more flips are not shown; --flips takes a larger number.",) if rest > 0 else ()
    return {
        "comparison": Table(
            scores.title,
            scores.columns,
            scores.rows,
            notes=(
                *none,
                "Scores are in percent; a difference is a minus b, with its 95 % bootstrap "
                "interval; mcnemar_p is of the trajectories only one of them has right.",
            ),
            shares=share_columns(scores.columns),
            headings=("label_set",),
        ),
        "flips": Table(
            flips.title, flips.columns, flips.rows[:most], notes=more, headings=("label_set",)
        ),
    }


def resolved(con: Connection, text: str) -> str:
    """Return the name of the one setting that ``text`` means.

    It may be the setting's whole name, or that without its ``+gold``, its ``@digest`` or both, or
    the judge alone, as long as no other setting is meant as well. Raises ``UsageError`` that lists
    what there is.
    """
    meant: dict[str, set[str]] = {}
    for name, judge, strategy, digest in con.execute(
        "select setting, judge, strategy, strategy_digest from settings order by setting"
    ).fetchall():
        short = f"{judge}/{strategy}"
        gold = "+gold" if name.endswith("+gold") else ""
        meant[name] = {name, judge, short, f"{short}{gold}", f"{short}@{digest}"}
        meant[name].add(f"{short}@{digest}{gold}")
    if text in meant:
        return text
    found = [name for name, spellings in meant.items() if text in spellings]
    if len(found) == 1:
        return found[0]
    what = f"{text} may be any of" if found else f"no such setting: {text}; there are"
    raise UsageError(f"{what} {', '.join(found or meant) or 'none'}")


def _asked(con: Connection, query: str, title: str, values: list[str | None]) -> Table:
    result = con.execute(sql.read("queries")[query], values)
    columns = tuple(str(column[0]) for column in result.description or ())
    return Table(title, columns, tuple(result.fetchall()))
