"""Promises of the Anthropic and the live providers that are not kept yet."""

from __future__ import annotations

from contextlib import suppress

import pytest

from cache.errors import ProviderError
from tests.conftest import Serve
from tests.running import Desk
from tests.test_anthropic_create import by_hand
from tests.vendors import CLAUDE, LIVE, ONE, for_all, struck
from tests.wire.service import Faults


@pytest.fixture(name="serve")
def for_claude(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> Serve:
    return for_all(serve, monkeypatch)


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


def test_b08_one_account_that_stops_does_not_hold_up_the_others(serve: Serve, desk: Desk) -> None:
    """A live model is refused, and its batch stays open: the others are brought home all the same.

    One call is enough to know it; the exit code tells.
    """
    service = serve(Faults(unknown_models=("gpt-nothing",)))
    with suppress(ProviderError):
        desk.run("openai:gpt-nothing?mode=live", **ONE)
    calls = service.log()["chat_calls"]
    desk.ask(LIVE, CLAUDE, **ONE)
    with suppress(ProviderError):
        assert desk.advance().code == 1
    answered = "select count(*) from prompt_states where state = 'answered'"
    assert desk.one(answered) == 2
    assert service.log()["chat_calls"] <= calls + 2
