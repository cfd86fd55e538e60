"""The public release's scores by plain loops, from its written protocol, with exact fractions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

Row = dict[str, Any]


def whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def reference(value: Any) -> tuple[tuple[int, ...], ...] | None:
    """Evidence as a sorted tuple of its pairs; None where it is of no legal form."""
    if value == [-1]:
        return ((-1,),)
    if not isinstance(value, list) or not value or not all(whole(index) for index in value):
        return None
    if len(value) <= 2:
        return (tuple(value),)
    pairs = [tuple(value[at : at + 2]) for at in range(0, len(value), 2)]
    legal = len(value) % 2 == 0 and all(low < high for low, high in pairs)
    return tuple(sorted(pairs)) if legal and len({*pairs}) == len(pairs) else None


def step(value: Any) -> tuple[int, ...] | None:
    legal = isinstance(value, list) and len(value) == 2 and all(whole(index) for index in value)
    return tuple(value) if legal else None


def triple(item: Row) -> tuple[Any, ...]:
    kind = item.get("redundant_step_type")
    return step(item.get("redundant_step_idx")), kind, reference(item.get("evidence_step_idx"))


def confidence(item: Row) -> float:
    value = item.get("confidence")
    legal = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1
    return float(value) if legal and value is not None else math.inf


def precision(gold: Sequence[Row], listed: Sequence[Row], k: int) -> Fraction:
    """Hits among the first k entries over these entries; an empty list is a 0."""
    ranked = [
        item for _, item in sorted(enumerate(listed), key=lambda x: (-confidence(x[1]), x[0]))
    ]
    wanted, seen, hits = {triple(item) for item in gold}, set(), 0
    for item in ranked[:k]:
        place = step(item.get("redundant_step_idx"))
        if confidence(item) <= 1 and place is not None and place not in seen:
            seen.add(place)
            hits += triple(item) in wanted
    return Fraction(hits, min(k, len(ranked))) if ranked else Fraction(0)


def is_right(task: str, row: Row) -> bool:
    """Whether a row of classify or retrieve is; one that failed is not."""
    if row["error"] or row["unjudgeable"] or row["predicted_type"] != row["redundant_step_type"]:
        return False
    wanted, said = row["evidence_step_idx"], row.get("predicted_evidence_idx")
    return task == "classify" or reference(said) == reference(wanted)


def scores(task: str, rows: Sequence[Row]) -> list[Fraction]:
    """Return the accuracy, or precision at 1, 5 and 10 and their mean."""
    if task != "detect":
        return [Fraction(sum(is_right(task, row) for row in rows), len(rows))]
    found = []
    for k in (1, 5, 10):
        # A list that failed is no list: its trajectory stays, with a 0.
        lists = [[] if r["error"] or r["unjudgeable"] else r["predictions"] or [] for r in rows]
        each = [precision(row["gold"], said, k) for row, said in zip(rows, lists, strict=True)]
        found.append(sum(each, Fraction(0)) / len(rows))
    return [*found, sum(found, Fraction(0)) / 3]


def evaluate(payload: Row) -> dict[tuple[str, str], list[Fraction]]:
    """Return the scores by (subset, domain), each of which may be ``all``; refuse a gap."""
    rows, metadata = payload["results"], payload["metadata"]
    identities = {row["identity"] for row in rows}
    assert metadata["requested_units"] == len(rows) == len(identities)
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        for subset in (row["dataset_id"], "all"):
            for domain in (row["domain"], "all"):
                groups.setdefault((subset, domain), []).append(row)
    return {key: scores(metadata["task"], members) for key, members in groups.items()}
