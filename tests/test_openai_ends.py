"""How a batch ends: what was finished is kept and paid for, the rest is asked again."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest

from batcher.providers.base import Limits
from tests.conftest import Serve
from tests.running import JUDGE, Desk, Endless
from tests.wire.service import CallFault, Faults

THREE = Limits(requests=3, bytes=10**6, line_bytes=10**6)


def test_b26_expired_batch_keeps_what_was_paid(serve: Serve, desk: Desk) -> None:
    """Six of ten lines ran before the window closed: six are kept, four are sent again.

    No attempt is used up by what never ran.
    """
    service = serve()
    service.hold()
    desk.send()
    service.expire(service.log()["creates"][0]["batch_id"], done=6)
    service.release()
    assert desk.advance().code == 0
    assert [one["lines"] for one in service.log()["creates"]] == [10, 4]
    assert desk.outcomes() == {"ok": 10, "expired": 4}
    assert desk.attempts() == {1}
    assert set(service.log()["answered_bodies"].values()) == {1}
    assert desk.one("select count(*) from responses where cost_usd > 0") == 10


def test_b61_an_expired_batch_is_priced_as_far_as_it_ran(serve: Serve, desk: Desk) -> None:
    """The cost of an expired batch is that of its finished lines."""
    service = serve()
    service.hold()
    desk.send()
    service.expire(service.log()["creates"][0]["batch_id"], done=6)
    desk.advance(wait=False)
    billed = service.log()["tokens"]
    assert desk.rows(
        "select sum(input_tokens)::bigint, sum(output_tokens)::bigint from responses "
        "where cost_usd > 0"
    ) == [(billed["prompt"], billed["completion"])]
    assert desk.one("select count(*) from responses where cost_usd > 0") == 6


def test_b09_cancelled_batches_keep_what_they_had_finished(serve: Serve, db: Path) -> None:
    """Three batches stopped at 40 %: four answers of each ten are kept, nothing is sent anew."""
    service = serve()
    service.hold(done=4)
    desk = Desk(db)
    names = desk.send(JUDGE, "openai:gpt-4.1-mini", "openai:gpt-5-mini")
    standing = desk.cancel(*names)
    assert (standing.open, standing.problems) == (0, [])
    assert len(service.log()["creates"]) == len(service.log()["cancelled"]) == 3
    assert desk.outcomes() == {"ok": 12, "cancelled": 18}
    assert desk.one("select count(*) from responses where cost_usd > 0") == 12
    assert desk.states() == {"answered": 12, "due": 18}
    service.release()
    assert desk.advance().code == 0
    assert desk.attempts() == {1}
    assert set(service.log()["answered_bodies"].values()) == {1}


def test_a_batch_that_ended_before_it_was_cancelled_is_stored(serve: Serve, desk: Desk) -> None:
    """Cancelling too late is no fault: the results are stored as they are, whatever is answered."""
    service = serve()
    for number, answer in enumerate((400, 200)):
        service.set_faults(Faults.parse({"cancel_terminal": answer}))
        names = desk.send(f"{JUDGE}?seed={number}")
        assert desk.cancel(names[-1]).open == 0
    assert desk.outcomes() == {"ok": 20}


def test_cancel_takes_back_what_was_not_sent_yet(serve: Serve, desk: Desk) -> None:
    """A batch that is only prepared is never sent once it is cancelled."""
    service = serve(Faults(calls=(CallFault("batches.create", "status", status=429, times=0),)))
    desk.advance(desk.ask(), wait=False)
    desk.cancel(desk.one("select batch_id from batches"))
    service.set_faults(Faults())
    assert desk.states() == {"due": 10}
    assert service.log()["creates"] == []


def test_b07_a_batch_that_fails_its_validation_is_told_and_cleaned_up(
    serve: Serve, desk: Desk
) -> None:
    """Accepted, then failed: the reason is kept, the prompts are due again, the run ends at once.

    The uploaded file is deleted, and no attempt is used up.
    """
    service = serve(Faults(unknown_models=("gpt-4o-mini",)))
    ended = desk.run()
    assert ended.code == 1
    assert "does not exist or cannot be used in a batch" in ended.message
    assert "does not exist" in desk.one("select reason from batch_list")
    assert desk.states() == {"due": 10}
    log = service.log()
    assert len(log["creates"]) == 1
    assert log["deleted"] == [log["creates"][0]["input_file_id"]]
    service.set_faults(Faults())
    assert desk.run().code == 0
    assert desk.attempts() == {1}


def test_b08_a_model_that_fails_leaves_the_other_one_whole(serve: Serve, desk: Desk) -> None:
    """Two models, one of which fails its validation: the other one's answers are complete."""
    serve(Faults(unknown_models=("gpt-4o-mini",)))
    assert desk.run(JUDGE, "openai:gpt-4.1-mini").code == 1
    assert desk.rows(
        "select model, state, count(*) from prompt_states group by all order by 1"
    ) == [
        ("gpt-4.1-mini", "answered", 10),
        ("gpt-4o-mini", "due", 10),
    ]


@pytest.mark.parametrize("shape", ["failed", "429"])
def test_b13_a_full_queue_is_waited_for(serve: Serve, db: Path, shape: str) -> None:
    """The provider takes fewer tokens at once than there are: all is done, attempts stay at 1.

    The refusal comes as a failed batch or with the create.
    """
    service = serve(
        Faults.parse({"token_limits": {"gpt-4o-mini": 3000}, "token_limit_shape": shape})
    )
    service.hold(done=3)
    desk = Desk(db, limits=THREE)
    scope = desk.ask()
    desk.advance(scope, wait=False)
    service.release()
    assert desk.advance(scope).code == 0
    assert desk.attempts() == {1}
    assert set(service.log()["answered_bodies"].values()) == {1}


def test_b02_what_runs_survives_the_process(serve: Serve, db: Path) -> None:
    """A batch left alone is brought home by another process, which creates nothing."""
    service = serve()
    service.hold()
    Desk(db).send()
    service.release()
    later = Desk(db)
    assert later.advance().code == 0
    assert len(service.log()["creates"]) == 1
    assert later.outcomes() == {"ok": 10}


def test_b63_nothing_is_priced_before_the_end(serve: Serve, desk: Desk) -> None:
    """However often a running batch is looked at, it has one event a state and no cost."""
    service = serve()
    service.hold()
    desk.send()
    for _ in range(4):
        desk.advance(wait=False)
    assert desk.one("select count(*) from responses") == 0
    statuses = desk.rows("select status from batch_events order by event_id")
    assert statuses == [("prepared",), ("creating",), ("submitted",), ("in_progress",)]


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
