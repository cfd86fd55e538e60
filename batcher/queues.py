"""How many tokens may wait at a provider: learnt from its refusals, counted from our batches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from batcher.providers.base import Batch, Limits
from cache.store import Connection


def room_of(con: Connection, where: Sequence[str], limits: Limits) -> tuple[int | None, Limits]:
    """Return how many more tokens may wait now, and the limits with what refusals taught."""
    row = con.execute(
        "select token_limit, waiting_tokens from queue_limits "
        "where provider = $1 and base_url = $2 and model = $3",
        [where[0], where[1], where[3]],
    ).fetchone()
    if row is None:
        return None, limits
    return row[0] - row[1], replace(limits, tokens=row[0])


def learn_queue_limit(con: Connection, batch: Batch, stated: int | None) -> int:
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
