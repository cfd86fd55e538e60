"""Pairs of settings: the paired bootstrap and the exact test, against plain Python."""

from __future__ import annotations

import math
from collections import defaultdict
from fractions import Fraction
from itertools import combinations
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cache.store import Store
from tests.bootstrap import OTHER, Draws, close, interval
from tests.test_metrics import (
    KEY,
    WINDOW,
    Row,
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
    return Store(tmp_path_factory.mktemp("comparisons") / "comparisons.duckdb")


@settings(max_examples=10, deadline=None, database=None)
@given(drawn=st.lists(runs, min_size=1, max_size=7))
def test_comparisons_are_those_of_plain_loops(store: Store, drawn: list[Any]) -> None:
    """Every pair, on what both scored: the difference, its interval, and the four counts."""
    world = drawn_up(drawn)
    scored = [row for row in by_loops(world) if row["is_scored"]]
    with store.writing() as con:
        world.fill(con)
        names = {tuple(row[k] for k in KEY[1:]): row["setting"] for row in view(con, "settings")}
        keys = ("label_set", "setting_a", "setting_b", "domain")
        got = grouped(view(con, "comparisons"), keys)
        draws = Draws(con)
        wanted = set()
        by_setting = grouped(scored, KEY)
        for one_key, two_key in combinations(by_setting, 2):
            if one_key[0] != two_key[0]:
                continue
            key_a, key_b = sorted((one_key, two_key), key=lambda key: names[key[1:]])
            a, b = (
                {(r["trajectory_id"], r["repeat"]): r for r in by_setting[k]}
                for k in (key_a, key_b)
            )
            both = [(a[at], b[at]) for at in sorted(a.keys() & b.keys())]
            for domain in {"all", *(r["domain"] for r, _ in both)} if both else ():
                key = (key_a[0], names[key_a[1:]], names[key_b[1:]], domain)
                wanted.add(key)
                (row,) = got[key]
                mine = [pair for pair in both if domain in ("all", pair[0]["domain"])]
                pairs: dict[str, dict[str, list[tuple[Row, Row]]]] = defaultdict(
                    lambda: defaultdict(list)
                )
                for pair in mine:
                    pairs[pair[0]["domain"]][pair[0]["trajectory_id"]].append(pair)
                parts = {
                    name: [
                        (sum((x["f1"] - y["f1"] for x, y in some), Fraction(0)), len(some))
                        for _, some in sorted(by_run.items())
                    ]
                    for name, by_run in pairs.items()
                }
                low, high = interval(draws, parts)
                assert close(row["step_score_difference_low"], low), key
                assert close(row["step_score_difference_high"], high), key
                difference = mean(
                    sum((part[0] for part in some), Fraction(0)) / sum(part[1] for part in some)
                    for some in parts.values()
                )
                assert close(row["step_score_difference"], difference), key
                first = [some[0] for by_run in pairs.values() for some in by_run.values()]
                right = [(x["trajectory_correct"], y["trajectory_correct"]) for x, y in first]
                columns = ("n_both_right", "n_only_a_right", "n_only_b_right", "n_neither_right")
                cases = ((True, True), (True, False), (False, True), (False, False))
                for column, case in zip(columns, cases, strict=True):
                    assert row[column] == right.count(case), (key, column)
                assert row["n_trajectories"] == len(first)
    assert got.keys() == wanted


@pytest.mark.parametrize(
    ("only_a", "only_b"), [(0, 0), (1, 0), (0, 5), (3, 7), (10, 10), (40, 0), (88, 120), (620, 480)]
)
def test_mcnemar_is_exact(store: Store, only_a: int, only_b: int) -> None:
    """Twice the smaller tail of a fair coin, to nine digits, where 1100! would overflow."""
    world = World()
    for at in range(only_a + only_b + 1):
        a_is_right = at < only_a or at == only_a + only_b
        world.run(f"t{at}", 1, {"v1": (1,)}).ask(f"t{at}", (a_is_right,), WINDOW)
        world.ask(f"t{at}", (at >= only_a,), OTHER)
    (row,) = (r for r in read(store, world, "comparisons") if r["domain"] == "all")

    n = only_a + only_b
    tail = Fraction(sum(math.comb(n, k) for k in range(min(only_a, only_b) + 1)), 2**n)
    assert (row["n_only_a_right"], row["n_only_b_right"], row["n_both_right"]) == (
        only_a,
        only_b,
        1,
    )
    assert row["mcnemar_p"] == pytest.approx(float(min(Fraction(1), 2 * tail)), rel=1e-9)


def test_a_trajectory_is_tested_once(store: Store) -> None:
    """Asking three times is no more evidence: its first repeat that both scored counts."""
    world = World().run("t", 1, {"v1": (1,)}).ask("t", (None,), WINDOW, 0)
    for repeat in range(4):
        world.ask("t", (repeat < 2,), OTHER, repeat)
        if repeat:
            world.ask("t", (repeat > 1,), WINDOW, repeat)
    (row,) = (r for r in read(store, world, "comparisons") if r["domain"] == "all")
    assert (row["setting_a"], row["setting_b"]) == (
        "offline:rules/window_to_one",
        "offline:x/window_to_one",
    )
    assert (row["n_trajectories"], row["n_only_a_right"], row["n_only_b_right"]) == (1, 0, 1)
    assert row["step_score_difference"] == pytest.approx(1 / 3)
