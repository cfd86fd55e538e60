"""The judges that are programs: three rules, two constants, a coin."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from batcher.offline import JUDGES, Question
from batcher.offline.base import Shown
from cache.collect import SAMPLE, collect
from cache.errors import UsageError
from tests.running import Desk

SHARED = Path(__file__).parents[2] / "shared" / "data"

TALK = Shown("user")


def call(result: str | None, tool: str = "find", arguments: str = '{"a":1}', **more: Any) -> Shown:
    return Shown("assistant", tool, arguments, result, **more)


def said(
    steps: list[Shown],
    *positions: int,
    judge: str = "rules",
    gold: list[Mapping[str, Any]] | None = None,
    **params: str,
) -> list[int]:
    """Return the positions that a judge calls redundant."""
    asked = positions or tuple(at for at, step in enumerate(steps, 1) if step.tool)
    actions = None if gold is None else tuple(gold)
    question = Question(tuple(steps), asked, "positions", params, actions, json.dumps(params))
    found: list[int] = json.loads(JUDGES[judge].answer(question))["redundant_steps"]
    return found


def test_duplicate_is_the_same_call_with_the_same_result() -> None:
    """Tool, arguments and result must all be those of an earlier call of the agent."""
    assert said([call("x"), TALK, call("x"), call("x")]) == [3, 4]
    assert said([call("x"), call("y"), call("x", "get"), call("x", arguments="{}")]) == []
    user = Shown("user", "find", '{"a":1}', "x")
    assert said([user, call("x")], 2) == []


def test_error_is_one_that_was_made_good() -> None:
    """An error counts when the same call succeeds later; one that stays is the answer itself."""
    failed, worked = call("down", is_error=True), call("x")
    assert said([failed, TALK, worked]) == [1]
    assert said([worked, failed]) == []
    assert said([failed, call("x", arguments="{}")]) == []
    assert said([failed, call(None)]) == []
    assert said([failed, failed, worked], rules="error") == [1, 2]


def test_actions_are_those_outside_the_reference() -> None:
    """Only with the reference shown; the name, the requestor and the compared arguments count."""
    steps = [call("x"), call("y", "lend", '{"id":7,"note":"n"}')]
    lend = {"name": "lend", "arguments": {"id": 7}, "requestor": "assistant"}
    assert said(steps) == []
    assert said(steps, gold=[]) == [1, 2]
    assert said(steps, gold=[lend | {"compare_args": ["id"]}]) == [1]
    assert said(steps, gold=[lend | {"compare_args": []}]) == [1]
    assert said(steps, gold=[lend | {"compare_args": None}]) == [1, 2]
    assert said(steps, gold=[lend | {"arguments": {"id": 8}, "compare_args": ["id"]}]) == [1, 2]
    assert said(steps, gold=[lend | {"requestor": "user", "compare_args": []}]) == [1, 2]


def test_rules_can_be_switched() -> None:
    """Each rule alone says only its own; a blank after the comma is no matter."""
    steps = [call("x"), call("x"), call("down", "get", is_error=True), call("z", "get")]
    assert said(steps, gold=[], rules="duplicate") == [2]
    assert said(steps, gold=[], rules="error") == [3]
    assert said(steps, gold=[], rules="actions") == [1, 2, 3, 4]
    assert said(steps, gold=[], rules="duplicate, error") == [2, 3]


@pytest.mark.parametrize(
    ("judge", "params", "words"),
    [
        ("rules", {"rules": "duplicates"}, "duplicate, error, actions"),
        ("rules", {"rules": ""}, "there are"),
        ("rules", {"p": "1"}, "it takes: rules"),
        ("random", {"p": "2"}, "between 0 and 1"),
        ("random", {"p": "nan"}, "between 0 and 1"),
        ("random", {"p": "half"}, "between 0 and 1"),
        ("random", {"q": "1"}, "p, seed"),
        ("always_redundant", {"p": "1"}, "none"),
    ],
)
def test_an_unknown_parameter_is_refused(judge: str, params: dict[str, str], words: str) -> None:
    """What a judge does not know is an error that names what it takes."""
    with pytest.raises(UsageError, match=words):
        JUDGES[judge].check(params)


def test_baselines_look_at_nothing() -> None:
    """One says yes, one says no, and the coin falls as its chance says, the same every time."""
    steps = [call(str(n)) for n in range(400)]
    assert said(steps, judge="always_redundant") == list(range(1, 401))
    assert said(steps, judge="always_necessary") == []
    tossed = said(steps, judge="random")
    assert tossed == said(steps, judge="random")
    assert tossed != said(steps, judge="random", seed="1")
    assert 120 < len(tossed) < 280
    assert said(steps, judge="random", p="0") == []
    assert len(said(steps, judge="random", p="1")) == 400


def test_a_verdict_is_on_the_step_asked_about() -> None:
    """In the form of a verdict the answer is about that one step."""
    question = Question((call("x"), call("x")), (2,), "verdict", {}, None, "")
    assert json.loads(JUDGES["rules"].answer(question))["redundant"] is True
    assert json.loads(JUDGES["always_necessary"].answer(question))["redundant"] is False


def test_what_the_rules_find_in_the_sample(desk: Desk) -> None:
    """The numbers of the bundled sample: a change of a rule, an importer or a metric moves them."""
    judge = "offline:rules?rules=duplicate,error"
    assert desk.run(judge, strategies=("all_to_all",), limit=None).code == 0
    assert desk.rows("select n_expected, tp, fp, fn, step_score from scores") == [
        (15, 9, 0, 19, pytest.approx(0.4, abs=5e-4))
    ]


@pytest.mark.skipif(not SHARED.is_dir(), reason="the release is not part of a user's clone")
def test_what_the_rules_find_in_the_release(tmp_path: Path) -> None:
    """The ten human trajectories: 9 predicted, all right, of 24; mean F1 0.623."""
    desk = Desk(tmp_path / "n.duckdb")
    human = SHARED / "redundancybench_release"
    folders = sorted(path.parent for path in human.rglob("annotation.json") if "human" in str(path))
    collect(desk.store, folders, now=datetime.now(UTC))
    judge = "offline:rules?rules=duplicate,error"
    assert desk.run(judge, strategies=("all_to_all",), limit=None, successes_only=False).code == 0
    f1 = [
        row[0]
        for row in desk.rows(
            "select round(f1, 3) from step_scores join trajectories using (trajectory_id) "
            "order by trajectories.rowid"
        )
    ]
    assert sorted(f1) == sorted([0.667, 0.667, 1, 1, 1, 1, 0.4, 0.5, 0, 0])
    assert round(sum(f1) / len(f1), 3) == 0.623
    ((tp, fp, fn),) = desk.rows("select sum(tp), sum(fp), sum(fn) from step_scores")
    assert (tp + fp, tp / (tp + fp), tp / (tp + fn)) == (9, 1.0, 0.375)
    assert round(2 * tp / (2 * tp + fp + fn), 3) == 0.545


def test_the_sample_is_there() -> None:
    """Both files of the sample ship with the package."""
    assert all(path.is_file() for path in SAMPLE)
