"""The provider's book: what was sent, what ran, what is billed.

Tests read it to prove that nothing was sent or paid twice.
"""

from __future__ import annotations

from collections import Counter
from typing import TypedDict

from tests.wire.answers import Usage

_POLLS = (
    *("batches.retrieve", "batches.list"),
    *("messages.batches.retrieve", "messages.batches.list"),
)


class Create(TypedDict):
    """One accepted batch creation; ``vendor`` is openai or anthropic."""

    vendor: str
    batch_id: str
    input_file_id: str
    retry_count: int
    metadata: dict[str, str] | None
    model: str | None
    lines: int
    sha256: str
    at: float


class Upload(TypedDict):
    """One accepted upload."""

    file_id: str
    filename: str
    bytes: int
    sha256: str
    retry_count: int


class Tokens(TypedDict):
    """Billed tokens; ``cached`` and ``written`` (to a cache) are parts of ``prompt``."""

    prompt: int
    cached: int
    written: int
    completion: int


class Log(TypedDict):
    """Everything the ledger knows.

    ``calls`` counts every request by route, refused ones too; ``retries`` counts those the SDK
    sent as retries. ``custom_ids`` and ``bodies`` count what was sent in accepted batches (and
    live calls, for bodies); the ``answered`` pair counts what was computed and billed.
    """

    creates: list[Create]
    files: list[Upload]
    uploads: int
    chat_calls: int
    message_calls: int
    polls: int
    deletes: int
    deleted: list[str]
    cancelled: list[str]
    calls: dict[str, int]
    retries: dict[str, int]
    custom_ids: dict[str, int]
    bodies: dict[str, int]
    answered_custom_ids: dict[str, int]
    answered_bodies: dict[str, int]
    tokens: Tokens
    struck: dict[str, int]
    crashes: list[str]


class Ledger:
    """Counts; the caller holds the service's lock."""

    def __init__(self) -> None:
        self.creates: list[Create] = []
        self.files: list[Upload] = []
        self.deleted: list[str] = []
        self.cancelled: list[str] = []
        self.crashes: list[str] = []
        self.calls: Counter[str] = Counter()
        self.retries: Counter[str] = Counter()
        self.custom_ids: Counter[str] = Counter()
        self.bodies: Counter[str] = Counter()
        self.answered_custom_ids: Counter[str] = Counter()
        self.answered_bodies: Counter[str] = Counter()
        self.tokens = Tokens(prompt=0, cached=0, written=0, completion=0)

    def call(self, route: str, retry_count: int) -> None:
        """Count one HTTP request."""
        self.calls[route] += 1
        if retry_count:
            self.retries[route] += 1

    def bill(self, usage: Usage) -> None:
        """Add the tokens of one answer."""
        self.tokens["prompt"] += usage.prompt
        self.tokens["cached"] += usage.cached
        self.tokens["written"] += usage.written_5m + usage.written_1h
        self.tokens["completion"] += usage.completion

    def log(self, struck: dict[str, int]) -> Log:
        """Return a copy of the book."""
        return Log(
            creates=list(self.creates),
            files=list(self.files),
            uploads=len(self.files),
            chat_calls=self.calls["chat.create"],
            message_calls=self.calls["messages.create"],
            polls=sum(self.calls[name] for name in _POLLS),
            deletes=len(self.deleted),
            deleted=list(self.deleted),
            cancelled=list(self.cancelled),
            calls=dict(self.calls),
            retries=dict(self.retries),
            custom_ids=dict(self.custom_ids),
            bodies=dict(self.bodies),
            answered_custom_ids=dict(self.answered_custom_ids),
            answered_bodies=dict(self.answered_bodies),
            tokens=self.tokens.copy(),
            struck=dict(struck),
            crashes=list(self.crashes),
        )
