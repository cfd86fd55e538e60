"""Which part of a trajectory a judge is shown, and which steps it is asked about."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from cache.records import Step, Trajectory


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Steps ``shown`` in order, of which those at ``positions`` (1-based) are asked about.

    ``evidence`` is given with the target where a case is asked about. ``number`` tells the excerpts
    of one trajectory apart where their order cannot: labels may be added between two runs.
    """

    shown: tuple[Step, ...]
    positions: tuple[int, ...]
    evidence: tuple[int, ...] | None = None
    number: int | None = None

    @property
    def targets(self) -> tuple[int, ...]:
        """The step indices asked about."""
        return tuple(self.shown[at - 1].step_index for at in self.positions)


def _step(trajectory: Trajectory, k: int, k_unit: str) -> Iterator[Excerpt]:
    for step in trajectory.steps:
        if step.judged:
            yield Excerpt((step,), (1,))


def _window(trajectory: Trajectory, k: int, k_unit: str) -> Iterator[Excerpt]:
    steps = trajectory.steps
    for at, step in enumerate(steps):
        if not step.judged:
            continue
        if k_unit == "step":
            first, last = max(0, at - k), min(len(steps), at + k + 1)
        else:
            low, high = step.call_index - k, (step.result_index or step.call_index) + k
            near = [n for n, other in enumerate(steps) if _touches(other, low, high)]
            first, last = near[0], near[-1] + 1
        yield Excerpt(steps[first:last], (at - first + 1,))


def _touches(step: Step, low: int, high: int) -> bool:
    return step.call_index <= high and (step.result_index or step.call_index) >= low


def _trajectory(trajectory: Trajectory, k: int, k_unit: str) -> Iterator[Excerpt]:
    positions = tuple(at for at, step in enumerate(trajectory.steps, 1) if step.judged)
    if positions:
        yield Excerpt(trajectory.steps, positions)


def _case(trajectory: Trajectory, k: int, k_unit: str) -> Iterator[Excerpt]:
    position = {step.step_index: at for at, step in enumerate(trajectory.steps, 1)}
    for case in trajectory.cases:
        at = position[case.step_index]
        yield Excerpt(trajectory.steps, (at,), case.evidence, case.step_index)


def _labelled_step(trajectory: Trajectory, k: int, k_unit: str) -> Iterator[Excerpt]:
    labelled = {case.step_index for case in trajectory.cases}
    for at, step in enumerate(trajectory.steps, 1):
        if step.step_index in labelled:
            yield Excerpt(trajectory.steps, (at,), number=step.step_index)


#: scope name: the excerpts of a trajectory, in order of their targets.
SCOPES: dict[str, Callable[[Trajectory, int, str], Iterator[Excerpt]]] = {
    "step": _step,
    "window": _window,
    "trajectory": _trajectory,
    "labelled_step": _labelled_step,
    "case": _case,
}
