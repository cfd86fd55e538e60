"""What judges that look at nothing score, against every verdict they could give."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cache.store import Store
from tests.bootstrap import close
from tests.test_metrics import (
    World,
    grouped,
    harmonic,
    mean,
    read,
)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return Store(tmp_path_factory.mktemp("baselines") / "baselines.duckdb")


def expected(n: int, labelled: int, rate: Fraction) -> tuple[Fraction, Fraction]:
    """Return the expected F1 and chance to be right, by going through every verdict there is."""
    f1 = right = Fraction(0)
    for said in product((True, False), repeat=n):
        chance = rate ** sum(said) * (1 - rate) ** (n - sum(said))
        tp, fp = sum(said[:labelled]), sum(said[labelled:])
        f1 += chance * harmonic(tp, fp, labelled - tp)
        right += chance * (any(said) == (labelled > 0))
    return f1, right


@settings(max_examples=25, deadline=None, database=None)
@given(
    drawn=st.lists(
        st.tuples(st.sampled_from(("airline", "retail")), st.integers(1, 6), st.integers(0, 6)),
        min_size=1,
        max_size=6,
    )
)
def test_baselines_are_exact_expectations(store: Store, drawn: list[tuple[str, int, int]]) -> None:
    """Every one of 2^n verdicts on n steps, each weighed by its chance, gives the same scores."""
    world, shapes = World(), []
    for at, (domain, n, most) in enumerate(drawn):
        shapes.append((domain, n, min(n, most)))
        world.run(f"t{at}", n, {"v1": range(1, min(n, most) + 1)}, domain)
    base = Fraction(sum(shape[2] for shape in shapes), sum(shape[1] for shape in shapes))
    rates = {
        "all redundant": Fraction(1),
        "none redundant": Fraction(0),
        "random, 0.5": Fraction(1, 2),
        "random, base rate": base,
    }
    rows = grouped(read(store, world, "baselines"), ("baseline", "domain"))
    domains = sorted({shape[0] for shape in shapes})
    assert rows.keys() == {*product(rates, ("all", *domains))}
    for name, rate in rates.items():
        scores = {
            domain: [
                expected(n, labelled, rate) for place, n, labelled in shapes if place == domain
            ]
            for domain in domains
        }
        for at, column in enumerate(("step_score", "trajectory_score")):
            means = {domain: mean(s[at] for s in some) for domain, some in scores.items()}
            for domain, value in (*means.items(), ("all", mean(means.values()))):
                (row,) = rows[name, domain]
                assert close(row[column], value), (name, domain, column)
                assert row["rate"] == float(rate)


def test_baselines_rest_on_what_was_asked(store: Store) -> None:
    """On the same trajectories as the judges beside them, by label set; else on all."""
    world = World().run("a", 1, {"v1": (1,), "v2": ()}).run("b", 3, {"v1": (), "v3": (1,)})
    world.run("talk", 0).ask("a", (None,))
    found = {
        (row["label_set"], row["n_trajectories"], row["n_steps"])
        for row in read(store, world, "baselines")
    }
    assert found == {("v1", 1, 1), ("v2", 1, 1), ("v3", 1, 3)}


def test_a_long_trajectory_does_not_overflow(store: Store) -> None:
    """Binomials of 2,000 steps have no place in a double; their logarithms do."""
    world = World().run("t", 2000, {"v1": range(1, 1001)})
    rows = {
        row["baseline"]: row for row in read(store, world, "baselines") if row["domain"] == "all"
    }
    assert rows["random, 0.5"]["trajectory_score"] == pytest.approx(1.0)
    assert rows["random, 0.5"]["step_score"] == pytest.approx(0.5, abs=0.001)
    assert rows["all redundant"]["step_score"] == pytest.approx(2 / 3)
