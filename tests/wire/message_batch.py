"""One message batch: its state, when it entered it, and how it looks from outside."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from tests.wire.batch import Hold, shuffled
from tests.wire.message_order import MessageOrder, MessageRequest
from tests.wire.settings import Settings


@dataclass(slots=True)
class MessageBatch:
    """A batch and its history; times are the provider's, ``host`` is where it was made."""

    id: str
    key: str
    host: str
    order: MessageOrder
    created: float
    expires: float
    entered: float
    status: str = "in_progress"
    hold: Hold | None = None
    not_before: float = 0.0
    stopped_at: int | None = None
    cancel_initiated: float | None = None
    ended: float | None = None
    counts: dict[str, int] | None = None
    data: bytes = b""

    @property
    def over(self) -> bool:
        """Whether the batch has ended, however it ended."""
        return self.status == "ended"

    def shuffled(self) -> list[MessageRequest]:
        """Return the requests in the order they run in: never that of the body."""
        return shuffled(self.order.requests, self.order.sha256)

    def next_step(self, settings: Settings, *, stuck: bool) -> tuple[float, str] | None:
        """Return when the batch ends and why, unless it goes on for ever."""
        running = self.status == "in_progress"
        if self.over or (stuck and running):
            return None
        held = self.hold is not None and self.hold.status == self.status
        lasts = settings.in_progress if running else settings.cancelling
        due = max(self.entered + lasts, self.not_before)
        if running and (held or self.expires < due):
            return (self.expires, "expired")
        return None if held else (due, "done" if running else "canceled")

    def done_by(self, now: float, settings: Settings) -> int:
        """Return how many requests have run."""
        size = len(self.order.requests)
        if self.stopped_at is not None:
            return min(size, self.stopped_at)
        if self.hold is not None and self.hold.status == "in_progress":
            return size // 2 if self.hold.done is None else min(size, self.hold.done)
        share = (now - self.entered) / (settings.in_progress or 1e-9)
        return int(size * max(0.0, min(1.0, share)))

    def archived(self, now: float, settings: Settings) -> float | None:
        """Return when the results went away, counted from the creation, if they have."""
        at = self.created + settings.message_result_life
        return at if self.over and at <= now else None

    def plain(self, now: float, settings: Settings, base: str | None) -> dict[str, Any]:
        """Return the batch object of the API; ``base`` replaces the host of the results."""
        archived = self.archived(now, settings)
        host = self.host if base is None else base
        results = f"{host}/v1/messages/batches/{self.id}/results"
        return {
            "id": self.id,
            "type": "message_batch",
            "processing_status": self.status,
            "request_counts": self.counts or unfinished(len(self.order.requests)),
            "created_at": stamp(self.created),
            "expires_at": stamp(self.expires),
            "ended_at": stamp(self.ended),
            "cancel_initiated_at": stamp(self.cancel_initiated),
            "archived_at": stamp(archived),
            "results_url": results if self.over and archived is None else None,
        }


def unfinished(size: int) -> dict[str, int]:
    """Return the counts until a batch has ended: there is no progress to see."""
    return {"processing": size, "succeeded": 0, "errored": 0, "canceled": 0, "expired": 0}


def stamp(at: float | None) -> str | None:
    """Return a time as RFC 3339 with microseconds."""
    return None if at is None else f"{datetime.fromtimestamp(at, UTC):%Y-%m-%dT%H:%M:%S.%fZ}"
