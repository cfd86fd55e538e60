"""A judge's text as one JSON object, or not at all."""

from __future__ import annotations

import json
import re


class Unreadable(ValueError):
    """The text is not an answer of the asked form; the message says what is wrong."""


def decode(text: str) -> dict[str, object]:
    """Return the object that ``text`` is, or that its one fenced block holds.

    Raises ``Unreadable`` for anything else, such as an object quoted in the middle of prose.
    """
    try:
        return _object(text)
    except Unreadable as plain:
        fenced = re.findall(r"^```[a-zA-Z]*\s*?\n(.*?)^```\s*$", text + "\n", re.DOTALL | re.M)
        # Behind the judge's own answer nothing follows; a fence that it quotes is talked about.
        if len(fenced) != 1 or not text.rstrip().endswith("```"):
            raise plain from None
        return _object(fenced[0])


def shown(answer: dict[str, object], key: str) -> str:
    """Return the start of a value as JSON, for a complaint about it."""
    return json.dumps(answer[key])[:40] if key in answer else "missing"


def _object(text: str) -> dict[str, object]:
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
