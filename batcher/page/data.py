"""What the page shows of trajectories, read from the database as values that JSON can hold.

``Viewer.index`` is all that the list and its filters need, ``Viewer.bodies`` is the rest, one a
trajectory, which a browser reads only once that trajectory is chosen.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import sql
from batcher.report import rank
from cache.store import Connection

_QUERIES = sql.read("queries")

#: One character a judged step and judge, in the index.
_REDUNDANT, _NECESSARY, _UNANSWERED = "1", "0", "-"

Setting = tuple[str, str, bool, str, int]  # strategy, strategy_digest, gold, judge, repeat
Row = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Viewer:
    """``index`` has the keys settings, label_sets, policies, trajectories; see the code."""

    index: dict[str, Any]
    bodies: tuple[dict[str, Any], ...]


def read(con: Connection) -> Viewer:
    """Return everything that was asked about or annotated, in the order of its import."""
    trajectories = con.execute(_QUERIES["page_trajectories"]).fetchall()
    messages, steps = _grouped(con, "page_messages"), _grouped(con, "page_steps")
    labels, verdicts = _grouped(con, "page_labels"), _grouped(con, "page_verdicts")
    settings = _settings(con, (row[:5] for rows in verdicts.values() for row in rows))
    at = {setting: number for number, setting in enumerate(settings)}
    label_sets = sorted({row[0] for rows in labels.values() for row in rows})
    policies: dict[str, int] = {}
    heads, bodies = [], []
    for (
        name,
        dataset,
        domain,
        task,
        trial,
        agent,
        objective,
        policy,
        gold,
        won,
        reward,
    ) in trajectories:
        marked = [(label_sets.index(row[0]), *row[1:]) for row in labels[name]]
        said = [(at[row[:5]], *row[5:]) for row in verdicts[name]]
        judged = [row[0] for row in steps[name] if row[2]]
        heads.append(
            {
                "id": name,
                "dataset": dataset,
                "domain": domain,
                "messages": len(messages[name]),
                "steps": judged,
                "labels": _lines(judged, marked, _as_label, _NECESSARY),
                "verdicts": _lines(judged, said, _as_verdict, _UNANSWERED),
            }
        )
        bodies.append(
            {
                "task": task,
                "trial": trial,
                "agent": agent,
                "success": won,
                "reward": reward,
                "objective": objective,
                # Hundreds of trajectories share one long policy.
                "policy": policies.setdefault(policy, len(policies)) if policy else None,
                "gold": gold,
                "messages": messages[name],
                "steps": steps[name],
                "labels": [row for row in marked if row[1] is not None],
                "verdicts": said,
            }
        )
    index = {
        "settings": [_described(setting, settings) for setting in settings],
        "label_sets": label_sets,
        "policies": list(policies),
        "trajectories": heads,
    }
    return Viewer(index, tuple(bodies))


def _grouped(con: Connection, query: str) -> dict[str, list[Row]]:
    """Return the rows of a query by their first column, without it."""
    groups: dict[str, list[Row]] = defaultdict(list)
    for row in con.execute(_QUERIES[query]).fetchall():
        groups[row[0]].append(row[1:])
    return groups


def _settings(con: Connection, predicted: Iterable[Row]) -> list[Setting]:
    """Return what was asked, answered or not: judges of one strategy side by side."""
    asked = con.execute(
        "select distinct strategy, strategy_digest, gold, judge, repeat from requests"
    ).fetchall()
    found = {*asked, *predicted}
    return sorted(found, key=lambda one: (rank(one[0]), *one[:3], one[3], one[4]))


def _described(setting: Setting, settings: Sequence[Setting]) -> dict[str, Any]:
    """Return a setting for the page; ``question`` is what judges must share to be compared."""
    strategy, digest, gold, judge, repeat = setting
    several = len({one[1] for one in settings if one[0] == strategy}) > 1
    version = f"@{digest}" if several else ""
    question = f"{strategy}{version}{' +gold' if gold else ''}"
    return {"question": question, "judge": judge, "repeat": repeat}


def _lines(
    judged: Sequence[int], rows: Sequence[Row], sign: Callable[[Row], str], blank: str
) -> dict[int, str]:
    """Return ``{number of the label set or setting: one character a judged step}``."""
    place = {step: number for number, step in enumerate(judged)}
    lines: dict[int, list[str]] = {}
    for row in rows:
        line = lines.setdefault(row[0], [blank] * len(judged))
        if row[1] in place:
            line[place[row[1]]] = sign(row)
    return {who: "".join(line) for who, line in lines.items()}


def _as_label(row: Row) -> str:
    return _REDUNDANT


def _as_verdict(row: Row) -> str:
    return _REDUNDANT if row[2] else _NECESSARY
