"""Prompts that are due into batches that fit: rows and claims, in one transaction, nothing sent.

Before thousands of lines go out with settings that a model may refuse line by line, hours later,
one line goes alone.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import groupby
from typing import Any

import sql
from batcher.budget import Budget, budget, dollars
from batcher.estimate import Outlooks, bill
from batcher.ledger import Scope, make_scope, note
from batcher.pack import Due, fits, pack
from batcher.prices import Prices
from batcher.providers.base import Connect, Limits, Provider
from batcher.queues import room_of
from cache.bulk import load
from cache.store import Connection, Store

_DUE = sql.read("queries")["due"]

#: Lines that may be refused one by one before settings are called unusable.
PROBES = 3


@dataclass(slots=True)
class Prepared:
    """How many batches were made, and why some prompts were not put into one.

    ``over_budget`` tells what the cap on the cost holds back for now; "" where nothing.
    """

    made: int = 0
    problems: list[str] = field(default_factory=list)
    over_budget: str = ""


def prepare(
    store: Store, scope: Scope, connect: Connect, now: datetime, prices: Prices
) -> Prepared:
    """Claim every due prompt of ``scope`` that may be sent now for a new batch.

    Raises ``MissingKey`` before anything is claimed.
    """
    done = Prepared()
    with store.writing() as con:
        make_scope(con, scope)
        rows = con.execute(_DUE).fetchall()
        purse, outlooks = budget(con), Outlooks(con)
        held: list[Due] = []
        for where, group in groupby(rows, key=lambda row: row[:5]):
            provider = connect(where[0], where[1], where[4])
            room, limits = room_of(con, where, provider.limits)
            due = [_priced(where, row[5:], outlooks, now, prices) for row in group]
            too_large = [one for one in due if not fits(one, limits)]
            if too_large:
                _give_up(con, where, too_large, limits, now)
            places = limits.open_batches - _under_way(con, where)
            fitting = [one for one in due if fits(one, limits)]
            if unpriced := sum(not purse.takes(one) for one in fitting):
                done.problems.append(
                    f"{where[0]}:{where[3]} has no known price, so {unpriced} prompts were not "
                    "sent under --max-cost; give it one in prices.toml, or add --allow-unpriced"
                )
                fitting = [one for one in fitting if purse.takes(one)]
            for some in _cleared(con, where, fitting, provider, done):
                for shard in pack(some, limits):
                    if places <= 0 or not room.takes(shard):
                        break  # the rest stays due until something of ours has left the queue
                    paid = purse.afford(shard)
                    held += shard[len(paid) :]
                    if not paid:
                        continue
                    shard = paid
                    _claim(con, where, shard, provider.key_fingerprint, now)
                    places -= 1
                    done.made += 1
        if held:
            done.over_budget = _over(purse, held)
    return done


def _priced(
    where: Sequence[str], row: Sequence[Any], outlooks: Outlooks, now: datetime, prices: Prices
) -> Due:
    *fields, judge, strategy, answer = row
    due = Due(*fields)
    outlook = outlooks.of(judge, strategy, answer)
    found = bill(prices, where[0], where[3], where[4], now, outlook, due.n_input_tokens)
    if found is None:
        return due
    return replace(due, expected_usd=found.likely, reserved_usd=found.high)


def _over(purse: Budget, held: Sequence[Due]) -> str:
    likely, high = (
        sum(getattr(one, name) or 0.0 for one in held) for name in ("expected_usd", "reserved_usd")
    )
    if purse.is_blind:
        return (
            f"{purse}, but what {purse.n_unreserved} prompts in open batches may cost is not "
            f"known; {len(held)} prompts wait until those are answered, or for --allow-unpriced"
        )
    return (
        f"{purse}; {len(held)} prompts remain, about {dollars(likely)} and {dollars(high)} at "
        "most: raise --max-cost to send them"
    )


def _under_way(con: Connection, where: Sequence[str]) -> int:
    """Count our open batches at a provider."""
    row = con.execute(
        "select count(*) from batch_states where is_open and provider = $1 and base_url = $2",
        [where[0], where[1]],
    ).fetchone()
    return row[0] if row else 0


def _cleared(
    con: Connection, where: Sequence[str], due: list[Due], provider: Provider, done: Prepared
) -> Iterator[list[Due]]:
    """Yield the prompts that may go out now: all, or one as a probe of settings never tried."""
    by_settings: dict[str, list[Due]] = {}
    for one in due:
        by_settings.setdefault(one.settings, []).append(one)
    cleared: list[Due] = []
    for settings, some in by_settings.items():
        if provider.answers_live or len(some) < provider.limits.probe_from:
            cleared += some
            continue
        row = con.execute(
            "select is_proven, refusals, in_flight, newest_error from settings_proof "
            "where provider = $1 and base_url = $2 and model = $3 and settings = $4",
            [where[0], where[1], where[3], settings],
        ).fetchone()
        is_proven, refusals, in_flight, error = row or (False, 0, 0, None)
        if is_proven:
            cleared += some
        elif refusals >= PROBES:
            done.problems.append(
                f"{where[0]}:{where[3]} refused {refusals} of {refusals} lines, so {len(some)} "
                f"more were not sent: {error}"
            )
        elif not in_flight:
            yield some[:1]
    if cleared:
        yield cleared


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
                "expected_usd": due.expected_usd,
                "reserved_usd": due.reserved_usd,
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
