"""A database file that does not open, made to open: damage is moved aside, never deleted."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from cache.errors import StoreBroken, StoreError
from cache.journal import path_of
from cache.store import Store

#: What comes from files. All other tables are saved together or not at all: with half of what was
#: paid for, something would be paid again.
INPUTS = ("trajectories", "messages", "steps", "annotations", "labels")

#: The write-ahead log, and what a checkpoint that was cut short leaves of it.
_LOGS = (".wal", ".wal.checkpoint", ".wal.recovery")


def reopen(store: Store, now: datetime) -> list[str]:
    """Make the file open; return what was done, in sentences, nothing where it opened at once.

    First without its write-ahead log, then as a new file with what can be read of the old one.
    Raises ``StoreError`` where it is not the file's content that is wrong, or it never was ours.
    """
    try:
        store.verify()
        return []
    except StoreBroken as error:
        said = [str(error).partition("; ")[0]]
    database = store.path.resolve()
    if _is_foreign(database):
        raise StoreError(
            f"{database}: does not begin like a DuckDB database, and no journal of batches lies "
            "beside it, so there is nothing to bring back; move it away, or name another with --db"
        )
    stamp = f"broken-{now:%Y%m%d-%H%M%S}"
    logs = [path for end in _LOGS if (path := database.with_name(database.name + end)).exists()]
    if logs:
        moved = ", ".join(str(_aside(log, stamp)) for log in logs)
        said.append(f"the write-ahead log was moved to {moved}")
        try:
            store.verify()
        except StoreBroken:
            pass
        else:
            return [*said, "the database opens without it: the last change or so is missing"]
    damaged = _aside(database, stamp)
    said.append(f"the damaged file was moved to {damaged}, and a new database made")
    with Store(store.path).writing():
        pass
    return [*said, save(store, damaged)]


def save(store: Store, damaged: Path) -> str:
    """Copy what can be read of the damaged file, and say what that is."""
    inputs = store.copy(damaged, lambda table: table in INPUTS)
    paid = store.copy(damaged, lambda table: table not in (*INPUTS, "schema_versions"))
    if paid:
        with store.writing() as con:  # new events must come after those that were copied
            con.execute(
                "select max(nextval('event_ids')) from "
                "range((select coalesce(max(event_id), 0) from batch_events))"
            )
    saved = [
        words
        for done, words in ((inputs, "trajectories and labels"), (paid, "prompts and answers"))
        if done
    ]
    if len(saved) == 2:
        return "everything in it could be read and was copied"
    lost = "import the trajectories again; " if not inputs else ""
    return f"{' and '.join(saved) or 'nothing'} could be copied from it; {lost}".rstrip("; ")


def _is_foreign(database: Path) -> bool:
    """Tell whether a file with something in it shows no sign of having been a database."""
    with database.open("rb") as file:
        head = file.read(12)
    return bool(head) and head[8:] != b"DUCK" and not path_of(database).exists()


def _aside(path: Path, stamp: str) -> Path:
    """Rename a file; no file is ever replaced."""
    target = path.with_name(f"{path.name}.{stamp}")
    number = 2
    while target.exists():
        target = path.with_name(f"{path.name}.{stamp}-{number}")
        number += 1
    return path.rename(target)
