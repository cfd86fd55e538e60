"""Who works on a database file: one process at a time may move batches on.

DuckDB's own lock lasts for a transaction; between two of them a second process could send the
same batch. The lease is an operating system's lock on a file beside the database, so it ends with
its process, however that ends. Reading needs no lease.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from cache.errors import StoreLocked


@contextmanager
def lease(database: Path) -> Iterator[None]:
    """Hold the lease; raises ``StoreLocked`` naming the process that has it."""
    database = database.resolve()  # a link is the same file
    path = database.with_name(f"{database.name}.lease")
    owner = database.with_name(f"{database.name}.owner")
    lock = FileLock(path)
    try:
        lock.acquire(timeout=0)
    except Timeout as error:
        raise StoreLocked(
            f"{database}: {_owner(owner)} is already working on it; wait for it to end, or stop it "
            "and then `needless resume`. Reports and queries work meanwhile"
        ) from error
    except OSError as error:
        raise StoreLocked(f"{path}: cannot be locked: {error.strerror}") from error
    try:
        owner.write_text(f"process {os.getpid()}", "utf-8")
        yield
    finally:
        owner.unlink(missing_ok=True)
        lock.release()


def _owner(path: Path) -> str:
    try:
        return path.read_text("utf-8") or "another process"
    except OSError:
        return "another process"
