"""Promises of the Anthropic and the live providers that are not kept yet."""

from __future__ import annotations

from contextlib import suppress

import pytest

from cache.errors import ProviderError, Refused
from tests.conftest import Serve
from tests.running import JUDGE, Desk
from tests.test_anthropic_create import by_hand
from tests.vendors import CLAUDE, LIVE, ONE, for_all, struck
from tests.wire.service import Faults


@pytest.fixture(name="serve")
def for_claude(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> Serve:
    return for_all(serve, monkeypatch)


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


def test_b09_cancelling_a_live_batch_asks_nothing_more(serve: Serve, desk: Desk) -> None:
    """A live run that stopped half way and is cancelled keeps what it had and pays for no more."""
    service = serve(struck("chat.create", "status", first=3, times=0, status=402))
    with pytest.raises(Refused):
        desk.run(LIVE)
    service.set_faults(Faults())
    calls = service.log()["chat_calls"]
    standing = desk.cancel(desk.one("select batch_id from batches"))
    assert (service.log()["chat_calls"], standing.open) == (calls, 0)
    assert desk.states() == {"answered": 2, "due": 8}


def test_b09_a_cancel_that_fails_does_not_spare_the_other_batches(serve: Serve, desk: Desk) -> None:
    """The server stumbles over the first of two: the second is asked to stop all the same."""
    service = serve(struck("messages.batches.cancel", "status", status=500))
    service.hold(done=0)
    names = desk.send(CLAUDE, "anthropic:claude-sonnet-4-5", **ONE)
    with suppress(ProviderError):
        desk.cancel(*names, wait=False)
    assert len(service.log()["cancelled"]) == 1


def test_a_model_that_does_not_exist_is_not_asked_for_every_prompt(
    serve: Serve, desk: Desk
) -> None:
    """A live model that answers 404 to everything is told once; its prompts are due, not lost."""
    service = serve(Faults(unknown_models=("gpt-4o-mini",)))
    with suppress(ProviderError):
        desk.run(LIVE, limit=4)
    service.set_faults(Faults())
    assert service.log()["chat_calls"] < desk.one("select count(*) from prompts")
    assert desk.run(LIVE, limit=4).code == 0


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


def test_b09_a_batch_in_doubt_is_cancelled_once_it_is_found(serve: Serve, desk: Desk) -> None:
    """A lost create that is cancelled: it is looked for and stopped, not followed to its end."""
    service = serve(struck("batches.create", "drop_after"))
    service.hold(done=0)
    desk.advance(desk.ask(JUDGE, **ONE), wait=False)
    name = desk.one("select batch_id from batches")
    for _ in range(2):
        with suppress(ProviderError):
            desk.cancel(name, wait=False)
    assert len(service.log()["cancelled"]) == 1
    assert len(service.log()["creates"]) == 1
