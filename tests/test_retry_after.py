"""A provider that names a time is not asked before it; the others are."""

from __future__ import annotations

from pathlib import Path

import pytest

from batcher.refusals import LONGEST_WAIT, retry_after
from tests.conftest import Serve
from tests.running import JUDGE, Desk
from tests.vendors import CLAUDE, ONE, call, for_all, struck
from tests.wire.service import Faults

each_route = pytest.mark.parametrize(
    ("judge", "route"),
    [
        (JUDGE, "files.create"),
        (JUDGE, "batches.create"),
        (JUDGE, "batches.retrieve"),
        (JUDGE, "files.content"),
        (CLAUDE, "messages.batches.create"),
        (CLAUDE, "messages.batches.retrieve"),
        (CLAUDE, "messages.batches.results"),
    ],
)


@pytest.fixture
def start(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> Serve:
    return for_all(serve, monkeypatch)


@each_route
def test_an_hour_is_obeyed_without_a_blocked_call(
    start: Serve, desk: Desk, judge: str, route: str
) -> None:
    """One refusal that names an hour is one sleep of an hour, and no second call before it."""
    service = start(struck(route, "status", status=429, retry_after="3600"))
    assert desk.run(judge, **ONE).code == 0
    long = [nap for nap in desk.naps if nap > 60]
    assert len(long) == 1
    assert 3590 < long[0] <= 3600
    assert service.log()["retries"] == {}
    assert len(service.log()["creates"]) == 1


@pytest.mark.parametrize(
    ("judge", "prefix"), [(JUDGE, ""), (CLAUDE, "messages.")], ids=["openai", "anthropic"]
)
def test_a_create_in_doubt_is_looked_for_when_the_time_has_come(
    start: Serve, desk: Desk, judge: str, prefix: str
) -> None:
    """A create answered with 529, then a list with 503: each time is kept before the next call."""
    service = start(
        Faults(
            calls=(
                call(f"{prefix}batches.create", "status", status=529, retry_after="100"),
                call(f"{prefix}batches.list", "status", status=503, retry_after="200"),
            )
        )
    )
    assert desk.run(judge, **ONE).code == 0
    long = [round(nap, -1) for nap in desk.naps if nap > 60]
    assert long == [100, 200]
    assert len(service.log()["creates"]) == 1


def test_another_provider_does_not_wait(start: Serve, desk: Desk) -> None:
    """One vendor asks for an hour: the other's answers are stored before that hour is slept."""
    service = start(struck("messages.batches.retrieve", "status", status=503, retry_after="3600"))
    service.hold("*")
    scope = desk.ask(JUDGE, CLAUDE, **ONE)
    desk.advance(scope, wait=False, collect=False)
    service.release("*")
    assert desk.advance(scope).code == 0
    first, second = desk.rows(
        "select provider from batches join batch_events using (batch_id) "
        "where batch_events.status = 'ingested' order by event_id"
    )
    assert (first, second) == (("openai",), ("anthropic",))
    assert sum(nap > 60 for nap in desk.naps) == 1


def test_without_waiting_nothing_is_slept(start: Serve, db: Path) -> None:
    """A look without waiting tells that a provider cannot be asked, and ends."""
    start(struck("batches.retrieve", "status", status=503, retry_after="3600"))
    desk = Desk(db)
    assert desk.advance(desk.ask(**ONE), wait=False).code == 3
    assert desk.naps == []


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "1500", "retry-after": "7"}, 1.5),
        (
            {
                "retry-after": "Tue, 01 Dec 2026 03:10:00 GMT",
                "date": "Tue, 01 Dec 2026 03:00:00 GMT",
            },
            600.0,
        ),
        ({"retry-after": "Tue, 01 Dec 2020 03:10:00 GMT"}, None),
        ({"retry-after": "0"}, None),
        ({"retry-after": "-3"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, LONGEST_WAIT),
        ({"retry-after": "1e300"}, LONGEST_WAIT),
    ],
)
def test_every_way_to_name_a_time_is_read(headers: dict[str, str], seconds: float | None) -> None:
    """Milliseconds, seconds and dates by the provider's clock; nonsense is no time at all."""
    assert retry_after(headers) == seconds
