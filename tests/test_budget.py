"""The cap on what a database may cost: set aside before anything is sent, and never broken."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from batcher.budget import Budget, set_budget
from batcher.pack import Due
from tests.conftest import Serve
from tests.running import Desk, needless, program, until
from tests.wire.service import CallFault, Faults, Settings

STANDING = "select spent_usd, reserved_usd, spent_usd + reserved_usd from budget_standing"


def cap(desk: Desk, dollars: float, *, allow_unpriced: bool = False) -> None:
    set_budget(desk.store, dollars, allow_unpriced, desk.pace.now())


def price_of_all(desk: Desk) -> float:
    """What the ten prompts of a desk were reserved at, as far as they have been sent."""
    return float(desk.one("select sum(reserved_usd) from batch_prompts"))


def due(dollars: float | None) -> Due:
    return Due("0" * 32, 1, 100, 10, "", dollars, dollars)


def test_a_budget_buys_from_the_start_and_never_more_than_is_left() -> None:
    """The first prompt that does not fit ends it: order is kept, nothing is skipped over."""
    purse = Budget(1.0, 0.25, 0.25, False, 0, 0.5)
    bought = purse.afford([due(0.25), due(0.125), due(0.25), due(0.01)])
    assert [one.reserved_usd for one in bought] == [0.25, 0.125]
    assert purse.left_usd == 0.125
    assert purse.reserved_usd == 0.625


def test_without_a_cap_everything_is_bought() -> None:
    """Prices that are not known stop nobody who set no limit."""
    purse = Budget(float("inf"), 3.0, 0.0, False, 0, float("inf"))
    assert purse.takes(due(None))
    assert len(purse.afford([due(None), due(9e9)])) == 2


def test_a_cap_stops_before_it_is_broken_and_says_what_remains(serve: Serve, desk: Desk) -> None:
    """Some prompts are sent, what they cost replaces what was set aside, the rest is told."""
    serve()
    scope = desk.ask()
    cap(desk, 0.0005)
    ended = desk.advance(scope)
    assert ended.code == 4
    assert "raise --max-cost" in ended.message
    assert "prompts remain" in ended.message
    states = desk.states()
    assert states["answered"] > 0
    assert states["due"] > 0
    spent, reserved, _ = desk.rows(STANDING)[0]
    assert 0 < spent <= 0.0005
    assert reserved == 0
    cap(desk, 1.0)
    assert desk.advance(scope).code == 0
    assert desk.states() == {"answered": 10}


def test_a_cap_of_nothing_sends_nothing(serve: Serve, db: Path) -> None:
    """Not one batch is made, and the exit code says that prompts have no answer."""
    service = serve()
    result = needless(
        db,
        *("run", "--judge", "openai:gpt-4o-mini", "--strategy", "window_to_one", "--limit", "2"),
        *("--max-cost", "0", "--poll", "0.05"),
    )
    assert result.exit_code == 4
    assert "raise --max-cost" in " ".join(result.stderr.split())
    assert service.log()["creates"] == []
    assert Desk(db).one("select count(*) from batches") == 0


def test_b64_a_judge_without_a_price_is_refused_under_a_cap(serve: Serve, desk: Desk) -> None:
    """Unknown is not free: nothing is sent until the user says so."""
    service = serve()
    scope = desk.ask("openai:foo-1")
    cap(desk, 1.0)
    ended = desk.advance(scope)
    assert ended.code == 1
    assert "openai:foo-1 has no known price" in ended.message
    assert "--allow-unpriced" in ended.message
    assert service.log()["creates"] == []
    cap(desk, 1.0, allow_unpriced=True)
    assert desk.advance(scope).code == 0
    standing = desk.rows("select spent_usd, reserved_usd, n_unpriced from budget_standing")
    assert standing == [(0.0, 0.0, 10)]


def test_what_open_batches_may_cost_is_set_aside(serve: Serve, desk: Desk) -> None:
    """A second selection sees what the first one has reserved, and waits for it."""
    serve(settings=Settings(in_progress=3600))
    desk.send()
    price = price_of_all(desk)
    assert price > 0
    assert desk.one("select reserved_usd from budget_standing") == pytest.approx(price)
    cap(desk, price * 1.01)
    ended = desk.advance(desk.ask(strategies=("one_to_one",)), collect=False)
    assert ended.code == 4
    assert "raise --max-cost" in ended.message
    assert desk.one("select count(*) from batches") == 1


def test_under_a_cap_nothing_is_sent_beside_lines_of_unknown_cost(serve: Serve, desk: Desk) -> None:
    """What a journal put back has no reservation: the cap waits for its bill, and then goes on."""
    serve(settings=Settings(in_progress=0.5))
    desk.send()
    with desk.store.writing() as con:
        con.execute("update batch_prompts set expected_usd = null, reserved_usd = null")
    cap(desk, 1.0)
    scope = desk.ask(strategies=("one_to_one",))
    ended = desk.advance(scope, collect=False)
    assert ended.code == 4
    assert "10 prompts in open batches may cost is not known" in ended.message
    assert desk.one("select count(*) from batches") == 1
    assert desk.advance().code == 0
    assert desk.advance(scope).code == 0
    assert set(desk.states()) == {"answered"}


def test_the_newest_cap_counts_and_none_lifts_it(db: Path, serve: Serve) -> None:
    """A cap stays in force for commands that do not name one, until another is set."""
    serve()
    way = ("--judge", "openai:gpt-4o-mini", "--strategy", "window_to_one", "--limit", "2")
    assert needless(db, "run", *way, "--max-cost", "0", "--poll", "0.05").exit_code == 4
    assert needless(db, "run", *way, "--poll", "0.05").exit_code == 4
    plan = " ".join(needless(db, "plan", *way).stdout.split())
    assert "of the budget of $0.0000" in plan.lower()
    assert needless(db, "resume", "--max-cost", "none", "--poll", "0.05").exit_code == 0


@pytest.mark.parametrize("amount", ["-1", "lots", "nan", "inf"])
def test_an_amount_that_is_none_is_a_usage_error(db: Path, amount: str) -> None:
    """A slip of the hand never means "no limit"."""
    result = needless(db, "run", "--max-cost", amount)
    assert result.exit_code == 2
    assert "US dollars" in result.stderr


def test_a_kill_between_reservation_and_create_spends_nothing_twice(serve: Serve, db: Path) -> None:
    """The reservation survives; what is resumed stays below the cap at every moment."""
    service = serve(Faults(calls=(CallFault("batches.create", "delay", seconds=1.0),)))
    way = ("--judge", "openai:gpt-4o-mini", "--strategy", "window_to_one", "--limit", "2")
    with program(db, "run", *way, "--max-cost", "0.01", "--poll", "0.05") as process:
        until(lambda: service.log()["calls"].get("batches.create", 0) > 0)
        os.kill(process.pid, signal.SIGKILL)
    desk = Desk(db)
    _, reserved, total = desk.rows(STANDING)[0]
    assert 0 < reserved <= 0.01
    assert total <= 0.01
    result = needless(db, "resume", "--poll", "0.05")
    assert result.exit_code == 0, result.output
    spent, reserved, _ = Desk(db).rows(STANDING)[0]
    assert 0 < spent <= 0.01
    assert reserved == 0
    assert len(service.log()["custom_ids"]) == 10
