"""When a provider is dear and when it is cheap: hours of the day, in UTC, on working days.

DeepSeek asks twice the price from 01:00 to 04:00 and from 06:00 to 10:00, Monday to Friday. Chinese
public holidays, which are cheap as well, are not known here and count as working days.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

#: provider: first hour, and the hour after the last, of each stretch of dear hours.
PEAKS: dict[str, tuple[tuple[int, int], ...]] = {"deepseek": ((1, 4), (6, 10))}


def is_peak(provider: str, at: datetime) -> bool:
    """Tell whether a provider asks its higher price at an aware time."""
    at = at.astimezone(UTC)
    stretches = PEAKS.get(provider, ())
    return at.weekday() < 5 and any(first <= at.hour < last for first, last in stretches)


def cheap_from(provider: str, at: datetime) -> datetime:
    """Return the next moment of cheap hours: ``at`` itself where it is one."""
    while is_peak(provider, at):
        at = (at + timedelta(hours=1)).replace(minute=0, second=0, microsecond=0)
    return at
