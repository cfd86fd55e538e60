"""Answers that were cut short are asked once more, with more room."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.conftest import Serve
from tests.running import JUDGE, Desk
from tests.vendors import CLAUDE, for_all
from tests.wire.service import Faults, LineFault

CUT = LineFault("length")


@pytest.fixture(name="serve")
def for_every_vendor(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> Serve:
    return for_all(serve, monkeypatch)


def caps(desk: Desk) -> set[tuple[int | None, int]]:
    """Return (cap, prompts) of what is stored."""
    return set(
        desk.rows(
            "select coalesce(body ->> 'max_completion_tokens', body ->> 'max_tokens')::int, "
            "count(*) from prompt_bodies group by 1"
        )
    )


@pytest.mark.parametrize("judge", [JUDGE, CLAUDE, f"{JUDGE}?mode=live"])
def test_b49_a_cut_answer_is_asked_once_more_with_more_room(
    serve: Serve, desk: Desk, judge: str
) -> None:
    """One of ten is cut: it is asked again with four times the room, answered, and predicted."""
    serve(Faults(lines=(replace(CUT, times=1),)))
    assert desk.run(judge).code == 0
    assert desk.outcomes() == {"ok": 10, "truncated": 1}
    assert caps(desk) == {(4096, 10), (16384, 1)}
    assert desk.one("select count(*) from predictions") == 10
    assert desk.one("select coverage from coverage") == 1
    assert any("more room" in line for line in desk.said)


def test_what_does_not_fit_the_second_time_is_given_up(serve: Serve, desk: Desk) -> None:
    """Bounded: twice in all, then there is no answer, and the exit code says so."""
    service = serve(Faults(lines=(CUT,)))
    assert desk.run().code == 4
    assert desk.outcomes() == {"truncated": 20}
    assert [one["lines"] for one in service.log()["creates"]] == [10, 10]
    assert desk.run().code == 4
    assert len(service.log()["creates"]) == 2


def test_another_run_asks_the_wider_prompt_from_the_start(serve: Serve, desk: Desk) -> None:
    """A prompt that was cut before is known to need room: asked again, it is served at once."""
    service = serve(Faults(lines=(replace(CUT, times=1),)))
    desk.run()
    assert desk.run().code == 0
    assert len(service.log()["creates"]) == 2
    assert desk.one("select count(*) from requests") == 10


def test_whoever_asks_for_that_much_room_shares_the_answer(serve: Serve, desk: Desk) -> None:
    """The wider prompt is the one that a judge with that cap sends: paid once."""
    service = serve(Faults(lines=(CUT,)))
    desk.run(limit=1, strategies=("all_to_all",))
    service.set_faults(Faults())
    before = len(service.log()["creates"])
    assert desk.run(f"{JUDGE}?max_tokens=16384", limit=1, strategies=("all_to_all",)).code == 4
    assert len(service.log()["creates"]) == before


def test_resume_by_id_sends_the_wider_prompts_of_its_batch(serve: Serve, desk: Desk) -> None:
    """A batch's cut answers belong to it: resuming it asks them again."""
    from batcher.ledger import Scope

    service = serve(Faults(lines=(replace(CUT, times=1),)))
    (name,) = desk.send()
    assert desk.advance(Scope(batch_ids=(name,))).code == 0
    assert [one["lines"] for one in service.log()["creates"]] == [10, 1]
