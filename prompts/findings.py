"""Findings: steps named with kind, evidence and confidence, as the later release asks for them.

Three answer forms share one schema, so that the prompts of a trajectory are cached together:
``kind`` and ``evidence`` are one finding about the step asked about, of which the first reads the
kind and the second the evidence too; ``findings`` is a list of any length.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from cache.records import KINDS
from prompts.decoding import Unreadable, decode, shown

#: A step by its messages: (call, result).
Pair = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Finding:
    """One entry of an answer; None stands for what it does not say in a legal form.

    ``slot`` is its rank from 1. ``is_first`` is true where it has a confidence and is the first
    such entry, by rank, to name its step: only then can it score.
    """

    slot: int
    step: Pair | None
    kind: str | None
    evidence: tuple[int, ...] | None
    confidence: float | None
    is_first: bool


def read_findings(form: str, text: str, pairs: Sequence[Pair]) -> list[Finding]:
    """Return the findings of an answer by rank; ``pairs`` are the steps asked about.

    Raises ``Unreadable`` where there is no list, and for the forms about one step where there is
    not exactly one finding, where it is about another step, or where what was asked is missing.
    """
    answer = decode(text)
    entries = answer.get("findings")
    if not isinstance(entries, list):
        raise Unreadable(f"findings is {shown(answer, 'findings')}, not a list")
    found = _ranked([entry if isinstance(entry, dict) else {} for entry in entries])
    check = _CHECKS.get(form)
    if check:
        if len(found) != 1:
            raise Unreadable(f"{len(found)} findings about the one step that was asked about")
        if found[0].step not in pairs:
            raise Unreadable(f"a finding about {found[0].step}, not the step asked about")
        check(found[0])
    return found


def _kind(finding: Finding) -> None:
    if finding.kind is None:
        raise Unreadable(f"kind is none of {', '.join(KINDS)}")


def _evidence(finding: Finding) -> None:
    _kind(finding)
    if finding.evidence is None:
        raise Unreadable("evidence is no message, no pairs of messages and not [-1]")


_CHECKS: dict[str, Callable[[Finding], None]] = {"kind": _kind, "evidence": _evidence}


def _ranked(entries: list[dict[str, object]]) -> list[Finding]:
    """Rank by falling confidence, equal ones as written, those without one ahead of all.

    That is the public evaluator's rule: what cannot be ranked takes a slot and earns nothing.
    """
    found: list[Finding] = []
    seen: set[Pair] = set()
    ranked = sorted(entries, key=lambda entry: -_rank(_confidence(entry.get("confidence"))))
    for slot, entry in enumerate(ranked, 1):
        step, confidence = _step(entry.get("step")), _confidence(entry.get("confidence"))
        is_first = confidence is not None and step is not None and step not in seen
        if is_first and step is not None:
            seen.add(step)
        kind, evidence = _kind_of(entry.get("kind")), _reference(entry.get("evidence"))
        found.append(Finding(slot, step, kind, evidence, confidence, is_first))
    return found


def _rank(confidence: float | None) -> float:
    return math.inf if confidence is None else confidence


def _confidence(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        return None
    return float(value)


def _kind_of(value: object) -> str | None:
    kind = value.strip().lower() if isinstance(value, str) else None
    return kind if kind in KINDS else None


def _indices(value: object) -> tuple[int, ...]:
    """Return message indices, none where any of them is not one."""
    if not isinstance(value, list) or any(type(index) is not int or index < 0 for index in value):
        return ()
    return tuple(value)


def _step(value: object) -> Pair | None:
    indices = _indices(value)
    return (indices[0], indices[1]) if len(indices) == 2 else None


def _reference(value: object) -> tuple[int, ...] | None:
    """Read evidence: one message, a pair, several ascending pairs in any order, or [-1]."""
    if value == [-1]:
        return (-1,)
    indices = _indices(value)
    if len(indices) <= 2:
        return indices or None
    pairs = list(zip(indices[::2], indices[1::2], strict=False))
    if len(indices) % 2 or len(set(pairs)) < len(pairs) or any(a >= b for a, b in pairs):
        return None
    return tuple(index for pair in sorted(pairs) for index in pair)
