"""The metric views against plain loops, and against cases small enough to work out by hand."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cache.bulk import load
from cache.store import Connection, Store

Verdicts = Sequence[bool | None]
Row = dict[str, Any]

KEY = ("label_set", "strategy", "strategy_digest", "gold", "judge")
WINDOW = ("window_to_one", "aaa", False, "offline:rules")
NOW = "2026-01-01T00:00:00Z"
TABLES = (
    *("trajectories", "steps", "annotations", "labels", "requests"),
    *("batch_prompts", "responses", "readings", "predictions"),
)


class World:
    """Rows for the tables, by table: step 0 is talk and never judged, steps 1..n are judged."""

    def __init__(self) -> None:
        self.tables: dict[str, list[Row]] = defaultdict(list)

    def run(
        self,
        name: str,
        n_judged: int,
        labels: Mapping[str, Iterable[int]] | None = None,
        domain: str = "airline",
        n_messages: int = 10,
        kind: str | None = "duplicated",
        is_synthetic: bool = False,
    ) -> World:
        same = {"dataset": "tau2", "task_id": "1", "objective": "", "content_digest": ""}
        self._add("trajectories", trajectory_id=name, domain=domain, n_messages=n_messages, **same)
        for at in range(n_judged + 1):
            step = {"player": "assistant", "call_index": at, "is_error": False}
            self._add("steps", trajectory_id=name, step_index=at, judged=at > 0, **step)
        for label_set, marked in ({"v1": ()} if labels is None else labels).items():
            who = {"label_set": label_set, "trajectory_id": name}
            self._add("annotations", annotator="a", n_labels=len(list(marked)), **who)
            for at in marked:
                self._add("labels", step_index=at, kind=kind, is_synthetic=is_synthetic, **who)
        return self

    def ask(
        self,
        name: str,
        verdicts: Verdicts,
        setting: tuple[str, str, bool, str] = WINDOW,
        repeat: int = 0,
    ) -> World:
        who = dict(zip(KEY[1:], setting, strict=True)) | {"trajectory_id": name, "repeat": repeat}
        for at, verdict in enumerate(verdicts, 1):
            self.request(prompt=len(self.tables["requests"]), targets=[at], **who)
            if verdict is not None:
                self._add("predictions", step_index=at, is_redundant=verdict, **who)
        return self

    def request(self, prompt: int, **who: Any) -> None:
        same = {"mode": "batch", "answer": "verdict", "n_shown": 1, "positions": [1]}
        self._add("requests", excerpt_index=0, prompt_hash=f"{prompt:032x}", **same, **who)

    def answer(self, prompt: int, outcome: str, day: int, reading: str | None = None) -> None:
        n = len(self.tables["responses"])
        line = {"batch_id": f"b{n}", "custom_id": f"c{n}"}
        prompt_hash = {"prompt_hash": f"{prompt:032x}"}
        self._add("batch_prompts", attempt=day, **line, **prompt_hash)
        at = {"received_at": f"2026-01-0{day}T00:00:00Z", "is_transient": False}
        self._add("responses", outcome=outcome, **at, **line, **prompt_hash)
        if reading:
            self._add("readings", state=reading, **line)

    def _add(self, table: str, **row: Any) -> None:
        if table in ("trajectories", "annotations"):
            row |= {"source": "", "imported_at": NOW}
        self.tables[table].append(row)

    def fill(self, con: Connection) -> None:
        """Put these rows into the tables, and no others."""
        for table in TABLES:
            con.execute(f"delete from {table}")
            load(con, table, self.tables[table])


def view(con: Connection, name: str) -> list[Row]:
    result = con.execute(f"select * from {name} order by all")
    columns = [column[0] for column in result.description or ()]
    return [dict(zip(columns, row, strict=True)) for row in result.fetchall()]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """One file for all tests: making the tables and views takes longer than most of them."""
    return Store(tmp_path_factory.mktemp("metrics") / "metrics.duckdb")


def read(store: Store, world: World, name: str) -> list[Row]:
    with store.writing() as con:
        world.fill(con)
        return view(con, name)


def one(store: Store, world: World, name: str) -> Row:
    (row,) = read(store, world, name)
    return row


# The same numbers by loops, with exact fractions.


def by_loops(world: World) -> list[Row]:
    """Return what step_scores should hold, without precision, recall and constants."""
    tables = world.tables
    asked = {
        (*(r[k] for k in KEY[1:]), r["repeat"], r["trajectory_id"]) for r in tables["requests"]
    }
    rows = []
    for note in tables["annotations"]:
        for *setting, repeat, name in asked:
            mine = [s for s in tables["steps"] if s["trajectory_id"] == name]
            steps = {s["step_index"] for s in mine if s["judged"]}
            if note["trajectory_id"] != name or not steps:
                continue
            truth = {
                label["step_index"]
                for label in tables["labels"]
                if (label["label_set"], label["trajectory_id"]) == (note["label_set"], name)
            } & steps
            said = {
                p["step_index"]: p["is_redundant"]
                for p in tables["predictions"]
                if [*(p[k] for k in KEY[1:]), p["repeat"], p["trajectory_id"]]
                == [*setting, repeat, name]
            }
            tp = sum(said.get(s) is True and s in truth for s in steps)
            fp = sum(said.get(s) is True and s not in truth for s in steps)
            fn = sum(said.get(s) is False and s in truth for s in steps)
            said_yes = {s for s, verdict in said.items() if verdict}
            worst = {s: said.get(s, s not in truth) for s in steps}
            guess = bool(said_yes) if said_yes or steps <= said.keys() else None
            (run,) = (t for t in tables["trajectories"] if t["trajectory_id"] == name)
            row: Row = dict(zip(KEY, (note["label_set"], *setting), strict=True))
            row |= {"repeat": repeat, "trajectory_id": name, "domain": run["domain"]}
            row |= {"n_messages": run["n_messages"], "n_judged": len(steps)}
            row |= {"n_predicted": len(said), "is_scored": len(said) == len(steps)}
            row |= {"tp": tp, "fp": fp, "fn": fn, "f1": harmonic(tp, fp, fn) if said else None}
            row["f1_clean_is_one"] = Fraction(1) if said and not truth | said_yes else row["f1"]
            row["f1_strict"] = harmonic(
                sum(worst[s] and s in truth for s in steps),
                sum(worst[s] and s not in truth for s in steps),
                sum(not worst[s] and s in truth for s in steps),
            )
            row |= {"has_redundant": bool(truth), "predicted_redundant": guess}
            row["trajectory_correct"] = None if guess is None else guess == bool(truth)
            rows.append(row)
    return rows


def harmonic(tp: int, fp: int, fn: int) -> Fraction:
    precision = Fraction(tp, tp + fp) if tp + fp else Fraction(0)
    recall = Fraction(tp, tp + fn) if tp + fn else Fraction(0)
    if not precision + recall:
        return Fraction(0)
    return 2 * precision * recall / (precision + recall)


def mean(values: Iterable[Fraction | int | None]) -> Fraction | None:
    known = list(values)
    if not known or None in known:
        return None
    return sum((Fraction(value) for value in known if value is not None), Fraction(0)) / len(known)


def grouped(rows: Iterable[Row], keys: Sequence[str]) -> dict[tuple[Any, ...], list[Row]]:
    groups = defaultdict(list)
    for row in rows:
        groups[tuple(row[key] for key in keys)].append(row)
    return groups


def summed_up(rows: Sequence[Row]) -> Row:
    """Return what scores should hold for the step_scores ``rows``."""
    tp, fp, fn = (sum(row[name] for row in rows) for name in ("tp", "fp", "fn"))
    scored = [row for row in rows if row["is_scored"]]
    right = [row["trajectory_correct"] for row in rows]
    return {
        "n_expected": len(rows),
        "n_scored": len(scored),
        "coverage": Fraction(len(scored), len(rows)),
        "step_score": mean(row["f1"] for row in scored),
        "step_score_clean_is_one": mean(row["f1_clean_is_one"] for row in scored),
        "step_score_strict": mean(row["f1_strict"] for row in rows),
        "step_score_pooled": mean(row["f1"] for row in scored),
        "trajectory_score": mean(known for known in right if known is not None),
        "trajectory_score_strict": mean(known is True for known in right),
        "micro_precision": Fraction(tp, tp + fp) if tp + fp else None,
        "micro_recall": Fraction(tp, tp + fn) if tp + fn else None,
        "micro_f1": harmonic(tp, fp, fn) if tp + fp + fn else None,
        "tp": tp,
        "fp": fp,
        "fn": fn,
    }


def agree(got: Row, wanted: Row) -> None:
    """Compare the wanted columns; ratios and their means are exact to 15 digits."""
    for name, value in wanted.items():
        if isinstance(value, Fraction):
            assert got[name] == pytest.approx(float(value), rel=1e-15, abs=0), name
        else:
            assert (name, got[name]) == (name, value)


LEVELS = ((18, 1), (30, 2), (49, 3), (10_000, 4))

SETTINGS = (WINDOW, ("window_to_one", "bbb", False, "offline:rules"), (*WINDOW[:2], True, "o:x"))
marks = st.none() | st.sets(st.integers(0, 4))
verdicts = st.none() | st.tuples(*[st.sampled_from((True, False, None))] * 4)
runs = st.tuples(
    st.sampled_from(("airline", "retail")),
    st.sampled_from((1, 18, 19, 30, 31, 49, 50, 200)),
    st.integers(0, 4),
    st.tuples(marks, marks),
    st.tuples(*[st.tuples(verdicts, verdicts)] * len(SETTINGS)),
)


def drawn_up(drawn: Sequence[Any]) -> World:
    """Return the world that values of ``runs`` describe."""
    world = World()
    for n, (domain, n_messages, n_judged, labels, asks) in enumerate(drawn):
        sets = {
            name: {s for s in marked if s <= n_judged}
            for name, marked in zip("AB", labels, strict=True)
            if marked is not None
        }
        world.run(f"t{n}", n_judged, sets, domain, n_messages)
        for setting, repeats in zip(SETTINGS, asks, strict=True):
            for repeat, said in enumerate(repeats):
                if said is not None:
                    world.ask(f"t{n}", said[:n_judged], setting, repeat)
    return world


@settings(max_examples=12, deadline=None, database=None)
@given(drawn=st.lists(runs, min_size=1, max_size=6))
def test_plain_loops_say_the_same(store: Store, drawn: list[Any]) -> None:
    """Scores, averages and levels are what the paper's formulas give, to the last digit."""
    world = drawn_up(drawn)
    rows = by_loops(world)
    with store.writing() as con:
        world.fill(con)
        got = {
            name: view(con, name)
            for name in ("step_scores", "scores", "score_averages", "length_levels")
        }

    each = (*KEY, "repeat", "trajectory_id")
    steps = grouped(got["step_scores"], each)
    assert len(got["step_scores"]) == len(steps) == len(rows)
    for row in rows:
        agree(steps[tuple(row[name] for name in each)][0], row)
    for row in rows:
        row["level"] = next(level for most, level in LEVELS if row["n_messages"] <= most)
    for name, keys in (("scores", (*KEY, "domain")), ("length_levels", (*KEY, "domain", "level"))):
        wanted, found = grouped(rows, keys), grouped(got[name], keys)
        assert wanted.keys() == found.keys()
        for key, members in wanted.items():
            sums = summed_up(members)
            agree(found[key][0], {k: v for k, v in sums.items() if k in found[key][0]})
    averages = grouped(got["score_averages"], KEY)
    assert averages.keys() == grouped(rows, KEY).keys()
    for key, members in grouped(rows, KEY).items():
        domains = [summed_up(rows) for rows in grouped(members, ("domain",)).values()]
        pooled = summed_up(members)
        for name in ("step_score", "trajectory_score", "step_score_strict"):
            pooled[name] = mean(domain[name] for domain in domains)
        for name in ("step_score_clean_is_one", "trajectory_score_strict"):
            pooled[name] = mean(domain[name] for domain in domains)
        agree(averages[key][0], pooled | {"n_domains": len(domains)})


