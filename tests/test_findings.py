"""Promises that are not kept yet; each moves to the file of its noun once it is."""

from __future__ import annotations

import random
import shutil
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from batcher.providers.base import Limits
from cache.store import Store, load
from tests.conftest import Serve
from tests.running import ROOT, Desk, Endless, needless, report, running, until
from tests.wire.service import CallFault, Faults, LineFault


def once(line: LineFault) -> Faults:
    return Faults(lines=(replace(line, times=1),))


def test_b40_an_id_nobody_sent_is_kept_apart(serve: Serve, desk: Desk) -> None:
    """A line with an unknown id is stored as it came, beside the others."""
    service = serve(once(LineFault("unknown_id")))
    assert desk.run().code == 0
    assert desk.rows("select reason, contains(raw, 'nobody-sent-this') from quarantine") == [
        ("unknown custom_id", True)
    ]
    assert len(service.log()["creates"]) == 1


def test_two_different_lines_under_one_id_are_kept_and_neither_is_believed(
    serve: Serve, desk: Desk
) -> None:
    """Neither of two answers to one line counts; both stay readable, the prompt is asked anew."""
    service = serve(once(LineFault("duplicate_other")))
    assert desk.run().code == 0
    assert desk.rows("select reason, count(*) from quarantine group by 1") == [
        ("one custom_id, different lines", 2)
    ]
    assert [one["lines"] for one in service.log()["creates"]] == [10, 1]


def test_a_corrupt_line_costs_one_answer(serve: Serve, desk: Desk) -> None:
    """Half a line inside a file is kept as it came; its prompt is asked again."""
    service = serve(once(LineFault("corrupt")))
    assert desk.run().code == 0
    assert desk.rows("select reason from quarantine") == [("no custom_id",)]
    assert desk.outcomes() == {"ok": 10, "missing": 1}
    assert [one["lines"] for one in service.log()["creates"]] == [10, 1]


def test_a_corrupt_last_line_of_a_whole_file_costs_one_answer(serve: Serve, desk: Desk) -> None:
    """A file as long as announced whose last line is broken is not downloaded for ever."""
    serve(once(LineFault("corrupt")))
    assert desk.run(strategies=("all_to_all",), limit=1).code == 0
    assert desk.outcomes() == {"ok": 1, "missing": 1}


def test_a_status_200_without_a_body_is_asked_again(serve: Serve, desk: Desk) -> None:
    """A line that says 200 and holds nothing is the provider's fault, which may pass."""
    service = serve(once(LineFault("body_null")))
    assert desk.run().code == 0
    assert [one["lines"] for one in service.log()["creates"]] == [10, 1]


def test_a_create_in_doubt_stays_in_doubt_while_the_list_cannot_be_read(
    serve: Serve, desk: Desk
) -> None:
    """A list answered with a web page says nothing: it is read again, and nothing is created."""
    service = serve(
        Faults(
            calls=(
                CallFault("batches.create", "drop_after"),
                CallFault("batches.list", "html", times=3),
            )
        )
    )
    assert desk.run().code == 0
    assert len(service.log()["creates"]) == 1


def test_results_are_not_lost_to_a_server_that_lags(serve: Serve, desk: Desk) -> None:
    """The look before the download meets a server that has not heard of the end yet.

    What was paid for is not called missing.
    """
    service = serve(Faults(calls=(CallFault("batches.retrieve", "backwards", 2, 1),)))
    assert desk.run().code == 0
    assert len(service.log()["creates"]) == 1
    assert desk.outcomes() == {"ok": 10}


def test_results_that_are_gone_do_not_keep_the_run_waiting(serve: Serve, desk: Desk) -> None:
    """Result files that were deleted or have expired: the run ends and says so."""
    service = serve(Faults(calls=(CallFault("files.content", "status", status=404, times=0),)))
    assert desk.run().code in (1, 3, 4)
    assert len(service.log()["creates"]) == 1


def test_b13_one_batch_larger_than_the_queue_is_not_sent_for_ever(serve: Serve, desk: Desk) -> None:
    """With nothing else in the queue a batch that is refused as too large is cut or given up."""
    service = serve(Faults(token_limits={"gpt-4o-mini": 3000}))
    ended = desk.run()
    assert ended.code in (0, 1)
    assert len(service.log()["creates"]) < 20


def test_b13_a_queue_that_stays_full_is_not_hammered(serve: Serve, db: Path) -> None:
    """Between two batches refused for a full queue the program sleeps."""
    service = serve(Faults(token_limits={"gpt-4o-mini": 10}))
    desk = Desk(db, limits=Limits(requests=5, bytes=10**6, line_bytes=10**6))
    with suppress(Endless):
        desk.run(limit=1)
    assert len(service.log()["creates"]) <= 2 * (len(desk.naps) + 1)


