"""Judges that look at nothing: what any real judge must beat."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass

from batcher.offline.base import Grounds, Question, known_only, written
from cache.errors import UsageError
from cache.records import KINDS


@dataclass(frozen=True, slots=True)
class Always:
    """Says the same of every step."""

    redundant: bool

    @property
    def summary(self) -> str:
        """One line for the list of judges."""
        return f"calls every step {'redundant' if self.redundant else 'necessary'}"

    def check(self, params: Mapping[str, str]) -> None:
        """It takes no parameters."""
        known_only(f"always_{'redundant' if self.redundant else 'necessary'}", params, ())

    def answer(self, question: Question) -> str:
        """The same every time."""
        return written(question, lambda _: "always" if self.redundant else None)


@dataclass(frozen=True, slots=True)
class Random:
    """Tosses a coin: ``p`` (0.5) is the chance of redundant, ``seed`` (0) makes another run.

    The toss depends on the question alone, so the same question gets the same answer anywhere.
    """

    summary: str = "tosses a coin for each step; ?p=0.5 chance of redundant, ?seed=0"

    def check(self, params: Mapping[str, str]) -> None:
        """``p`` is a chance, ``seed`` any text."""
        known_only("random", params, ("p", "seed"))
        _chance(params)

    def answer(self, question: Question) -> str:
        """One toss a step, in the order of the positions."""
        coin = random.Random(question.body)
        p = _chance(question.params)
        tosses = {position: coin.random() < p for position in question.positions}

        def grounds(question: Question, position: int) -> Grounds:
            calls = [pair for pair in question.messages if len(pair) == 2]
            return Grounds(coin.choice(KINDS), coin.choice([*calls, (-1,)]), coin.random())

        return written(question, lambda at: "tossed" if tosses[at] else None, grounds)


def _chance(params: Mapping[str, str]) -> float:
    try:
        p = float(params.get("p", "0.5"))
    except ValueError:
        p = -1.0
    if not 0 <= p <= 1:
        raise UsageError(f"offline:random: p is {params['p']!r}, not a chance between 0 and 1")
    return p
