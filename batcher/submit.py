"""Prepared batches to their providers, each created exactly once.

1. ``prepare`` writes batch rows and the claims on their prompts, in one transaction.
2. ``send`` writes the event ``creating`` and commits it *before* the provider hears of the batch.
   Only then does it create, once, without retries.
3. Whatever happens after that, ``settle_doubt`` looks for the batch at the provider under its token
   before anything is created again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta

from batcher.ledger import OpenBatch, all_lines, known_remote_ids, note
from batcher.providers.base import Batch, Provider
from batcher.queues import learn
from batcher.restore import announce
from cache import journal
from cache.errors import InDoubt, OverLimit, ProviderError, Refused, Unreachable
from cache.store import Store

#: A batch whose creation is in doubt is looked for this often, over at least this long, before it
#: is created again: providers do not say how soon their lists show a new batch.
LOOKS = 3
DOUBT = timedelta(minutes=2)

#: What a batch is after a create that failed: to look for, closed, or still to send.
_AFTER = {
    InDoubt: "in_doubt",
    OverLimit: "refused",
    Refused: "refused",
    Unreachable: "prepared",
}


def send(
    store: Store,
    provider: Provider,
    batch: Batch,
    now: Callable[[], datetime],
    heard: Callable[[ProviderError], None] = lambda error: None,
) -> str | None:
    """Create a prepared batch at its provider; return why it was not, or None when it was.

    ``heard`` is told the error of a call that failed.
    """
    with store.writing() as con:
        newest = con.execute(
            "select status from batch_states where batch_id = $1", [batch.batch_id]
        ).fetchone()
        if newest != ("prepared",):
            return f"it is {newest[0] if newest else 'gone'} by now"
        if not provider.answers_live:
            obstacle = announce(con, store.path, batch.batch_id)
            if obstacle:
                note(con, batch.batch_id, "refused", now(), {"reason": obstacle})
                return obstacle
        note(con, batch.batch_id, "creating", now())
    # Live providers take their prompts when they answer them.
    prompts = () if provider.answers_live else all_lines(store, batch.batch_id)
    try:
        remote_id = provider.submit(batch, prompts)
    except (InDoubt, OverLimit, Refused, Unreachable) as error:
        heard(error)
        detail: dict[str, object] = {"reason": str(error)}
        with store.writing() as con:
            if isinstance(error, OverLimit):
                detail |= learn(con, batch, error)
            note(con, batch.batch_id, _AFTER[type(error)], now(), detail)
        return str(error)
    adopt(store, batch, remote_id, now())
    return None


def adopt(
    store: Store, batch: Batch, remote_id: str, now: datetime, *, proved: bool = True
) -> Batch:
    """Record the provider's id of a batch; not ``proved`` when it may yet be another's."""
    if remote_id != batch.token:  # live and offline batches go by ours
        journal.name(store.path, batch.batch_id, remote_id, proved=proved)
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
    heard: Callable[[ProviderError], None] = lambda error: None,
) -> str:
    """Look for a batch that may or may not exist; return ``adopted``, ``absent`` or ``unknown``.

    ``absent`` means it is free to be sent again: it was looked for ``LOOKS`` times, for ``doubt``.
    """
    batch = doubtful.batch
    with store.reading() as con:
        known = known_remote_ids(con)
    try:
        remote_id = provider.find(batch, known)
    except Unreachable as error:
        heard(error)
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
