"""Prompts that are due into batches at their providers, each created exactly once.

1. ``prepare`` writes batch rows and the claims on their prompts, in one transaction.
2. ``send`` writes the event ``creating`` and commits it *before* the provider hears of the batch.
   Only then does it create, once, without retries.
3. Whatever happens after that, ``settle_doubt`` looks for the batch at the provider under its token
   before anything is created again.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import groupby

import sql
from batcher.ledger import OpenBatch, Scope, all_lines, known_remote_ids, make_scope, note
from batcher.pack import Due, fits, pack
from batcher.providers.base import Batch, Limits, Provider
from cache.bulk import load
from cache.errors import InDoubt, QueueFull, Refused, Unreachable
from cache.store import Connection, Store

_DUE = sql.read("queries")["due"]

#: A batch whose creation is in doubt is looked for this often, over at least this long, before it
#: is created again: providers do not say how soon their lists show a new batch.
LOOKS = 3
DOUBT = timedelta(minutes=2)

#: What a batch is after a create that failed: to look for, closed, or still to send.
_AFTER = {
    InDoubt: "in_doubt",
    QueueFull: "refused",
    Refused: "refused",
    Unreachable: "prepared",
}

Connect = Callable[[str, str, str], Provider]  # provider, base URL, mode


def prepare(store: Store, scope: Scope, connect: Connect, now: datetime) -> int:
    """Claim every due prompt of ``scope`` for a new batch; return how many batches were made.

    Raises ``MissingKey`` before anything is claimed.
    """
    made = 0
    with store.writing() as con:
        make_scope(con, scope)
        rows = con.execute(_DUE).fetchall()
        for where, group in groupby(rows, key=lambda row: row[:5]):
            provider = connect(where[0], where[1], where[4])
            room, limits = _room(con, where, provider.limits)
            due = [Due(*row[5:]) for row in group]
            too_large = [one for one in due if not fits(one, limits)]
            if too_large:
                _give_up(con, where, too_large, limits, now)
            for shard in pack((one for one in due if fits(one, limits)), limits):
                tokens = sum(one.n_input_tokens for one in shard)
                if room is not None and tokens > room:
                    break  # the rest stays due until something of ours has left the queue
                _claim(con, where, shard, provider.key_fingerprint, now)
                room = None if room is None else room - tokens
                made += 1
    return made


def _room(con: Connection, where: Sequence[str], limits: Limits) -> tuple[int | None, Limits]:
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


def _claim(
    con: Connection, where: Sequence[str], shard: Sequence[Due], fingerprint: str, now: datetime
) -> str:
    token = secrets.token_hex(4)
    batch_id = f"{now:%Y%m%d}-{token}"
    ids = [f"{token}-{due.prompt_hash}-{due.attempt}" for due in shard]
    con.execute(
        "insert into batches (batch_id, provider, base_url, endpoint, model, mode, token, "
        "n_prompts, n_bytes, n_input_tokens, lines_sha256, key_fingerprint, created_at) "
        "values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)",
        [
            batch_id,
            *where,
            token,
            len(shard),
            sum(due.n_bytes for due in shard),
            sum(due.n_input_tokens for due in shard),
            hashlib.sha256("\n".join(ids).encode()).hexdigest(),
            fingerprint,
            now,
        ],
    )
    load(
        con,
        "batch_prompts",
        (
            {
                "batch_id": batch_id,
                "custom_id": custom_id,
                "prompt_hash": due.prompt_hash,
                "attempt": due.attempt,
            }
            for custom_id, due in zip(ids, shard, strict=True)
        ),
    )
    note(con, batch_id, "prepared", now)
    return batch_id


def _give_up(
    con: Connection, where: Sequence[str], due: Sequence[Due], limits: Limits, now: datetime
) -> None:
    """Record that some prompts are too large to send: one error each, by name, nothing sent."""
    most = f"{limits.line_bytes} bytes"
    if limits.tokens is not None:
        most += f" or {limits.tokens} waiting tokens"
    batch_id = _claim(con, where, due, "", now)
    load(
        con,
        "responses",
        (
            {
                "batch_id": batch_id,
                "custom_id": f"{batch_id[-8:]}-{one.prompt_hash}-{one.attempt}",
                "prompt_hash": one.prompt_hash,
                "outcome": "error",
                "error": f"not sent: {one.n_bytes} bytes, about {one.n_input_tokens} tokens, are "
                f"more than the {most} that the provider takes",
                "is_transient": False,
                "received_at": now,
            }
            for one in due
        ),
    )
    note(con, batch_id, "refused", now, {"reason": "lines too large to send"})


def send(store: Store, provider: Provider, batch: Batch, now: Callable[[], datetime]) -> str | None:
    """Create a prepared batch at its provider; return why it was not, or None when it was."""
    with store.writing() as con:
        newest = con.execute(
            "select status from batch_states where batch_id = $1", [batch.batch_id]
        ).fetchone()
        if newest != ("prepared",):
            return f"it is {newest[0] if newest else 'gone'} by now"
        note(con, batch.batch_id, "creating", now())
    # Live providers take their prompts when they answer them.
    prompts = () if provider.answers_live else all_lines(store, batch.batch_id)
    try:
        remote_id = provider.submit(batch, prompts)
    except (InDoubt, QueueFull, Refused, Unreachable) as error:
        detail: dict[str, object] = {"reason": str(error)}
        with store.writing() as con:
            if isinstance(error, QueueFull):
                detail["queue_limit"] = learn_queue_limit(con, batch, error.limit)
            note(con, batch.batch_id, _AFTER[type(error)], now(), detail)
        return str(error)
    adopt(store, batch, remote_id, now())
    return None


def adopt(
    store: Store, batch: Batch, remote_id: str, now: datetime, *, proved: bool = True
) -> Batch:
    """Record the provider's id of a batch; not ``proved`` when it may yet be another's."""
    with store.writing() as con:
        con.execute(
            "update batches set remote_id = $2 where batch_id = $1", [batch.batch_id, remote_id]
        )
        note(con, batch.batch_id, "submitted", now, {"remote_id": remote_id, "proved": proved})
    return replace(batch, remote_id=remote_id)


def settle_doubt(
    store: Store,
    provider: Provider,
    doubtful: OpenBatch,
    now: datetime,
    *,
    doubt: timedelta = DOUBT,
) -> str:
    """Look for a batch that may or may not exist; return ``adopted``, ``absent`` or ``unknown``.

    ``absent`` means it is free to be sent again: it was looked for ``LOOKS`` times, for ``doubt``.
    """
    batch = doubtful.batch
    with store.reading() as con:
        known = known_remote_ids(con)
    try:
        remote_id = provider.find(batch, known)
    except Unreachable:
        return "unknown"
    if remote_id:
        adopt(store, batch, remote_id, now, proved=provider.tags_batches)
        return "adopted"
    with store.writing() as con:
        note(con, batch.batch_id, "not_found", now)
        row = con.execute(
            "select count(*) filter (where status = 'not_found'), min(\"at\") from batch_events "
            "where batch_id = $1 and event_id >= (select max(event_id) from batch_events "
            "where batch_id = $1 and status = 'creating')",
            [batch.batch_id],
        ).fetchone()
        looks, since = row if row else (0, now)
        if looks < LOOKS or now - since < doubt:
            return "unknown"
        note(con, batch.batch_id, "prepared", now, {"reason": f"not there after {looks} looks"})
    return "absent"


def disown(store: Store, batch: Batch, now: datetime) -> None:
    """Undo the adoption of a batch that turned out to be another's; it is in doubt again."""
    with store.writing() as con:
        con.execute("update batches set remote_id = null where batch_id = $1", [batch.batch_id])
        note(con, batch.batch_id, "in_doubt", now, {"foreign": batch.remote_id})


def is_doubtful(status: str) -> bool:
    """Tell whether a batch in this state may exist at its provider without our knowing its id."""
    return status in ("creating", "in_doubt", "not_found")
