"""Labels written by message index, placed on steps."""

from __future__ import annotations

from collections.abc import Sequence

from cache.errors import InputError
from cache.records import Annotation, Mark, Step


def place(
    annotation: Annotation, steps: Sequence[Step], n_messages: int
) -> list[dict[str, object]]:
    """Return one label row per labelled step, in step order, without its trajectory.

    A pair names the step with that call and that result. A single message names the step whose
    result it is; a call's message names all its steps, unless one of their results is named as
    well (of n parallel calls, message labels can tell only the results apart). A single message
    that is no step is context, and carries no label. Raises ``InputError`` for an index outside
    the trajectory and for a pair that is no call with its result.
    """
    singles = {mark.indices[0] for mark in annotation.marks if len(mark.indices) == 1}
    placed: dict[int, Mark] = {}
    for mark in annotation.marks:
        for index in (*mark.indices, *(i for i in mark.evidence if i != -1)):
            if not 0 <= index < n_messages:
                raise InputError(
                    f"{annotation.where}: message {index} is outside the trajectory, which has "
                    f"{n_messages} messages; these labels belong to another run"
                )
        for at in _steps_named(mark, steps, singles, annotation.where):
            placed.setdefault(at, mark)
    return [
        {
            "step_index": at,
            "kind": mark.kind,
            "evidence": list(mark.evidence),
            "confidence": mark.confidence,
            "is_synthetic": mark.is_synthetic,
        }
        for at, mark in sorted(placed.items())
    ]


def _steps_named(mark: Mark, steps: Sequence[Step], singles: set[int], where: str) -> list[int]:
    if len(mark.indices) == 2:
        for step in steps:
            if (step.call_index, step.result_index) == mark.indices:
                return [step.step_index]
        raise InputError(
            f"{where}: messages {list(mark.indices)} are not a call and its result in the "
            "trajectory; these labels belong to another run"
        )
    (index,) = mark.indices
    by_result = [step.step_index for step in steps if step.result_index == index]
    if by_result:
        return by_result
    calls = [step for step in steps if step.call_index == index]
    if any(step.result_index in singles for step in calls):
        return []
    return [step.step_index for step in calls]
