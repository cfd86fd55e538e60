"""Synthetic redundant steps in real runs, with labels that are exact.

One module a kind says what could be put in and where; ``inject`` chooses among that by luck, which
a seed decides. Values in, values out: the same seed gives the same bytes.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import replace

from batcher.injection import abnormal, duplicated, exploratory, incorrect
from batcher.injection.base import Inserted, Kind
from batcher.injection.corpus import Corpus
from batcher.injection.weave import weave
from cache.errors import UsageError
from cache.records import KINDS, Annotation, Mark, Trajectory

#: The kinds, those with the fewest places first: they choose before the others.
OFFERS: dict[str, Kind] = {
    "exploratory": exploratory.offers,
    "incorrect": incorrect.offers,
    "abnormal": abnormal.offers,
    "duplicated": duplicated.offers,
}

#: Expected turns a trajectory, about as often as annotators found each kind.
RATES: dict[str, float] = {
    "abnormal": 0.5,
    "duplicated": 1.0,
    "incorrect": 0.5,
    "exploratory": 1.0,
}

ANNOTATOR = "injection"


def rates_of(texts: Sequence[str]) -> dict[str, float]:
    """Read ``kind=R`` texts over the default rates; raises ``UsageError``."""
    rates = dict(RATES)
    for text in texts:
        kind, _, number = text.partition("=")
        try:
            rate = float(number)
        except ValueError:
            rate = -1.0
        if kind not in KINDS or not 0 <= rate < math.inf:
            raise UsageError(
                f"--rate {text!r}: expected KIND=R with one of {', '.join(KINDS)} and a number "
                "of at least 0, such as duplicated=1.5"
            )
        rates[kind] = rate
    return rates


def inject(
    run: Trajectory,
    corpus: Corpus,
    *,
    into: str,
    seed: int,
    rates: Mapping[str, float],
    marks: Sequence[Mark] = (),
) -> tuple[Trajectory, Annotation]:
    """Return ``run`` as a trajectory of the data set ``into``, and all of its labels.

    ``rates`` are expected turns by kind: 1.25 is one, and in a quarter of the runs a second, as
    far as there are places. A place is used once. ``marks`` are the labels the run had.
    """
    placed: dict[int, tuple[str, tuple[Inserted, ...]]] = {}
    made: set[tuple[str, str]] = set()
    for kind, offers in OFFERS.items():
        luck = random.Random(f"{seed}:{kind}:{run.trajectory_id}")
        rate = rates.get(kind, 0.0)
        wanted = int(rate) + (luck.random() < rate % 1)
        found = offers(run, corpus, luck)
        for offer in luck.sample(found, len(found)):
            calls = {(call.tool, call.arguments) for call in offer.calls}
            free = [gap for gap in offer.gaps if gap not in placed]
            if wanted and free and not made & calls:
                placed[luck.choice(free)] = (kind, offer.calls)
                # A repeat or a failure shares its arguments with an original, others with none.
                made |= calls
                wanted -= 1
    luck = random.Random(f"{seed}:{run.trajectory_id}")
    woven, labels = weave(run, placed, marks, corpus, luck)
    name = f"{run.trajectory_id}@{into}"
    where = f"injection into {run.trajectory_id}"
    said = Annotation(into, ANNOTATOR, labels, where, trajectory_id=name)
    return replace(woven, trajectory_id=name, dataset=into), said
