"""Batches that do not end, and what is left at a provider."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from tests.conftest import Serve
from tests.running import Desk, needless

ASK = ("run", "--judge", "openai:gpt-4o-mini", "--limit", "1", "--strategy", "all_to_all")


def test_a_batch_that_never_ends_is_set_aside_with_advice(
    serve: Serve, db: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Older than --max-age and still running: said, with the command that sends it again."""
    service = serve()
    service.hold()
    stuck = needless(db, *ASK, "--poll", "0.05", "--max-age", "0.0004")
    assert stuck.exit_code == 3
    batch_id = Desk(db).one("select batch_id from batches")
    assert f"needless cancel --abandon {batch_id}" in stuck.stderr
    assert Desk(db).states() == {"in flight": 1}


def test_an_abandoned_batch_is_sent_again(serve: Serve, db: Path) -> None:
    """Given up by hand, its prompts are due, and the next resume sends them in a new batch."""
    service = serve()
    service.hold()
    assert needless(db, *ASK, "--poll", "0.05", "--max-age", "0.0004").exit_code == 3
    batch_id = Desk(db).one("select batch_id from batches")
    assert needless(db, "cancel", "--abandon", batch_id).exit_code == 0
    assert Desk(db).states() == {"due": 1}
    assert service.log()["cancelled"] == []
    service.release()
    assert needless(db, "resume", "--poll", "0.05").exit_code == 0
    assert len(service.log()["creates"]) == 2
    assert Desk(db).states() == {"answered": 1}


def test_a_batch_set_aside_that_ends_after_all_comes_home(serve: Serve, desk: Desk) -> None:
    """What was called stuck is looked at each time, and its results are stored when they come."""
    service = serve()
    service.hold()
    patient = desk.pace
    desk.pace = type(patient)(
        patient.now, patient.sleep, first=0.005, grace=timedelta(0), max_age=timedelta(0)
    )
    assert desk.run(limit=1).code == 3
    service.release()
    assert desk.advance().code == 0
    assert len(service.log()["creates"]) == 1


@pytest.mark.parametrize(("flag", "deleted"), [((), 1), (("--keep-remote",), 0)])
def test_input_files_are_deleted_unless_they_are_to_be_kept(
    serve: Serve, db: Path, flag: tuple[str, ...], deleted: int
) -> None:
    """After its results are stored a batch leaves no input file behind, but for --keep-remote."""
    service = serve()
    assert needless(db, *ASK, "--poll", "0.05", *flag).exit_code == 0
    assert service.log()["deletes"] == deleted
