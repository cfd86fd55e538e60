"""`needless compare`: which settings are meant, their scores, and every step they differ on."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from batcher.compare import compared, resolved
from batcher.table import Table, render_all
from cache.errors import UsageError
from cache.store import Store
from tests.bootstrap import OTHER
from tests.running import needless
from tests.test_metrics import WINDOW, World

RULES, COIN = "offline:rules/window_to_one", "offline:x/window_to_one"
GOLD = (*WINDOW[:2], True, WINDOW[3])


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "n.duckdb")


def filled(store: Store, world: World) -> Store:
    with store.writing() as con:
        world.fill(con)
    return store


def three_runs() -> World:
    """Two labelled runs and one that nobody annotated; the judges differ on four steps."""
    world = World().run("a", 3, {"v1": (1,), "v2": (2,)}).run("b", 2, {"v1": ()}, "retail")
    world.run("c", 1, {})
    for name, rules, coin in (
        ("a", (True, False, None), (False, False, True)),
        ("b", (True, False), (False, True)),
        ("c", (True,), (False,)),
    ):
        world.ask(name, rules).ask(name, coin, OTHER)
    return world


def table(store: Store, name: str, a: str = RULES, b: str = COIN, most: int = 20) -> Table:
    with store.reading() as con:
        return compared(con, a, b, None, most)[name]


def test_the_steps_on_which_they_differ(store: Store) -> None:
    """Each with its label in each label set, also where nobody labelled; what one lacks is none."""
    flips = table(filled(store, three_runs()), "flips")

    assert flips.columns[:4] == ("label_set", "trajectory_id", "step_index", "repeat")
    assert [(*row[:3], *row[5:]) for row in flips.rows] == [
        ("v1", "a", 1, "redundant", "redundant", "necessary"),
        ("v1", "b", 1, "necessary", "redundant", "necessary"),
        ("v1", "b", 2, "necessary", "necessary", "redundant"),
        ("v2", "a", 1, "necessary", "redundant", "necessary"),
        (None, "c", 1, None, "redundant", "necessary"),
    ]


def test_few_are_shown_and_the_rest_are_counted(store: Store) -> None:
    """Nobody takes the first twenty for all."""
    filled(store, three_runs())
    shown = table(store, "flips", most=2)

    assert len(shown.rows) == 2
    assert shown.notes == ("3 more flips are not shown; --flips takes a larger number.",)
    assert table(store, "flips", most=5).notes == ()


def test_a_minus_b_and_b_minus_a(store: Store) -> None:
    """The order of the command line counts, not that of the names."""
    world = World()
    for at in range(6):
        world.run(f"t{at}", 2, {"v1": (1,)}).ask(f"t{at}", (at != 0, False))
        world.ask(f"t{at}", (at in (0, 1), True), OTHER)
    filled(store, world)
    a, b = (
        dict(zip(one.columns, one.rows[-1], strict=True))
        for one in (table(store, "comparison", *pair) for pair in ((RULES, COIN), (COIN, RULES)))
    )

    assert a["domain"] == b["domain"] == "all"
    assert a["step_score_difference"] == pytest.approx(5 / 6 - 2 * (2 / 3) / 6)
    for name in ("step_score_difference", "step_score_difference_low"):
        other = name.replace("_low", "_high")
        assert float(str(a[name])) == -float(str(b[other]))
    assert (a["n_only_a_right"], a["n_only_b_right"]) == (b["n_only_b_right"], b["n_only_a_right"])
    assert (a["n_only_b_right"], a["n_both_right"]) == (1, 5)
    assert a["mcnemar_p"] == b["mcnemar_p"] == 1.0


def test_only_one_label_set(store: Store) -> None:
    """With --label-set the others are left out; one that is not there is refused with a list."""
    filled(store, three_runs())
    with store.reading() as con:
        tables = compared(con, RULES, COIN, "v2", 20)
        assert {row[0] for one in tables.values() for row in one.rows} == {"v2"}
        with pytest.raises(UsageError, match="no such label set: v9; there are v1, v2"):
            compared(con, RULES, COIN, "v9", 20)


def test_nothing_was_scored_by_both(store: Store) -> None:
    """The steps are shown all the same, and the missing scores explained."""
    world = World().run("t", 2).ask("t", (True, None)).ask("t", (False, None), OTHER)
    filled(store, world)
    assert "No labelled trajectory was scored by both." in table(store, "comparison").notes
    assert len(table(store, "flips").rows) == 1


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("offline:x", COIN),
        (COIN, COIN),
        (RULES, RULES),
        (f"{RULES}+gold", f"{RULES}+gold"),
        (f"{COIN}@aaa", COIN),
        ("o:y", "o:y/all_to_all@two+gold"),
        ("o:y/all_to_all", "o:y/all_to_all@two+gold"),
        ("o:z/all_to_all@one", "o:z/all_to_all@one"),
    ],
)
def test_ways_to_write_a_setting(store: Store, text: str, meant: str) -> None:
    """As much as names one: gold and digest may be left out where nothing is mixed up."""
    world = World().run("t", 1).ask("t", (True,)).ask("t", (True,), OTHER).ask("t", (True,), GOLD)
    world.ask("t", (True,), ("all_to_all", "two", True, "o:y"))
    world.ask("t", (True,), ("all_to_all", "one", False, "o:z"))
    world.ask("t", (True,), ("all_to_all", "two", False, "o:z"))
    with filled(store, world).reading() as con:
        assert resolved(con, text) == meant
        with pytest.raises(UsageError, match=r"may be any of \S+@one, \S+@two$"):
            resolved(con, "o:z/all_to_all")
        with pytest.raises(UsageError, match=r"offline:rules may be any of .*, .*\+gold$"):
            resolved(con, "offline:rules")


def test_what_names_nothing_is_refused(store: Store) -> None:
    """Exit code 2, the known ones listed; so is a setting against itself."""
    filled(store, three_runs())
    for pair, words in (
        (("gpt", COIN), f"no such setting: gpt; there are {RULES}, {COIN}"),
        ((RULES, "offline:x/beam"), "no such setting: offline:x/beam"),
        ((RULES, "offline:rules"), "cannot be compared with itself"),
    ):
        done = needless(store.path, "compare", *pair)
        assert (done.exit_code, done.stdout) == (2, "")
        assert words in done.stderr


def test_forms(store: Store) -> None:
    """Both tables in each: JSON is one object, HTML one page; programs' notes go to stderr."""
    path = filled(store, three_runs()).path
    said = {
        form: needless(path, "compare", RULES, COIN, "--flips", "2", "--format", form)
        for form in ("table", "csv", "json", "md", "html", "latex")
    }
    assert {done.exit_code for done in said.values()} == {0}
    found = json.loads(said["json"].stdout)
    assert {name: len(rows) for name, rows in found.items()} == {"comparison": 2, "flips": 2}
    assert found["comparison"][0]["domain"] == "retail"
    scores, flips = (
        [*csv.DictReader(io.StringIO(part))] for part in said["csv"].stdout.split("\n\n")
    )
    assert (scores[0]["n_trajectories"], flips[1]["a"]) == ("1", "redundant")
    for form, done in said.items():
        assert ("3 more flips" in done.stderr) == (form in ("csv", "json"))
        assert ("3 more flips" in done.stdout) == (form not in ("csv", "json"))
    assert said["html"].stdout.count("<html") == 1
    assert said["latex"].stdout.count(r"\begin{table}") == 2


def test_json_of_no_rows() -> None:
    """Empty lists, and still JSON."""
    empty = Table("t", ("a",), ())
    assert json.loads(render_all({"x": empty, "y": empty}, "json")) == {"x": [], "y": []}
