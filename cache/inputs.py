"""Imported values into the input tables: everything or nothing, and twice changes nothing."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from cache.bulk import load
from cache.errors import InputError
from cache.hashing import canonical, digest
from cache.marks import place
from cache.records import Annotation, Step, Trajectory
from cache.store import Connection, Store


@dataclass(frozen=True, slots=True)
class Imported:
    """What one import did. ``left_out`` counts annotations whose task has no trajectory here."""

    trajectories: int
    already: int
    annotations: int
    labels: int
    left_out: int

    def __str__(self) -> str:
        """One sentence for the user."""
        said = (
            f"imported {self.trajectories} trajectories ({self.already} were there already), "
            f"{self.annotations} annotations with {self.labels} labels"
        )
        if self.left_out:
            said += f"; left out {self.left_out} annotations whose task has no trajectory here"
        return said


def write(
    store: Store,
    items: Iterable[tuple[str, Trajectory | Annotation]],
    *,
    dataset: str | None,
    now: datetime,
) -> Imported:
    """Store ``(source, item)`` pairs in one transaction.

    ``dataset`` is where annotations that name only a task look for it (anywhere when None).
    Raises ``InputError`` for a trajectory or annotation that is there already with other content,
    and for labels that fit no step.
    """
    found: list[tuple[str, Trajectory]] = []
    said: list[tuple[str, Annotation]] = []
    for source, item in items:
        if isinstance(item, Trajectory):
            found.append((source, item))
        else:
            said.append((source, item))
    with store.writing() as con:
        new = _new_trajectories(con, found)
        load(con, "trajectories", (_row(t, source, now) for source, t in new))
        load(con, "messages", (row for _, t in new for row in _message_rows(t)))
        load(con, "steps", (row for _, t in new for row in _step_rows(t)))
        annotations, labels, left_out = _annotate(con, said, dataset, now)
    return Imported(len(new), len(found) - len(new), annotations, labels, left_out)


def _content_digest(trajectory: Trajectory) -> str:
    """Digest of what a run is; the dataset it is filed under is not part of it."""
    t = trajectory
    return digest(
        canonical(
            [
                t.domain,
                t.task_id,
                t.trial,
                t.objective,
                t.policy,
                t.gold_actions,
                t.success,
                t.messages,
            ]
        ),
        32,
    )


def _new_trajectories(
    con: Connection, found: Sequence[tuple[str, Trajectory]]
) -> list[tuple[str, Trajectory]]:
    have = dict(con.execute("select trajectory_id, content_digest from trajectories").fetchall())
    new: list[tuple[str, Trajectory]] = []
    for source, trajectory in found:
        known = have.setdefault(trajectory.trajectory_id, fresh := _content_digest(trajectory))
        if known != fresh:
            raise InputError(
                f"{source}: trajectory {trajectory.trajectory_id} is in the database already with "
                "other content; import this version into another database (--db)"
            )
        new.append((source, trajectory))
    stored = {row[0] for row in con.execute("select trajectory_id from trajectories").fetchall()}
    unique: dict[str, tuple[str, Trajectory]] = {}
    for source, trajectory in new:
        if trajectory.trajectory_id not in stored:
            unique.setdefault(trajectory.trajectory_id, (source, trajectory))
    return list(unique.values())


def _row(t: Trajectory, source: str, now: datetime) -> dict[str, object]:
    return {
        "trajectory_id": t.trajectory_id,
        "dataset": t.dataset,
        "domain": t.domain,
        "task_id": t.task_id,
        "trial": t.trial,
        "agent_model": t.agent_model,
        "objective": t.objective,
        "policy": t.policy,
        "gold_actions": t.gold_actions,
        "success": t.success,
        "reward": t.reward,
        "n_messages": len(t.messages),
        "content_digest": _content_digest(t),
        "source": source,
        "imported_at": now,
    }


def _message_rows(t: Trajectory) -> Iterable[dict[str, object]]:
    for message in t.messages:
        calls = [
            {"id": call.call_id, "name": call.name, "arguments": call.arguments}
            for call in message.tool_calls
        ]
        yield {
            "trajectory_id": t.trajectory_id,
            "message_index": message.index,
            "role": message.role,
            "content": message.content,
            "tool_calls": canonical(calls) if calls else None,
            "requestor": message.requestor,
            "tool_call_id": message.tool_call_id or None,
            "is_error": message.is_error,
        }


def _step_rows(t: Trajectory) -> Iterable[dict[str, object]]:
    for step in t.steps:
        yield {
            "trajectory_id": t.trajectory_id,
            "step_index": step.step_index,
            "player": step.player,
            "judged": step.judged,
            "call_index": step.call_index,
            "result_index": step.result_index,
            "tool": step.tool,
            "arguments": step.arguments,
            "result": step.result,
            "is_error": step.is_error,
        }


def _annotate(
    con: Connection,
    said: Sequence[tuple[str, Annotation]],
    dataset: str | None,
    now: datetime,
) -> tuple[int, int, int]:
    """Write annotations and labels; return how many of each, and how many had no trajectory."""
    if not said:
        return 0, 0, 0
    by_task = _tasks(con, dataset)
    joined: list[tuple[str, Annotation, str]] = []
    left_out = 0
    for source, annotation in said:
        ids = (
            [annotation.trajectory_id]
            if annotation.trajectory_id
            else by_task.get(annotation.task_id or "", [])
        )
        left_out += not ids
        joined += [(source, annotation, trajectory_id) for trajectory_id in ids]
    steps, sizes = _steps_of(con, {trajectory_id for _, _, trajectory_id in joined})
    have = _existing(con)
    annotations: list[dict[str, object]] = []
    labels: list[dict[str, object]] = []
    for source, annotation, trajectory_id in joined:
        if trajectory_id not in sizes:
            raise InputError(
                f"{annotation.where}: no trajectory {trajectory_id} in the database; "
                "import the trajectories first"
            )
        rows = [
            {"label_set": annotation.label_set, "trajectory_id": trajectory_id, **row}
            for row in place(annotation, steps[trajectory_id], sizes[trajectory_id])
        ]
        key = (annotation.label_set, trajectory_id)
        mine = canonical([[row["step_index"], row["kind"], row["evidence"]] for row in rows])
        if key in have:
            if have[key] != mine:
                raise InputError(
                    f"{annotation.where}: label set {annotation.label_set!r} already has other "
                    f"labels for trajectory {trajectory_id}; give these another label set name"
                )
            continue
        have[key] = mine
        labels += rows
        annotations.append(
            {
                "label_set": annotation.label_set,
                "trajectory_id": trajectory_id,
                "annotator": annotation.annotator,
                "n_labels": len(rows),
                "source": source,
                "imported_at": now,
            }
        )
    load(con, "annotations", annotations)
    load(con, "labels", labels)
    return len(annotations), len(labels), left_out


def _tasks(con: Connection, dataset: str | None) -> Mapping[str, list[str]]:
    by_task: dict[str, list[str]] = defaultdict(list)
    for task_id, trajectory_id in con.execute(
        "select task_id, trajectory_id from trajectories "
        "where $1 is null or dataset = $1 order by rowid",
        [dataset],
    ).fetchall():
        by_task[task_id].append(trajectory_id)
    return by_task


def _steps_of(
    con: Connection, trajectory_ids: set[str]
) -> tuple[Mapping[str, list[Step]], Mapping[str, int]]:
    steps: dict[str, list[Step]] = defaultdict(list)
    ids = sorted(trajectory_ids)
    for trajectory_id, *fields in con.execute(
        "select trajectory_id, step_index, player, judged, call_index, result_index from steps "
        "where list_contains($1, trajectory_id) order by trajectory_id, step_index",
        [ids],
    ).fetchall():
        steps[trajectory_id].append(Step(*fields))
    sizes = dict(
        con.execute(
            "select trajectory_id, n_messages from trajectories "
            "where list_contains($1, trajectory_id)",
            [ids],
        ).fetchall()
    )
    return steps, sizes


def _existing(con: Connection) -> dict[tuple[str, str], str]:
    have: dict[tuple[str, str], list[list[object]]] = {
        (label_set, trajectory_id): []
        for label_set, trajectory_id in con.execute(
            "select label_set, trajectory_id from annotations"
        ).fetchall()
    }
    for label_set, trajectory_id, *label in con.execute(
        "select label_set, trajectory_id, step_index, kind, evidence from labels "
        "order by label_set, trajectory_id, step_index"
    ).fetchall():
        have[label_set, trajectory_id].append(label)
    return {key: canonical(rows) for key, rows in have.items()}
