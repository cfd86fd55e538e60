"""Going on: from any state, in any process, without doing anything twice."""

from __future__ import annotations

from pathlib import Path

from cache.store import Store
from tests.conftest import Serve
from tests.running import JUDGE, Desk, needless, running, until
from tests.test_store import held
from tests.wire.service import CallFault, Faults


def test_resume_with_nothing_open_is_done(serve: Serve, desk: Desk) -> None:
    """Without anything to do it ends at once and calls nobody."""
    service = serve()
    desk.run()
    calls = service.log()["calls"]
    assert desk.advance().code == 0
    assert service.log()["calls"] == calls


def test_b60_running_again_deletes_nothing(serve: Serve, desk: Desk) -> None:
    """Another run in the same file adds to what was paid for, and takes nothing away."""
    serve()
    desk.run()
    before = set(desk.rows("select batch_id, custom_id, text from responses"))
    desk.run("openai:gpt-4.1-mini")
    assert before < set(desk.rows("select batch_id, custom_id, text from responses"))


def test_only_the_batches_named_are_moved(serve: Serve, desk: Desk) -> None:
    """A resume of one batch leaves the others as they are."""
    from batcher.ledger import Scope

    service = serve()
    service.hold()
    first, second = desk.send(JUDGE, "openai:gpt-4.1-mini")
    service.release()
    assert desk.advance(Scope(batch_ids=(first,))).code == 0
    assert desk.rows("select batch_id from batch_states where is_open") == [(second,)]


def test_no_wait_looks_round_once(serve: Serve, desk: Desk) -> None:
    """Without waiting there is one look at each batch, and no pause."""
    service = serve()
    service.hold()
    desk.send()
    polls = service.log()["polls"]
    assert desk.advance(wait=False).code == 3
    assert service.log()["polls"] == polls + 1
    assert desk.naps == []


def test_two_selections_share_what_is_in_flight(serve: Serve, desk: Desk) -> None:
    """A prompt that a batch carries already is not sent by a second run that needs it too."""
    service = serve()
    service.hold()
    desk.send()
    desk.send()
    assert len(service.log()["creates"]) == 1
    service.release()
    assert desk.run().code == 0
    assert len(service.log()["creates"]) == 1


def test_b90_a_run_waits_for_a_process_that_reads(serve: Serve, desk: Desk) -> None:
    """Another process holds the file for a moment in the middle of a run: the run goes on."""
    serve(Faults(calls=(CallFault("batches.retrieve", "unknown_status", times=3),)))
    scope = desk.ask()
    with held(desk.store.path, 0.4):
        assert desk.advance(scope).code == 0


def test_two_processes_do_not_work_on_one_file(serve: Serve, db: Path) -> None:
    """While one run waits a second one sends nothing, and reports can be read."""
    service = serve()
    service.hold()
    ask = ("run", "--judge", JUDGE, "--limit", "1", "--poll", "0.05")
    with running(db, *ask):
        until(lambda: service.log()["calls"].get("batches.retrieve", 0) > 1)
        second = needless(db, *ask, "--no-wait")
        assert second.exit_code in (1, 3)
        assert needless(db, "status").exit_code == 0
    assert len(service.log()["creates"]) == 1
    service.release()
    assert needless(db, "resume", "--poll", "0.05").exit_code == 0
    assert len(service.log()["creates"]) == 1


def test_a_batch_has_three_names(serve: Serve, desk: Desk) -> None:
    """Our id, the provider's id and the token all name the same batch."""
    serve()
    desk.run()
    from batcher.ledger import resolve

    ((ours, remote, token),) = desk.rows("select batch_id, remote_id, token from batches")
    with Store(desk.store.path).reading() as con:
        assert resolve(con, [ours, remote, token]) == (ours,)
