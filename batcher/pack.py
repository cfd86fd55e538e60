"""Prompts into shards that fit a provider's limits: a pure function of numbers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from batcher.providers.base import Limits

#: What a line adds to its body: custom_id, method, url, braces. Generous on purpose.
ENVELOPE = 256


@dataclass(frozen=True, slots=True)
class Due:
    """A prompt to send: its hash, which attempt this is, its body's size, its settings' digest.

    ``expected_usd`` is its likely cost, ``reserved_usd`` that with a long answer; None where the
    price is not known.
    """

    prompt_hash: str
    attempt: int
    n_bytes: int
    n_input_tokens: int
    settings: str = ""
    expected_usd: float | None = None
    reserved_usd: float | None = None


def fits(due: Due, limits: Limits) -> bool:
    """Tell whether a prompt can be sent at all, if need be alone."""
    return due.n_bytes + ENVELOPE <= limits.line_bytes and (
        limits.tokens is None or due.n_input_tokens <= limits.tokens
    )


def pack(prompts: Iterable[Due], limits: Limits) -> Iterator[list[Due]]:
    """Yield shards in order, each filled until the next prompt would break a limit.

    A line that may be sent and is larger than a batch should be goes alone.
    Raises ``ValueError`` for a prompt that fits nowhere: sort those out first with ``fits``.
    """
    shard: list[Due] = []
    size = tokens = 0
    for due in prompts:
        if not fits(due, limits):
            raise ValueError(f"prompt {due.prompt_hash} of {due.n_bytes} bytes fits no batch")
        line = due.n_bytes + ENVELOPE
        if shard and (
            len(shard) >= limits.requests
            or size + line > limits.bytes
            or (limits.tokens is not None and tokens + due.n_input_tokens > limits.tokens)
        ):
            yield shard
            shard, size, tokens = [], 0, 0
        shard.append(due)
        size += line
        tokens += due.n_input_tokens
    if shard:
        yield shard
