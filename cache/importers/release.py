"""The RedundancyBench release: traces and step labels, by people and by models.

A folder ``human_annotation/<domain>/`` or ``automated_annotation/<domain>/`` holds
``final_traces.json`` and ``annotation.json``. People's labels name a task, which has one trace
there; models' labels name a trajectory, because a task has several. All traces succeeded.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from cache.errors import InputError
from cache.importers.base import (
    Document,
    RawMessage,
    Task,
    by_task_id,
    check_evidence,
    decode,
    gold_actions_of,
    messages_of,
    objective_of,
    read_bytes,
)
from cache.records import Annotation, Mark, Trajectory
from cache.steps import split_steps

TRACES, LABELS = "final_traces.json", "annotation.json"

#: Folder name to the name of the label set.
LABEL_SETS = {"human_annotation": "human", "automated_annotation": "automated"}

KIND_OF = {
    "Duplicated Step": "duplicated",
    "Abnormal Step": "abnormal",
    "Incorrect Step": "incorrect",
    "Exploratory Step": "exploratory",
}

# "Synthetic by hand": a remark may follow the word.
SYNTHETIC = "人工合成"


class Trace(msgspec.Struct, frozen=True):
    """One run."""

    messages: list[RawMessage]
    task_id: str | int
    trajectory_id: str | None = None
    policy: str | None = None


class Traces(msgspec.Struct, frozen=True):
    """``final_traces.json``."""

    simulations: list[Trace]
    tasks: list[Task]


class Record(msgspec.Struct, frozen=True):
    """One entry of ``annotation.json``: five lists of one length, an item a redundant step."""

    redundant_step_idx: list[list[int]]
    redundant_step_type: list[str]
    evidence_step_idx: list[list[int]]
    reason: list[str | None]
    confidence: list[str | int]
    task_id: str | int | None = None
    task_number: str | None = None
    trajectory_id: str | None = None
    label_source: str | None = None


def recognises(path: Path, document: Document) -> bool:
    """Whether the path lies in the folders of a release."""
    return bool(_domains(path)[1])


def read(path: Path, document: Document, dataset: str | None) -> Iterator[Trajectory | Annotation]:
    """Yield each trajectory and, if it was annotated, its annotation.

    The path may be the release or a folder in it. Raises ``InputError`` for labels that do not
    fit their trace, an annotation without one trace, an identity used twice.
    """
    name, folders = _domains(path)
    if not folders:
        raise InputError(f"{path}: no {' or '.join(LABEL_SETS)} folder with {TRACES}")
    seen: dict[str, str] = {}
    for folder in folders:
        for where, value in _domain(folder, dataset or name):
            if isinstance(value, Trajectory):
                if value.trajectory_id in seen:
                    earlier = seen[value.trajectory_id]
                    raise InputError(
                        f"{where}: the id {value.trajectory_id!r} is already that of {earlier}"
                    )
                seen[value.trajectory_id] = where
            yield value


def _domains(path: Path) -> tuple[str, list[Path]]:
    """Return the release's name and the domain folders the path stands for."""
    named = path.name in (TRACES, LABELS)
    path = path.parent if named else path
    real = path.resolve()
    if real.parent.name in LABEL_SETS:
        return real.parent.parent.name, [path] if _is_domain(path) else []
    if named or not path.is_dir():
        return real.name, []
    if real.name in LABEL_SETS:
        return real.parent.name, [at for at in sorted(path.iterdir()) if _is_domain(at)]
    subsets = [path / name for name in LABEL_SETS if (path / name).is_dir()]
    return real.name, [at for sub in subsets for at in sorted(sub.iterdir()) if _is_domain(at)]


def _is_domain(folder: Path) -> bool:
    return (folder / TRACES).is_file() or (folder / LABELS).is_file()


