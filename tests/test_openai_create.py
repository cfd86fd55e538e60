"""The one call that must never be made twice: creating a batch, whatever becomes of its answer."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

from batcher.providers.base import Limits
from tests.conftest import Serve
from tests.running import JUDGE, Desk
from tests.wire.service import CallFault, Faults

THREE = Limits(requests=3, bytes=10**6, line_bytes=10**6)
FIVE = Limits(requests=5, bytes=10**6, line_bytes=10**6)


def each(route: str, *rules: dict[str, Any]) -> Faults:
    """The first call of a route is struck by the first rule, the second by the second …"""
    return Faults.parse(
        {"calls": [{"route": route, "first": at, **rule} for at, rule in enumerate(rules, 1)]}
    )


def create(kind: str, **how: Any) -> Faults:
    """The first creation is struck."""
    return Faults.parse({"calls": [{"route": "batches.create", "kind": kind, **how}]})


def test_b03_a_create_whose_answer_is_lost_is_found_and_adopted(serve: Serve, db: Path) -> None:
    """The service made the batch and we never heard of it: it is looked for, not made again."""
    kinds = ("drop_after", "cut_length", "cut_chunked", "truncated_json")
    service = serve(each("batches.create", *({"kind": kind} for kind in kinds)))
    desk = Desk(db, limits=THREE)
    assert desk.run().code == 0
    log = service.log()
    assert (len(log["creates"]), log["calls"]["batches.create"], log["uploads"]) == (4, 4, 4)
    assert sum("found at openai and adopted" in said for said in desk.said) == 4
    assert desk.outcomes() == {"ok": 10}


def test_b03_a_list_that_lags_is_looked_at_again(serve: Serve, desk: Desk) -> None:
    """A batch that the service's list does not show yet is not made a second time."""
    desk.pace = type(desk.pace)(
        desk.pace.now, desk.pace.sleep, first=0.02, longest=0.05, doubt=timedelta(seconds=30)
    )
    service = serve(Faults(calls=(CallFault("batches.create", "drop_after"),), list_lag=0.4))
    assert desk.run().code == 0
    assert len(service.log()["creates"]) == 1
    assert service.log()["calls"]["batches.list"] > 1


def test_a_create_in_doubt_is_looked_for_before_it_is_repeated(serve: Serve, db: Path) -> None:
    """No clear answer: the list is read at least three times, and only then is it created."""
    service = serve(
        each(
            "batches.create",
            {"kind": "status", "status": 503},
            {"kind": "status", "status": 500},
            {"kind": "drop"},
            {"kind": "html"},
        )
    )
    desk = Desk(db, limits=THREE)
    assert desk.run().code == 0
    log = service.log()
    assert (len(log["creates"]), log["calls"]["batches.create"]) == (4, 8)
    assert log["calls"]["batches.list"] >= 12
    assert log["retries"] == {}
    assert desk.attempts() == {1}


def test_a_surplus_batch_of_ours_is_cancelled(serve: Serve, desk: Desk) -> None:
    """Where a server made two batches under one name, the older is used and the other stopped."""
    service = serve(create("drop_after"))
    service.hold()
    desk.advance(desk.ask(), wait=False, collect=False)
    made = service.log()["creates"][0]
    from openai import OpenAI

    with OpenAI(api_key="k1", base_url=service.base_url) as client:
        client.batches.create(
            input_file_id=made["input_file_id"],
            endpoint="/v1/chat/completions",
            completion_window="24h",
            metadata=made["metadata"],
        )
    desk.advance(wait=False)
    service.release()
    assert desk.advance().code == 0
    assert len(service.log()["cancelled"]) == 1
    assert desk.outcomes() == {"ok": 10}


def test_too_many_requests_is_waited_out(serve: Serve, desk: Desk) -> None:
    """A 429 means that nothing was made: wait, create once, no attempt used up."""
    service = serve(create("status", status=429, times=3, retry_after="0.01"))
    assert desk.run().code == 0
    log = service.log()
    assert (len(log["creates"]), log["calls"]["batches.create"]) == (1, 4)
    assert desk.attempts() == {1}


