"""The metrics behind the figures: lengths, cost beside score, and confidence beside truth."""

from __future__ import annotations

from typing import Any

import pytest

from cache.store import Connection, Store
from tests.test_metrics import WINDOW, World, view

STRATEGY, DIGEST, _, JUDGE = WINDOW
DEAR = (STRATEGY, DIGEST, False, "openai:dear")
WORSE = (STRATEGY, DIGEST, False, "openai:worse")


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return Store(tmp_path_factory.mktemp("costs") / "costs.duckdb")


def bill(
    con: Connection, line: str, prompt: int, usd: float | None, tokens: int | None = 9
) -> None:
    """Store an answer to a prompt, with its cost."""
    con.execute(
        "insert into responses by name select 'b' as batch_id, $1 as custom_id, "
        "$2::uuid as prompt_hash, 'ok' as outcome, false as is_transient, now() as received_at, "
        "$3::integer as output_tokens, $4::double as cost_usd",
        [line, f"{prompt:032x}", tokens, usd],
    )


def test_lengths(store: Store) -> None:
    """Every trajectory counts once at its level, asked or not; annotated ones are told apart."""
    world = World()
    for n, length in enumerate((1, 18, 19, 30, 31, 49, 50, 110)):
        world.run(f"t{n}", 1, {"v1": (), "v2": ()} if n % 2 else {}, n_messages=length)
    world.run("other", 1, domain="retail", n_messages=18)
    with store.writing() as con:
        world.fill(con)
        rows = view(con, "length_counts")

    found = [tuple(row.values()) for row in rows]
    levels = ((1, "1-18"), (2, "19-30"), (3, "31-49"), (4, "50+"))
    assert found == [*(("airline", *level, 2, 1) for level in levels), ("retail", 1, "1-18", 1, 1)]


def three() -> World:
    """One redundant step of two, asked by three judges: right, right, and wrong."""
    world = World().run("t", 2, {"v1": (1,)})
    world.ask("t", (True, False)).ask("t", (True, False), DEAR)
    return world.ask("t", (False, False), WORSE)


def costs(store: Store, world: World, *bills: Any, widened: bool = False) -> dict[str, Any]:
    """Return ``{judge: row}`` after some bills; the prompts of ``three`` are 0 to 5."""
    with store.writing() as con:
        world.fill(con)
        con.execute("delete from widened")
        if widened:
            con.execute(
                "insert into widened values ($1::uuid, $2::uuid, 9, now())",
                [f"{99:032x}", f"{0:032x}"],
            )
        for n, one in enumerate(bills):
            bill(con, f"line{n}", *one)
        return {row["judge"]: row for row in view(con, "cost_scores")}


def test_cost_beside_score(store: Store) -> None:
    """The cost is of all the setting's prompts, every attempt at them, and a trajectory."""
    rows = costs(store, three(), (0, 0.25), (1, 0.5), (1, 0.25), (2, 3.0), (3, 3.0), (4, 2.0))

    assert (rows[JUDGE]["cost_usd"], rows[JUDGE]["usd_per_trajectory"]) == (1.0, 1.0)
    assert rows["openai:dear"]["cost_usd"] == 6.0
    assert (rows[JUDGE]["step_score"], rows["openai:worse"]["step_score"]) == (1.0, 0.0)


def test_an_answer_cut_short_is_paid_too(store: Store) -> None:
    """The narrow prompt that came before a wider one is part of what the setting cost."""
    bills = (0, 0.25), (1, 0.5), (99, 4.0)

    assert costs(store, three(), *bills)[JUDGE]["cost_usd"] == 0.75
    assert costs(store, three(), *bills, widened=True)[JUDGE]["cost_usd"] == 4.75


def test_a_cost_that_is_not_known_is_no_number(store: Store) -> None:
    """One billed answer without a price, and the cost is NULL; an unbilled failure is nothing."""
    rows = costs(store, three(), (0, 1.0), (1, None), (2, 1.0), (3, None, None))

    assert (rows[JUDGE]["cost_usd"], rows[JUDGE]["n_unpriced"]) == (None, 1)
    assert (rows["openai:dear"]["cost_usd"], rows["openai:dear"]["n_unpriced"]) == (1.0, 0)
    assert rows["openai:worse"]["cost_usd"] is None
    assert rows[JUDGE]["is_best"] is rows["openai:worse"]["is_best"] is None


def test_the_best_are_those_that_none_beats(store: Store) -> None:
    """As good for more, or worse for as much, is not best; cheaper and worse is."""
    same = costs(store, three(), (0, 1.0), (2, 2.0), (4, 1.0))
    assert [name for name, row in same.items() if row["is_best"]] == [JUDGE]
    cheap = costs(store, three(), (0, 1.0), (2, 2.0), (4, 0.5))
    assert sorted(name for name, row in cheap.items() if row["is_best"]) == [JUDGE, "openai:worse"]
    equal = costs(store, three(), (0, 1.0), (2, 1.0), (4, 2.0))
    assert sorted(name for name, row in equal.items() if row["is_best"]) == [JUDGE, "openai:dear"]


def test_calibration(store: Store) -> None:
    """Verdicts fall into tenths of confidence, and are right where they agree with the labels."""
    world = World().run("t", 6, {"v1": (1, 2)}).ask("t", (True, True, True, False, True, True))
    world.run("unlabelled", 1, {}).ask("unlabelled", (True,))
    sure = {1: 0.95, 2: 1.0, 3: 0.91, 4: 0.0, 5: 0.5, 6: None}
    with store.writing() as con:
        world.fill(con)
        for step, value in sure.items():
            con.execute(
                "update predictions set confidence = $1 where step_index = $2", [value, step]
            )
        rows = view(con, "calibration")

    kept = ("tenth", "n_verdicts", "mean_confidence", "accuracy", "overconfidence")
    assert [tuple(row[name] for name in kept) for row in rows] == [
        (1, 1, 0.0, 1.0, -1.0),
        (6, 1, 0.5, 0.0, 0.5),
        (10, 3, pytest.approx(2.86 / 3), pytest.approx(2 / 3), pytest.approx(0.86 / 3)),
    ]
