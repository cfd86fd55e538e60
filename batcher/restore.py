"""Batches that the journal knows and the database has forgotten, put back so that they are fetched.

A database forgets when its file or its write-ahead log is lost. A batch whose provider's id is in
the journal is ``submitted`` again; one without is ``in_doubt``, and is looked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from batcher.ledger import note
from cache import journal
from cache.bulk import load
from cache.journal import Entry
from cache.repair import reopen
from cache.store import Connection, Store

_BORN = "select min(applied_at) from schema_versions where version > 0"
_KNOWN = """
select
    batches.batch_id,
    count(*) filter (where status = 'creating'),
    coalesce(list(detail ->> 'remote_id') filter (where status = 'submitted'), [])
from batches
left join batch_events using (batch_id)
group by batches.batch_id
"""


class _Known(NamedTuple):
    """What a database has of a batch: how often it was created, and every id it ever had."""

    creations: int
    remote_ids: list[str]


class _Lost(NamedTuple):
    """A batch as the journal has it, and as the database does (None: not at all)."""

    entry: Entry
    known: _Known | None


def announce(con: Connection, database: Path, batch_id: str) -> str | None:
    """Write a batch into the journal, before its create; or return why it cannot be created.

    The bodies of a batch that was put back are known only once they were asked for again.
    """
    bare = con.execute(
        "select count(*) from batch_prompts join prompts using (prompt_hash) "
        "where batch_id = $1 and n_bytes = 0",
        [batch_id],
    ).fetchone()
    if bare and bare[0]:
        return (
            "it is not at the provider, and the bodies of its prompts went with a lost database; "
            "import the trajectories again, and `needless run` (or `recheck`) asks anew"
        )
    journal.announce(con, database, batch_id)
    return None


def complete(con: Connection, rows: Iterable[dict[str, object]]) -> None:
    """Fill in prompts that were put back without their bodies; ``rows`` are of ``prompts``."""
    found = list(rows)
    if found:
        con.execute(
            "update prompts set settings = found.settings, n_bytes = found.n_bytes, "
            "n_input_tokens = found.n_input_tokens from (select "
            "unnest($1::varchar[])::uuid as prompt_hash, unnest($2::varchar[]) as settings, "
            "unnest($3::integer[]) as n_bytes, unnest($4::integer[]) as n_input_tokens) as found "
            "where prompts.prompt_hash = found.prompt_hash and prompts.n_bytes = 0",
            [
                [row[name] for row in found]
                for name in ("prompt_hash", "settings", "n_bytes", "n_input_tokens")
            ],
        )


def forgotten(store: Store) -> int:
    """Return how many batches the journal knows more of than the database does."""
    return len(_lost(store, earlier=True))


def repaired(store: Store, now: datetime) -> Iterator[str]:
    """Make the database usable and complete; yield what was done, sentence by sentence."""
    done = reopen(store, now)
    yield from done or [f"{store.path}: opens, and all of it can be read"]
    put_back = restore(store, now, earlier=True)
    yield from put_back or ["the journal knows of no batch that the database lacks"]


def restore(store: Store, now: datetime, *, earlier: bool) -> list[str]:
    """Put back what the database has forgotten of its batches; return a sentence about each.

    Doing it again changes nothing. With ``earlier`` also those from before the database was made:
    they are a lost database's, or those of one that was deleted on purpose.
    """
    lost = _lost(store, earlier=earlier)
    if not lost:
        return []
    said: list[str] = []
    with store.writing() as con:
        new = {one.entry.batch.batch_id: one.entry for one in lost if one.known is None}
        for batch_id, ids in journal.custom_ids(store.path, new):
            _insert(con, new[batch_id], ids)
        for one in lost:
            said.append(_catch_up(con, one, now))
    return said


def _lost(store: Store, *, earlier: bool) -> list[_Lost]:
    entries = journal.read(store.path)
    if not entries:
        return []
    with store.reading() as con:
        known = {row[0]: _Known(*row[1:]) for row in con.execute(_KNOWN).fetchall()}
        row = con.execute(_BORN).fetchone()
    lost: list[_Lost] = []
    for batch_id, entry in entries.items():
        have = known.get(batch_id)
        if have is None:
            if earlier or not row or entry.batch.created_at >= row[0]:
                lost.append(_Lost(entry, None))
        elif entry.named is None:
            if entry.creations > have.creations:
                lost.append(_Lost(entry, have))
        elif entry.named.remote_id not in have.remote_ids:
            lost.append(_Lost(entry, have))
    return lost


def _insert(con: Connection, entry: Entry, custom_ids: Sequence[str]) -> None:
    """Store a batch, its lines, and its prompts as far as they are known: without their bodies."""
    batch = entry.batch
    load(con, "batches", [batch_row(entry)])
    lines = [(custom_id, *custom_id.split("-")[1:]) for custom_id in custom_ids]
    load(
        con,
        "batch_prompts",
        (
            {
                "batch_id": batch.batch_id,
                "custom_id": custom_id,
                "prompt_hash": prompt_hash,
                "attempt": int(attempt),
            }
            for custom_id, prompt_hash, attempt in lines
        ),
    )
    load(
        con,
        "prompts",
        (
            {
                "prompt_hash": prompt_hash,
                "provider": batch.provider,
                "base_url": batch.base_url,
                "endpoint": batch.endpoint,
                "model": batch.model,
                "n_bytes": 0,
                "n_input_tokens": 0,
                "created_at": batch.created_at,
            }
            for prompt_hash in dict.fromkeys(line[1] for line in lines)
        ),
        unless="prompt_hash",
    )


def batch_row(entry: Entry) -> dict[str, object]:
    """Return a batch's row of ``batches``."""
    batch = entry.batch
    return {name: getattr(batch, name) for name in batch.__struct_fields__}


def _catch_up(con: Connection, lost: _Lost, now: datetime) -> str:
    """Append the events that are missing, and say so."""
    entry, known = lost
    batch_id = entry.batch.batch_id
    reason = "put back from the journal"
    for _ in range(entry.creations - (known.creations if known else 0)):
        note(con, batch_id, "creating", now, {"reason": reason})
    what = f"batch {batch_id}: put back, {entry.batch.n_prompts} prompts"
    if entry.named is None:
        note(con, batch_id, "in_doubt", now, {"reason": reason})
        return f"{what}; it may exist at {entry.batch.provider}, `needless resume` looks for it"
    remote_id = entry.named.remote_id
    con.execute("update batches set remote_id = $2 where batch_id = $1", [batch_id, remote_id])
    detail = {"reason": reason, "remote_id": remote_id, "proved": entry.named.proved}
    note(con, batch_id, "submitted", now, detail)
    return f"{what}; `needless resume` fetches the results of {remote_id}"
