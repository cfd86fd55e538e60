"""A batch without a name of its own: created once, and told from others by what it holds."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from anthropic import Anthropic

from batcher.providers.base import Limits
from batcher.submit import adopt
from cache.errors import NeedlessError
from tests.conftest import Serve
from tests.running import INSTANT, Desk
from tests.vendors import CLAUDE, ONE, call, for_all, in_turn, struck
from tests.wire.service import Faults, Service

CREATE, LIST = "messages.batches.create", "messages.batches.list"
FIVE = Limits(requests=5, bytes=10**6, line_bytes=10**6)
MODELS = (CLAUDE, "anthropic:claude-sonnet-4-5")


@pytest.fixture(name="serve")
def for_claude(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> Serve:
    return for_all(serve, monkeypatch)


def by_hand(service: Service, lines: int = 10, token: str = "another") -> str:
    """Make somebody else's batch under the same key."""
    body: dict[str, Any] = {
        "model": "claude-haiku-4-5",
        "max_tokens": 9,
        "messages": [{"role": "user", "content": "hello"}],
    }
    with Anthropic(api_key="k1", base_url=service.anthropic_url) as client:
        requests: list[Any] = [
            {"custom_id": f"{token}-{number}", "params": body} for number in range(lines)
        ]
        return client.messages.batches.create(requests=requests).id


def ours(service: Service) -> list[str]:
    """The batches that a run of ten prompts made, beside those made by hand."""
    log = service.log()
    made = [one["batch_id"] for one in log["creates"]]
    return made if "another-0" not in log["custom_ids"] else made[1:]


def test_b03_a_create_whose_answer_is_lost_is_found_by_time_and_size(
    serve: Serve, db: Path
) -> None:
    """However the answer is lost: the batch is adopted, whether it runs or has ended."""
    kinds = ("drop_after", "cut_length", "truncated_json", "wrapped")
    rules = (call(CREATE, kind, first=at) for at, kind in enumerate(kinds, 1))
    service = serve(Faults(calls=tuple(rules)))
    desk = Desk(db, limits=Limits(requests=3, bytes=10**6, line_bytes=10**6))
    assert desk.run(CLAUDE).code == 0
    log = service.log()
    assert (len(log["creates"]), log["calls"][CREATE]) == (4, 4)
    assert sum("found at anthropic and adopted" in said for said in desk.said) == 4
    assert desk.outcomes() == {"ok": 10}


def test_b03_one_that_still_runs_is_adopted_and_proved_later(serve: Serve, desk: Desk) -> None:
    """Beside a batch of another size there is one candidate: it is followed, not made again."""
    service = serve(struck(CREATE, "drop_after", first=2))
    service.hold()
    by_hand(service, lines=9)
    scope = desk.ask(CLAUDE)
    for _ in range(2):
        desk.advance(scope, wait=False)
    assert desk.one("select status from batch_states") == "in_progress"
    service.release()
    assert desk.advance(scope).code == 0
    assert service.log()["calls"][CREATE] == 2
    assert desk.outcomes() == {"ok": 10}


def test_no_other_create_goes_out_while_one_is_in_doubt(serve: Serve, desk: Desk) -> None:
    """Two batches of one size: the second is sent when it is known what became of the first."""
    service = serve(Faults(calls=(call(CREATE, "drop_after"), call(LIST, "status", times=2))))
    scope = desk.ask(*MODELS)
    for _ in range(2):
        desk.advance(scope, wait=False)
        assert service.log()["calls"][CREATE] == 1
    assert any("waits until it is known" in said for said in desk.said)
    assert desk.advance(scope).code == 0
    assert (len(service.log()["creates"]), service.log()["calls"][CREATE]) == (2, 2)
    assert desk.outcomes() == {"ok": 20}