@pytest.mark.parametrize(
    ("labels", "said", "wanted"),
    [
        ((), (False, False), {"f1": 0.0, "f1_clean_is_one": 1.0, "trajectory_correct": True}),
        ((), (True, False), {"f1": 0.0, "f1_clean_is_one": 0.0, "trajectory_correct": False}),
        ((1,), (False, False), {"precision": None, "recall": 0.0, "f1": 0.0, "fn": 1}),
        ((1,), (True, True), {"precision": 0.5, "recall": 1.0, "f1": 2 / 3, "fp": 1}),
        ((1, 2), (True, None), {"f1": 1.0, "f1_strict": 2 / 3, "is_scored": False, "fn": 0}),
        ((1,), (True, None), {"f1": 1.0, "f1_strict": 2 / 3, "predicted_redundant": True}),
        ((), (False, None), {"predicted_redundant": None, "trajectory_correct": None}),
        (
            (1,),
            (None, None),
            {
                "n_predicted": 0,
                "f1": None,
                "f1_clean_is_one": None,
                "f1_strict": 0.0,
                "predicted_redundant": None,
            },
        ),
        ((), (None, None), {"f1": None, "f1_clean_is_one": None, "precision": None}),
        ((0,), (False, False), {"has_redundant": False, "n_labelled": 0, "fn": 0}),
        ((1, 1), (True, False), {"n_judged": 2, "n_labelled": 1, "tp": 1, "is_scored": True}),
    ],
)
def test_one_trajectory(store: Store, labels: Any, said: Verdicts, wanted: Row) -> None:
    """Each convention for a single trajectory: clean, empty, full, and partly answered."""
    agree(one(store, World().run("t", 2, {"v1": labels}).ask("t", said), "step_scores"), wanted)


