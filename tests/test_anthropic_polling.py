"""Looking at a message batch, bringing its results home, and how it ends."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest

from batcher.providers.base import Limits
from cache.errors import ProviderError
from tests.conftest import Serve
from tests.running import Desk
from tests.test_anthropic_create import by_hand
from tests.vendors import CLAUDE, ONE, call, for_all, struck
from tests.wire.service import Faults, Service, Settings

RETRIEVE, RESULTS = "messages.batches.retrieve", "messages.batches.results"


@pytest.fixture(name="serve")
def for_claude(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> Serve:
    return for_all(serve, monkeypatch)


def test_b25_faults_while_looking_are_ridden_out(serve: Serve, desk: Desk) -> None:
    """5xx, 429, 401, a web page, half an object, a lost answer: then the end, all of it once."""
    kinds = ("html", "truncated_json", "drop", "cut_length", "wrapped")
    service = serve(
        Faults(
            calls=(
                call(RETRIEVE, "status", status=529),
                call(RETRIEVE, "status", first=2, status=429, retry_after="3600"),
                call(RETRIEVE, "status", first=3, status=401),
                call(RETRIEVE, "status", first=4, status=500),
                *(call(RETRIEVE, kind, first=at) for at, kind in enumerate(kinds, 5)),
            )
        )
    )
    assert desk.run(CLAUDE, **ONE).code == 0
    assert sum(service.log()["struck"].values()) == 9
    assert service.log()["retries"] == {}
    assert len(service.log()["creates"]) == 1
    assert sum("cannot be asked now" in said for said in desk.said) == 9
    assert any("check the API key" in said for said in desk.said)


def test_counts_that_stand_still_and_unknown_statuses_are_no_end(serve: Serve, desk: Desk) -> None:
    """The vendor shows no progress before the end, and may know states that we do not."""
    service = serve(struck(RETRIEVE, "unknown_status", first=4, times=2, value="paused"))
    service.hold()
    scope = desk.ask(CLAUDE, **ONE)
    for _ in range(3):
        assert desk.advance(scope, wait=False).standing.open == 1
    service.release()
    assert desk.advance(scope).code == 0
    assert [row[0] for row in desk.rows("select status from batch_events order by event_id")] == [
        *("prepared", "creating", "submitted", "in_progress"),
        *("paused", "ended", "ingested"),
    ]


def test_results_not_heard_of_yet_are_waited_for(serve: Serve, desk: Desk) -> None:
    """A server behind the one that told of the end delays it, and changes nothing else."""
    service = serve(struck(RETRIEVE, "backwards", first=2, times=2))
    assert desk.run(CLAUDE, **ONE).code == 0
    assert desk.outcomes() == {"ok": 1}
    assert len(service.log()["creates"]) == 1


def test_a_download_cut_short_is_fetched_again(serve: Serve, desk: Desk) -> None:
    """However often and however it is cut, with or without an error, it is only stored whole."""
    kinds = ("cut_length", "cut_close", "cut_chunked", "drop", "html", "small_chunks")
    rules = (call(RESULTS, kind, first=at) for at, kind in enumerate(kinds, 1))
    service = serve(Faults(calls=tuple(rules)))
    assert desk.run(CLAUDE).code == 0
    assert service.log()["struck"] == dict.fromkeys(kinds, 1)
    assert desk.outcomes() == {"ok": 10}
    assert len(service.log()["creates"]) == 1
    assert desk.one("select count(*) from quarantine") == 0


def test_results_on_another_host_get_no_key(serve: Serve, desk: Desk) -> None:
    """An address of results elsewhere is not followed, and is named; a relative one is."""
    elsewhere = serve()
    service = serve(Faults(results_base=elsewhere.anthropic_url))
    scope = desk.ask(CLAUDE, **ONE)
    desk.advance(scope, wait=False)
    assert elsewhere.log()["calls"] == {}
    assert any("no key goes there" in said for said in desk.said)
    assert desk.states() == {"in flight": 1}
    service.set_faults(Faults(results_base=""))
    assert desk.advance(scope).code == 0
    assert desk.outcomes() == {"ok": 1}


def test_results_that_are_deleted_are_set_aside(serve: Serve, desk: Desk) -> None:
    """Results that answer 404: the run ends, says so, and sends nothing again."""
    service = serve(struck(RESULTS, "status", status=404, times=0))
    ended = desk.run(CLAUDE, **ONE)
    assert (ended.code, ended.standing.parked) == (3, 1)
    assert any("its results are gone" in said for said in desk.said)
    assert len(service.log()["creates"]) == 1
    service.set_faults(Faults())
    assert desk.advance().code == 0


def test_b06_a_batch_of_another_key_is_set_aside(
    serve: Serve, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """404 means not visible with this key: parked with a sentence, found again with the first."""
    service = serve(Faults(scope_to_key=True))
    service.hold()
    desk.send(CLAUDE, **ONE)
    service.release()
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k2")
    other = Desk(desk.store.path)
    ended = other.advance()
    assert (ended.code, ended.standing.parked, ended.standing.open) == (3, 1, 0)
    assert any("use the key it was sent with" in said for said in other.said)
    assert desk.advance().code == 0
    assert len(service.log()["creates"]) == 1


def test_an_account_without_credit_while_looking_stops_the_run(serve: Serve, desk: Desk) -> None:
    """402 on a look ends the run with the reason; the batch stays open."""
    service = serve(struck(RETRIEVE, "status", status=402))
    ended = desk.run(CLAUDE, **ONE)
    assert (ended.code, "no credit left" in ended.message) == (1, True)
    assert desk.states() == {"in flight": 1}
    assert desk.advance().code == 0
    assert len(service.log()["creates"]) == 1


def _held(serve: Serve, desk: Desk, done: int) -> tuple[Service, str]:
    service = serve()
    service.hold(done=done)
    desk.send(CLAUDE)
    return service, service.log()["creates"][0]["batch_id"]


def test_b26_expired_batch_keeps_what_was_paid(serve: Serve, desk: Desk) -> None:
    """Six of ten ran before the window closed: six are kept and priced, four are sent again.

    What never ran uses up no attempt.
    """
    service, remote_id = _held(serve, desk, 6)
    service.expire(remote_id, done=6)
    desk.advance(wait=False, claim=False)
    billed = service.log()["tokens"]
    assert desk.rows(
        "select sum(input_tokens)::bigint, sum(output_tokens)::bigint from responses "
        "where cost_usd > 0"
    ) == [(billed["prompt"], billed["completion"])]
    assert desk.outcomes() == {"ok": 6, "expired": 4}
    service.release()
    assert desk.advance().code == 0
    assert [one["lines"] for one in service.log()["creates"]] == [10, 4]
    assert desk.attempts() == {1}
    assert set(service.log()["answered_bodies"].values()) == {1}


def test_b09_a_cancelled_batch_keeps_what_it_had_finished(serve: Serve, desk: Desk) -> None:
    """Stopped at 40 %: four answers are kept and priced, the rest is due, nothing is sent."""
    service, _ = _held(serve, desk, 4)
    (name,) = (row[0] for row in desk.rows("select remote_id from batches"))
    standing = desk.cancel(name)
    assert (standing.open, standing.problems) == (0, [])
    assert desk.outcomes() == {"ok": 4, "cancelled": 6}
    assert desk.one("select count(*) from responses where cost_usd > 0") == 4
    assert desk.states() == {"answered": 4, "due": 6}
    assert (len(service.log()["creates"]), len(service.log()["cancelled"])) == (1, 1)
    service.release()
    assert desk.advance().code == 0
    assert desk.attempts() == {1}


def test_a_batch_that_ended_before_it_was_cancelled_is_whole(serve: Serve, desk: Desk) -> None:
    """Cancelling too late is no fault: the results are stored as they are."""
    service = serve()
    for number, answer in enumerate((400, 200)):
        service.set_faults(Faults.parse({"cancel_terminal": answer}))
        names = desk.send(f"{CLAUDE}?max_tokens={1000 + number}", **ONE)
        assert desk.cancel(names[-1]).open == 0
    assert desk.outcomes() == {"ok": 2}


def test_b02_what_runs_survives_the_process(serve: Serve, db: Path) -> None:
    """A batch left alone is brought home by another process, which creates nothing."""
    service, _ = _held(serve, Desk(db, limits=Limits(10, 10**6, 10**6)), 0)
    service.release()
    later = Desk(db)
    assert later.advance().code == 0
    assert len(service.log()["creates"]) == 1
    assert later.outcomes() == {"ok": 10}


def test_counts_may_be_absent(serve: Serve, desk: Desk) -> None:
    """A server that shows no counts is looked at like any other."""
    service = serve(struck(RETRIEVE, "counts_null", times=0))
    assert desk.run(CLAUDE, **ONE).code == 0
    assert len(service.log()["creates"]) == 1


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


def test_results_cut_inside_their_last_line_are_fetched_again(serve: Serve, desk: Desk) -> None:
    """As many lines as requests, the last of them half: cut short, so not stored, not paid twice.

    Only what comes like that time after time is how it is.
    """
    service = serve(struck("messages.batches.results", "cut_close"))
    assert desk.run(CLAUDE, **ONE).code == 0
    assert desk.outcomes() == {"ok": 1}
    assert len(service.log()["creates"]) == 1


def test_results_that_may_not_be_fetched_do_not_keep_the_run_waiting(
    serve: Serve, desk: Desk
) -> None:
    """Results on another host will not come nearer: set aside with the reason, and the run ends."""
    service = serve(Faults(results_base="http://127.0.0.2:9"))
    ended = desk.run(CLAUDE, **ONE)
    assert (ended.code, ended.standing.parked) == (3, 1)
    assert len(service.log()["creates"]) == 1


def test_b09_a_cancel_that_fails_does_not_spare_the_other_batches(serve: Serve, desk: Desk) -> None:
    """The server stumbles over the first of two: the second is asked to stop all the same."""
    service = serve(struck("messages.batches.cancel", "status", status=500))
    service.hold(done=0)
    names = desk.send(CLAUDE, "anthropic:claude-sonnet-4-5", **ONE)
    with suppress(ProviderError):
        desk.cancel(*names, wait=False)
    assert len(service.log()["cancelled"]) == 1


def test_a_batch_that_may_be_anothers_is_not_cancelled(serve: Serve, desk: Desk) -> None:
    """A create that came to nothing, a running batch of the same size: taken for ours, unproved.

    Stopping it would stop another's work, and that cannot be undone.
    """
    service = serve()
    service.hold()
    by_hand(service, lines=1)
    service.set_faults(struck("messages.batches.create", "status", status=500))
    scope = desk.ask(CLAUDE, **ONE)
    for _ in range(2):
        desk.advance(scope, wait=False)
    with suppress(ProviderError):
        desk.cancel(desk.one("select batch_id from batches"), wait=False)
    assert service.log()["cancelled"] == []
