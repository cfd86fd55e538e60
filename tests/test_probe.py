"""Before many lines go out with settings never tried, one goes alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from batcher.providers.base import Limits
from tests.conftest import Serve
from tests.running import Desk
from tests.wire.service import Faults, LineFault

#: A desk for which five lines are many.
SMALL = Limits(requests=50_000, bytes=10**8, line_bytes=10**8, probe_from=5)


@pytest.fixture
def wary(db: Path) -> Desk:
    return Desk(db, limits=SMALL)


def test_one_line_goes_first_and_its_answer_counts(serve: Serve, wary: Desk) -> None:
    """A batch of one, then the rest: nothing is asked twice, and everything is answered."""
    service = serve()
    assert wary.run().code == 0
    log = service.log()
    assert [one["lines"] for one in log["creates"]] == [1, 9]
    assert set(log["bodies"].values()) == {1}
    assert wary.states() == {"answered": 10}


def test_b21_a_rejected_parameter_costs_three_lines_not_all(serve: Serve, wary: Desk) -> None:
    """Each line answers 400: three are tried, the rest is not sent, and the reason is told."""
    rejects = LineFault("http_error", status=400, message="temperature is not supported")
    service = serve(Faults(lines=(rejects,)))
    ended = wary.run()
    assert (ended.code, "temperature is not supported" in ended.message) == (1, True)
    assert sum(one["lines"] for one in service.log()["creates"]) == 3
    assert wary.states() == {"given up": 3, "due": 7}


def test_settings_that_were_answered_once_are_not_tried_again(serve: Serve, wary: Desk) -> None:
    """A second strategy of the same form and judge goes out whole."""
    service = serve()
    wary.run()
    assert wary.run(strategies=("one_to_one",)).code == 0
    assert [one["lines"] for one in service.log()["creates"]] == [1, 9, 9]


def test_other_parameters_are_other_settings(serve: Serve, wary: Desk) -> None:
    """What a model takes with one temperature says nothing of another."""
    service = serve()
    wary.run()
    assert wary.run("openai:gpt-4o-mini?temperature=0").code == 0
    assert [one["lines"] for one in service.log()["creates"]] == [1, 9, 1, 9]


def test_a_line_that_is_bad_by_itself_condemns_nothing(serve: Serve, wary: Desk) -> None:
    """The first line is refused for its own sake: the next one is tried, and the rest follows."""
    service = serve(Faults(lines=(LineFault("http_error", status=400, times=1),)))
    assert wary.run().code == 4
    assert [one["lines"] for one in service.log()["creates"]] == [1, 1, 8]


def test_few_lines_are_not_tried_first(serve: Serve, desk: Desk) -> None:
    """Below the number where it pays, everything goes out at once."""
    service = serve()
    assert desk.run().code == 0
    assert [one["lines"] for one in service.log()["creates"]] == [10]
