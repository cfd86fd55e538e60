"""Abnormal: a look-up that fails by accident, right before the original call, its retry."""

from __future__ import annotations

import random
from itertools import groupby

from batcher.injection.base import Inserted, Offer, failed, found_reads, gaps, pair
from batcher.injection.corpus import Corpus
from batcher.injection.wording import Faults
from cache.records import Trajectory


def offers(run: Trajectory, corpus: Corpus, luck: random.Random) -> list[Offer]:
    """Offer a failure before each turn that makes nothing but look-ups, all of them answered.

    A turn that is itself a retry is left alone. Parallel calls fail together.
    """
    places = {*gaps(run.messages)}
    faults = Faults(run, corpus)
    tried = {(step.tool, step.arguments) for step in run.steps if failed(step)}
    found: list[Offer] = []
    for at, turn in groupby(found_reads(run, corpus), key=lambda step: step.call_index):
        steps = list(turn)
        retried = any((step.tool, step.arguments) in tried for step in steps)
        if at in places and len(steps) == len(run.messages[at].tool_calls) and not retried:
            text = faults.result(luck, steps[0].tool or "")
            calls = tuple(
                Inserted(step.tool or "", step.arguments or "{}", text, pair(step), is_error=True)
                for step in steps
            )
            found.append(Offer((at,), calls))
    return found