def test_nothing_to_judge(store: Store) -> None:
    """A trajectory without a judged step, without labels or never asked has no score."""
    world = World().run("empty", 0).run("unlabelled", 1, {}).run("unasked", 1)
    world.ask("empty", ()).ask("unlabelled", (True,))
    world.request(
        9, targets=[], trajectory_id="empty", repeat=0, **dict(zip(KEY[1:], WINDOW, strict=True))
    )
    assert read(store, world, "step_scores") == []


def test_garbage_is_counted_apart(store: Store) -> None:
    """Two unreadable answers of ten leave the score alone, and show in coverage and _strict."""
    world = World()
    for n in range(10):
        world.run(f"t{n}", 1, {"v1": (1,)}).ask(f"t{n}", (True if n < 8 else None,))
    agree(
        one(store, world, "scores"),
        {
            "n_expected": 10,
            "n_scored": 8,
            "coverage": 0.8,
            "step_score": 1.0,
            "step_score_strict": 0.8,
            "trajectory_score": 1.0,
            "trajectory_score_strict": 0.8,
        },
    )


def test_domains_weigh_the_same(store: Store) -> None:
    """Avg is the mean of the domains, whatever their size; pooled is not."""
    world = World()
    for n in range(4):
        world.run(f"t{n}", 1, {"v1": (1,)}, "retail" if n else "airline").ask(f"t{n}", (n == 0,))
    agree(
        one(store, world, "score_averages"),
        {"n_domains": 2, "step_score": 0.5, "trajectory_score": 0.5, "step_score_pooled": 0.25},
    )


