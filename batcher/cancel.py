"""Stop batches at their provider; what they had finished is kept and paid for."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from batcher.ledger import Scope, note, open_batches, resolve
from batcher.prices import Prices
from batcher.providers.base import Connect
from batcher.resume import Pace, Standing, advance
from cache.errors import Unreachable
from cache.store import Store


def cancel(
    store: Store,
    names: Sequence[str],
    connect: Connect,
    pace: Pace,
    say: Callable[[str], None],
    *,
    wait: bool,
    abandon: bool = False,
    prices: Prices | None = None,
) -> Standing:
    """Cancel the batches called ``names`` and store their results; nothing is sent again.

    With ``abandon`` they are not waited for: what a provider still holds of them is given up, and
    their unanswered prompts are due again.
    """
    with store.reading() as con:
        ids = resolve(con, names)
        scope = Scope(batch_ids=ids)
        batches = [one for one in open_batches(con, scope) if one.batch.batch_id in ids]
    problems: list[str] = []
    for one in batches:
        batch = one.batch
        provider = connect(batch.provider, batch.base_url, batch.mode)
        if abandon:
            with store.writing() as con:
                note(con, batch.batch_id, "refused", pace.now(), {"reason": "abandoned"})
            say(f"{batch.batch_id}: given up; what it had not delivered is due again")
        elif one.status == "prepared" or provider.answers_live:
            with store.writing() as con:
                note(con, batch.batch_id, "refused", pace.now(), {"reason": "cancelled"})
            say(f"{batch.batch_id}: nothing more of it will be sent")
        elif batch.remote_id is None:
            problems.append(f"{batch.batch_id}: not known yet whether it exists; resume finds out")
        elif not _is_proved(store, batch.batch_id):
            problems.append(
                f"{batch.batch_id}: {batch.remote_id} was found by its time and size, and could be "
                "somebody else's; it is not stopped"
            )
        else:
            try:
                provider.cancel(batch.remote_id)
                say(f"{batch.batch_id}: asked {batch.provider} to stop it")
            except Unreachable as error:
                problems.append(f"{batch.batch_id}: not cancelled: {error}")
    wait = wait and not problems
    standing = advance(store, scope, connect, pace, say, wait=wait, claim=False, prices=prices)
    standing.problems += problems
    return standing


def _is_proved(store: Store, batch_id: str) -> bool:
    """Tell whether the remote batch is surely the one we made."""
    with store.reading() as con:
        row = con.execute(
            "select arg_max(detail ->> 'proved', event_id) from batch_events "
            "where batch_id = $1 and status = 'submitted'",
            [batch_id],
        ).fetchone()
    return bool(row) and row != ("false",)
