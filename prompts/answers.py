"""Answer forms: the JSON schema a judge must follow, and the strict reading of what came back.

Reading never guesses. A text is one JSON object, or holds exactly one fenced block that is one;
anything else, such as an object quoted in the middle of prose, is no answer. There is no default
verdict: what cannot be read is ``Unreadable`` and becomes no prediction.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from cache.records import KINDS
from prompts.decoding import Unreadable, decode, shown
from prompts.findings import Finding, Pair

__all__ = ["FINDINGS", "SCHEMAS", "Unreadable", "Verdict", "read", "schema_name", "verdicts"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a judge said of the step shown at ``position`` (1-based)."""

    position: int
    is_redundant: bool
    kind: str | None = None
    evidence: tuple[int, ...] | None = None
    confidence: float | None = None
    rank: int | None = None


def _object(**properties: object) -> dict[str, object]:
    """A closed object schema, as strict modes demand: every property required, none besides."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


_INDICES = {"type": "array", "items": {"type": "integer"}}

# Evidence comes before the kind that it supports: a model writes in this order.
_FINDINGS = _object(
    findings={
        "type": "array",
        "items": _object(
            step=_INDICES,
            evidence=_INDICES,
            kind={"type": "string", "enum": list(KINDS)},
            confidence={"type": "number"},
        ),
    },
)

#: answer form: JSON schema of the object a judge must return.
SCHEMAS: dict[str, dict[str, object]] = {
    "verdict": _object(reason={"type": "string"}, redundant={"type": "boolean"}),
    "positions": _object(
        reason={"type": "string"},
        redundant_steps={"type": "array", "items": {"type": "integer"}},
    ),
    "kind": _FINDINGS,
    "evidence": _FINDINGS,
    "findings": _FINDINGS,
}

#: Forms whose answers are findings; the first two are about a step that is known to be redundant.
FINDINGS = ("kind", "evidence", "findings")


def schema_name(form: str) -> str:
    """Return what a form's schema is called; one schema has one name, or caches would miss."""
    return "findings" if form in FINDINGS else form


def read(form: str, text: str, positions: tuple[int, ...], n_shown: int) -> list[Verdict]:
    """Return one verdict per asked position, in order; raises ``Unreadable``."""
    return _READERS[form](decode(text), positions, n_shown)


def verdicts(
    found: Sequence[Finding], positions: tuple[int, ...], pairs: Sequence[Pair]
) -> list[Verdict]:
    """Return one verdict per asked position: redundant where a finding names the step.

    ``pairs`` are the messages of the steps at ``positions``. Of several findings the first that
    can be ranked counts.
    """
    named: dict[Pair, Finding] = {}
    for finding in sorted(found, key=lambda finding: not finding.is_first):
        if finding.step is not None:
            named.setdefault(finding.step, finding)
    return [
        Verdict(position, True, said.kind, said.evidence, said.confidence, said.slot)
        if (said := named.get(pair))
        else Verdict(position, False)
        for position, pair in zip(positions, pairs, strict=True)
    ]


def _verdict(answer: dict[str, object], positions: tuple[int, ...], n_shown: int) -> list[Verdict]:
    value = answer.get("redundant")
    if isinstance(value, str):
        value = {"true": True, "false": False}.get(value.strip().lower())
    if not isinstance(value, bool):
        raise Unreadable(f"redundant is {shown(answer, 'redundant')}, not true or false")
    return [Verdict(position, value) for position in positions]


def _positions(
    answer: dict[str, object], positions: tuple[int, ...], n_shown: int
) -> list[Verdict]:
    named = answer.get("redundant_steps")
    if not isinstance(named, list):
        raise Unreadable(f"redundant_steps is {shown(answer, 'redundant_steps')}, not a list")
    for number in named:
        if type(number) is not int:
            raise Unreadable(f"redundant_steps holds {json.dumps(number)[:40]}, not a step number")
        if not 1 <= number <= n_shown:
            raise Unreadable(f"redundant_steps names step {number} of {n_shown}")
    # A turn of talk that is named as well is outside the question, and changes no verdict.
    return [Verdict(position, position in named) for position in positions]


_READERS: dict[str, Callable[[dict[str, object], tuple[int, ...], int], list[Verdict]]] = {
    "verdict": _verdict,
    "positions": _positions,
}
