"""Exploratory: a look at another candidate of the list, before the right one."""

from __future__ import annotations

import random

from batcher.injection.base import Offer, bundles, gaps
from batcher.injection.corpus import Corpus
from batcher.injection.siblings import hunts, looked_at
from cache.records import Trajectory


def offers(run: Trajectory, corpus: Corpus, luck: random.Random) -> list[Offer]:
    """Offer each candidate between the list that names it and the first hit of that list."""
    places = gaps(run.messages)
    found: list[Offer] = []
    for hunt in hunts(run, corpus, luck):
        between = tuple(at for at in places if hunt.listed < at <= hunt.first.call_index)
        if between:
            found += [
                Offer(between, tuple(looked_at(one, hunt.first) for one in some))
                for some in bundles(run, hunt.candidates, luck)
            ]
    return found
