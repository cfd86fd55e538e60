"""Label sets of this project: JSON Lines, one annotated trajectory a line.

    {"label_set": "mine", "trajectory_id": "…", "annotator": "a", "steps": [
        {"call": 4, "result": 5, "kind": "duplicated", "evidence": [2, 3],
         "confidence": "certain", "synthetic": false}]}

``task_id`` may stand for ``trajectory_id``, a step without ``result`` is a single message, and an
empty ``steps`` says that the trajectory is clean.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from cache.errors import InputError
from cache.importers.base import Document, check_evidence, decode
from cache.records import KINDS, Annotation, Mark


# A misspelt field would lose a label without a word, hence no unknown ones here.
class Labelled(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One redundant step, by message indices."""

    call: int
    result: int | None = None
    kind: str | None = None
    evidence: list[int] = []
    confidence: str | None = None
    synthetic: bool = False


class Line(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What one annotator says of one trajectory."""

    label_set: str
    annotator: str
    steps: list[Labelled]
    trajectory_id: str | None = None
    task_id: str | int | None = None


def recognises(path: Path, document: Document) -> bool:
    """Whether the first line is a label set's; a set of one line is a plain object too."""
    return document.shape in ("lines", "object") and {"label_set", "steps"} <= document.keys


def read(path: Path, document: Document, dataset: str | None) -> Iterator[Annotation]:
    """Yield one annotation a line; empty lines are skipped.

    Raises ``InputError`` with file, line and field for a line that does not fit, a step marked
    twice, a trajectory that one annotator labels twice in a set.
    """
    if document.shape == "folder":
        raise InputError(f"{path}: a label set is a file, not a folder")
    seen: dict[tuple[str, str, str | None, str | None], int] = {}
    # Split on the line feed only: JSON text may hold U+2028, which splitlines would cut at.
    for number, data in enumerate(document.data.split(b"\n"), start=1):
        if not data.strip():
            continue
        annotation = _annotation(decode(data, Line, f"{path}:{number}"), f"{path}:{number}")
        key = (
            annotation.label_set,
            annotation.annotator,
            annotation.trajectory_id,
            annotation.task_id if annotation.trajectory_id is None else None,
        )
        if key in seen:
            name = annotation.trajectory_id or annotation.task_id
            raise InputError(
                f"{path}:{number}: {annotation.annotator!r} labels {name!r} in "
                f"{annotation.label_set!r} already on line {seen[key]}"
            )
        seen[key] = number
        yield annotation


def _annotation(line: Line, where: str) -> Annotation:
    task_id = None if line.task_id is None else str(line.task_id)
    for field, value in (("label_set", line.label_set), ("annotator", line.annotator)):
        if not value.strip():
            raise InputError(f"{where}: $.{field}: expected a name, got an empty one")
    if not line.trajectory_id and not task_id:
        raise InputError(f"{where}: $: expected a trajectory_id or a task_id")
    marks: dict[tuple[int, ...], Mark] = {}
    for at, step in enumerate(line.steps):
        mark = _mark(step, f"{where}: $.steps[{at}]")
        if mark.indices in marks:
            raise InputError(f"{where}: $.steps[{at}]: {list(mark.indices)} is marked twice")
        marks[mark.indices] = mark
    return Annotation(
        label_set=line.label_set,
        annotator=line.annotator,
        marks=tuple(marks.values()),
        where=where,
        trajectory_id=line.trajectory_id or None,
        task_id=task_id or None,
    )


def _mark(step: Labelled, where: str) -> Mark:
    if step.call < 0:
        raise InputError(f"{where}.call: expected a message index, got {step.call}")
    if step.result is not None and step.result <= step.call:
        raise InputError(f"{where}.result: {step.result} does not come after call {step.call}")
    if step.kind is not None and step.kind not in KINDS:
        raise InputError(
            f"{where}.kind: expected one of {', '.join(KINDS)}, got {step.kind[:80]!r}"
        )
    return Mark(
        indices=(step.call,) if step.result is None else (step.call, step.result),
        kind=step.kind,
        evidence=check_evidence(step.evidence, f"{where}.evidence"),
        confidence=step.confidence,
        is_synthetic=step.synthetic,
    )
