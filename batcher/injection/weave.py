"""Turns put into a run: ids, what the agent says with them, new indices, and their labels."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from batcher.injection.base import Inserted
from batcher.injection.callids import CallIds
from batcher.injection.corpus import Corpus
from cache.records import Mark, Message, ToolCall, Trajectory
from cache.steps import split_steps

#: Before which original message, of which kind, which parallel calls.
Placed = Mapping[int, tuple[str, tuple[Inserted, ...]]]


def weave(
    run: Trajectory, placed: Placed, marks: Sequence[Mark], corpus: Corpus, luck: random.Random
) -> tuple[Trajectory, tuple[Mark, ...]]:
    """Return the run with the turns of ``placed``, and marks for these and for ``marks``.

    The original messages are all there, in order, changed in nothing but their index.
    """
    ids = CallIds(run, corpus, luck)
    messages: list[Message] = []
    moved: dict[int, int] = {-1: -1}
    made: list[tuple[tuple[int, int], str, Inserted]] = []
    for message in run.messages:
        if message.index in placed:
            kind, calls = placed[message.index]
            at = len(messages)
            messages += _turn(run, calls, at, ids, narration(run, calls[0].tool, corpus, luck))
            made += [((at, at + n), kind, call) for n, call in enumerate(calls, start=1)]
        moved[message.index] = len(messages)
        messages.append(replace(message, index=len(messages)))
    new = tuple(
        Mark(where, kind, _moved(call.evidence, moved), "certain", is_synthetic=True)
        for where, kind, call in made
    )
    old = tuple(
        replace(mark, indices=_moved(mark.indices, moved), evidence=_moved(mark.evidence, moved))
        for mark in marks
    )
    woven = replace(run, messages=tuple(messages), steps=split_steps(messages))
    return woven, tuple(sorted(new + old, key=lambda mark: mark.indices))


def _moved(indices: Sequence[int], moved: Mapping[int, int]) -> tuple[int, ...]:
    return tuple(moved[index] for index in indices)


def _turn(
    run: Trajectory, calls: Sequence[Inserted], at: int, ids: CallIds, content: str
) -> list[Message]:
    named = [ToolCall(call.tool, call.arguments, ids.new()) for call in calls]
    silent = not any(m.tool_call_id for m in run.messages if m.role == "tool") and any(
        m.role == "tool" for m in run.messages
    )
    turn = [Message(at, "assistant", content, tuple(named))]
    turn += [
        Message(
            index=at + n,
            role="tool",
            content=call.result,
            requestor="assistant",
            tool_call_id="" if silent else name.call_id,
            is_error=call.is_error,
        )
        for n, (call, name) in enumerate(zip(calls, named, strict=True), start=1)
    ]
    return turn


def narration(run: Trajectory, tool: str, corpus: Corpus, luck: random.Random) -> str:
    """Return what the agent says with a call: nothing, as often as with its own calls.

    Else words that came with the same tool in the same data set, if they name nothing.
    """
    own = [m.content for m in run.messages if m.role == "assistant" and m.tool_calls]
    if not own or luck.random() >= sum(map(bool, own)) / len(own):
        return ""
    heard = {_announcement(text) for text in corpus.sayings[run.dataset, tool]}
    general = sorted(heard - {""})
    return luck.choice(general) if general else ""


_COUNTED = re.compile(r"\b(both|one|two|three|four|five|six|all|each|those|these|other)\b", re.I)


def _announcement(text: str) -> str:
    """Return what of a text would fit any call of the same tool, "" where nothing does.

    That is the text if it is short, else its last sentence; without numbers, names and lists.
    """
    if len(text) > 130:
        text = re.split(r"(?<=[.!?])\s+", text.strip())[-1]
    if not 0 < len(text) <= 130 or re.search(r"[\d#*\n@?]", text) or _COUNTED.search(text):
        return ""
    inside = re.findall(r"(?<![.!?:] )(?<!^)\b[A-Z]\w*", text)
    return text if all(word == "I" for word in inside) else ""