def test_a_batch_that_ended_before_it_was_cancelled_is_whole(serve: Serve, desk: Desk) -> None:
    """A server that answers a late cancel with 409 is one whose batch has ended: no fault."""
    service = serve(Faults(cancel_terminal=409))
    names = desk.send()
    assert desk.cancel(*names).open == 0
    assert desk.outcomes() == {"ok": 10}
    assert service.log()["calls"]["batches.cancel"] == 1


def test_b56_an_offline_run_killed_in_the_middle_goes_on(db: Path, tmp_path: Path) -> None:
    """Killed over and over, it ends with the report of an undisturbed run, each prompt once."""
    ask = ("run", "--judge", "offline:random", "--judge", "offline:rules", "--repeats", "12")
    quiet = Path(shutil.copy(db, tmp_path / "quiet.duckdb"))
    assert needless(quiet, *ask).exit_code == 0
    moments = random.Random(56)
    for _ in range(3):
        with running(db, *ask):
            started = time.monotonic()
            until(lambda: Path(f"{db}.wal").exists())
            time.sleep(moments.uniform(0, time.monotonic() - started))
    assert needless(db, *ask).exit_code == 0
    desk = Desk(db)
    assert desk.one("select count(*) from responses") == desk.one("select count(*) from prompts")
    assert desk.one("select count(*) from (select distinct prompt_hash from responses)") == (
        desk.one("select count(*) from prompts")
    )
    assert report(db) == report(quiet)


def test_b51_predictions_that_are_gone_are_made_again(serve: Serve, desk: Desk) -> None:
    """Readings and predictions are derived: a rerun makes the same ones again for nothing."""
    service = serve()
    desk.run()
    before = desk.rows("from predictions order by all")
    with desk.store.writing() as con:
        con.execute("delete from predictions")
        con.execute("delete from readings")
    assert desk.run().code == 0
    assert desk.rows("from predictions order by all") == before
    assert len(service.log()["creates"]) == 1


def test_a_question_whose_answer_is_known_is_answered_from_it(
    serve: Serve, desk: Desk, tmp_path: Path
) -> None:
    """Two strategies that ask the same words share the answers, and both have predictions."""
    service = serve()
    desk.run(strategies=("one_to_one",), limit=1)
    text = (ROOT / "prompts" / "one_to_one.toml").read_text("utf-8")
    (tmp_path / "twin.toml").write_text(text.replace('scope = "step"', 'k = 1\nscope = "step"'))
    assert desk.run(strategies=("twin",), limit=1, prompts=tmp_path).code == 0
    assert len(service.log()["creates"]) == 1
    assert desk.rows("select strategy, count(*) from predictions group by 1 order by 1") == [
        ("one_to_one", 5),
        ("twin", 5),
    ]


def test_defaults_in_a_file_are_named_like_the_flags(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In needless.toml ``judge`` and ``strategy`` mean --judge and --strategy."""
    monkeypatch.chdir(tmp_path)
    Path("needless.toml").write_text(
        '[run]\nlimit = 1\nstrategy = ["all_to_all"]\njudge = ["offline:rules"]'
    )
    assert needless(None, "run").exit_code == 0
    assert Desk(Path("needless.duckdb")).one("select count(*) from requests") == 1


def test_a_default_nobody_reads_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A misspelt key or command in needless.toml is refused, not ignored: it may cost money."""
    monkeypatch.chdir(tmp_path)
    for text, word in (("[run]\nlimt = 1", "limt"), ("[rum]\nlimit = 1", "rum")):
        Path("needless.toml").write_text(text)
        result = needless(None, "run", "--judge", "offline:rules", "--limit", "1")
        assert (result.exit_code, word in result.stderr) == (2, True)


def test_load_keeps_the_order_of_what_is_new(tmp_path: Path) -> None:
    """Of rows some of which are there already, the new ones are stored in their own order."""
    store = Store(tmp_path / "n.duckdb")
    rows = [{"batch_id": f"b{n}", "custom_id": "c", "state": "ok"} for n in range(3010)]
    with store.writing() as con:
        load(con, "readings", rows[:3000])
        load(con, "readings", rows, unless="batch_id, custom_id")
    ids = [row[0] for row in store.query("select batch_id from readings order by rowid")[1]]
    assert ids == [row["batch_id"] for row in rows]