def test_an_account_without_credit_stops_the_run(serve: Serve, desk: Desk) -> None:
    """Refused down to a single line it is about money: the run ends, and what is due stays due.

    Nothing is left at the provider, and with new credit batches are as large as ever.
    """
    service = serve(create("status", status=429, code="insufficient_quota", times=0))
    ended = desk.run()
    assert ended.code == 1
    assert "no credit left" in ended.message
    assert (desk.states(), service.log()["creates"]) == ({"due": 10}, [])
    assert service.log()["deletes"] == service.log()["uploads"]
    service.set_faults(Faults())
    assert desk.run().code == 0
    assert desk.attempts() == {1}
    assert [one["lines"] for one in service.log()["creates"]] == [10]


def test_a_server_without_batches_is_told_apart(serve: Serve, desk: Desk) -> None:
    """A 404 on /batches says what to do, creates nothing and leaves no file behind."""
    service = serve(Faults(no_batch_api=True))
    ended = desk.run()
    assert ended.code == 1
    assert "mode=live" in ended.message
    assert service.log()["creates"] == []
    assert service.log()["deletes"] == service.log()["uploads"] == 1


def test_a_batch_in_a_wrapper_is_no_batch(serve: Serve, desk: Desk) -> None:
    """A server of another protocol is named as one; nothing is created there again."""
    service = serve(create("wrapped", times=0))
    ended = desk.run()
    assert ended.code == 1
    assert "job" in ended.message
    assert "does not speak OpenAI's batch protocol" in ended.message
    assert len(service.log()["creates"]) == 1


def test_a_refused_key_stops_the_run(serve: Serve, desk: Desk) -> None:
    """A wrong key is said at once, before anything is created."""
    service = serve(Faults(only_key="k2"))
    ended = desk.run()
    assert ended.code == 1
    assert "Incorrect API key" in ended.message
    assert service.log()["creates"] == []


def test_b04_one_refused_batch_does_not_lose_the_others(serve: Serve, db: Path) -> None:
    """Of two batches one is refused with 400: the other is brought home, the exit code tells."""
    service = serve(create("status", status=400, message="not this one"))
    desk = Desk(db, limits=FIVE)
    ended = desk.run()
    assert ended.code == 1
    assert "not this one" in ended.message
    assert desk.states() == {"answered": 5, "due": 5}
    assert len(service.log()["creates"]) == 1
    assert desk.run().code == 0
    assert len(service.log()["creates"]) == 2
    assert set(service.log()["answered_bodies"].values()) == {1}


def test_b08_a_model_that_is_refused_stops_only_its_own_batch(serve: Serve, desk: Desk) -> None:
    """One of two models cannot be had: the other one's answers are complete."""
    service = serve(create("status", status=404, pattern="^model=gpt-nothing$", times=0))
    assert desk.run(JUDGE, "openai:gpt-nothing").code == 1
    assert desk.rows(
        "select model, state, count(*) from prompt_states group by all order by 1"
    ) == [
        ("gpt-4o-mini", "answered", 10),
        ("gpt-nothing", "due", 10),
    ]
    assert service.log()["deletes"] == service.log()["uploads"] == 2


def test_a_failed_upload_is_repeated(serve: Serve, db: Path) -> None:
    """An upload may be done again at will: nothing runs before the create."""
    service = serve(
        each(
            "files.create",
            {"kind": "status", "status": 502, "retry_after": "0.01"},
            {"kind": "html"},
        )
    )
    desk = Desk(db, limits=FIVE)
    assert desk.run().code == 0
    assert len(service.log()["creates"]) == 2


def test_b01_what_is_created_is_stored_before_the_next(serve: Serve, db: Path) -> None:
    """The third upload is refused for good: the two batches before it are known and followed."""
    service = serve(
        Faults(calls=(CallFault("files.create", "status", first=3, times=1, status=400),))
    )
    desk = Desk(db, limits=Limits(requests=4, bytes=10**6, line_bytes=10**6))
    assert desk.run().code == 1
    assert len(service.log()["creates"]) == 2
    assert desk.run().code == 0
    assert len(service.log()["creates"]) == 3
    assert set(service.log()["answered_bodies"].values()) == {1}


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