def test_one_that_was_never_made_is_made_after_some_looks(serve: Serve, desk: Desk) -> None:
    """No clear answer, and nothing in the list three times: it is created, once."""
    service = serve(struck(CREATE, "status", status=529))
    assert desk.run(CLAUDE).code == 0
    log = service.log()
    assert (len(log["creates"]), log["calls"][CREATE], log["calls"][LIST]) == (1, 2, 3)
    assert desk.attempts() == {1}


def test_b03_a_list_that_lags_is_looked_at_again(serve: Serve, db: Path) -> None:
    """A batch that the list does not show yet is not made a second time while there is doubt."""
    desk = Desk(db, doubt=timedelta(minutes=5))
    service = serve(Faults(calls=(call(CREATE, "drop_after"),), list_lag=60))
    service.stop_clock()
    scope = desk.ask(CLAUDE)
    for _ in range(5):
        desk.advance(scope, wait=False)
    assert service.log()["calls"][LIST] == 4
    service.advance(60)
    assert desk.advance(scope).code == 0
    assert len(service.log()["creates"]) == service.log()["calls"][CREATE] == 1


def test_two_candidates_that_run_are_waited_for(serve: Serve, desk: Desk) -> None:
    """Nothing tells two running batches of one size apart: no guess, no create, until one ends."""
    service = serve()
    service.hold()
    by_hand(service)
    service.set_faults(struck(CREATE, "drop_after"))
    scope = desk.ask(CLAUDE)
    for _ in range(3):
        desk.advance(scope, wait=False)
    assert desk.one("select count(*) from batches where remote_id is not null") == 0
    (mine,) = ours(service)
    service.release(mine)
    assert desk.advance(scope).code == 0
    assert desk.one("select remote_id from batches") == mine
    assert service.log()["calls"][CREATE] == 2


def test_an_ended_candidate_is_proved_by_its_ids(serve: Serve, desk: Desk) -> None:
    """Of two ended batches of one size ours is the one whose results carry our ids."""
    service = serve(struck(CREATE, "drop_after", first=2))
    by_hand(service)
    assert desk.run(CLAUDE).code == 0
    assert desk.rows("select remote_id from batches") == [(ours(service)[0],)]
    assert service.log()["calls"][CREATE] == 2
    assert desk.one("select count(*) from quarantine") == 0


def test_a_foreign_batch_is_let_go_and_ours_is_created_once(serve: Serve, desk: Desk) -> None:
    """Ours was never made, another one of its size runs: taken for ours until its results come."""
    service = serve()
    service.hold()
    foreign = by_hand(service)
    service.set_faults(struck(CREATE, "status", status=500))
    scope = desk.ask(CLAUDE)
    for _ in range(2):
        desk.advance(scope, wait=False)
    assert desk.one("select remote_id from batches") == foreign
    service.release()
    assert desk.advance(scope).code == 0
    assert any("holds other requests" in said for said in desk.said)
    assert (len(service.log()["creates"]), service.log()["calls"][CREATE]) == (2, 3)
    assert desk.rows("select remote_id from batches") == [(ours(service)[0],)]
    assert desk.one("select count(*) from quarantine") == 0
    assert desk.attempts() == {1}


def test_a_foreign_batch_is_let_go_and_ours_is_found(serve: Serve, desk: Desk) -> None:
    """Ours was made after all: it is looked for anew, and found instead of created."""
    service = serve()
    foreign = by_hand(service)
    service.set_faults(Faults(calls=(call(CREATE, "drop_after"), call(LIST, "status"))))
    scope = desk.ask(CLAUDE)
    desk.advance(scope, wait=False)
    from batcher.ledger import open_batches

    with desk.store.reading() as con:
        (one,) = open_batches(con, scope)
    adopt(desk.store, one.batch, foreign, desk.pace.now())
    assert desk.advance(scope).code == 0
    assert desk.rows("select remote_id from batches") == [(ours(service)[0],)]
    assert service.log()["calls"][CREATE] == 2
    assert desk.outcomes() == {"ok": 10}


