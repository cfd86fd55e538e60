"""Promises of the Anthropic and the live providers that are not kept yet."""

from __future__ import annotations

import signal
import time
from pathlib import Path

import pytest

from tests.conftest import Serve
from tests.running import JUDGE, Desk, program, until
from tests.test_injection import MARK, hostile, made, prompts
from tests.vendors import CLAUDE, LIVE, ONE, call, for_all, in_turn, store_all, struck
from tests.wire.service import Faults, Settings

CREATE, LIST = "messages.batches.create", "messages.batches.list"
RETRIEVE = "messages.batches.retrieve"


@pytest.fixture(name="serve")
def for_claude(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> Serve:
    return for_all(serve, monkeypatch)


def test_a_list_that_cannot_be_read_is_read_again(serve: Serve, desk: Desk) -> None:
    """A create is in doubt and the list is a web page: no news, so neither a crash nor a create."""
    service = serve(Faults(calls=(call(CREATE, "drop_after"), call(LIST, "html", times=3))))
    assert desk.run(CLAUDE, **ONE).code == 0
    assert service.log()["calls"][CREATE] == 1


def test_counts_may_be_absent(serve: Serve, desk: Desk) -> None:
    """A server that shows no counts is looked at like any other."""
    service = serve(struck(RETRIEVE, "counts_null", times=0))
    assert desk.run(CLAUDE, **ONE).code == 0
    assert len(service.log()["creates"]) == 1


def test_counts_may_be_absent_from_the_list(serve: Serve, desk: Desk) -> None:
    """A batch of unknown size may be ours as well: its results tell."""
    rules = (call(CREATE, "drop_after"), call(LIST, "counts_null", times=0))
    service = serve(Faults(calls=rules))
    assert desk.run(CLAUDE, **ONE).code == 0
    assert service.log()["calls"][CREATE] == 1


def test_archived_results_are_set_aside(serve: Serve, desk: Desk) -> None:
    """Results are kept 29 days; after that the run ends and says so, and sends nothing again."""
    service = serve(None, Settings(in_progress=0, message_result_life=0))
    ended = desk.run(CLAUDE, **ONE)
    assert (ended.code, ended.standing.parked) == (3, 1)
    assert len(service.log()["creates"]) == 1


def test_a_late_cancel_that_answers_409_is_no_fault(serve: Serve, desk: Desk) -> None:
    """A batch that ended before it was cancelled is stored as it is, whatever is answered."""
    serve(Faults(cancel_terminal=409))
    names = desk.send(CLAUDE, **ONE)
    assert desk.cancel(*names).open == 0
    assert desk.outcomes() == {"ok": 1}


def test_a_candidate_whose_results_cannot_be_read_yet_is_looked_at_again(
    serve: Serve, desk: Desk
) -> None:
    """A lost create whose batch has ended, with results that answer 404 for a moment: wait."""
    results = call("messages.batches.results", "status", status=404, times=2)
    service = serve(Faults(calls=(call(CREATE, "drop_after"), results)))
    assert desk.run(CLAUDE, **ONE).code == 0
    assert service.log()["calls"][CREATE] == 1


def test_b03_a_candidate_is_proved_by_any_of_its_lines(serve: Serve, desk: Desk) -> None:
    """The first result of a lost batch is broken: the others prove it, and it is not paid twice."""
    faults = in_turn("corrupt", calls=(call(CREATE, "drop_after"),))
    service = serve(faults)
    assert desk.run(CLAUDE).code == 0
    assert [one["lines"] for one in service.log()["creates"]] == [10, 1]
    assert desk.outcomes() == {"ok": 10, "missing": 1}


def test_a_corrupt_last_line_of_whole_results_costs_one_answer(serve: Serve, desk: Desk) -> None:
    """Results that came whole and end in half a line are not downloaded for ever."""
    serve(in_turn("corrupt"))
    assert desk.run(CLAUDE, **ONE).code == 0
    assert desk.outcomes() == {"ok": 1, "missing": 1}


def test_a_result_that_holds_nothing_is_asked_again(serve: Serve, desk: Desk) -> None:
    """A line without a result, or a success without a message, is a fault that may pass."""
    service = serve(in_turn("no_response_key", "body_null"))
    assert desk.run(CLAUDE).code == 0
    assert [one["lines"] for one in service.log()["creates"]] == [10, 2]


def test_b52_a_prompt_asked_in_a_batch_and_live_is_paid_once(serve: Serve, desk: Desk) -> None:
    """One run with both modes of one judge: their bodies are the same, so one answer serves."""
    service = serve()
    assert desk.run(JUDGE, f"{JUDGE}?mode=live").code == 0
    assert set(service.log()["bodies"].values()) == {1}
    assert desk.one("select count(*) from predictions") == 20


def test_a_second_ctrl_c_ends_the_program_at_once(serve: Serve, db: Path) -> None:
    """Whoever presses it twice does not wait for calls that may take a quarter of an hour."""
    service = serve(struck("chat.create", "delay", times=0, seconds=30))
    with program(db, "run", "--judge", LIVE, "--limit", "1", "--poll", "0.05") as process:
        try:
            until(lambda: service.log()["chat_calls"] >= 4)
            process.send_signal(signal.SIGINT)
            time.sleep(0.4)
            process.send_signal(signal.SIGINT)
            assert process.wait(timeout=4) in (3, -signal.SIGINT)
        finally:
            process.kill()


def test_a_tool_name_that_is_a_sentence_is_quoted(serve: Serve, tmp_path: Path) -> None:
    """A tool may be called like an instruction: its name, too, stands behind the mark."""
    serve()
    lured = Desk(tmp_path / "hostile.duckdb")
    store_all(lured.store, (made(number, name=hostile) for number in range(2)))
    lured.ask(JUDGE, strategies=("one_to_one",), limit=None)
    for _, user in prompts(lured):
        assert all(line.startswith("| ") for line in user.splitlines() if MARK in line)
