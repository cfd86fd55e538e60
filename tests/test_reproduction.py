"""Our scores beside the paper's, in the layout of its tables."""

from __future__ import annotations

from pathlib import Path

import pytest

from cache.store import Store
from tests.test_metrics import World, read

ASKED = ("window_to_one", "aaa", False, "openai:gpt-4o-2024-08-06?max_tokens=16384")
SHOWN = ("window_to_one", "aaa", True, "openai:gpt-4o?max_tokens=16384")


@pytest.fixture
def world() -> World:
    """One run a domain; the step that is found is half of what is labelled."""
    made = World()
    for domain in ("airline", "retail", "telecom"):
        made.run(domain, 3, {"v1": [1, 2]}, domain=domain)
        made.ask(domain, [True, False, domain == "retail"], ASKED)
    made.ask("airline", [True, True, False], SHOWN)
    return made


def test_ours_and_the_paper_s_stand_side_by_side(tmp_path: Path, world: World) -> None:
    """Domains and averages in percent, the printed and the recomputed average, by level."""
    rows = read(Store(tmp_path / "n.duckdb"), world, "reproduction")
    (step,) = (row for row in rows if row["level"] == "step" and not row["gold"])
    assert step["airline"] == step["telecom"] == pytest.approx(100 * 2 / 3)
    assert step["retail"] == pytest.approx(50)
    assert step["average"] == pytest.approx((2 * 200 / 3 + 50) / 3)
    assert float(step["printed_airline"]) == 18.67
    assert float(step["printed_average"]) == 20.49
    assert float(step["recomputed_average"]) == 20.49
    (level,) = (row for row in rows if row["level"] == "trajectory" and not row["gold"])
    assert (level["average"], float(level["printed_average"])) == (100, 64.81)


def test_with_the_reference_shown_the_paper_has_one_domain(tmp_path: Path, world: World) -> None:
    """Table 3 is gpt-4o on airline; what it does not have is empty."""
    rows = read(Store(tmp_path / "n.duckdb"), world, "reproduction")
    (step,) = (row for row in rows if row["level"] == "step" and row["gold"])
    assert (step["airline"], step["retail"], step["telecom"]) == (100, None, None)
    assert float(step["printed_airline"]) == 20.92
    assert step["printed_retail"] is step["printed_average"] is None
