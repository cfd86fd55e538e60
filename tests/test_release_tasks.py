"""The later release's three tasks from question to score, and what their prompts share."""

from __future__ import annotations

import json
from collections import defaultdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from cache.inputs import write
from cache.records import Annotation, Mark
from tests.conftest import Serve
from tests.release_evaluator import evaluate
from tests.running import JUDGE, Desk, needless
from tests.vendors import CLAUDE, LIVE, for_all

TASKS = ("classify", "retrieve", "detect")
METRICS = ("kind_accuracy", "evidence_accuracy", "precision_at_k")
#: What the sample holds.
N_CASES, N_LABELLED, N_RUNS = 28, 13, 15


def bodies(desk: Desk) -> dict[str, list[tuple[str, Any]]]:
    """By trajectory: the strategy and the body of every prompt."""
    found: dict[str, list[tuple[str, Any]]] = defaultdict(list)
    for name, strategy, text in desk.rows(
        "select trajectory_id, strategy, body from requests join prompt_bodies using (prompt_hash)"
    ):
        found[name].append((strategy, json.loads(text)))
    return found


def common(texts: list[str]) -> str:
    end = next((at for at, cs in enumerate(zip(*texts, strict=False)) if len({*cs}) > 1), None)
    return min(texts, key=len)[:end]


def rest(body: Any) -> str:
    """A body without its messages: model, cap, schema."""
    return json.dumps({key: value for key, value in body.items() if key != "messages"})


@pytest.fixture
def open_desk(desk: Desk, serve: Serve, monkeypatch: pytest.MonkeyPatch) -> Desk:
    """The sample, and services for every vendor."""
    for_all(serve, monkeypatch)()
    return desk


def test_all_but_the_question_is_shared(open_desk: Desk) -> None:
    """System, schema, rules and trajectory are the same to the byte in all three tasks."""
    open_desk.ask(JUDGE, strategies=TASKS, limit=None, gold=True)
    beginnings = []
    for asked in bodies(open_desk).values():
        assert len({rest(body) for _, body in asked}) == 1
        assert len({body["messages"][0]["content"] for _, body in asked}) == 1
        users = [body["messages"][1]["content"] for _, body in asked]
        if len(asked) == 1:
            continue  # a clean trajectory is only searched
        assert {strategy for strategy, _ in asked} == {*TASKS}
        shared = common(users)
        beginnings.append(shared)
        assert shared.startswith("The rules the agent had to keep:\n| ")
        assert "\n\nWhat the user wanted:\n| " in shared
        assert "\nA reference sequence of actions" in shared
        for user in users:  # what is left is the question, in a few lines
            assert user[len(shared) :].count("\n") <= 4
            assert not user[len(shared) :].startswith("| ")
    assert len(beginnings) == N_LABELLED
    rules = common(beginnings)
    assert rules.rstrip("| ").endswith("What the user wanted:\n"), "the rules come before the rest"


def test_anthropic_is_sent_blocks(open_desk: Desk) -> None:
    """Rules, trajectory and question are blocks of their own, the first two shared."""
    open_desk.ask(CLAUDE, strategies=TASKS, limit=None)
    rules = set()
    for asked in bodies(open_desk).values():
        blocks = [body["messages"][0]["content"] for _, body in asked]
        assert {len(some) for some in blocks} == {3}
        assert len({json.dumps(some[:2]) for some in blocks}) == 1
        assert len({json.dumps(some[2]) for some in blocks}) == len(asked)
        assert len({rest(body) for _, body in asked}) == 1
        rules.add(blocks[0][0]["text"])
    assert len(rules) == 1


def test_the_paper_s_strategies_are_sent_as_before(open_desk: Desk) -> None:
    """One text for the user's message, not a list of blocks."""
    open_desk.ask(CLAUDE, strategies=("one_to_one", "all_to_all"))
    for asked in bodies(open_desk).values():
        assert all(type(body["messages"][0]["content"]) is str for _, body in asked)


@pytest.mark.parametrize("judge", [JUDGE, CLAUDE, LIVE])
def test_every_vendor_answers_every_task(open_desk: Desk, judge: str, tmp_path: Path) -> None:
    """Over the wire: everything is answered, scored and exported; asking again sends nothing."""
    ended = open_desk.run(judge, strategies=TASKS, limit=None)
    assert (ended.code, ended.message) == (0, "")
    expected = [(N_CASES,) * 2, (N_CASES,) * 2, (N_LABELLED,) * 2]
    for metric, counts in zip(METRICS, expected, strict=True):
        where = "domain = 'all'" + ("" if metric == "precision_at_k" else " and origin = 'all'")
        statement = f"select n_expected, n_answered from {metric} where {where}"
        assert open_desk.rows(statement) == [counts]
    assert open_desk.one("select count(*) from prompts") == 2 * N_CASES + N_RUNS
    out = needless(open_desk.store.path, "export", "--release", str(tmp_path / "out"))
    assert out.exit_code == 0
    for line in out.stdout.splitlines():
        assert evaluate(json.loads(Path(line).read_text("utf-8")))["sample", "all"]
    sent = open_desk.one("select count(*) from responses")
    open_desk.run(judge, strategies=TASKS, limit=None)
    assert open_desk.one("select count(*) from responses") == sent


