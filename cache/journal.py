"""A second memory of what was bought: ``<database>.batches.jsonl``, one JSON line an event.

A batch is written down here before its provider hears of it, and again when the provider's id is
known, each time down to the disk. From these lines a database that was lost can be given back
every batch, and so the results that were paid for. They hold no key and no text of a prompt, but
the custom ids, since those carry the prompt hashes: 46 bytes a line of a batch, 46 MB a million.
Lines are only ever appended; one that a kill cut short is skipped when they are read.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from datetime import datetime
from pathlib import Path

import msgspec

from cache.errors import StoreError
from cache.store import Connection


class Announced(msgspec.Struct, frozen=True, tag_field="event", tag="creating"):
    """A batch that is about to be created: its row in ``batches``."""

    batch_id: str
    provider: str
    base_url: str
    endpoint: str
    model: str
    mode: str
    token: str
    n_prompts: int
    n_bytes: int
    n_input_tokens: int
    lines_sha256: str
    key_fingerprint: str
    created_at: datetime


class _Line(Announced, frozen=True, tag_field="event", tag="creating"):
    """The same with its custom ids, as it is written."""

    custom_ids: list[str]


class Named(msgspec.Struct, frozen=True, tag_field="event", tag="submitted"):
    """What a provider calls a batch; not ``proved`` when the id may yet be another's."""

    batch_id: str
    remote_id: str
    proved: bool


class Entry(msgspec.Struct):
    """All that is known of one batch: how often its creation was begun, and its newest id."""

    batch: Announced
    creations: int = 1
    named: Named | None = None


def path_of(database: Path) -> Path:
    """Return where the journal of a database lies; a link has that of its file."""
    database = database.resolve()
    return database.with_name(f"{database.name}.batches.jsonl")


def announce(con: Connection, database: Path, batch_id: str) -> None:
    """Write down a batch that is about to be created, with the open ``database`` as its source."""
    names = Announced.__struct_fields__
    row = con.execute(
        f"select {', '.join(names)} from batches where batch_id = $1", [batch_id]
    ).fetchone()
    assert row is not None, "paid rows are never removed"
    ids = con.execute(
        "select custom_id from batch_prompts where batch_id = $1 order by rowid", [batch_id]
    ).fetchall()
    found = dict(zip(names, row, strict=True)) | {"custom_ids": [one for (one,) in ids]}
    _append(database, msgspec.convert(found | {"event": "creating"}, _Line))


def name(database: Path, batch_id: str, remote_id: str, *, proved: bool) -> None:
    """Write down the provider's id of a batch."""
    _append(database, Named(batch_id, remote_id, proved))


def read(database: Path) -> dict[str, Entry]:
    """Return ``{batch id: entry}``, oldest first; empty where there is no journal."""
    entries: dict[str, Entry] = {}
    decoder = msgspec.json.Decoder(Announced | Named)
    for line in _lines(database):
        try:
            event = decoder.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError):
            continue  # cut short: what it was to announce had not been begun
        entry = entries.get(event.batch_id)
        if isinstance(event, Announced):
            if entry is None:
                entries[event.batch_id] = Entry(event)
            else:
                entry.creations += 1
        elif entry is not None:
            entry.named = event
    return entries


def custom_ids(database: Path, batch_ids: Collection[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield (batch id, its custom ids in their order), once for each of some batches."""
    left = set(batch_ids)
    decoder = msgspec.json.Decoder(_Line | Named)
    for line in _lines(database) if left else ():
        try:
            event = decoder.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError):
            continue
        if isinstance(event, _Line) and event.batch_id in left:
            left.remove(event.batch_id)
            yield event.batch_id, event.custom_ids


def _lines(database: Path) -> Iterator[bytes]:
    path = path_of(database)
    try:
        with path.open("rb") as file:
            yield from file
    except FileNotFoundError:
        return
    except OSError as error:
        raise StoreError(f"{path}: cannot be read: {error.strerror}") from error


def _append(database: Path, event: msgspec.Struct) -> None:
    """Add one line and wait until it is on the disk."""
    path = path_of(database)
    try:
        is_new = not path.exists()
        with path.open("ab+") as file:
            if file.tell():
                file.seek(-1, os.SEEK_END)
                if file.read(1) != b"\n":  # the end of a write that was cut short
                    file.write(b"\n")
            file.write(msgspec.json.encode(event) + b"\n")
            file.flush()
            os.fsync(file.fileno())
        if is_new and os.name == "posix":  # its name has to be on the disk as well
            folder = os.open(path.parent, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)
    except OSError as error:
        raise StoreError(
            f"{path}: cannot be written: {error.strerror}; nothing is sent that is not written down"
        ) from error
