"""Messages into steps: who acted, with which tool, and what came back."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from cache.records import Message, Step


def split_steps(messages: Sequence[Message]) -> tuple[Step, ...]:
    """Return the steps of a trajectory, in the order in which they began.

    Calls are paired with results **in order**, per player: recorded call ids repeat within one
    run, or are empty, so an id table would merge different calls. A result that no call waits for
    stays context and becomes no step. Time is linear in the number of messages.
    """
    steps: list[Step] = []
    waiting: dict[str, deque[int]] = {}
    for message in messages:
        if message.role == "tool":
            queue = waiting.get(message.requestor or "assistant")
            if queue:
                at = queue.popleft()
                call = steps[at]
                steps[at] = Step(
                    step_index=at,
                    player=call.player,
                    judged=call.judged,
                    call_index=call.call_index,
                    result_index=message.index,
                    tool=call.tool,
                    arguments=call.arguments,
                    result=message.content,
                    is_error=message.is_error,
                )
            continue
        if message.role not in ("assistant", "user"):
            continue
        if message.tool_calls:
            # A new turn of calls ends the wait for results that never came.
            queue = waiting[message.role] = deque()
            for call_ in message.tool_calls:
                queue.append(len(steps))
                steps.append(
                    Step(
                        step_index=len(steps),
                        player=message.role,
                        judged=message.role == "assistant",
                        call_index=message.index,
                        tool=call_.name,
                        arguments=call_.arguments,
                    )
                )
        elif message.content:
            steps.append(
                Step(
                    step_index=len(steps),
                    player=message.role,
                    judged=False,
                    call_index=message.index,
                )
            )
    return tuple(steps)
