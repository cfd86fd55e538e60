"""Incorrect: looking on at others after the hit, or at something that the task does not touch."""

from __future__ import annotations

import json
import random

from batcher.injection.base import Inserted, Offer, bundles, gaps, pair
from batcher.injection.corpus import Corpus
from batcher.injection.siblings import found_hits, hunts, is_idle, looked_at, named_in
from cache.records import Step, Trajectory


def offers(run: Trajectory, corpus: Corpus, luck: random.Random) -> list[Offer]:
    """Offer each candidate after the last hit of its list, and look-ups off the task after a hit.

    None stands after the last call that may write: by then the task is done.
    """
    acts = [
        step.call_index
        for step in run.steps
        if step.judged and step.tool is not None and not corpus.is_read(step.tool)
    ]
    end = acts[-1] if acts else len(run.messages)
    places = [at for at in gaps(run.messages) if at <= end]
    found: list[Offer] = []
    for hunt in hunts(run, corpus, luck):
        after = tuple(at for at in places if at > pair(hunt.last)[1])
        if after:
            found += [
                Offer(after, tuple(looked_at(one, hunt.last) for one in some))
                for some in bundles(run, hunt.candidates, luck)
            ]
    for hit in found_hits(run, corpus):
        after = tuple(at for at in places if at > pair(hit)[1])
        if after:
            found += _off_task(run, corpus, hit, after)
    return found


def _off_task(run: Trajectory, corpus: Corpus, hit: Step, after: tuple[int, ...]) -> list[Offer]:
    """Look-ups with a tool of this agent that the run and its reference path leave alone.

    Only calls whose answer other runs agree on, with arguments that the run's own results name.
    """
    used = {step.tool for step in run.steps} | {
        action["name"] for action in json.loads(run.gold_actions or "[]")
    }
    seen = "\n".join(m.content for m in run.messages[: after[0]] if m.role == "tool")
    found: list[Offer] = []
    for tool in sorted({*corpus.samples} - used):
        if not corpus.is_read(tool) or (run.dataset, tool) not in corpus.sayings:
            continue
        for arguments in sorted({arguments for arguments, _ in corpus.samples[tool]}):
            values = json.loads(arguments)
            result = corpus.answer(tool, arguments, run.task_id)
            if result is None or not isinstance(values, dict):
                continue
            texts = [value for value in values.values() if isinstance(value, str)]
            if (
                texts
                and len(texts) == len(values)
                and all(named_in(text, seen) and is_idle(run, text) for text in texts)
            ):
                made = Inserted(tool, arguments, result, pair(hit))
                found.append(Offer(after, (made,)))
    return found
