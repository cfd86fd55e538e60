"""The labels published first: a list of tasks, each with message indices and their types.

They mark messages, not steps: a call and its result are two labels, and a mark may fall on plain
text. They name a task and no run.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from cache.errors import InputError
from cache.importers.base import Document, decode
from cache.records import Annotation, Mark

# What each published type says of the kind. The first is a rule (outside the reference actions),
# and says nothing of how the step was needless.
KIND_OF: dict[str, str | None] = {
    "except_action_graph": None,
    "insert_duplicated_step": "duplicated",
    "insert_duplicated_tool_result": "duplicated",
    "insert_invalid_tool_call": "abnormal",
    "insert_invalid_tool_result": "abnormal",
    "repetition_action": "duplicated",
}


class Record(msgspec.Struct, frozen=True):
    """The labels of one task: two lists of one length."""

    task_id: str | int
    redundant_step_idx: list[int]
    redundant_step_type: list[str]


def recognises(path: Path, document: Document) -> bool:
    """Whether the path holds message-index labels; the release's own have evidence too."""
    keys = document.keys
    return (
        document.shape == "list"
        and {"redundant_step_idx", "redundant_step_type"} <= keys
        and "evidence_step_idx" not in keys
    )


def read(path: Path, document: Document, dataset: str | None) -> Iterator[Annotation]:
    """Yield one annotation a task, one mark a message.

    Raises ``InputError`` for lists of unequal length, a repeated or negative index, an unknown
    type, a task named twice.
    """
    if document.shape == "folder":
        raise InputError(f"{path}: message-index labels are a file, not a folder")
    seen: dict[str, int] = {}
    for at, record in enumerate(decode(document.data, list[Record], str(path))):
        where = f"{path}: $[{at}]"
        task_id = str(record.task_id)
        if task_id in seen:
            raise InputError(
                f"{where}.task_id: {task_id!r} is already labelled by $[{seen[task_id]}]"
            )
        seen[task_id] = at
        yield Annotation(
            label_set="v1",
            annotator="published",
            marks=_marks(record, where),
            where=where,
            task_id=task_id,
        )


def _marks(record: Record, where: str) -> tuple[Mark, ...]:
    indices, types = record.redundant_step_idx, record.redundant_step_type
    if len(indices) != len(types):
        raise InputError(
            f"{where}: {len(indices)} redundant_step_idx but {len(types)} redundant_step_type"
        )
    marks: dict[int, Mark] = {}
    for at, (index, name) in enumerate(zip(indices, types, strict=True)):
        if index < 0 or index in marks:
            fault = "a negative index" if index < 0 else "an index that was given before"
            raise InputError(f"{where}.redundant_step_idx[{at}]: {index} is {fault}")
        if name not in KIND_OF:
            raise InputError(
                f"{where}.redundant_step_type[{at}]: unknown type {name[:80]!r}, "
                f"expected one of {', '.join(KIND_OF)}"
            )
        marks[index] = Mark((index,), KIND_OF[name], is_synthetic=name.startswith("insert_"))
    return tuple(marks.values())
