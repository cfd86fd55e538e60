"""How much a provider takes: learnt from its refusals, counted from our batches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from batcher.pack import ENVELOPE, Due
from batcher.providers.base import Batch, Limits
from cache.errors import OverLimit
from cache.store import Connection


@dataclass(slots=True)
class Room:
    """How much more may wait at a provider now; None where no refusal taught it."""

    tokens: int | None = None
    lines: int | None = None

    def takes(self, shard: Sequence[Due]) -> bool:
        """Tell whether there is room for a shard; if so, it is taken up."""
        tokens = sum(one.n_input_tokens for one in shard)
        if self.tokens is not None and tokens > self.tokens:
            return False
        if self.lines is not None and len(shard) > self.lines:
            return False
        self.tokens = None if self.tokens is None else self.tokens - tokens
        self.lines = None if self.lines is None else self.lines - len(shard)
        return True


def room_of(con: Connection, where: Sequence[str], limits: Limits) -> tuple[Room, Limits]:
    """Return how much more may wait now, and the limits with what refusals taught."""
    place = [where[0], where[1], where[3]]
    room = Room()
    row = con.execute(
        "select line_limit, byte_limit, longest from batch_limits "
        "where provider = $1 and base_url = $2 and model = $3",
        place,
    ).fetchone()
    if row is not None:
        lines, size, longest = row
        limits = replace(
            limits,
            requests=min(limits.requests, lines or limits.requests),
            bytes=min(limits.bytes, size or limits.bytes),
            line_bytes=min(limits.line_bytes, longest or limits.line_bytes),
        )
    row = con.execute(
        "select token_limit, waiting_tokens, line_limit, waiting_lines from queue_limits "
        "where provider = $1 and base_url = $2 and model = $3",
        place,
    ).fetchone()
    if row is not None:
        tokens, waiting_tokens, lines, waiting_lines = row
        if tokens is not None:
            room.tokens = tokens - waiting_tokens
            limits = replace(limits, tokens=tokens)
        if lines is not None:
            room.lines = lines - waiting_lines
            limits = replace(limits, requests=min(limits.requests, lines))
    return room, limits


def learn(con: Connection, batch: Batch, refusal: OverLimit) -> dict[str, object]:
    """Return what the refusal of ``batch`` teaches, to be kept with its event.

    What the refusal states is believed if the batch really was over it. Otherwise half of what the
    batch held, so that the same lines are not refused again for ever; a batch of one line cannot
    be halved, and teaches nothing but that it is too large itself.
    """
    if refusal.what == "tokens":
        return {"queue_limit": _queue_limit(con, batch, refusal.stated)}
    row = con.execute(
        "select coalesce(sum(n_prompts) filter (where batch_id != $1), 0)::bigint, "
        "coalesce(max(n_bytes) filter (where batch_id = $1), 0) from batch_states "
        "where provider = $2 and base_url = $3 and model = $4 "
        "and (batch_id = $1 or (is_open and remote_id is not null))",
        [batch.batch_id, batch.provider, batch.base_url, batch.model],
    ).fetchone()
    waiting, n_bytes = row if row else (0, 0)
    if refusal.what == "bytes":
        size = n_bytes + ENVELOPE * batch.n_prompts
        if batch.n_prompts == 1:
            return {"byte_limit": size - 1}
        return {"byte_limit": _below(size, refusal.stated)}
    if waiting and refusal.what in ("queue", "quota"):
        most = waiting + batch.n_prompts
        return {"queue_lines": _below(most, refusal.stated, waiting + batch.n_prompts // 2)}
    if batch.n_prompts == 1:
        return {"unlearnt": True} if refusal.what == "quota" else {}
    return {"line_limit": _below(batch.n_prompts, refusal.stated)}


def _below(refused: int, stated: int | None, otherwise: int | None = None) -> int:
    """Return the stated limit where ``refused`` was over it, else half of ``refused``."""
    if stated and stated < refused:
        return stated
    return max(1, refused // 2 if otherwise is None else otherwise)


def _queue_limit(con: Connection, batch: Batch, stated: int | None) -> int:
    """Return how many tokens may wait at a provider that has just refused ``batch``.

    With other batches of ours waiting, what the refusal states. With none, half the batch where it
    is not clearly smaller than that: our counts are estimates, and the same lines must not be
    refused again for ever.
    """
    row = con.execute(
        "select count(*) filter (where batch_id != $1), "
        "max(n_input_tokens) filter (where batch_id = $1) from batch_states "
        "where provider = $2 and base_url = $3 and model = $4 and (is_open or batch_id = $1)",
        [batch.batch_id, batch.provider, batch.base_url, batch.model],
    ).fetchone()
    others, tokens = row if row else (0, 1)
    limit = stated or tokens
    if not others and tokens > 0.6 * limit:
        limit = min(limit, tokens // 2)
    return max(1, int(limit))