def test_no_average_over_fewer_domains(store: Store) -> None:
    """While one domain has no score there is no Avg, rather than the Avg of the others."""
    world = World().run("a", 1, domain="airline").run("r", 1, domain="retail")
    agree(
        one(store, world.ask("a", (False,)).ask("r", (None,)), "score_averages"),
        {
            "n_domains": 2,
            "n_scored": 1,
            "step_score": None,
            "trajectory_score": None,
            "step_score_pooled": 0.0,
            "trajectory_score_strict": 0.5,
            "micro_f1": None,
        },
    )


def test_what_never_mixes(store: Store) -> None:
    """Label sets, versions of a strategy, judges and gold each have rows of their own."""
    world = World().run("t", 1, {"v1": (1,), "v2": ()})
    for setting in SETTINGS:
        world.ask("t", (setting is WINDOW,), setting)
    found = {tuple(r[k] for k in KEY): r["trajectory_score"] for r in read(store, world, "scores")}
    assert found == {
        (labels, *setting): float((setting is WINDOW) == (labels == "v1"))
        for labels in ("v1", "v2")
        for setting in SETTINGS
    }


def test_small_levels(store: Store) -> None:
    """A level is small below three different trajectories; repeats do not make it larger."""
    world = World().run("a", 1).run("b", 1)
    for name in ("a", "b"):
        world.ask(name, (True,), repeat=0).ask(name, (True,), repeat=1)
    agree(
        one(store, world, "length_levels"),
        {"n_trajectories": 2, "is_small": True, "n_expected": 4, "level": 1, "messages": "1-18"},
    )