def _domain(folder: Path, dataset: str) -> Iterator[tuple[str, Trajectory | Annotation]]:
    real = folder.resolve()
    domain, label_set = real.name, LABEL_SETS[real.parent.name]
    human = label_set == "human"
    file = folder / TRACES
    traces = decode(read_bytes(file), Traces, str(file))
    tasks = by_task_id(traces.tasks, str(file))
    records = _records(folder / LABELS, human)
    joined: dict[str, str] = {}
    for at, trace in enumerate(traces.simulations):
        where = f"{file}: $.simulations[{at}]"
        key = str(trace.task_id) if human else trace.trajectory_id
        if not key:
            raise InputError(f"{where}.trajectory_id: missing")
        if key in joined:
            raise InputError(f"{where}: {key!r} is already the identity of {joined[key]}")
        joined[key] = where
        found = records.get(key)
        name = key
        if human:
            number = found[1].task_number if found else None
            name = f"release:human:{domain}:{number or key}"
        messages = messages_of(trace.messages)
        task = tasks.get(str(trace.task_id))
        run = Trajectory(
            trajectory_id=name,
            dataset=dataset,
            domain=domain,
            task_id=str(trace.task_id),
            messages=messages,
            steps=split_steps(messages),
            objective=objective_of(task, messages),
            policy=trace.policy or "",
            gold_actions=gold_actions_of(task),
            success=True,
        )
        yield where, run
        if found:
            yield found[0], _annotation(*found, run, label_set)
    for key, (where, _) in records.items():
        if key not in joined:
            raise InputError(f"{where}: annotates {key!r}, which {file} does not hold")


def _records(file: Path, human: bool) -> Mapping[str, tuple[str, Record]]:
    records: dict[str, tuple[str, Record]] = {}
    field = "task_id" if human else "trajectory_id"
    for at, record in enumerate(decode(read_bytes(file), list[Record], str(file))):
        where = f"{file}: $[{at}]"
        given = record.task_id if human else record.trajectory_id
        if given is None or given == "":
            raise InputError(f"{where}.{field}: missing")
        key = str(given)
        if key in records:
            raise InputError(f"{where}.{field}: {key!r} is already annotated by {records[key][0]}")
        if not human and not record.label_source:
            raise InputError(f"{where}.label_source: missing")
        records[key] = (where, record)
    return records


def _annotation(where: str, record: Record, run: Trajectory, label_set: str) -> Annotation:
    human = label_set == "human"
    if record.task_id is not None and str(record.task_id) != run.task_id:
        raise InputError(
            f"{where}.task_id: {record.task_id!r}, but {run.trajectory_id} has {run.task_id!r}"
        )
    lists: dict[str, list[object]] = {
        "redundant_step_idx": [*record.redundant_step_idx],
        "redundant_step_type": [*record.redundant_step_type],
        "evidence_step_idx": [*record.evidence_step_idx],
        "reason": [*record.reason],
        "confidence": [*record.confidence],
    }
    if len({len(items) for items in lists.values()}) != 1:
        counts = ", ".join(f"{name} {len(items)}" for name, items in lists.items())
        raise InputError(f"{where}: lists of unequal length: {counts}")
    marks: dict[tuple[int, ...], Mark] = {}
    for at, step in enumerate(record.redundant_step_idx):
        _check_step(step, run, f"{where}.redundant_step_idx[{at}]")
        if tuple(step) in marks:
            raise InputError(f"{where}.redundant_step_idx[{at}]: {step} is marked twice")
        kind = record.redundant_step_type[at]
        if kind not in KIND_OF:
            raise InputError(
                f"{where}.redundant_step_type[{at}]: unknown type {kind[:80]!r}, "
                f"expected one of {', '.join(KIND_OF)}"
            )
        place = f"{where}.evidence_step_idx[{at}]"
        evidence = check_evidence(record.evidence_step_idx[at], place)
        # Pairs may be the user's own calls, or (by models) two results: only the range is sure.
        if not evidence or max(evidence) >= len(run.messages):
            raise InputError(
                f"{place}: expected indices of {len(run.messages)} messages, got {list(evidence)}"
            )
        marks[tuple(step)] = Mark(
            indices=tuple(step),
            kind=KIND_OF[kind],
            evidence=evidence,
            confidence=str(record.confidence[at]),
            is_synthetic=human and (record.reason[at] or "").lstrip().startswith(SYNTHETIC),
        )
    return Annotation(
        label_set=label_set,
        annotator="human" if human else record.label_source or "",
        marks=tuple(marks.values()),
        where=where,
        trajectory_id=run.trajectory_id,
    )


def _check_step(step: list[int], run: Trajectory, where: str) -> None:
    """Refuse what is not an assistant's call and its result, paired in order as steps are."""
    if len(step) != 2:
        raise InputError(f"{where}: expected a pair [call, result], got {step}")
    call, result = step
    if not 0 <= call < result < len(run.messages):
        raise InputError(f"{where}: {step} is not a pair of the {len(run.messages)} messages")
    results = [s.result_index for s in run.steps if s.judged and s.call_index == call]
    if not results:
        raise InputError(f"{where}: message {call} is not a tool call of the assistant")
    if result not in results:
        raise InputError(f"{where}: message {result} does not answer the call in message {call}")
