"""Dear and cheap hours: known, shown in a plan, and waited for."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from batcher.hours import cheap_from, is_peak
from tests.conftest import Serve
from tests.running import Desk, needless

JUDGE = "deepseek:deepseek-v4-pro"
#: A Tuesday in the middle of the first dear hours.
DEAR = datetime(2026, 12, 1, 2, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("day", "hour", "wanted"),
    [
        *((1, 0, False), (1, 1, True), (1, 3, True), (1, 4, False), (1, 6, True), (1, 9, True)),
        *((1, 10, False), (4, 9, True), (5, 2, False), (6, 7, False), (7, 7, True)),
    ],
)
def test_hours_of_working_days_are_dear(day: int, hour: int, wanted: bool) -> None:
    """01–04 and 06–10 UTC from Monday to Friday; a weekend is cheap all day (5 is a Saturday)."""
    assert is_peak("deepseek", datetime(2026, 12, day, hour, 59, tzinfo=UTC)) == wanted
    assert not is_peak("openai", datetime(2026, 12, day, hour, 59, tzinfo=UTC))


def test_the_next_cheap_moment() -> None:
    """The end of the stretch, or the moment itself."""
    assert cheap_from("deepseek", DEAR) == datetime(2026, 12, 1, 4, tzinfo=UTC)
    assert cheap_from("deepseek", DEAR + timedelta(hours=2)) == DEAR + timedelta(hours=2)
    assert cheap_from("openai", DEAR) == DEAR


@pytest.fixture
def clock(serve: Serve, desk: Desk, monkeypatch: pytest.MonkeyPatch) -> list[datetime]:
    """The desk's hour, in a list of one; sleeping goes on by half an hour each time."""
    service = serve()
    monkeypatch.setenv("DEEPSEEK_BASE_URL", service.base_url)
    monkeypatch.setenv("DEEPSEEK_API_KEY", "k")
    hour = [DEAR]

    def sleep(seconds: float) -> None:
        desk.naps.append(seconds)
        hour[0] += timedelta(minutes=30)

    desk.pace = replace(desk.pace, now=lambda: hour[0], sleep=sleep, off_peak=True)
    return hour


def test_off_peak_waits_for_cheap_hours(desk: Desk, clock: list[datetime]) -> None:
    """Nothing is asked before they begin; it is said once, and all is paid at their price."""
    assert desk.run(JUDGE).code == 0
    assert clock[0] >= datetime(2026, 12, 1, 4, tzinfo=UTC)
    assert [text for text in desk.said if "asked from" in text] == [
        "deepseek is asked from Tue 04:00 UTC on"
    ]
    assert desk.one("select min(received_at) from responses") >= datetime(
        2026, 12, 1, 4, tzinfo=UTC
    )
    assert desk.rows("select distinct usd_per_m_input from responses") == [(0.66,)]


def test_without_it_nobody_waits(desk: Desk, clock: list[datetime]) -> None:
    """Dear hours are paid for by those who are in a hurry."""
    desk.pace = replace(desk.pace, off_peak=False)
    assert desk.run(JUDGE).code == 0
    assert clock == [DEAR]
    assert desk.rows("select distinct usd_per_m_input from responses") == [(1.32,)]


def test_dear_hours_that_begin_in_the_middle_pause_it(desk: Desk, clock: list[datetime]) -> None:
    """What is answered stays, the batch stays open, and the rest is asked when they are over."""
    clock[0] = datetime(2026, 12, 1, 0, 59, tzinfo=UTC)
    looks = 0

    def now() -> datetime:
        nonlocal looks
        looks += 1
        if looks == 12:  # in the middle of the prompts
            clock[0] = DEAR
        return clock[0]

    answered: list[int] = []

    def sleep(seconds: float) -> None:
        answered.append(desk.one("select count(*) from responses"))
        clock[0] += timedelta(minutes=30)

    desk.pace = replace(desk.pace, now=now, sleep=sleep)
    assert desk.run(JUDGE).code == 0
    assert 0 < answered[0] < 10
    assert "deepseek is asked from Tue 04:00 UTC on" in desk.said
    assert desk.outcomes() == {"ok": 10}
    assert desk.one("select count(*) from batches") == 1
    assert desk.attempts() == {1}


def test_a_plan_shows_what_waiting_saves(db: Path) -> None:
    """The same prompts at the cheap hours' price, for providers that have some."""
    way = ("--strategy", "window_to_one", "--limit", "2", "--json")
    rows = json.loads(
        needless(db, "plan", "--judge", JUDGE, "--judge", "openai:gpt-4o", *way).stdout
    )
    cheap, dear = rows[0]["$ off-peak"], rows[0]["$"]
    assert cheap == pytest.approx(dear / 2 if is_peak("deepseek", datetime.now(UTC)) else dear)
    assert rows[1]["$ off-peak"] is None
