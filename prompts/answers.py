"""Answer forms: the JSON schema a judge must follow, and the strict reading of what came back.

Reading never guesses. A text is one JSON object, or holds exactly one fenced block that is one;
anything else, such as an object quoted in the middle of prose, is no answer. There is no default
verdict: what cannot be read is ``Unreadable`` and becomes no prediction.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass


class Unreadable(ValueError):
    """The text is not an answer of the asked form; the message says what is wrong."""


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


#: answer form: JSON schema of the object a judge must return.
SCHEMAS: dict[str, dict[str, object]] = {
    "verdict": _object(reason={"type": "string"}, redundant={"type": "boolean"}),
    "positions": _object(
        reason={"type": "string"},
        redundant_steps={"type": "array", "items": {"type": "integer"}},
    ),
}


def read(form: str, text: str, positions: tuple[int, ...], n_shown: int) -> list[Verdict]:
    """Return one verdict per asked position, in order; raises ``Unreadable``."""
    return _READERS[form](_answer(text), positions, n_shown)


def _verdict(answer: dict[str, object], positions: tuple[int, ...], n_shown: int) -> list[Verdict]:
    value = answer.get("redundant")
    if isinstance(value, str):
        value = {"true": True, "false": False}.get(value.strip().lower())
    if not isinstance(value, bool):
        raise Unreadable(f"redundant is {_shown(answer, 'redundant')}, not true or false")
    return [Verdict(position, value) for position in positions]


def _positions(
    answer: dict[str, object], positions: tuple[int, ...], n_shown: int
) -> list[Verdict]:
    named = answer.get("redundant_steps")
    if not isinstance(named, list):
        raise Unreadable(f"redundant_steps is {_shown(answer, 'redundant_steps')}, not a list")
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


def _answer(text: str) -> dict[str, object]:
    try:
        return _decode(text)
    except Unreadable as plain:
        fenced = re.findall(r"^```[a-zA-Z]*\s*?\n(.*?)^```\s*$", text + "\n", re.DOTALL | re.M)
        # Behind the judge's own answer nothing follows; a fence that it quotes is talked about.
        if len(fenced) != 1 or not text.rstrip().endswith("```"):
            raise plain from None
        return _decode(fenced[0])


def _decode(text: str) -> dict[str, object]:
    try:
        value = json.loads(text, object_pairs_hook=_once, parse_constant=_no_constant)
    except (json.JSONDecodeError, RecursionError) as error:
        raise Unreadable(f"not one JSON object: {text.strip()[:60]!r}") from error
    if not isinstance(value, dict):
        raise Unreadable(f"JSON, but not an object: {text.strip()[:60]!r}")
    return value


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise Unreadable("the object names a key twice")
    return found


def _no_constant(name: str) -> object:
    raise Unreadable(f"{name} is not a JSON value")


def _shown(answer: dict[str, object], key: str) -> str:
    return json.dumps(answer[key])[:40] if key in answer else "missing"
