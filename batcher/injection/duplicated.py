"""Duplicated: a look-up that was made before, of a world in which nothing changed since."""

from __future__ import annotations

import json
import random
import re
from itertools import groupby

from batcher.injection.base import Inserted, Offer, found_reads, gaps, pair
from batcher.injection.corpus import Corpus, writes_between
from cache.hashing import canonical
from cache.records import Step, Trajectory

_ARITHMETIC = re.compile(r"[\d\s.+\-*/()]*\d\s*[+*/]\s*\d[\d\s.+\-*/()]*")


def offers(run: Trajectory, corpus: Corpus, luck: random.Random) -> list[Offer]:
    """Offer to repeat each turn of look-ups at any later place before the next possible write.

    Of parallel calls all are repeated, or one.
    """
    places = gaps(run.messages)
    found: list[Offer] = []
    for _, turn in groupby(found_reads(run, corpus), key=lambda step: step.call_index):
        steps = list(turn)
        last = max(pair(step)[1] for step in steps)
        later = tuple(
            gap
            for gap in places
            if gap > last and not writes_between(run.steps, corpus, steps[0].call_index - 1, gap)
        )
        if later:
            some = steps if luck.random() < 0.5 else [luck.choice(steps)]
            found.append(Offer(later, tuple(_again(step, luck) for step in some)))
    return found


def _again(step: Step, luck: random.Random) -> Inserted:
    arguments = equivalent(step.arguments or "{}", luck)
    return Inserted(step.tool or "", arguments, step.result or "", pair(step))


def equivalent(arguments: str, luck: random.Random) -> str:
    """Return arguments that mean the same: now and then a sum is spaced in the other way.

    The order of keys does not show: arguments are stored in canonical form.
    """
    value = json.loads(arguments)
    if not isinstance(value, dict):
        return arguments
    for key, text in value.items():
        if isinstance(text, str) and _ARITHMETIC.fullmatch(text) and luck.random() < 0.5:
            tight = re.sub(r"\s+", "", text)
            value[key] = re.sub(r"(?<=[\d)])([+*/])", r" \1 ", tight) if text == tight else tight
    return canonical(value)
