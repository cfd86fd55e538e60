"""Time, as parameters: so that nothing below the command line asks a clock or sleeps by itself."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from batcher.hours import is_peak
from batcher.providers.base import Batch
from batcher.submit import DOUBT
from cache.errors import ProviderError

#: A batch unknown to its provider may be one that its servers have not all heard of yet.
GRACE = timedelta(minutes=5)

#: Providers end a batch within 24 hours; one that has not ended long after is stuck.
MAX_AGE = timedelta(hours=26)


@dataclass(frozen=True, slots=True)
class Pace:
    """What the hour is, how to sleep, how long between two looks, and how long to be patient.

    With ``off_peak``, live calls wait for the cheap hours of providers that have some.
    """

    now: Callable[[], datetime]
    sleep: Callable[[float], None]
    first: float = 15.0
    longest: float = 300.0
    growth: float = 1.5
    doubt: timedelta = DOUBT
    grace: timedelta = GRACE
    max_age: timedelta = MAX_AGE
    off_peak: bool = False

    def may_call(self, provider: str) -> bool:
        """Tell whether a provider may be called now, as far as its price of the hour goes."""
        return not self.off_peak or not is_peak(provider, self.now())

    def pauses(self) -> Callable[[bool], float]:
        """Return a function that gives the next pause; it starts anew after a change."""
        at = self.first

        def pause(changed: bool) -> float:
            nonlocal at
            at = self.first if changed else min(at * self.growth, self.longest)
            return at * random.uniform(0.8, 1.0)

        return pause


@dataclass(slots=True)
class Holds:
    """Until when providers want to be left alone, as far as this process has heard.

    Kept by provider and address: another one's batches need not wait.
    """

    until: dict[tuple[str, str], datetime] = field(default_factory=dict)

    def heard(self, batch: Batch, error: ProviderError, now: datetime) -> None:
        """Take note of an error that names a time; a later time holds longer."""
        if error.retry_after is not None:
            where = batch.provider, batch.base_url
            until = now + timedelta(seconds=error.retry_after)
            self.until[where] = max(until, self.until.get(where, until))

    def wait(self, batch: Batch, now: datetime) -> float:
        """Return for how many seconds more a batch's provider is not to be asked."""
        until = self.until.get((batch.provider, batch.base_url), now)
        return max(0.0, (until - now).total_seconds())
