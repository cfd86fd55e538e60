"""One process at a time moves batches on, and only with the key that they were sent with."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from cache.errors import StoreLocked
from cache.hashing import digest
from cache.lease import lease
from tests.conftest import Serve
from tests.running import JUDGE, Desk, needless, running, until
from tests.vendors import CLAUDE, ONE, call, for_all
from tests.wire.service import Faults

OFFLINE = ("--judge", "offline:rules", "--limit", "1", "--strategy", "all_to_all")


@pytest.fixture(name="serve")
def for_claude(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> Serve:
    return for_all(serve, monkeypatch)


def test_a_second_worker_is_refused_and_readers_are_not(serve: Serve, db: Path) -> None:
    """While one process runs, four commands are refused with its number; two go on reading.

    Killed without a chance to tidy up, it leaves nothing in the way.
    """
    service = serve()
    service.hold()
    with running(db, "run", "--judge", CLAUDE, "--limit", "1", "--poll", "0.05"):
        until(lambda: service.log()["polls"] > 1)
        number = db.with_name(f"{db.name}.owner").read_text("utf-8").split()[-1]
        os.kill(int(number), 0)
        for command in (
            ("run", *OFFLINE),
            ("submit", *OFFLINE),
            ("resume",),
            ("cancel", "any"),
        ):
            refused = needless(db, *command)
            assert refused.exit_code == 1
            assert re.search(rf"process {number} is already working on it", refused.stderr)
        assert needless(db, "report").exit_code == 0
        counted = needless(db, "query", "select count(*) as n from batches", "--format", "csv")
        assert counted.stdout.split() == ["n", "1"]
        assert (len(service.log()["creates"]), service.log()["cancelled"]) == (1, [])
    service.release()
    assert needless(db, "resume", "--poll", "0.05").exit_code == 0
    assert len(service.log()["creates"]) == 1


def test_what_a_dead_owner_left_does_no_harm(db: Path) -> None:
    """A note of who worked on it says nothing once the lock is gone, and need not be there."""
    owner = db.with_name(f"{db.name}.owner")
    owner.write_text("process 1", "utf-8")
    with lease(db):
        assert owner.read_text("utf-8") == f"process {os.getpid()}"
        owner.unlink()
        with pytest.raises(StoreLocked, match="another process is already working"), lease(db):
            pass
    assert not owner.exists()
    with lease(db):
        pass


def test_an_error_frees_the_lease(db: Path) -> None:
    """However the work ends, the next worker can begin."""
    with pytest.raises(KeyboardInterrupt), lease(db):
        raise KeyboardInterrupt
    assert needless(db, "run", *OFFLINE).exit_code == 0


def test_two_databases_are_two_leases(db: Path, tmp_path: Path) -> None:
    """Work on one file does not hold up work on another."""
    with lease(db), lease(tmp_path / "other.duckdb"):
        pass


@pytest.mark.parametrize(
    ("judge", "variable", "route"),
    [
        (JUDGE, "OPENAI_API_KEY", "batches"),
        (CLAUDE, "ANTHROPIC_API_KEY", "messages.batches"),
    ],
)
def test_b06_a_batch_in_doubt_is_not_looked_for_with_another_key(
    serve: Serve, desk: Desk, monkeypatch: pytest.MonkeyPatch, judge: str, variable: str, route: str
) -> None:
    """Another key may not see it: both keys are named, nothing is looked for or created.

    With the first key it is found again.
    """
    lost = (call(f"{route}.create", "drop_after"),)
    service = serve(Faults(calls=lost, scope_to_key=True))
    desk.advance(desk.ask(judge, **ONE), wait=False)
    before = service.log()["calls"]
    monkeypatch.setenv(variable, "k2")
    other = Desk(desk.store.path)
    ended = other.advance()
    assert ended.code == 1
    assert all(digest(key) in ended.message for key in ("k1", "k2"))
    assert not re.search(r"\bk[12]\b", ended.message)
    assert service.log()["calls"] == before
    assert other.states() == {"in flight": 1}
    assert desk.advance().code == 0
    assert len(service.log()["creates"]) == service.log()["calls"][f"{route}.create"] == 1
