"""What providers say when too much is asked of them: past which limit, and when to come again.

No provider documents these texts, and servers differ. What is not recognised stays a plain refusal.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from cache.errors import OverLimit

#: The longest wait that a provider is believed to mean, in seconds: no batch lives longer.
LONGEST_WAIT = 86_400.0

#: Too many calls, whatever they carry: nothing that a smaller batch would help.
_RATE = re.compile(r"rate[ -]limit|\bper (second|min|minute|hour|day)\b|\b[rt]p[smd]\b", re.I)

#: Too many bytes.
_SIZE = re.compile(
    r"\b(file|request|body|payload|batch|upload|input)\b.{0,60}"
    r"(\btoo (large|big)|\b(larg|bigg)er than|\bmaximum size|\bsize limit)",
    re.I | re.S,
)

#: Too many lines, under the names that servers have for them.
_LINES = re.compile(r"\b(requests|lines|tasks|rows)\b", re.I)
_EXCESS = re.compile(r"\b(too many|at most|maximum|limit|exceed(s|ed)?|more than)\b", re.I)
_QUEUE = re.compile(r"\b(en)?queued?\b", re.I)
_BATCH = re.compile(r"\b(batch|file|(en)?queued?)\b", re.I)

#: The number after such a word, which is no part of a name such as gpt-4o.
_STATED = re.compile(
    r"\b(?:at most|maximum|limit|(?:more|larger) than)\b:?\D{0,24}?(?<![\w-])(\d[\d,._ ]*)([kmg]?)",
    re.I,
)
_SCALE = {"": 1, "k": 1_000, "m": 1_000_000, "g": 1_000_000_000}


def over_limit(
    status: int | None, code: str | None, text: str, shown: str = ""
) -> OverLimit | None:
    """Return the limit that a refused batch was over, or None if that is not what it says.

    ``status`` is None for a batch that was accepted and failed later. ``shown`` is the message of
    the error that is returned, if not ``text``.
    """
    shown = shown or text
    lower = text.lower()
    if "enqueued token limit" in lower or code == "token_limit_exceeded":
        return OverLimit(shown, what="tokens", stated=_stated(text))
    if status not in (None, 400, 413, 429):
        return None
    if code == "insufficient_quota" or (status == 429 and "quota" in lower and "bill" in lower):
        shown += "; the account has no credit left, or this is too much at once"
        return OverLimit(shown, what="quota")
    if status == 429 and _RATE.search(text):
        return None
    if status == 413 or code in ("file_too_large", "request_too_large") or _SIZE.search(text):
        found = _stated(text)
        return OverLimit(shown, what="bytes", stated=found if (found or 0) >= 1_000 else None)
    many = _LINES.search(text) and _EXCESS.search(text)
    if code == "too_many_tasks" or (many and (status != 429 or _BATCH.search(text))):
        what = "queue" if _QUEUE.search(text) else "lines"
        return OverLimit(shown, what=what, stated=_stated(text))
    return None


def _stated(text: str) -> int | None:
    found = _STATED.search(text)
    if found is None:
        return None
    return int(re.sub(r"\D", "", found[1])) * _SCALE[found[2].lower()]


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return in how many seconds a provider wants to be asked again, if it says so.

    It may say so in milliseconds, in seconds or as a date; a date is taken by the provider's own
    clock where it tells that. More than a day is taken for a day.
    """
    found = _number(headers.get("retry-after-ms"))
    if found is not None:
        found /= 1_000
    else:
        found = _number(headers.get("retry-after"))
    if found is None:
        until = _date(headers.get("retry-after"))
        if until is None:
            return None
        found = (until - (_date(headers.get("date")) or datetime.now(UTC))).total_seconds()
    return min(found, LONGEST_WAIT) if found > 0 else None


def _number(text: str | None) -> float | None:
    try:
        found = float(text or "")
    except ValueError:
        return None
    return found if found == found else None  # not a number is no number of seconds


def _date(text: str | None) -> datetime | None:
    try:
        found = parsedate_to_datetime(text or "")
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)