def test_what_the_rules_find_in_the_sample(desk: Desk) -> None:
    """Exact repeats and retried failures, with kind and evidence; the rest is a guess."""
    desk.run("offline:rules", "offline:random", strategies=TASKS, limit=None)
    n_exact = desk.one(
        "select sum(n_correct) from evidence_accuracy "
        "where judge = 'offline:rules' and domain = 'all' and origin = 'all'"
    )
    n_hits = desk.one(
        "select hits_at_10 from precision_at_k where judge = 'offline:rules' and domain = 'all'"
    )
    assert (n_exact, n_hits) == (10, 9)
    assert desk.one("select min(coverage) from coverage") == 1


def test_step_scores_leave_known_steps_out(desk: Desk) -> None:
    """A question about a step known to be redundant is no verdict; a ranked list is one."""
    desk.run("offline:rules", strategies=(*TASKS, "all_to_all"), limit=None)
    for view in ("scores", "verdicts", "kind_recall"):
        assert desk.rows(f"select distinct strategy from {view} order by 1") == [
            ("all_to_all",),
            ("detect",),
        ]
    same = "select trajectory_id, tp, fp, fn, f1 from step_scores where strategy = '{}' order by 1"
    assert desk.rows(same.format("detect")) == desk.rows(same.format("all_to_all"))


def test_predictions_are_made_anew(desk: Desk) -> None:
    """Findings and predictions can be thrown away, and come out the same."""
    from batcher.predict import predict

    desk.run("offline:random", strategies=TASKS, limit=None)
    before = [desk.rows(f"from {table} order by all") for table in ("findings", "predictions")]
    assert predict(desk.store) == 0
    predict(desk.store, anew=True)
    assert all(before)
    assert before == [
        desk.rows(f"from {table} order by all") for table in ("findings", "predictions")
    ]


def test_another_label_set_asks_only_what_is_new(desk: Desk) -> None:
    """A step with other evidence is asked about again by classify, and not by retrieve."""
    desk.run("offline:rules", strategies=TASKS, limit=None)
    known = desk.one("select count(*) from requests")
    steps = (Mark((8, 9), "incorrect", (-1,)), Mark((4, 5), "incorrect", (2, 3)))
    note = Annotation("second", "b", steps, "x", trajectory_id="library-01")
    write(desk.store, [("x", note)], dataset=None, now=datetime.now(UTC))
    ended = desk.run("offline:rules", strategies=TASKS, limit=None)
    # [8, 9] is in the sample's labels with evidence [4, 5]; [4, 5] is not.
    assert (ended.code, desk.one("select count(*) from requests")) == (0, known + 3)
    assert desk.rows(
        "select label_set, n_expected, n_answered from kind_accuracy "
        "where domain = 'all' and origin = 'all' order by 1"
    ) == [("sample", N_CASES, N_CASES), ("second", 2, 2)]


def test_without_labels_there_is_no_case(desk: Desk, tmp_path: Path) -> None:
    """Nothing is asked about trajectories that nobody labelled, and the export says so."""
    with desk.store.writing() as con:
        con.execute("delete from labels")
    assert desk.run("offline:rules", strategies=("classify", "retrieve"), limit=None).code == 0
    assert desk.one("select count(*) from requests") == 0
    done = needless(desk.store.path, "export", "--release", str(tmp_path / "out"))
    assert (done.exit_code, (tmp_path / "out").exists()) == (2, False)
    assert "no labelled trajectory" in done.stderr


def test_only_the_question_knows_the_case(open_desk: Desk) -> None:
    """Of what annotators say, classify shows the step and its evidence, retrieve the step alone."""
    open_desk.ask(JUDGE, "offline:rules", strategies=TASKS, limit=None)
    asked = open_desk.rows(
        "select strategy, body, [call_index, result_index], requests.evidence, judge "
        "from requests join prompt_bodies using (prompt_hash) "
        "join steps using (trajectory_id) where step_index = targets[1]"
    )
    for strategy, text, step, evidence, judge in asked:
        assert (evidence is None) == (strategy != "classify")
        body = json.loads(text)
        if judge == "offline:rules":
            assert body["evidence"] == evidence
            continue
        said = body["messages"][1]["content"].splitlines()
        if strategy != "detect":
            assert said[-1].startswith(f"Step {step} is redundant.")
            assert (said[-2] == f"The evidence: {evidence}") == (strategy == "classify")


def test_a_run_ends_with_the_scores_of_its_task(db: Path) -> None:
    """Where no verdicts were asked for, the first table is the task's own; others are named."""
    one = needless(db, "run", "--strategy", "classify", "--judge", "offline:rules").stdout
    assert one.startswith("kind_accuracy: ")
    assert "85.71" in one
    two = needless(db, "run", "--strategy", "retrieve", "--judge", "offline:rules").stdout
    assert two.startswith("kind_accuracy: ")
    assert "with kind_accuracy, evidence_accuracy." in two
