"""Stop batches at their provider; what they had finished is kept and paid for."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from batcher.ledger import Scope, note, open_batches, resolve
from batcher.resume import Pace, Standing, advance
from batcher.submit import Connect
from cache.store import Store


def cancel(
    store: Store,
    names: Sequence[str],
    connect: Connect,
    pace: Pace,
    say: Callable[[str], None],
    *,
    wait: bool,
) -> Standing:
    """Cancel the batches called ``names`` and store their results; nothing is sent again."""
    with store.reading() as con:
        ids = resolve(con, names)
        scope = Scope(batch_ids=ids)
        batches = [one for one in open_batches(con, scope) if one.batch.batch_id in ids]
    for one in batches:
        batch = one.batch
        if batch.remote_id is None:
            if one.status == "prepared":
                with store.writing() as con:
                    note(con, batch.batch_id, "refused", pace.now(), {"reason": "cancelled"})
                say(f"{batch.batch_id}: was not sent yet, and will not be")
            continue
        connect(batch.provider, batch.base_url, batch.mode).cancel(batch.remote_id)
        say(f"{batch.batch_id}: asked {batch.provider} to stop it")
    return advance(store, scope, connect, pace, say, wait=wait, claim=False)