def test_gold_ablation(store: Store) -> None:
    """The difference is with minus without, and only where both were asked."""
    world = World().run("t", 1, {"v1": (1,)}).ask("t", (False,)).ask("t", (True,), SETTINGS[2])
    world.ask("t", (True,), (*WINDOW[:2], True, WINDOW[3]))
    agree(
        one(store, world, "gold_ablation"),
        {
            "judge": WINDOW[3],
            "step_score_without": 0.0,
            "step_score_with": 1.0,
            "step_score_difference": 1.0,
            "trajectory_score_difference": 1.0,
        },
    )


def test_kind_recall(store: Store) -> None:
    """Recall by kind and origin is over answered steps; without one it is NULL."""
    world = World().run("a", 3, {"v1": (0, 1, 2, 3)}).run("s", 1, {"v1": (1,)}, is_synthetic=True)
    world.run("n", 1, {"v1": (1,)}, kind=None).ask("n", (True,))
    rows = read(store, world.ask("a", (True, False, None)).ask("s", (None,)), "kind_recall")
    names = ("kind", "is_synthetic", "n_labelled", "n_predicted", "n_found", "recall")
    assert [tuple(row[name] for name in names) for row in rows] == [
        ("duplicated", False, 3, 2, 1, 0.5),
        ("duplicated", True, 1, 0, 0, None),
        (None, False, 1, 1, 1, 1.0),
    ]


def test_coverage(store: Store) -> None:
    """Every request is counted once, by its prompt's ok answer or else by the latest one."""
    world = World().run("t", 9).ask("t", (None,) * 9)
    who = {"trajectory_id": "t", "repeat": 0} | dict(zip(KEY[1:], WINDOW, strict=True))
    world.request(0, targets=[9], **who)
    world.answer(0, "ok", 1, "ok")
    world.answer(0, "refused", 2)
    world.answer(1, "ok", 1, "unparseable")
    world.answer(2, "expired", 1)
    world.answer(2, "truncated", 2)
    for prompt, outcome in ((3, "refused"), (4, "malformed"), (5, "cancelled"), (6, "empty")):
        world.answer(prompt, outcome, 1)
    row = one(store, world, "coverage")
    agree(
        row,
        {
            "n_requests": 10,
            "n_prompts": 9,
            "n_answered": 2,
            "n_pending": 2,
            "n_unparseable": 1,
            "n_refused": 1,
            "n_truncated": 1,
            "n_error": 2,
            "n_expired_or_cancelled": 1,
            "coverage": 0.2,
        },
    )
    parts = [k for k in row if k.startswith("n_") and k not in ("n_requests", "n_prompts")]
    assert sum(row[part] for part in parts) == row["n_requests"]


def test_published(store: Store) -> None:
    """Six printed averages are not the mean of their domains, four by more than 3 points."""
    rows = read(store, World(), "published")
    off = [row for row in rows if row["differs"]]
    assert (len(rows), len(off), sum(row["difference"] > 3 for row in off)) == (18, 6, 4)


def test_published_gold(store: Store) -> None:
    """The paper's two tables disagree about one number without ground truth."""
    off = [row for row in read(store, World(), "published_gold") if row["differs"]]
    assert [(float(row["without_gold"]), float(row["table2"])) for row in off] == [(52.55, 52.5)]
