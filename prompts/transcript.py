"""A whole trajectory as text, message by message, each under its original index."""

from __future__ import annotations

from collections import defaultdict

from cache.records import Message, Step, Trajectory


def quote(text: str) -> str:
    """Return ``text`` with every line, by any notion of a line break, behind ``| ``."""
    return "\n".join(f"| {line}" for line in text.splitlines()) or "|"


def called(step: Step) -> str:
    """Return a call, quoted: a tool's name is the agent's word too, and may be a whole sentence."""
    return quote(f"{step.tool} {step.arguments or '{}'}")


def messages(indices: tuple[int, ...]) -> str:
    """Return message indices as prompts write them, ``[4, 5]``."""
    return f"[{', '.join(map(str, indices))}]"


def pair(step: Step) -> tuple[int, ...]:
    """Return a step as message indices: its call and its result, if one was recorded."""
    both = (step.call_index, step.result_index)
    return tuple(index for index in both if index is not None)


def transcript(trajectory: Trajectory) -> str:
    """Return all messages; calls and results name each other, nothing recorded is unquoted."""
    calls: dict[int, list[Step]] = defaultdict(list)
    results: dict[int, Step] = {}
    for step in trajectory.steps:
        if step.tool is not None:
            calls[step.call_index].append(step)
        if step.result_index is not None:
            results[step.result_index] = step
    return "\n".join(
        _message(message, calls.get(message.index, []), results.get(message.index))
        for message in trajectory.messages
    )


def _message(message: Message, calls: list[Step], answers: Step | None) -> str:
    if message.role == "tool":
        whose = f"call in [{answers.call_index}]" if answers else "no recorded call"
        failed = ", an error" if answers and answers.is_error else ""
        return f"[{message.index}] result of {whose}{failed}\n{quote(message.content)}"
    who = {"assistant": "agent", "user": "user"}.get(message.role, "system")
    lines = []
    if message.content or not calls:
        lines += [f"[{message.index}] {who} says", quote(message.content)]
    for step in calls:
        until = f", answered in [{step.result_index}]" if step.result_index is not None else ""
        lines += [f"[{message.index}] {who} calls{until}", called(step)]
    return "\n".join(lines)
