"""The one way forward: look at everything open, move it on, sleep with the file closed, repeat.

A first run, a resumed one and one after a crash are the same code: all that is known is read from
the database each time round.
"""

from __future__ import annotations

from collections.abc import Callable

from batcher.ledger import Scope, make_scope, open_batches
from batcher.move import Mover, Standing
from batcher.pace import Holds, Pace
from batcher.predict import predict
from batcher.prepare import Prepared, prepare
from batcher.prices import Prices
from batcher.providers.base import Batch, Connect
from batcher.widen import widen
from cache.errors import MissingKey, Refused
from cache.store import Store

__all__ = ["Pace", "Standing", "advance"]


def advance(
    store: Store,
    scope: Scope,
    connect: Connect,
    pace: Pace,
    say: Callable[[str], None],
    *,
    wait: bool = True,
    collect: bool = True,
    claim: bool = True,
    keep_remote: bool = False,
    prices: Prices | None = None,
) -> Standing:
    """Send what is due and bring home what has ended, until nothing of ``scope`` is open.

    Without ``wait`` it looks round once; without ``collect`` it only sends; without ``claim`` it
    starts no new batch. Problems that stop a batch for good are told in the result; passing ones
    are waited out.
    """
    pause = pace.pauses()
    problems: dict[str, None] = {}  # each told once
    halted: set[str] = set()
    waits: set[str] = set()
    holds = Holds()
    if collect:
        predict(store)  # what is answered already needs no batch
    while True:
        # After a refusal nothing new is claimed: the same lines would be refused again.
        prepared = Prepared()
        if claim and not problems:
            prepared = prepare(store, scope, connect, pace.now(), prices or Prices())
        problems |= dict.fromkeys(prepared.problems)
        try:
            standing = Standing()
            mover = Mover(store, connect, pace, say, standing, holds, collect, keep_remote, prices)
            _look_round(mover, scope, halted)
        except BaseException:
            predict(store)  # what came in before a Ctrl-C is read all the same
            raise
        problems |= dict.fromkeys(standing.problems)
        for sentence in standing.waits:
            if sentence not in waits:
                say(sentence)
        waits.update(standing.waits)
        standing.problems = list(problems)
        standing.over_budget = prepared.over_budget
        if collect and standing.changed:
            predict(store)
        if collect and claim and not problems and (cut := widen(store, scope, pace.now())):
            say(f"{cut} answers were cut short: asking once more, with more room")
        # What came in has freed what was set aside for it; only then is the cap final.
        is_broke = bool(prepared.over_budget) and not (prepared.made or standing.changed)
        more = claim and not problems and not is_broke and _due(store, scope)
        if more and standing.cut:
            continue  # nothing to wait for
        if not collect or not wait or (not standing.open and not more):
            return standing
        if standing.open or standing.held_back:
            pace.sleep(max(standing.wait, pause(standing.changed or prepared.made > 0)))


def _look_round(mover: Mover, scope: Scope, halted: set[str]) -> None:
    """Look at every open batch once.

    Left alone are those whose account or key said no (``halted``), and for now those whose
    provider named a time.
    """
    standing = mover.standing
    still_open: list[Batch] = []
    with mover.store.reading() as con:
        batches = open_batches(con, scope)
    for one in batches:
        if one.batch.batch_id in halted:
            standing.parked += 1
            continue
        try:
            held = mover.holds.wait(one.batch, mover.pace.now()) > 0
            status = one.status if held else mover.move(one)
        except (MissingKey, Refused) as error:
            standing.problems.append(f"{one.batch.batch_id}: {error}")
            halted.add(one.batch.batch_id)
            status = "parked"
        standing.changed |= status != one.status
        if status == "parked":
            standing.parked += 1
        elif status not in ("ingested", "refused"):
            standing.open += 1
            still_open.append(one.batch)
    now = mover.pace.now()
    standing.wait = min((mover.holds.wait(batch, now) for batch in still_open), default=0.0)


def _due(store: Store, scope: Scope) -> bool:
    with store.reading() as con:
        make_scope(con, scope)
        row = con.execute(
            "select count(*) from scope join prompt_states using (prompt_hash) "
            "where state = 'due' and n_bytes > 0"  # without its body it waits to be asked again
        ).fetchone()
    return bool(row and row[0])
