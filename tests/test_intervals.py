"""Bootstrap intervals of scores, against plain Python, theory and themselves."""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cache.store import Store
from tests.bootstrap import Draws, close, interval, many, parts_of
from tests.test_metrics import (
    KEY,
    World,
    by_loops,
    drawn_up,
    grouped,
    mean,
    read,
    runs,
    view,
)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return Store(tmp_path_factory.mktemp("intervals") / "intervals.duckdb")


@settings(max_examples=10, deadline=None, database=None)
@given(drawn=st.lists(runs, min_size=1, max_size=7))
def test_intervals_are_those_of_plain_loops(store: Store, drawn: list[Any]) -> None:
    """Percentiles of 1,000 resampled means, by domain and over all, for both scores."""
    world = drawn_up(drawn)
    rows = by_loops(world)
    with store.writing() as con:
        world.fill(con)
        got = grouped(view(con, "score_intervals"), (*KEY, "domain"))
        draws = Draws(con)
        assert got.keys() == {
            (*key, domain)
            for key, members in grouped(rows, KEY).items()
            for domain in ("all", *(row["domain"] for row in members))
        }
        for key, (row,) in got.items():
            setting, domain = key[:-1], key[-1]
            members = grouped(rows, KEY)[setting]
            domains = {
                name: mine
                for (name,), mine in grouped(members, ("domain",)).items()
                if domain in ("all", name)
            }
            assert row["n_trajectories"] == len(
                {mine["trajectory_id"] for some in domains.values() for mine in some}
            )
            for name, value, wanted in (
                ("step_score", "f1", "is_scored"),
                ("trajectory_score", "trajectory_correct", "trajectory_id"),
            ):
                parts = {place: parts_of(mine, value, wanted) for place, mine in domains.items()}
                low, high = interval(draws, parts)
                assert close(row[f"{name}_low"], low), (key, name)
                assert close(row[f"{name}_high"], high), (key, name)
                assert close(
                    row[name],
                    mean(
                        sum((part[0] for part in some), Fraction(0)) / n
                        if (n := sum(part[1] for part in some))
                        else None
                        for some in parts.values()
                    ),
                )


def test_an_interval_is_as_wide_as_theory_says(store: Store) -> None:
    """For a mean of many it is nearly the normal one: 1.96 standard errors to either side.

    Of 32 and of 64 runs: dice that are not fair show where the remainder is one of a power of two.
    """
    world = many(96)
    rows = grouped(read(store, world, "step_scores"), (*KEY, "domain"))
    with store.reading() as con:
        found = grouped(view(con, "score_intervals"), (*KEY, "domain"))
    assert len(rows) == 4
    for key, mine in rows.items():
        (row,) = found[key]
        f1 = [r["f1"] for r in mine]
        error = 1.96 * statistics.pstdev(f1) / math.sqrt(len(f1))
        assert row["step_score"] - row["step_score_low"] == pytest.approx(error, rel=0.15)
        assert row["step_score_high"] - row["step_score"] == pytest.approx(error, rel=0.15)


def test_the_same_data_has_the_same_digits(store: Store) -> None:
    """However many threads work, and in whichever order the rows were stored."""
    world = many(400, 12)
    seen: dict[str, list[Any]] = defaultdict(list)
    for is_turned in (False, True):
        if is_turned:
            for rows in world.tables.values():
                rows.reverse()
        with store.writing() as con:
            world.fill(con)
        with store.reading() as con:
            for threads in (1, 2, 5):
                con.execute(f"set threads = {threads}")
                for name in ("score_intervals", "comparisons", "agreement", "baselines"):
                    seen[name].append(view(con, name))
    for name, results in seen.items():
        assert results[0], name
        assert all(result == results[0] for result in results[1:]), name


def test_one_trajectory_has_no_interval(store: Store) -> None:
    """Nothing can be said of its spread, not even that there is none; nor of all domains then."""
    world = World().run("a", 1).run("b", 1).run("r", 1, domain="retail")
    for name in "abr":
        world.ask(name, (True,))
    rows = {row["domain"]: row for row in read(store, world, "score_intervals")}
    assert (rows["airline"]["step_score_low"], rows["airline"]["step_score_high"]) == (0.0, 0.0)
    for domain in ("retail", "all"):
        assert rows[domain]["step_score"] == 0.0
        assert rows[domain]["step_score_low"] is rows[domain]["trajectory_score_high"] is None
