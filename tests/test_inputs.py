"""Imported values into tables: all or nothing, twice is once, labels on their steps, no secrets."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from cache.collect import SAMPLE, collect
from cache.errors import InputError
from cache.inputs import Imported, write
from cache.marks import place
from cache.records import Annotation, Mark, Message, Step, ToolCall, Trajectory
from cache.steps import split_steps
from cache.store import Store

NOW = datetime(2026, 11, 30, tzinfo=UTC)
TABLES = ("trajectories", "messages", "steps", "annotations", "labels")


def trajectory(name: str = "t", text: str = "x") -> Trajectory:
    """Talk, one call, two parallel calls, talk: messages 0 to 6."""
    messages = (
        Message(0, "user", text),
        Message(1, "assistant", "", (ToolCall("find", "{}"),)),
        Message(2, "tool", "a", requestor="assistant"),
        Message(3, "assistant", "both", (ToolCall("get", "{}"), ToolCall("lend", "{}"))),
        Message(4, "tool", "b", requestor="assistant"),
        Message(5, "tool", "c", requestor="assistant"),
        Message(6, "assistant", "done"),
    )
    return Trajectory(name, "d", "library", "1", messages, split_steps(messages), success=True)


def annotation(*marks: Mark, label_set: str = "mine", name: str | None = "t") -> Annotation:
    return Annotation(label_set, "a", marks, "labels.jsonl:1", trajectory_id=name)


def put(store: Store, *items: Trajectory | Annotation, dataset: str | None = None) -> Imported:
    return write(store, [("file.json", item) for item in items], dataset=dataset, now=NOW)


def everything(store: Store) -> list[Any]:
    return [store.query(f"from {table} order by all")[1] for table in TABLES]


def placed(*indices: Sequence[int]) -> list[object]:
    """The step indices on which marks by message index are placed."""
    run = trajectory()
    marks = annotation(*(Mark(tuple(one)) for one in indices))
    return [row["step_index"] for row in place(marks, run.steps, len(run.messages))]


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "n.duckdb")


def test_importing_twice_changes_nothing(store: Store) -> None:
    """The second import of the same files says what was there already, and adds no row."""
    first = collect(store, SAMPLE, dataset="sample", now=NOW)
    before = everything(store)
    again = collect(store, SAMPLE, dataset="sample", now=datetime(2027, 1, 1, tzinfo=UTC))
    assert (first.trajectories, first.already) == (16, 0)
    assert (again.trajectories, again.already, again.annotations, again.labels) == (0, 16, 0, 0)
    assert everything(store) == before


def test_one_run_twice_in_one_import_is_one_row(store: Store) -> None:
    """Two equal trajectories under one name are one."""
    put(store, trajectory(), trajectory())
    assert store.query("select count(*) from trajectories")[1] == [(1,)]


def test_the_same_name_with_other_content_is_refused_whole(store: Store) -> None:
    """A conflict names file and trajectory, and nothing of that import stays."""
    put(store, trajectory())
    before = everything(store)
    with pytest.raises(InputError, match=r"file\.json: trajectory t is in the database already"):
        put(store, trajectory("new"), trajectory(text="y"))
    with pytest.raises(InputError, match="trajectory u"):
        put(store, trajectory("u"), trajectory("u", "y"))
    assert everything(store) == before


def test_labels_that_contradict_those_there_are_refused(store: Store) -> None:
    """The same labels again are no news; others need a label set of their own."""
    put(store, trajectory(), annotation(Mark((1, 2))))
    assert put(store, annotation(Mark((1, 2)))).labels == 0
    with pytest.raises(InputError, match="'mine' already has other labels for trajectory t"):
        put(store, annotation(Mark((3, 4))))
    assert put(store, annotation(Mark((3, 4)), label_set="yours")).labels == 1
    assert put(store, annotation(label_set="clean")).annotations == 1


def test_labels_need_their_trajectory(store: Store) -> None:
    """A trajectory that is not there is named; a task that is not there is counted."""
    with pytest.raises(InputError, match=r"labels\.jsonl:1: no trajectory t"):
        put(store, annotation(Mark((1, 2))))
    by_task = replace(annotation(Mark((1, 2)), name=None), task_id="1")
    assert put(store, by_task).left_out == 1
    put(store, trajectory("a"), trajectory("b", "y"))
    assert put(store, by_task).annotations == 2
    assert put(store, by_task, dataset="another").left_out == 1


def test_labels_fall_on_the_steps_they_name() -> None:
    """A pair is a call with its result; a single message is a result, or a call."""
    assert placed([1, 2]) == [1]
    assert placed([3, 5], [3, 4]) == [2, 3]
    assert placed([2]) == [1]
    assert placed([1]) == [1]
    assert placed([0], [6]) == [0, 4]
    assert placed() == []


def test_message_labels_tell_parallel_calls_apart_by_their_results() -> None:
    """The message of two calls names both; a result that is named as well leaves only its own."""
    assert placed([3]) == [2, 3]
    assert placed([3], [5]) == [3]
    assert placed([3], [4], [5]) == [2, 3]
    assert placed([1], [2]) == [1]


@pytest.mark.parametrize("wrong", [(1, 4), (2, 3), (0, 1), (3, 6), (7,), (99,)])
def test_labels_of_another_run_are_refused(wrong: tuple[int, ...]) -> None:
    """An index outside the run, or a pair that is no call with its result, is an error."""
    with pytest.raises(InputError, match="belong to another run"):
        placed(wrong)


def test_evidence_outside_the_run_is_refused() -> None:
    """Evidence is message indices too; -1 stands for a fixed policy."""
    run = trajectory()
    good = annotation(Mark((1, 2), "incorrect", (-1,)), name="t")
    assert place(good, run.steps, 7)[0]["evidence"] == [-1]
    with pytest.raises(InputError, match="message 70"):
        place(annotation(Mark((1, 2), "incorrect", (70, 71))), run.steps, 7)


def test_steps_of_a_label_keep_kind_and_origin(store: Store) -> None:
    """What an annotator wrote is what is stored."""
    mark = Mark((3, 4), "duplicated", (1, 2), "certain", is_synthetic=True)
    put(store, trajectory(), annotation(mark))
    assert store.query("from labels")[1] == [
        ("mine", "t", 2, "duplicated", [1, 2], "certain", True)
    ]
    assert isinstance(split_steps(trajectory().messages)[0], Step)


def test_no_recorded_secret_reaches_the_file(tmp_path: Path, store: Store) -> None:
    """Keys in the parts of a results file that are not read are nowhere in the database's bytes."""
    library = json.loads(SAMPLE[0].read_text("utf-8"))
    secrets = [f"sk-planted-secret-{n}" for n in range(5)]
    library["info"]["agent_info"]["llm_args"] = {"api_key": secrets[0]}
    library["info"]["git_commit"] = secrets[1]
    for run in library["simulations"]:
        run["info"] = {"headers": {"Authorization": f"Bearer {secrets[2]}"}}
        for message in run["messages"]:
            message["raw_data"] = {"key": secrets[3]}
            message["cost"] = 0.1
            message["llm_args"] = {"api_key": secrets[4]}
    path = tmp_path / "library.json"
    path.write_text(json.dumps(library), "utf-8")
    assert collect(store, [path], now=NOW).trajectories == 16
    stored = b"".join(file.read_bytes() for file in tmp_path.glob("n.duckdb*"))
    assert b"library-01" in stored
    assert b"planted-secret" not in stored
    dumped = "".join(str(rows) for rows in everything(store))
    assert "planted-secret" not in dumped
