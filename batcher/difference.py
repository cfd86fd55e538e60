"""Two prompts side by side: in which fields of their identity they differ, and where texts part.

Everything here is a function of values. What makes two prompts one prompt is told in
``cache/hashing.py``; here the same is taken apart into the fields that a user can change.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import Any

import msgspec

from cache.hashing import canonical

#: Values up to this many characters are shown whole; of longer ones an excerpt.
WHOLE = 40

#: Characters of an excerpt before and after the place where two texts part.
BEFORE, AFTER = 16, 24

#: Fields that say who is asked and where: an answer never crosses them.
PLACES = ("provider", "base_url", "endpoint", "model")

#: The names under which a body asks for a form of answer.
_FORMS = ("response_format", "output_config")


@dataclass(frozen=True, slots=True)
class Sent:
    """A prompt as it is identified: ``body`` is canonical JSON in UTF-8, ``repeat`` from 0."""

    provider: str
    base_url: str
    endpoint: str
    repeat: int
    body: bytes


@dataclass(frozen=True, slots=True)
class Difference:
    """One field that differs, as text to show; "none" where a side does not have it.

    ``offset`` counts the characters that two texts share before they part; None for other values.
    """

    field: str
    asked: str
    stored: str
    offset: int | None = None


def compare(asked: Sent, stored: Sent) -> tuple[Difference, ...]:
    """Return the fields in which two prompts differ; none when they are the same prompt."""
    ours, theirs = fields(asked), fields(stored)
    names = dict.fromkeys(chain(ours, theirs))
    return tuple(
        _difference(name, ours.get(name), theirs.get(name))
        for name in names
        if ours.get(name) != theirs.get(name)
    )


def distance(found: tuple[Difference, ...]) -> tuple[int, int, int]:
    """Return how far apart two prompts are, to be compared: the place first, then how much.

    (fields of the place, fields, characters not shared before texts part: negative, more is nearer)
    """
    places = sum(one.field in PLACES for one in found)
    return places, len(found), -sum(one.offset or 0 for one in found)


def fields(sent: Sent) -> dict[str, str]:
    """Return a prompt's identity as ``{field: text}``: the place, parameters, texts, repeat."""
    body: dict[str, Any] = msgspec.json.decode(sent.body)
    place = {"provider": sent.provider, "base_url": sent.base_url, "endpoint": sent.endpoint}
    place["model"] = str(body.pop("model", ""))
    texts = {"system text": _content(body.pop("system", None)), "user text": ""}
    for message in body.pop("messages", ()):
        name = "system text" if message.get("role") == "system" else "user text"
        texts[name] += _content(message.get("content"))
    form = next((body.pop(name) for name in _FORMS if name in body), None)
    # Judges that are programs keep their parameters apart from the question.
    params = body.pop("params", {}) | body
    found = place | {name: _value(params[name]) for name in sorted(params)}
    found |= {"response format": "" if form is None else _value(form)} | texts
    found["repeat"] = str(sent.repeat)
    return {name: text for name, text in found.items() if text}


def parting(one: str, other: str) -> tuple[int, str, str]:
    """Return how many characters two texts share at their head, and an excerpt of each there."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low, _excerpt(one, low), _excerpt(other, low)


def _difference(name: str, asked: str | None, stored: str | None) -> Difference:
    if asked is None or stored is None:
        return Difference(name, _short(asked), _short(stored))
    is_text = name.endswith(" text")
    if not is_text and max(len(asked), len(stored)) <= WHOLE:
        return Difference(name, asked, stored)
    at, ours, theirs = parting(asked, stored)
    return Difference(name, ours, theirs, at)


def _short(text: str | None) -> str:
    if text is None:
        return "none"
    return text if len(text) <= WHOLE else f"{text[:WHOLE]}…"


def _excerpt(text: str, at: int) -> str:
    first, last = max(0, at - BEFORE), min(len(text), at + AFTER)
    if at == len(text):
        return f"{'…' if first else ''}{text[first:last]} (ends)"
    return f"{'…' if first else ''}{text[first:last]}{'…' if last < len(text) else ''}"


def _content(content: object) -> str:
    """Return the text of a message: a string, or the texts of its blocks."""
    if isinstance(content, list):
        return "".join(str(block.get("text", "")) for block in content if isinstance(block, dict))
    return "" if content is None else str(content)


def _value(value: object) -> str:
    return value if isinstance(value, str) else canonical(value)
