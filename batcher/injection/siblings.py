"""Other candidates of the list from which an agent took what it looked up.

A *hunt* is such a list: it stands in an earlier result, the agent looked at some of its entries
with one tool, and at least one of those was what the task was about (the *hit*).
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from batcher.injection.base import Inserted, document, failed, found_reads, pair
from batcher.injection.corpus import Corpus, looks_like_a_read
from batcher.injection.derive import derived
from cache.hashing import canonical
from cache.records import Step, Trajectory


@dataclass(frozen=True, slots=True)
class Candidate:
    """A look-up that the agent could have made, and its answer."""

    tool: str
    arguments: str
    result: str


@dataclass(frozen=True, slots=True)
class Hunt:
    """``listed`` is the message with the list; ``first`` and ``last`` are its hits."""

    listed: int
    first: Step
    last: Step
    candidates: tuple[Candidate, ...]


def hunts(run: Trajectory, corpus: Corpus, luck: random.Random) -> list[Hunt]:
    """Return the hunts of a run that have candidates nobody looked at, wrote to or spoke of."""
    reads = found_reads(run, corpus)
    found: list[Hunt] = []
    done: set[tuple[str | None, int, str]] = set()
    for step in reads:
        for source in reads:
            if source.result_index is None or source.result_index >= step.call_index:
                continue
            listed = document(source.result)
            for place, entries in _lists(listed, json.loads(step.arguments or "{}")):
                key = (step.tool, source.result_index, place)
                if key in done:
                    continue
                done.add(key)
                hunt = _hunt(run, corpus, luck, step, source, entries)
                if hunt:
                    found.append(hunt)
    return found


def looked_at(candidate: Candidate, hit: Step) -> Inserted:
    """Return the call that looks at a candidate, with the hit as its evidence."""
    return Inserted(candidate.tool, candidate.arguments, candidate.result, pair(hit))


def _hunt(
    run: Trajectory,
    corpus: Corpus,
    luck: random.Random,
    step: Step,
    source: Step,
    entries: list[tuple[dict[str, str], object]],
) -> Hunt | None:
    own: dict[str, object] = json.loads(step.arguments or "{}")
    calls = {canonical({**own, **values}): (values, entry) for values, entry in entries}
    looked = [other for other in run.steps if other.tool == step.tool and other.arguments in calls]
    hits = [
        other
        for other in looked
        if other.judged
        and other.result_index is not None
        and not failed(other)
        and _is_hit(run, other, calls[other.arguments or ""][0])
    ]
    if not hits or source.result_index is None or hits[0].call_index <= source.result_index:
        return None
    candidates: list[Candidate] = []
    for arguments, (values, entry) in calls.items():
        if not all(is_idle(run, value) for value in values.values()) or not _names(values):
            continue
        result = corpus.answer(step.tool or "", arguments, run.task_id)
        if result is None:
            result = derived(run, corpus, luck, hits[0], arguments, source, entry)
        if result is not None:
            candidates.append(Candidate(step.tool or "", arguments, result))
    return Hunt(source.result_index, hits[0], hits[-1], tuple(candidates)) if candidates else None


_DATE = re.compile(r"\d{4}-\d\d(-\d\d)?([T ].*)?")


def _names(values: Mapping[str, str]) -> bool:
    """Whether some value is the name of one thing, and not a date or a word."""
    return any(
        len(value) >= 4 and re.search(r"\d", value) and not _DATE.fullmatch(value)
        for value in values.values()
    )


def is_idle(run: Trajectory, value: str) -> bool:
    """Tell whether nobody calls a tool with ``value``, says it, or is meant to act on it.

    Dates name nothing, and are idle always.
    """
    if _DATE.fullmatch(value):
        return True
    used = [step.arguments or "" for step in run.steps if step.tool is not None]
    texts = (*used, *_said(run), run.gold_actions or "")
    return not any(named_in(value, text) for text in texts)


def named_in(value: str, text: str) -> bool:
    """Tell whether ``value`` stands in ``text`` as a word of its own."""
    return value in text and re.search(rf"(?<!\w){re.escape(value)}(?!\w)", text) is not None


def _is_hit(run: Trajectory, step: Step, values: Mapping[str, str]) -> bool:
    """Whether a look-up found what the task is about.

    It is acted on later, or by the reference path, or spoken of; or the answer holds a number or
    name that the user gave.
    """
    acted = [
        other.arguments or ""
        for other in run.steps
        if other.tool and not looks_like_a_read(other.tool) and other.call_index > step.call_index
    ]
    said = _said(run)
    names = [value for value in values.values() if _names({"": value})]
    texts = (*acted, *said, run.gold_actions or "")
    if any(named_in(name, text) for name in names for text in texts):
        return True
    given = {word.strip(".,;:!?()\"'") for text in said for word in text.split()}
    return any(
        len(word) >= 6 and re.search(r"\d", word) and f'"{word}"' in (step.result or "")
        for word in given
    )


def found_hits(run: Trajectory, corpus: Corpus) -> list[Step]:
    """Return the look-ups that found what the task is about, whether or not from a list."""
    found: list[Step] = []
    for step in found_reads(run, corpus):
        own: dict[str, object] = json.loads(step.arguments or "{}")
        values = {key: value for key, value in own.items() if isinstance(value, str)}
        if _names(values) and _is_hit(run, step, values):
            found.append(step)
    return found


def _said(run: Trajectory) -> list[str]:
    """Everything that was said, and what the user had in mind."""
    return [run.objective, *(m.content for m in run.messages if m.role in ("user", "assistant"))]


def _lists(
    listed: object, own: Mapping[str, object], place: str = "$"
) -> Iterator[tuple[str, list[tuple[dict[str, str], object]]]]:
    """Yield every list in a document that holds own arguments, as the arguments of all entries."""
    if not isinstance(listed, list | dict) or not isinstance(own, dict):
        return
    inner = list(listed.values() if isinstance(listed, dict) else listed)
    found: list[tuple[dict[str, str], object]] = []
    texts = [one for one in inner if isinstance(one, str)]
    records = [one for one in inner if isinstance(one, dict)]
    if len(texts) == len(inner) > 1 and (
        isinstance(listed, list) or len({len(text) for text in texts}) == 1
    ):
        for key, value in own.items():
            if value in texts:
                is_table = isinstance(listed, dict)
                found = [({key: text}, None if is_table else text) for text in dict.fromkeys(texts)]
                break
    elif len(records) == len(inner) > 1:
        keys = next((k for one in records if (k := _shared(one, own))), [])
        found = [
            ({key: one[key] for key in keys}, one)
            for one in records
            if keys and all(isinstance(one.get(key), str) for key in keys)
        ]
    if len(found) > 1:
        yield place, found
    items = listed.items() if isinstance(listed, dict) else enumerate(listed)
    for key, one in items:
        yield from _lists(one, own, f"{place}.{key}")


def _shared(record: Mapping[str, object], own: Mapping[str, object]) -> list[str]:
    """Return the arguments that a record gives under the same names."""
    return [
        key for key, value in own.items() if isinstance(value, str) and record.get(key) == value
    ]
