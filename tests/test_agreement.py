"""Agreement of two settings, against figures worked out by hand; names of settings."""

from __future__ import annotations

import pytest

from cache.store import Store
from tests.bootstrap import OTHER
from tests.test_metrics import (
    World,
    one,
    read,
)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return Store(tmp_path_factory.mktemp("agreement") / "agreement.duckdb")


@pytest.mark.parametrize(
    ("both", "only_a", "only_b", "neither", "kappa"),
    [
        (20, 5, 10, 15, 0.4),
        (45, 15, 25, 15, 0.13043478260869565),
        (3, 0, 0, 3, 1.0),
        (0, 3, 3, 0, -1.0),
        (7, 0, 0, 0, None),
        (5, 5, 0, 0, 0.0),
    ],
)
def test_kappa(
    store: Store, both: int, only_a: int, only_b: int, neither: int, kappa: float | None
) -> None:
    """Figures worked out by hand; NULL where chance alone would agree on everything."""
    a = [True] * (both + only_a) + [False] * (only_b + neither)
    b = [True] * both + [False] * only_a + [True] * only_b + [False] * neither
    world = (
        World().run("t", len(a) + 2).ask("t", [*a, None, True]).ask("t", [*b, True, None], OTHER)
    )
    row = one(store, world, "agreement")
    assert (row["n_steps"], row["n_agree"]) == (len(a), both + neither)
    assert row["agreement"] == pytest.approx((both + neither) / len(a))
    assert row["kappa"] == (None if kappa is None else pytest.approx(kappa))


def test_agreement_needs_no_labels_and_keeps_repeats_apart(store: Store) -> None:
    """What two settings said of the same step in the same repeat, labelled or not."""
    world = World().run("t", 2, {})
    world.ask("t", (True, False), repeat=0).ask("t", (True, True), repeat=1)
    world.ask("t", (True, True), OTHER, repeat=1)
    row = one(store, world, "agreement")
    assert (row["n_steps"], row["n_agree"], row["kappa"]) == (2, 2, None)


def test_names_of_settings(store: Store) -> None:
    """A digest shows where there are versions to tell apart, gold where it was shown."""
    world = World().run("t", 1).ask("t", (True,))
    assert [row["setting"] for row in read(store, world, "settings")] == [
        "offline:rules/window_to_one"
    ]
    world.ask("t", (True,), ("window_to_one", "bbb", True, "offline:rules"))
    assert {row["setting"] for row in read(store, world, "settings")} == {
        "offline:rules/window_to_one@aaa",
        "offline:rules/window_to_one@bbb+gold",
    }
