"""A block of metadata whose last write a kill cut in two, sealed again.

DuckDB writes new metadata into the free parts of a block that also holds metadata in use, and for
that rewrites the whole block in place. A process killed in the middle of this leaves the parts in
use as they were, part of a new text where nothing refers to it yet, and the checksum of a block
that was never finished. Opening the file then fails although nothing is lost. Found by killing the
program some two thousand times (DuckDB 2.0.1).

What is written is the checksum that DuckDB itself computed; the caller reads everything afterwards.
"""

from __future__ import annotations

import os
import re
import struct
from pathlib import Path

_TORN = re.compile(
    r"computed checksum (\d+) does not match stored checksum (\d+) in block at location (\d+)"
)


def location_of(text: str) -> int | None:
    """Return where the block lies that an error of DuckDB's finds torn, in bytes."""
    found = _TORN.search(text)
    return int(found[3]) if found else None


def seal(path: Path, text: str) -> bytes | None:
    """Give the block that an error names the checksum of what it holds; return the one it had.

    None, and nothing is changed, where the error names no block, the file is not as the error
    says, or another process has it. Only for errors of *opening* a file, which reads metadata and
    nothing else: in a block of rows a wrong checksum means wrong rows.
    """
    found = _TORN.search(text)
    if found is None:
        return None
    computed, stored, location = map(int, found.groups())
    with path.open("r+b") as file:
        if not _locked(file.fileno()):
            return None
        file.seek(location)
        before = file.read(8)
        if before != struct.pack("<Q", stored):
            return None
        file.seek(location)
        file.write(struct.pack("<Q", computed))
        file.flush()
        os.fsync(file.fileno())
    return before


def unseal(path: Path, text: str, before: bytes) -> None:
    """Put the checksum back that ``seal`` returned."""
    location = location_of(text)
    assert location is not None
    with path.open("r+b") as file:
        file.seek(location)
        file.write(before)


def _locked(descriptor: int) -> bool:
    """Take the lock that DuckDB takes, so that no other process is writing."""
    try:
        import fcntl
    except ModuleNotFoundError:  # Windows does not let two processes open the file at all
        return True
    try:
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
