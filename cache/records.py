"""The values that travel between modules: frozen, without behaviour.

A message keeps its original 0-based index; every index below is such a message index unless its
name says step.
"""

from __future__ import annotations

from dataclasses import dataclass

#: The four kinds of redundancy (Table 1 of the paper).
KINDS = ("abnormal", "duplicated", "incorrect", "exploratory")


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One tool call inside a message; ``arguments`` is canonical JSON text."""

    name: str
    arguments: str
    call_id: str = ""


@dataclass(frozen=True, slots=True)
class Message:
    """One entry of a trajectory.

    ``role`` is ``system``, ``user``, ``assistant`` or ``tool``. ``requestor`` tells whose call a
    ``tool`` message answers (``assistant`` or ``user``) and is None elsewhere.
    """

    index: int
    role: str
    content: str
    tool_calls: tuple[ToolCall, ...] = ()
    requestor: str | None = None
    tool_call_id: str = ""
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class Step:
    """The paper's (reasoning, action, observation) of one player.

    A plain text turn has no ``tool``; a call without a recorded result has no ``result_index``.
    n parallel calls are n steps that share a ``call_index``. ``judged`` is true for tool calls of
    the assistant, and for nothing else.
    """

    step_index: int
    player: str
    judged: bool
    call_index: int
    result_index: int | None = None
    tool: str | None = None
    arguments: str | None = None
    result: str | None = None
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class Case:
    """A labelled step and the evidence an annotator gave for it, as a question can show them.

    The pairs of joint evidence are in ascending order, so that equal evidence is equal.
    """

    step_index: int
    evidence: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Trajectory:
    """One run of an agent on one task.

    ``gold_actions`` is JSON text: a list of ``{name, arguments, requestor, compare_args}``; an
    empty list is a task whose reference path has no action, None is not known. ``success`` is None
    when the run carries no verdict. ``cases`` are those of all label sets, each once, where the
    trajectory comes from a database that has labels for it.
    """

    trajectory_id: str
    dataset: str
    domain: str
    task_id: str
    messages: tuple[Message, ...]
    steps: tuple[Step, ...]
    trial: int | None = None
    agent_model: str | None = None
    objective: str = ""
    policy: str = ""
    gold_actions: str | None = None
    success: bool | None = None
    reward: float | None = None
    cases: tuple[Case, ...] = ()


@dataclass(frozen=True, slots=True)
class Mark:
    """One redundant step as an annotator wrote it, by message indices.

    ``indices`` is (call, result), or a single message. ``evidence`` is a flat list of message
    indices, several pairs for joint evidence, ``(-1,)`` for a fixed policy.
    """

    indices: tuple[int, ...]
    kind: str | None = None
    evidence: tuple[int, ...] = ()
    confidence: str | None = None
    is_synthetic: bool = False


@dataclass(frozen=True, slots=True)
class Annotation:
    """What one annotator says of one trajectory; no marks means it is clean.

    The trajectory is named by ``trajectory_id``, or by ``task_id`` where a label file knows no
    better. ``where`` is ``file: JSON path``, for error messages.
    """

    label_set: str
    annotator: str
    marks: tuple[Mark, ...]
    where: str
    trajectory_id: str | None = None
    task_id: str | None = None
