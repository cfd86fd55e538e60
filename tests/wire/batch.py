"""One OpenAI batch: its state, when it entered it, and how it looks from outside."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from tests.wire.input_file import InputFile, Line
from tests.wire.result_files import Results
from tests.wire.settings import Settings

T = TypeVar("T")
TERMINAL = ("completed", "failed", "expired", "cancelled")
_STAMPS = (
    "in_progress",
    "finalizing",
    "completed",
    "failed",
    "expired",
    "cancelling",
    "cancelled",
)
_AFTER = {
    "validating": "in_progress",
    "in_progress": "finalizing",
    "finalizing": "completed",
    "cancelling": "cancelled",
}


@dataclass(frozen=True, slots=True)
class Hold:
    """Keeps a batch in ``status``; ``done`` is how many requests have run by then."""

    status: str
    done: int | None = None


@dataclass(frozen=True, slots=True)
class Order:
    """What the client asked for."""

    id: str
    key: str
    endpoint: str
    input_file_id: str
    completion_window: str
    metadata: dict[str, str] | None
    output_life: float
    created: float
    expires: float


@dataclass(slots=True)
class Batch:
    """A batch and its history; times are the provider's."""

    order: Order
    source: InputFile
    entered: float
    status: str = "validating"
    stamps: dict[str, int] = field(default_factory=dict)
    hold: Hold | None = None
    not_before: float = 0.0
    stopped_at: int | None = None
    results: Results | None = None
    errors: list[dict[str, Any]] | None = None
    output_file_id: str | None = None
    error_file_id: str | None = None

    @property
    def over(self) -> bool:
        """Whether the batch has reached a terminal state."""
        return self.status in TERMINAL

    def enter(self, status: str, at: float) -> None:
        """Change the state and stamp the time."""
        self.status = status
        self.entered = at
        self.stamps[status] = int(at)

    def shuffled(self) -> list[Line]:
        """Return the requests in the order they run in: never that of the file."""
        return shuffled(self.source.lines, self.source.sha256)

    def next_step(self, settings: Settings, *, stuck: bool) -> tuple[float, str] | None:
        """Return when the batch moves next and where to, unless it stays for ever."""
        if self.over or (stuck and self.status == "finalizing"):
            return None
        due = (
            max(self.entered + settings.seconds_in(self.status), self.not_before),
            _AFTER[self.status],
        )
        held = self.hold is not None and self.hold.status == self.status
        may_expire = self.status in ("in_progress", "finalizing")
        if may_expire and (held or self.order.expires < due[0]):
            return (self.order.expires, "expired")
        return None if held else due

    def done_by(self, now: float, settings: Settings) -> int:
        """Return how many requests have run."""
        size = len(self.source.lines)
        if self.stopped_at is not None:
            return min(size, self.stopped_at)
        if self.status == "validating":
            return 0
        if self.status != "in_progress":
            return size
        if self.hold is not None and self.hold.status == "in_progress":
            return size // 2 if self.hold.done is None else min(size, self.hold.done)
        share = (now - self.entered) / (settings.in_progress or 1e-9)
        return int(size * max(0.0, min(1.0, share)))

    def plain(self, now: float, settings: Settings) -> dict[str, Any]:
        """Return the batch object of the API."""
        order = self.order
        checked = self.status not in ("validating", "failed")
        problems = {"object": "list", "data": self.errors} if self.errors is not None else None
        return {
            "id": order.id,
            "object": "batch",
            "endpoint": order.endpoint,
            "model": self.source.model if checked else None,
            "errors": problems,
            "input_file_id": order.input_file_id,
            "completion_window": order.completion_window,
            "status": self.status,
            "output_file_id": self.output_file_id,
            "error_file_id": self.error_file_id,
            "created_at": int(order.created),
            "expires_at": int(order.expires),
            **{f"{status}_at": self.stamps.get(status) for status in _STAMPS},
            "request_counts": self._counts(now, settings) if checked else _counts(0, 0, 0),
            "usage": self.results.usage() if self.results is not None and self.over else None,
            "metadata": order.metadata,
        }

    def _counts(self, now: float, settings: Settings) -> dict[str, int]:
        size = len(self.source.lines)
        if self.results is None:
            return _counts(size, self.done_by(now, settings), 0)
        return _counts(size, self.results.completed, self.results.failed)


def shuffled(requests: Sequence[T], seed: str) -> list[T]:
    """Return the requests in an order that is another one, and the same for the same seed."""
    mixed = list(requests)
    random.Random(seed).shuffle(mixed)
    if len(mixed) > 1 and mixed == list(requests):
        mixed.reverse()
    return mixed


def _counts(total: int, completed: int, failed: int) -> dict[str, int]:
    return {"total": total, "completed": completed, "failed": failed}
