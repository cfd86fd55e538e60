"""The recorded data that lies beside the clone of those who have it, counted."""

from __future__ import annotations

from pathlib import Path

import pytest

from cache.importers import read
from cache.records import Annotation, Trajectory

SHARED = Path(__file__).parents[2] / "shared" / "data"

pytestmark = pytest.mark.skipif(
    not SHARED.is_dir(), reason="the shared data set is not part of a user's clone"
)


def values(path: Path) -> tuple[list[Trajectory], list[Annotation]]:
    runs: list[Trajectory] = []
    notes: list[Annotation] = []
    for value in read(path, form=None, dataset=None):
        if isinstance(value, Trajectory):
            runs.append(value)
        else:
            notes.append(value)
    return runs, notes


def test_every_recorded_run_is_read() -> None:
    """Runs, successes and steps are as many as were counted without this program."""
    runs = [run for path in sorted((SHARED / "tau2").glob("*.json")) for run in values(path)[0]]
    per_domain = {
        domain: (
            sum(run.domain == domain for run in runs),
            sum(run.domain == domain and run.success is True for run in runs),
        )
        for domain in ("airline", "retail", "telecom")
    }
    judged = [(run, step) for run in runs for step in run.steps if step.judged]
    by_user = [s for run in runs for s in run.steps if s.player == "user" and s.tool is not None]

    assert len(runs) == 210
    assert len({run.trajectory_id for run in runs}) == 210
    assert per_domain == {"airline": (88, 55), "retail": (41, 35), "telecom": (81, 49)}
    assert len(judged) == 1397
    assert sum(run.success is True for run, _ in judged) == 929
    assert len(by_user) == 612


def test_every_recorded_run_is_complete() -> None:
    """Each run has objective, policy, reference path and model, and every call its result."""
    for path in sorted((SHARED / "tau2").glob("*.json")):
        for run in values(path)[0]:
            assert run.objective
            assert run.policy
            assert run.gold_actions is not None
            assert run.agent_model
            assert all(s.result_index is not None for s in run.steps if s.tool is not None)


def test_trials_of_one_task_are_told_apart() -> None:
    """The four trials of five tasks of an agent alone are twenty runs on tickets."""
    runs, _ = values(SHARED / "tau2" / "telecom_solo_gpt-4.1_4trials.json")

    assert len({(run.task_id, run.trial) for run in runs}) == 20
    assert len({run.task_id for run in runs}) == 5
    assert all(run.objective.startswith("The user is experiencing issues") for run in runs)


def test_the_release_is_read() -> None:
    """Traces and labels of the release join one to one."""
    runs, notes = values(SHARED / "redundancybench_release")
    marks = [mark for note in notes for mark in note.marks]
    kinds = [mark.kind for mark in marks]

    assert (len(runs), len(notes), len(marks)) == (12, 12, 26)
    assert [run.trajectory_id for run in runs] == [note.trajectory_id for note in notes]
    assert {kind: kinds.count(kind) for kind in set(kinds)} == {
        "duplicated": 6,
        "abnormal": 4,
        "exploratory": 7,
        "incorrect": 9,
    }
    assert {note.annotator for note in notes} == {"human", "gpt-5.6-luna", "deepseek-v4-flash"}
    assert "release:human:telecom:T043" in {run.trajectory_id for run in runs}
    assert {run.dataset for run in runs} == {"redundancybench_release"}
    assert all(run.success for run in runs)
    assert not any(mark.is_synthetic for mark in marks)  # reasons are blanked in this subset


def test_the_first_labels_are_read() -> None:
    """The published message indices are one mark each."""
    _, notes = values(SHARED / "redundancybench_v1" / "airline_labels_40.json")
    marks = [mark for note in notes for mark in note.marks]

    assert (len(notes), len(marks)) == (40, 561)
    assert sum(mark.kind is None for mark in marks) == 445
    assert sum(mark.kind == "duplicated" for mark in marks) == 31 + 31 + 12
    assert sum(mark.is_synthetic for mark in marks) == 2 * (31 + 21)


def test_recorded_runs_of_other_formats_are_refused() -> None:
    """No file of another format is mistaken for one that is known."""
    for path in sorted((SHARED / "formats").rglob("*.*")):
        with pytest.raises(Exception, match=r"looked for|broken JSON"):
            list(read(path, form=None, dataset=None))
