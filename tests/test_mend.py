"""A kill in the middle of writing a block of metadata: the file opens by itself."""

from __future__ import annotations

import random
from pathlib import Path

import duckdb
import pytest

from cache.errors import StoreBroken
from cache.mend import location_of, seal
from cache.store import Store
from tests.running import Desk, needless

BLOCK, HEADERS = 262_144, 3 * 4096


def unused_metadata(db: Path) -> list[int]:
    """Where in the file parts of a metadata block lie that nothing refers to, in bytes."""
    with duckdb.connect(str(db)) as con:
        rows = con.execute("select block_id, total_blocks, free_list from pragma_metadata_info()")
        found = [
            HEADERS + block_id * BLOCK + 8 + part * ((BLOCK - 8) // 64 // 8 * 8)
            for block_id, total, free in rows.fetchall()
            for part in free
            if total
        ]
    assert found, "every part of every metadata block is in use"
    return found


def scribble(db: Path, at: int, n_bytes: int) -> bytes:
    """Overwrite some bytes, as a write that was cut short does; return the file as it is then."""
    data = bytearray(db.read_bytes())
    data[at : at + n_bytes] = random.Random(12).randbytes(n_bytes)
    db.write_bytes(data)
    return bytes(data)


def checkpointed(db: Path) -> Path:
    """The same database with nothing in its log."""
    with duckdb.connect(str(db)) as con:
        con.execute("checkpoint")
    return db


def test_b81_a_torn_block_of_metadata_is_sealed_when_the_file_is_opened(db: Path) -> None:
    """What was being written is gone, what was there is there, and no command says a word."""
    checkpointed(db)
    scribble(db, unused_metadata(db)[-1], 200)
    with pytest.raises(duckdb.Error, match="checksum"):
        duckdb.connect(str(db), read_only=True).close()
    result = needless(db, "status")
    assert result.exit_code == 0, result.output
    assert Desk(db).one("select count(*) from trajectories") == 16
    assert "opens, and all of it can be read" in " ".join(
        needless(db, "doctor", "--repair").stderr.split()
    )


def test_b81_metadata_that_is_in_use_and_damaged_is_not_sealed_over(db: Path) -> None:
    """A checksum is no secret: it is mended only where everything can be read afterwards."""
    checkpointed(db)
    with duckdb.connect(str(db)) as con:
        (row,) = con.execute("select block_id from pragma_metadata_info() limit 1").fetchall()
    first = HEADERS + row[0] * BLOCK + 8
    free = set(unused_metadata(db))
    used = next(at for at in range(first, first + BLOCK - 8192, 4088) if at not in free)
    damaged = scribble(db, used + 100, 3000)
    with pytest.raises(StoreBroken, match="--repair"):
        Store(db).verify()
    assert db.read_bytes() == damaged


def test_b81_a_file_that_is_not_as_the_error_says_is_left_alone(db: Path) -> None:
    """Somebody else may have mended it meanwhile."""
    checkpointed(db)
    before = db.read_bytes()
    text = f"computed checksum 1 does not match stored checksum 2 in block at location {HEADERS}"
    assert seal(db, text) is None
    assert seal(db, "another fault") is None
    assert location_of("another fault") is None
    assert db.read_bytes() == before
