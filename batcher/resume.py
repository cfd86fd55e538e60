"""The one way forward: look at everything open, move it on, sleep with the file closed, repeat.

A first run, a resumed one and one after a crash are the same code: all that is known is read from
the database each time round.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from batcher.ingest import ingest
from batcher.ledger import OpenBatch, Scope, make_scope, note, open_batches
from batcher.predict import predict
from batcher.providers.base import Batch, Poll, Provider
from batcher.submit import DOUBT, Connect, disown, is_doubtful, prepare, send, settle_doubt
from cache.errors import MissingKey, NotOurs, NotVisible, Refused, Unreachable
from cache.store import Store

#: A batch unknown to its provider may be one that its servers have not all heard of yet.
GRACE = timedelta(minutes=5)


@dataclass(frozen=True, slots=True)
class Pace:
    """Time, as parameters: what the hour is, how to sleep, and how long between two looks."""

    now: Callable[[], datetime]
    sleep: Callable[[float], None]
    first: float = 15.0
    longest: float = 300.0
    growth: float = 1.5
    doubt: timedelta = DOUBT
    grace: timedelta = GRACE

    def pauses(self) -> Callable[[bool], float]:
        """Return a function that gives the next pause; it starts anew after a change."""
        at = self.first

        def pause(changed: bool) -> float:
            nonlocal at
            at = self.first if changed else min(at * self.growth, self.longest)
            return at * random.uniform(0.8, 1.0)

        return pause


@dataclass(slots=True)
class Standing:
    """Where things are after one look round."""

    open: int = 0
    parked: int = 0
    held_back: bool = False
    changed: bool = False
    problems: list[str] = field(default_factory=list)


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
) -> Standing:
    """Send what is due and bring home what has ended, until nothing of ``scope`` is open.

    Without ``wait`` it looks round once; without ``collect`` it only sends; without ``claim`` it
    starts no new batch. Problems that stop a batch for good are told in the result; passing ones
    are waited out.
    """
    pause = pace.pauses()
    problems: dict[str, None] = {}  # each told once
    halted: set[str] = set()
    if collect:
        predict(store)  # what is answered already needs no batch
    while True:
        # After a refusal nothing new is claimed: the same lines would be refused again.
        made = 0 if problems or not claim else prepare(store, scope, connect, pace.now())
        try:
            standing = _look_round(store, scope, connect, pace, say, halted, collect=collect)
        except BaseException:
            predict(store)  # what came in before a Ctrl-C is read all the same
            raise
        problems |= dict.fromkeys(standing.problems)
        standing.problems = list(problems)
        if collect and standing.changed:
            predict(store)
        more = claim and not problems and _due(store, scope)
        if not collect or not wait or (not standing.open and not more):
            return standing
        if standing.open or standing.held_back:
            pace.sleep(pause(standing.changed or made > 0))


def _look_round(
    store: Store,
    scope: Scope,
    connect: Connect,
    pace: Pace,
    say: Callable[[str], None],
    halted: set[str],
    *,
    collect: bool,
) -> Standing:
    """Look at every open batch once, but for those whose account or key said no (``halted``)."""
    standing = Standing()
    with store.reading() as con:
        batches = open_batches(con, scope)
    for one in batches:
        before = one.status
        if one.batch.batch_id in halted:
            standing.parked += 1
            continue
        try:
            status = _move(store, one, connect, pace, say, standing, collect=collect)
        except (MissingKey, Refused) as error:
            standing.problems.append(f"{one.batch.batch_id}: {error}")
            halted.add(one.batch.batch_id)
            status = "parked"
        standing.changed |= status != before
        if status == "parked":
            standing.parked += 1
        elif status not in ("ingested", "refused"):
            standing.open += 1
    return standing


def _move(
    store: Store,
    one: OpenBatch,
    connect: Connect,
    pace: Pace,
    say: Callable[[str], None],
    standing: Standing,
    *,
    collect: bool,
) -> str:
    """Move one batch on as far as it goes now; return its status."""
    batch = one.batch
    provider = connect(batch.provider, batch.base_url, batch.mode)
    if is_doubtful(one.status):
        if provider.key_fingerprint != one.key_fingerprint:
            # Another key may not see it; sending it again would then pay for it twice.
            standing.problems.append(
                f"{batch.batch_id}: it may exist at {batch.provider}, created with the key "
                f"{one.key_fingerprint}; the key now set is {provider.key_fingerprint}. Set the "
                "first one again, so that it can be looked for"
            )
            return "parked"
        found = settle_doubt(store, provider, one, pace.now(), doubt=pace.doubt)
        if found == "unknown":
            say(f"{batch.batch_id}: its creation is in doubt; looking for it at {batch.provider}")
            return one.status
        if found == "adopted":
            say(f"{batch.batch_id}: found at {batch.provider} and adopted")
        one = _again(store, one)
    if one.status == "prepared" and not provider.tags_batches and _doubts(store, batch):
        say(f"{batch.batch_id}: waits until it is known what became of another batch")
        return one.status
    if one.status == "prepared":
        problem = send(store, provider, batch, pace.now)
        one = _again(store, one)
        if problem:
            say(f"{batch.batch_id}: not sent: {problem}")
            if _is_held_back(store, batch):
                standing.held_back = True
            elif one.status == "refused":
                standing.problems.append(f"{batch.batch_id}: {problem}")
            return one.status
        if not provider.answers_live:
            who = f"{batch.provider}:{batch.model}"
            say(f"{batch.batch_id}: sent {batch.n_prompts} prompts to {who}")
    if not collect or one.batch.remote_id is None:
        return one.status
    try:
        poll = provider.poll(one.batch.remote_id)
    except Unreachable as error:
        say(f"{batch.batch_id}: cannot be asked now: {error}")
        return one.status
    except NotVisible as error:
        return _park(store, one, pace, say, str(error), since=batch.created_at)
    return _bring_home(store, provider, one, poll, pace, say, standing)


def _bring_home(
    store: Store,
    provider: Provider,
    one: OpenBatch,
    poll: Poll,
    pace: Pace,
    say: Callable[[str], None],
    standing: Standing,
) -> str:
    """Write down what a poll said, and store the results if the batch has ended."""
    batch = one.batch
    tell = (lambda _: None) if provider.answers_live else say
    if poll.status != one.status:
        _note(store, batch.batch_id, poll.status, pace.now(), **poll.detail)
        tell(f"{batch.batch_id}: {poll.status}{_counts(poll)}")
    if not poll.is_terminal:
        return poll.status
    try:
        ingest(store, provider, batch, poll, pace.now)
    except Unreachable as error:
        say(f"{batch.batch_id}: its results cannot be had now: {error}")
        return poll.status
    except NotVisible as error:
        return _park(store, one, pace, say, f"its results are gone: {error}", since=one.since)
    except NotOurs as error:
        say(f"{batch.batch_id}: {error}; looking for it again")
        disown(store, batch, pace.now())
        return "in_doubt"
    if poll.queue_full:
        standing.held_back = True
    elif poll.status == "failed":
        standing.problems.append(f"{batch.batch_id}: failed at {batch.provider}: {poll.problem}")
    provider.clean(batch.remote_id or "")
    tell(f"{batch.batch_id}: results stored")
    return _again(store, one).status


def _park(
    store: Store,
    one: OpenBatch,
    pace: Pace,
    say: Callable[[str], None],
    reason: str,
    *,
    since: datetime,
) -> str:
    """Set a batch aside that its provider does not show; its prompts stay spoken for.

    Nothing is sent again: what is not visible may have been paid for.
    """
    if pace.now() - since < pace.grace:
        return one.status
    if one.status != "parked":
        _note(store, one.batch.batch_id, "parked", pace.now(), reason=reason)
        say(f"{one.batch.batch_id}: set aside: {reason}")
    return "parked"


def _is_held_back(store: Store, batch: Batch) -> bool:
    """Tell whether a batch was refused only because too much was waiting already."""
    with store.reading() as con:
        row = con.execute(
            "select detail ->> 'queue_limit' from batch_states where batch_id = $1",
            [batch.batch_id],
        ).fetchone()
    return bool(row and row[0])


def _again(store: Store, one: OpenBatch) -> OpenBatch:
    """Read a batch anew, after something was written about it."""
    with store.reading() as con:
        row = con.execute(
            "select remote_id, status, status_at from batch_states where batch_id = $1",
            [one.batch.batch_id],
        ).fetchone()
    assert row is not None, "paid rows are never removed"
    return replace(one, batch=replace(one.batch, remote_id=row[0]), status=row[1], since=row[2])


def _counts(poll: Poll) -> str:
    done, total = poll.detail.get("completed"), poll.detail.get("total")
    return f" ({done} of {total})" if done is not None and total else ""


def _doubts(store: Store, batch: Batch) -> bool:
    """Tell whether the fate of another batch at the same provider is not known."""
    with store.reading() as con:
        rows = con.execute(
            "select status from batch_states where is_open and batch_id != $1 and provider = $2 "
            "and base_url = $3",
            [batch.batch_id, batch.provider, batch.base_url],
        ).fetchall()
    return any(is_doubtful(row[0]) for row in rows)


def _note(store: Store, batch_id: str, status: str, now: datetime, **detail: object) -> None:
    with store.writing() as con:
        note(con, batch_id, status, now, detail)


def _due(store: Store, scope: Scope) -> bool:
    with store.reading() as con:
        make_scope(con, scope)
        row = con.execute(
            "select count(*) from scope join prompt_states using (prompt_hash) where state = 'due'"
        ).fetchone()
    return bool(row and row[0])
