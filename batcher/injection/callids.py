"""Call ids that look like those a run's agent got from its model."""

from __future__ import annotations

import random
import re
import string
from collections.abc import Sequence
from itertools import takewhile

from batcher.injection.corpus import Corpus
from cache.records import Trajectory

#: What ids are written in, narrow before wide.
_ALPHABETS = (
    string.digits,
    "0123456789abcdef",
    "0123456789ABCDEF",
    string.digits + string.ascii_lowercase,
    string.digits + string.ascii_letters,
)


class CallIds:
    """Makes new ids for one run, none of which its data set has already.

    Where a recorder wrote one id for every call, or none at all, so does this.
    """

    def __init__(self, run: Trajectory, corpus: Corpus, luck: random.Random) -> None:
        own = [call.call_id for m in run.messages if m.role == "assistant" for call in m.tool_calls]
        everyones = corpus.call_ids[run.dataset]
        self._luck = luck
        self._taken = {*everyones}
        self._own = own or everyones or ["call_" + "0" * 24]
        self._pool = sorted(self._taken) or self._own
        self._alike = len(self._own) > 1 and len({*self._own}) == 1

    def new(self) -> str:
        """Return the next id."""
        model = self._luck.choice(self._own)
        if self._alike or not model:
            return model
        alike = [one for one in self._pool if _form(one) == _form(model)] or [model]
        tries = 0
        while True:
            made = self._like(model, alike)
            tries += 1
            if tries > 100:
                # So short that all are taken: the next ones are longer.
                made += "".join(self._luck.choices(string.digits, k=tries // 100))
            if made not in self._taken:
                self._taken.add(made)
                return made

    def _like(self, model: str, alike: Sequence[str]) -> str:
        """Return ``model`` with every place that varies among its like drawn anew."""
        fixed = _fixed(model, alike)
        varied = {char for one in alike for char in one[fixed:] if char.isalnum()}
        alphabet = next((a for a in _ALPHABETS if varied <= {*a}), _ALPHABETS[-1])
        made = model[:fixed]
        for at in range(fixed, len(model)):
            here = sorted({one[at] for one in alike})
            if not model[at].isalnum():
                made += model[at]
            elif len(alike) >= 20 and len(here) <= 4:
                made += self._luck.choice(here)
            else:
                made += self._luck.choice(alphabet)
        return made


def _fixed(model: str, alike: Sequence[str]) -> int:
    """Return how many characters at the front are the same in every id.

    Few ids may agree by chance: then only up to a separator.
    """
    if len(alike) >= 4:
        return len(_front(alike))
    front = _front(alike) if len(alike) > 1 else re.sub(r"[^A-Za-z_].*", "", model)
    return max(front.rfind(mark) for mark in "_-:") + 1


def _front(ids: Sequence[str]) -> str:
    """Return what all ids begin with."""
    same = takewhile(lambda chars: len({*chars}) == 1, zip(*ids, strict=False))
    return "".join(chars[0] for chars in same)


def _form(call_id: str) -> tuple[int, str]:
    """Length, and where its punctuation stands."""
    return (len(call_id), re.sub(r"[A-Za-z0-9]", "x", call_id))
