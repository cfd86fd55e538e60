"""One batch, moved on as far as it goes now."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime

from batcher.hours import cheap_from
from batcher.ingest import ingest
from batcher.ledger import OpenBatch, note
from batcher.pace import Holds, Pace
from batcher.prices import Prices
from batcher.providers.base import Batch, Connect, Poll, Provider
from batcher.submit import disown, is_doubtful, send, settle_doubt
from cache.errors import NotOurs, NotVisible, ProviderError, Unreachable
from cache.store import Store


@dataclass(slots=True)
class Standing:
    """Where things are after one look round.

    ``held_back``: something waits for room at a provider; ``cut``: a batch was too large, and what
    it held can go out again at once, in smaller ones; ``wait``: so many seconds must pass before
    any open batch may be asked for. ``over_budget`` tells what the cap on the cost holds back,
    ``waits`` what waits for cheap hours.
    """

    open: int = 0
    parked: int = 0
    held_back: bool = False
    cut: bool = False
    changed: bool = False
    over_budget: str = ""
    waits: list[str] = field(default_factory=list)
    wait: float = 0.0
    problems: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Mover:
    """Moves batches on, and writes into ``standing`` what it came to.

    Without ``collect`` batches are only sent; with ``keep_remote`` nothing is deleted remotely.
    """

    store: Store
    connect: Connect
    pace: Pace
    say: Callable[[str], None]
    standing: Standing
    holds: Holds
    collect: bool = True
    keep_remote: bool = False
    prices: Prices | None = None

    def move(self, one: OpenBatch) -> str:
        """Move one batch on; return its status. Raises ``MissingKey`` and ``Refused``."""
        batch = one.batch
        provider = self.connect(batch.provider, batch.base_url, batch.mode)
        if provider.answers_live and not self.pace.may_call(batch.provider):
            cheap = cheap_from(batch.provider, self.pace.now())
            self.standing.waits.append(f"{batch.provider} is asked from {cheap:%a %H:%M} UTC on")
            return one.status
        if is_doubtful(one.status):
            found = self._settled(provider, one)
            if found is not None:
                return found
            one = self._again(one)
        if one.status == "prepared":
            if not provider.tags_batches and self._doubts(batch):
                self.say(f"{batch.batch_id}: waits until it is known what became of another batch")
                return one.status
            problem = send(self.store, provider, batch, self.pace.now, self._heard(batch))
            one = self._again(one)
            if problem:
                return self._not_sent(one, problem)
            if not provider.answers_live:
                who = f"{batch.provider}:{batch.model}"
                self.say(f"{batch.batch_id}: sent {batch.n_prompts} prompts to {who}")
        if not self.collect or one.batch.remote_id is None:
            return one.status
        try:
            poll = provider.poll(one.batch.remote_id)
        except Unreachable as error:
            self._heard(batch)(error)
            self.say(f"{batch.batch_id}: cannot be asked now: {error}")
            return one.status
        except NotVisible as error:
            return self._park(one, str(error), since=batch.created_at)
        return self._bring_home(provider, one, poll)

    def _settled(self, provider: Provider, one: OpenBatch) -> str | None:
        """Find out what became of a create; return a status where it is still not known."""
        batch = one.batch
        if provider.key_fingerprint != one.key_fingerprint:
            # Another key may not see it; sending it again would then pay for it twice.
            self.standing.problems.append(
                f"{batch.batch_id}: it may exist at {batch.provider}, created with the key "
                f"{one.key_fingerprint}; the key now set is {provider.key_fingerprint}. Set the "
                "first one again, so that it can be looked for"
            )
            return "parked"
        found = settle_doubt(
            self.store,
            provider,
            one,
            self.pace.now(),
            doubt=self.pace.doubt,
            heard=self._heard(batch),
        )
        if found == "unknown":
            where = f"looking for it at {batch.provider}"
            self.say(f"{batch.batch_id}: its creation is in doubt; {where}")
            return one.status
        if found == "adopted":
            self.say(f"{batch.batch_id}: found at {batch.provider} and adopted")
        return None

    def _not_sent(self, one: OpenBatch, problem: str) -> str:
        batch_id = one.batch.batch_id
        self.say(f"{batch_id}: not sent: {problem}")
        if one.status == "refused":
            self._refused(one.batch, problem)
        return one.status

    def _refused(self, batch: Batch, problem: str) -> None:
        """Tell a batch that was too much, and will fit in time, from one that stays refused."""
        with self.store.reading() as con:
            row = con.execute(
                "select detail ->> 'queue_limit' is not null or detail ->> 'queue_lines' is not "
                "null, detail ->> 'line_limit' is not null or detail ->> 'byte_limit' is not null "
                "from batch_states where batch_id = $1",
                [batch.batch_id],
            ).fetchone()
        waits, is_cut = row if row else (False, False)
        if waits:
            self.standing.held_back = True
        elif is_cut:
            self.standing.cut = True
        else:
            self.standing.problems.append(f"{batch.batch_id}: {problem}")

    def _bring_home(self, provider: Provider, one: OpenBatch, poll: Poll) -> str:
        """Write down what a poll said, and store the results if the batch has ended."""
        batch = one.batch
        if poll.status != one.status and one.status != "parked":
            self._note(batch.batch_id, poll.status, **poll.detail)
            if not provider.answers_live:
                self.say(f"{batch.batch_id}: {poll.status}{_counts(poll)}")
        if not poll.is_terminal:
            if self.pace.now() - batch.created_at > self.pace.max_age:
                return self._park(one, self._stuck(one, poll), since=batch.created_at)
            return poll.status
        try:
            ingest(
                self.store,
                provider,
                batch,
                poll,
                self.pace.now,
                self.prices,
                may_call=lambda: self.pace.may_call(batch.provider),
            )
        except Unreachable as error:
            self._heard(batch)(error)
            self.say(f"{batch.batch_id}: its results cannot be had now: {error}")
            return poll.status
        except NotVisible as error:
            return self._park(one, f"its results are gone: {error}", since=one.since)
        except NotOurs as error:
            self.say(f"{batch.batch_id}: {error}; looking for it again")
            disown(self.store, batch, self.pace.now())
            return "in_doubt"
        if poll.status == "failed":
            self._refused(batch, f"failed at {batch.provider}: {poll.problem}")
        if not self.keep_remote:
            provider.clean(batch.remote_id or "")
        if not provider.answers_live:
            self.say(f"{batch.batch_id}: results stored")
        return self._again(one).status

    def _stuck(self, one: OpenBatch, poll: Poll) -> str:
        age = self.pace.now() - one.batch.created_at
        return (
            f"still {poll.status}{_counts(poll)} after {age.total_seconds() / 3600:.1f} hours, "
            f"and may be stuck; `needless cancel --abandon {one.batch.batch_id}` gives it up, so "
            "that `needless resume` sends its prompts again (what it did may be paid for twice)"
        )

    def _park(self, one: OpenBatch, reason: str, *, since: datetime) -> str:
        """Set a batch aside that does not come home; its prompts stay spoken for.

        Nothing is sent again by itself: what is not visible may have been paid for.
        """
        if self.pace.now() - since < self.pace.grace:
            return one.status
        if one.status != "parked":
            self._note(one.batch.batch_id, "parked", reason=reason)
            self.say(f"{one.batch.batch_id}: set aside: {reason}")
        return "parked"

    def _again(self, one: OpenBatch) -> OpenBatch:
        """Read a batch anew, after something was written about it."""
        with self.store.reading() as con:
            row = con.execute(
                "select remote_id, status, status_at from batch_states where batch_id = $1",
                [one.batch.batch_id],
            ).fetchone()
        assert row is not None, "paid rows are never removed"
        return replace(one, batch=replace(one.batch, remote_id=row[0]), status=row[1], since=row[2])

    def _doubts(self, batch: Batch) -> bool:
        """Tell whether the fate of another batch at the same provider is not known."""
        with self.store.reading() as con:
            rows = con.execute(
                "select status from batch_states where is_open and batch_id != $1 "
                "and provider = $2 and base_url = $3",
                [batch.batch_id, batch.provider, batch.base_url],
            ).fetchall()
        return any(is_doubtful(row[0]) for row in rows)

    def _heard(self, batch: Batch) -> Callable[[ProviderError], None]:
        """Return what takes note of an error that a call for ``batch`` ended with."""
        return lambda error: self.holds.heard(batch, error, self.pace.now())

    def _note(self, batch_id: str, status: str, **detail: object) -> None:
        with self.store.writing() as con:
            note(con, batch_id, status, self.pace.now(), detail)


def _counts(poll: Poll) -> str:
    done, total = poll.detail.get("completed"), poll.detail.get("total")
    return f" ({done} of {total})" if done is not None and total else ""
