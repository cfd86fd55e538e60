"""The paid tables as values: batches, their events, and the lines they carry."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import sql
from batcher.providers.base import Batch, Prompt
from batcher.selection import Selection, trajectory_ids
from cache.errors import UsageError
from cache.hashing import canonical
from cache.store import Connection, Store

_QUERIES = sql.read("queries")

#: Lines handed out at a time while a batch is answered line by line.
LINES_AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class Scope:
    """Whose prompts are meant: some selections', those of some batches, or (neither) everyone's.

    With ``again``, the number of a round, those that ask the selection's prompts again.
    """

    selections: tuple[Selection, ...] = ()
    batch_ids: tuple[str, ...] | None = None
    again: int | None = None


@dataclass(frozen=True, slots=True)
class OpenBatch:
    """A batch with its newest status, and since when it has had it."""

    batch: Batch
    status: str
    since: datetime
    key_fingerprint: str


def make_scope(con: Connection, scope: Scope) -> None:
    """Create the temporary table ``scope(prompt_hash, mode)``."""
    con.execute("create or replace temp table scope (prompt_hash uuid, mode varchar)")
    if scope.batch_ids is not None:
        _add(con, "carried", [list(scope.batch_ids)])
    elif not scope.selections:
        _add(con, "everything", [])
    for chosen in scope.selections:
        _add(
            con,
            "asked",
            [
                trajectory_ids(con, chosen),
                [strategy.digest for strategy in chosen.strategies],
                [str(judge) for judge in chosen.judges],
                chosen.gold,
                chosen.repeats,
            ],
        )
    if scope.again is not None:
        again = f"create or replace temp table scope as {_QUERIES['asked_again']}"
        con.execute(again, [scope.again])


def _add(con: Connection, query: str, values: list[object]) -> None:
    """Put the prompts that a query finds into the scope, each once."""
    con.execute(
        f"insert into scope select prompt_hash, mode from ({_QUERIES[query].rstrip().rstrip(';')}) "
        "anti join scope using (prompt_hash)",
        values,
    )


def note(
    con: Connection,
    batch_id: str,
    status: str,
    now: datetime,
    detail: Mapping[str, object] | None = None,
) -> None:
    """Append one event; a batch's status is its newest."""
    con.execute(
        'insert into batch_events (batch_id, status, "at", detail) values ($1, $2, $3, $4)',
        [batch_id, status, now, canonical(detail) if detail else None],
    )


def open_batches(con: Connection, scope: Scope) -> list[OpenBatch]:
    """Return the open batches that carry a prompt of ``scope``, oldest first."""
    make_scope(con, scope)
    rows = con.execute(
        "select batch_id, provider, base_url, endpoint, model, mode, token, n_prompts, created_at, "
        "remote_id, status, status_at, key_fingerprint from batch_states where is_open and "
        "batch_id in (select batch_id from batch_prompts join scope using (prompt_hash)) "
        "order by created_at, batch_id"
    ).fetchall()
    return [OpenBatch(Batch(*row[:10]), *row[10:]) for row in rows]


def known_remote_ids(con: Connection) -> frozenset[str]:
    """Return the provider's ids that surely are, or surely are not, those of certain batches."""
    rows = con.execute(
        "select remote_id from batches where remote_id is not null union "
        "select detail ->> 'foreign' from batch_events where detail ->> 'foreign' is not null"
    ).fetchall()
    return frozenset(row[0] for row in rows)


def resolve(con: Connection, names: Sequence[str]) -> tuple[str, ...]:
    """Return our ids of the batches called ``names`` (ours or the provider's)."""
    found: list[str] = []
    for name in names:
        rows = con.execute(
            "select batch_id from batches where batch_id = $1 or remote_id = $1 or token = $1",
            [name],
        ).fetchall()
        if not rows:
            raise UsageError(f"no batch is called {name!r}; `needless status` lists them")
        found += [row[0] for row in rows]
    return tuple(dict.fromkeys(found))


def lines(store: Store, batch_id: str) -> Iterator[Prompt]:
    """Yield a batch's unanswered lines; the file is closed between one lot and the next.

    For callers who take their time over a line.
    """
    first, last, count = _bounds(store, batch_id)
    stride = max(LINES_AT_ONCE, (last - first + 1) * LINES_AT_ONCE // max(1, count))
    for low in range(first, last + 1, stride):
        with store.reading() as con:
            rows = con.execute(
                _QUERIES["unanswered_lines"], [batch_id, low, min(low + stride - 1, last)]
            ).fetchall()
        yield from (Prompt(*row) for row in rows)


def all_lines(store: Store, batch_id: str) -> Iterator[Prompt]:
    """Yield a batch's unanswered lines in one session, for callers who write them down at once."""
    first, last, _ = _bounds(store, batch_id)
    with store.reading() as con:
        found = con.execute(_QUERIES["unanswered_lines"], [batch_id, first, last])
        while rows := found.fetchmany(LINES_AT_ONCE):
            yield from (Prompt(*row) for row in rows)
    store.rest()


def _bounds(store: Store, batch_id: str) -> tuple[int, int, int]:
    """First and last row of ``prompt_bodies`` that a batch needs, and how many it does."""
    with store.reading() as con:
        row = con.execute(
            "select coalesce(min(prompt_bodies.rowid), 0), coalesce(max(prompt_bodies.rowid), -1), "
            "count(*) from prompt_bodies "
            "semi join (from batch_prompts where batch_id = $1) using (prompt_hash)",
            [batch_id],
        ).fetchone()
    return row if row else (0, -1, 0)


def tally(con: Connection, scope: Scope) -> dict[str, int]:
    """Return how many of a scope's prompts are in each state of ``prompt_states``."""
    make_scope(con, scope)
    return dict(
        con.execute(
            "select state, count(*) from prompt_states "
            "semi join scope using (prompt_hash) group by state"
        ).fetchall()
    )


def given_up(con: Connection) -> tuple[int, str | None]:
    """Return how many prompts of the scope made last errors left unanswered, and what most say."""
    row = con.execute(
        "with told as (select prompt_hash, arg_max(error, received_at) as error from responses "
        "semi join scope using (prompt_hash) where outcome = 'error' group by prompt_hash) "
        "select count(*), left(mode(error), 300) from told "
        "join prompt_states using (prompt_hash) where state = 'given up'"
    ).fetchone()
    return row if row else (0, None)
