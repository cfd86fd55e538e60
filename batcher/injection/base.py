"""What the kinds of injection share: what is put in, where it may stand, and what a run offers."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from batcher.injection.corpus import Corpus
from cache.records import Message, Step, Trajectory

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Inserted:
    """One call that is put in, with its result; ``evidence`` is a pair of the original messages."""

    tool: str
    arguments: str
    result: str
    evidence: tuple[int, int]
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class Offer:
    """A turn of one or more parallel calls that could be put in before any message of ``gaps``."""

    gaps: tuple[int, ...]
    calls: tuple[Inserted, ...]


#: One kind: a run, what is known of its domain, and the luck that chooses among equals.
Kind = Callable[[Trajectory, Corpus, random.Random], list[Offer]]


def gaps(messages: Sequence[Message]) -> list[int]:
    """Return the indices before which a turn of the assistant reads naturally.

    That is before a turn of the assistant which answers the user's words or a finished block of
    results, and before a first message that is a call.
    """
    found: list[int] = []
    for at, message in enumerate(messages):
        if message.role != "assistant":
            continue
        before = messages[at - 1] if at else None
        if before is None or before.role == "system":
            natural = bool(message.tool_calls)
        elif before.role == "tool":
            natural = before.requestor != "user"
        else:
            natural = before.role == "user" and not before.tool_calls
        if natural:
            found.append(at)
    return found


def found_reads(run: Trajectory, corpus: Corpus) -> list[Step]:
    """Return the assistant's look-ups that answered something, and are the first of their kind."""
    seen: set[tuple[str | None, str | None, str | None]] = set()
    first: list[Step] = []
    for step in run.steps:
        if step.judged and step.result_index is not None and not failed(step):
            key = (step.tool, step.arguments, step.result)
            if corpus.is_read(step.tool) and key not in seen:
                first.append(step)
            seen.add(key)
    return first


def bundles(run: Trajectory, ones: Sequence[T], luck: random.Random) -> list[list[T]]:
    """Deal ``ones`` into turns: single calls, or as many parallel ones as the run's agent makes."""
    sizes = [len(m.tool_calls) for m in run.messages if m.role == "assistant" and m.tool_calls]
    left = luck.sample(list(ones), len(ones))
    turns: list[list[T]] = []
    while left:
        size = luck.choice(sizes or [1])
        turns.append(left[:size])
        left = left[size:]
    return turns


def failed(step: Step) -> bool:
    """Tell whether a result is an error, by its flag or in the words of tools without a flag."""
    if step.is_error or (step.result or "").startswith("Error"):
        return True
    value = document(step.result)
    return isinstance(value, dict) and "error" in value


def pair(step: Step) -> tuple[int, int]:
    """Return the message indices of a step that has a result."""
    assert step.result_index is not None
    return (step.call_index, step.result_index)


def document(text: str | None) -> object:
    """Return a result as a JSON list or object; None where it is something else."""
    if text is None or text[:1] not in ("[", "{"):
        return None
    try:
        value: object = json.loads(text)
    except ValueError:
        return None
    return value
