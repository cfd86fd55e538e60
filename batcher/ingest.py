"""Result lines into ``responses``: matched by id, each stored once, none silently chosen.

Storing the same results twice changes nothing, so a crash in the middle is answered by doing it
again.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime

from batcher.ledger import lines, note
from batcher.prices import Prices
from batcher.providers.base import Batch, Poll, Prompt, Provider, Reply
from batcher.queues import learn
from cache.bulk import load
from cache.errors import NotOurs
from cache.store import Connection, Store

#: Answers that come one by one are committed at least this often, in seconds and in number.
COMMIT_SECONDS = 2.0
COMMIT_REPLIES = 1_000

#: What a line that never came is called, by how its batch ended.
_ABSENT = {"expired": "expired", "cancelled": "cancelled"}


def ingest(
    store: Store,
    provider: Provider,
    batch: Batch,
    poll: Poll,
    now: Callable[[], datetime],
    prices: Prices | None = None,
    may_call: Callable[[], bool] = lambda: True,
) -> None:
    """Fetch the results of an ended batch and store them, then close the batch.

    Raises ``Unreachable`` when the results could not be had whole; nothing is lost then, and the
    batch stays open. Raises ``NotOurs`` when all of them are another batch's. A batch that failed
    as a whole closes as ``refused``: its prompts are due again, with no attempt used up.

    Live calls are made while ``may_call`` says so; with some left the batch stays open.
    Lines of a batch are priced by the time it was made, live answers by the time they came.
    """
    prices = prices or Prices()
    if poll.status == "failed":
        detail = {"reason": poll.problem, **poll.detail}
        with store.writing() as con:
            if poll.over:
                detail |= learn(con, batch, poll.over)
            note(con, batch.batch_id, "refused", now(), detail)
        return
    remote_id = batch.remote_id or batch.token
    left = False

    def pending() -> Iterator[Prompt]:
        nonlocal left
        for prompt in lines(store, batch.batch_id):
            if not may_call():
                left = True
                return
            yield prompt

    replies = provider.fetch(remote_id, pending())
    if provider.answers_live:
        for some in _lots(replies, now):
            with store.writing() as con:
                _store(con, batch, some, now(), prices)
        if left:
            return
        with store.writing() as con:
            _close(con, batch, poll, now())
        return
    everything = [reply for reply in replies if reply is not None]
    named = [reply.custom_id for reply in everything if reply.custom_id]
    ours = any(name.startswith(f"{batch.token}-") for name in named)
    if named and not ours and not provider.tags_batches:
        raise NotOurs(f"{remote_id} holds other requests than batch {batch.batch_id}")
    with store.writing() as con:
        _store(con, batch, everything, now(), prices)
        _close(con, batch, poll, now())


def _lots(replies: Iterator[Reply | None], now: Callable[[], datetime]) -> Iterator[list[Reply]]:
    """Group replies as they come, so that each paid answer is on disk soon after.

    What had come before an error or a Ctrl-C is handed on first.
    """
    lot: list[Reply] = []
    began = now()
    try:
        for reply in replies:
            if reply is not None:
                lot.append(reply)
            old = (now() - began).total_seconds() >= COMMIT_SECONDS
            if lot and (old or reply is None or len(lot) >= COMMIT_REPLIES):
                yield lot
                lot, began = [], now()
    except BaseException:
        if lot:
            yield lot
        raise
    if lot:
        yield lot


def _store(
    con: Connection, batch: Batch, replies: Sequence[Reply], now: datetime, prices: Prices
) -> None:
    known = dict(
        con.execute(
            "select custom_id, replace(prompt_hash::varchar, '-', '') from batch_prompts "
            "where batch_id = $1",
            [batch.batch_id],
        ).fetchall()
    )
    by_id: dict[str, dict[str, int]] = defaultdict(dict)
    for number, reply in enumerate(replies):
        if reply.custom_id in known:
            by_id[reply.custom_id or ""].setdefault(reply.raw, number)
    odd: list[tuple[int, str]] = []
    rows: list[dict[str, object]] = []
    for number, reply in enumerate(replies):
        custom_id = reply.custom_id or ""
        if custom_id not in known:
            odd.append((number, "unknown custom_id" if custom_id else "no custom_id"))
        elif len(by_id[custom_id]) > 1:
            # Two different answers to one line: neither can be trusted to be the paid one.
            odd.append((number, "one custom_id, different lines"))
        elif by_id[custom_id][reply.raw] == number:
            bill = _bill(batch, reply, now, prices)
            rows.append(_row(batch, reply, known[custom_id], now) | bill)
    load(con, "responses", rows, unless="batch_id, custom_id")
    load(
        con,
        "quarantine",
        (
            {
                "batch_id": batch.batch_id,
                "reason": reason,
                "line": number + 1,
                "raw": replies[number].raw,
                "at": now,
            }
            for number, reason in odd
        ),
        unless="batch_id, reason, raw",
    )


def _row(batch: Batch, reply: Reply, prompt_hash: str, now: datetime) -> dict[str, object]:
    return {
        "batch_id": batch.batch_id,
        "custom_id": reply.custom_id,
        "prompt_hash": prompt_hash,
        "outcome": reply.outcome,
        "text": reply.text,
        "finish_reason": reply.finish_reason,
        "model": reply.model,
        "error": reply.error,
        "is_transient": reply.is_transient,
        "input_tokens": reply.input_tokens,
        "cached_tokens": reply.cached_tokens,
        "write_5m_tokens": reply.write_5m_tokens,
        "write_1h_tokens": reply.write_1h_tokens,
        "output_tokens": reply.output_tokens,
        "reasoning_tokens": reply.reasoning_tokens,
        "received_at": now,
        "raw": reply.raw,
    }


def _bill(batch: Batch, reply: Reply, now: datetime, prices: Prices) -> dict[str, object]:
    """Return what a reply cost and by which prices, every field NULL where that is not known."""
    found = prices.priced(
        batch.provider,
        reply.model or batch.model,
        batch.mode,
        now if batch.mode == "live" else batch.created_at,
        input_tokens=reply.input_tokens,
        cached_tokens=reply.cached_tokens,
        write_5m_tokens=reply.write_5m_tokens,
        write_1h_tokens=reply.write_1h_tokens,
        output_tokens=reply.output_tokens,
    )
    rates = found.rates if found else None
    return {
        "cost_usd": found.usd if found else None,
        "list_usd": found.list_usd if found else None,
        "usd_per_m_input": rates.input if rates else None,
        "usd_per_m_cached": rates.cached if rates else None,
        "usd_per_m_write_5m": rates.write_5m if rates else None,
        "usd_per_m_write_1h": rates.write_1h if rates else None,
        "usd_per_m_output": rates.output if rates else None,
        "price_source": rates.source if rates else None,
    }


def _close(con: Connection, batch: Batch, poll: Poll, now: datetime) -> None:
    """Give every line that never came a response that says so, and close the batch."""
    outcome = _ABSENT.get(poll.status, "missing")
    con.execute(
        "insert into responses by name select batch_id, custom_id, prompt_hash, $2 as outcome, "
        "false as is_transient, $3::timestamptz as received_at from batch_prompts "
        "anti join responses using (batch_id, custom_id) where batch_id = $1",
        [batch.batch_id, outcome, now],
    )
    note(con, batch.batch_id, "ingested", now, {"ended": poll.status})