def test_an_account_without_credit_stops_the_run(serve: Serve, desk: Desk) -> None:
    """402, and a 429 that names no time even to a single line, end the run; all stays due."""
    service = serve()
    for status, words in ((402, "no credit left"), (429, "spending limit")):
        service.set_faults(struck(CREATE, "status", status=status, times=0))
        ended = desk.run(CLAUDE)
        assert (ended.code, words in ended.message) == (1, True)
        assert desk.states() == {"due": 10}
    assert service.log()["creates"] == []
    service.set_faults(Faults())
    assert desk.run(CLAUDE).code == 0
    assert [one["lines"] for one in service.log()["creates"]] == [10]
    assert desk.attempts() == {1}


def test_too_many_requests_is_waited_out(serve: Serve, desk: Desk) -> None:
    """A 429 that names a time means that nothing was made: wait, then create once."""
    service = serve(struck(CREATE, "status", status=429, times=2, retry_after="1"))
    assert desk.run(CLAUDE).code == 0
    assert (len(service.log()["creates"]), service.log()["calls"][CREATE]) == (1, 3)
    assert len(desk.naps) == 2
    assert desk.attempts() == {1}


def test_b04_one_refused_batch_does_not_lose_the_other(serve: Serve, db: Path) -> None:
    """Of two batches one is refused with 400: the other is brought home, the exit code tells."""
    service = serve(struck(CREATE, "status", status=400, message="not this one"))
    desk = Desk(db, limits=FIVE)
    ended = desk.run(CLAUDE)
    assert (ended.code, "not this one" in ended.message) == (1, True)
    assert desk.states() == {"answered": 5, "due": 5}
    assert desk.run(CLAUDE).code == 0
    assert set(service.log()["answered_bodies"].values()) == {1}


def test_a_refusal_says_what_is_wrong_with_the_server_or_the_key(serve: Serve, desk: Desk) -> None:
    """A server without the route and a wrong key are told apart, at once, with nothing created."""
    service = serve(Faults(no_batch_api=True))
    ended = desk.run(CLAUDE)
    assert (ended.code, "no Message Batches" in ended.message) == (1, True)
    service.set_faults(Faults(only_key="k2"))
    ended = desk.run(CLAUDE)
    assert (ended.code, "Incorrect API key" in ended.message) == (1, True)
    assert service.log()["creates"] == []
    assert desk.states() == {"due": 10}


def test_without_a_key_nothing_is_claimed(
    serve: Serve, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The variable that is missing is named."""
    serve(None, INSTANT)
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    with pytest.raises(NeedlessError, match="ANTHROPIC_API_KEY"):
        desk.run(CLAUDE)
    assert desk.one("select count(*) from batches") == 0


def test_a_list_that_cannot_be_read_is_read_again(serve: Serve, desk: Desk) -> None:
    """A create is in doubt and the list is a web page: no news, so neither a crash nor a create."""
    service = serve(Faults(calls=(call(CREATE, "drop_after"), call(LIST, "html", times=3))))
    assert desk.run(CLAUDE, **ONE).code == 0
    assert service.log()["calls"][CREATE] == 1


def test_counts_may_be_absent_from_the_list(serve: Serve, desk: Desk) -> None:
    """A batch of unknown size may be ours as well: its results tell."""
    rules = (call(CREATE, "drop_after"), call(LIST, "counts_null", times=0))
    service = serve(Faults(calls=rules))
    assert desk.run(CLAUDE, **ONE).code == 0
    assert service.log()["calls"][CREATE] == 1


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


def test_b09_a_batch_in_doubt_is_not_cancelled_before_it_is_proved(
    serve: Serve, desk: Desk
) -> None:
    """A lost create cannot be stopped, nor what only looks like it: that is said each time."""
    service = serve(struck(CREATE, "drop_after"))
    service.hold(done=0)
    desk.advance(desk.ask(CLAUDE, **ONE), wait=False)
    name = desk.one("select batch_id from batches")
    assert "not known yet whether it exists" in desk.cancel(name).problems[0]
    assert "could be somebody else's" in desk.cancel(name).problems[0]
    assert service.log()["cancelled"] == []
