"""A day of looking at a batch and bringing its files home: faults on the way change nothing."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from batcher.providers.base import Limits
from tests.conftest import Serve
from tests.running import JUDGE, Desk
from tests.wire.service import CallFault, Faults

FOUR = Limits(requests=4, bytes=10**6, line_bytes=10**6)


def test_b25_faults_while_looking_are_ridden_out(serve: Serve, desk: Desk) -> None:
    """502, 429, a web page, half an object, a dropped connection: then the end, all of it once."""
    service = serve(
        Faults(
            calls=(
                CallFault("batches.retrieve", "status", status=502, times=7, retry_after="0.01"),
                CallFault("batches.retrieve", "status", 8, 2, status=429, retry_after="0.01"),
                CallFault("batches.retrieve", "html", 10, 2),
                CallFault("batches.retrieve", "truncated_json", 12, 2),
                CallFault("batches.retrieve", "drop", 14, 1),
                CallFault("batches.retrieve", "status", 16, 1, status=401),
            )
        )
    )
    assert desk.run().code == 0
    assert len(service.log()["struck"]) == 4
    assert len(service.log()["creates"]) == 1
    assert desk.outcomes() == {"ok": 10}


def test_statuses_are_read_with_care(serve: Serve, desk: Desk) -> None:
    """Capitals are the same status; one never heard of is not the end; counts may be missing."""
    service = serve(
        Faults(
            calls=(
                CallFault("batches.retrieve", "unknown_status", 1, 2, value="Paused"),
                CallFault("batches.retrieve", "counts_null", 1, 0),
                CallFault("batches.retrieve", "upper_status", 3, 0),
            )
        )
    )
    assert desk.run().code == 0
    statuses = [row[0] for row in desk.rows("select status from batch_events order by event_id")]
    assert statuses == ["prepared", "creating", "submitted", "paused", "completed", "ingested"]
    assert len(service.log()["creates"]) == 1


def test_a_batch_that_seems_to_go_backwards_is_waited_for(serve: Serve, desk: Desk) -> None:
    """A server that has not heard of the end yet delays it, and changes nothing else."""
    service = serve(Faults(calls=(CallFault("batches.retrieve", "backwards", times=3),)))
    assert desk.run().code == 0
    assert desk.outcomes() == {"ok": 10}
    assert len(service.log()["creates"]) == 1


def test_a_download_cut_short_is_fetched_again(serve: Serve, desk: Desk) -> None:
    """However a file is cut, with or without an error, it is only stored whole."""
    for number, kind in enumerate(("cut_length", "cut_close", "cut_chunked", "small_chunks")):
        service = serve(Faults.parse({"calls": [{"route": "files.content", "kind": kind}]}))
        assert desk.run(f"{JUDGE}?seed={number}").code == 0
        assert service.log()["struck"] == {kind: 1}
        assert len(service.log()["creates"]) == 1
    assert desk.outcomes() == {"ok": 40}


def test_a_file_that_is_not_there_yet_is_waited_for(serve: Serve, db: Path) -> None:
    """Results that cannot be read for a moment after the end are read later."""
    service = serve(Faults(content_lag=0.8))
    desk = Desk(db, grace=timedelta(minutes=5))
    assert desk.run().code == 0
    assert service.log()["calls"]["files.content"] > 1
    assert desk.outcomes() == {"ok": 10}


def test_b06_a_batch_this_key_cannot_see_is_parked(serve: Serve, db: Path) -> None:
    """One of three answers 404: it is parked with advice, the others end, so does the run."""
    service = serve()
    service.hold()
    desk = Desk(db, limits=FOUR)
    desk.send()
    hidden = service.log()["creates"][1]["batch_id"]
    service.set_faults(
        Faults(
            calls=(CallFault("batches.retrieve", "status", times=0, status=404, pattern=hidden),)
        )
    )
    service.release()
    ended = desk.advance()
    assert (ended.code, ended.standing.parked, ended.standing.open) == (3, 1, 0)
    assert any("use the key it was sent with" in said for said in desk.said)
    ours = desk.rows("select remote_id, status from batch_states where status <> 'ingested'")
    assert ours == [(hidden, "parked")]
    assert len(service.log()["creates"]) == 3

    service.set_faults(Faults())
    assert desk.advance().code == 0
    assert len(service.log()["creates"]) == 3
    assert desk.states() == {"answered": 10}


def test_a_new_batch_that_is_not_visible_yet_is_given_time(serve: Serve, db: Path) -> None:
    """Within the first minutes a 404 is no news: not every server knows of the batch."""
    desk = Desk(db, grace=timedelta(minutes=5))
    serve(Faults(calls=(CallFault("batches.retrieve", "status", times=3, status=404),)))
    assert desk.run().code == 0
    assert desk.one("select count(*) from batch_events where status = 'parked'") == 0


def test_a_key_that_was_revoked_fails_nothing(serve: Serve, desk: Desk) -> None:
    """A 401 while looking says which key to check, and leaves the batch open."""
    service = serve()
    service.hold()
    desk.send()
    service.set_faults(Faults(only_key="another"))
    ended = desk.advance(wait=False)
    assert (ended.code, ended.standing.open) == (3, 1)
    assert any("check the API key" in said for said in desk.said)
    assert desk.states() == {"in flight": 10}


def test_an_unreadable_list_of_counts_is_no_news(serve: Serve, desk: Desk) -> None:
    """A state that lasts is written down and told once, not with every look."""
    service = serve()
    service.hold()
    desk.send()
    desk.said.clear()
    for _ in range(3):
        desk.advance(wait=False)
    assert len(desk.said) == 1
    assert "in_progress (5 of 10)" in desk.said[0]


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
