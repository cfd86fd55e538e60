"""The paper's three Round-I rules (section 4.1), each switchable: ``?rules=duplicate,error``.

They draft labels, they do not know the truth: on the benchmark's successes the third marks most
of an agent's calls. Each sees only the steps that the strategy shows.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from batcher.offline.base import Question, Shown, known_only, written
from cache.errors import UsageError


def _duplicate(question: Question, at: int) -> str | None:
    """The same tool, arguments and result as any earlier call of the agent."""
    step = question.steps[at]
    for earlier in question.steps[:at]:
        if _same_call(earlier, step) and earlier.result == step.result:
            return "repeats an earlier call with the same result"
    return None


def _error(question: Question, at: int) -> str | None:
    """An error result, superseded by a later equal call that succeeds."""
    step = question.steps[at]
    if not step.is_error:
        return None
    for later in question.steps[at + 1 :]:
        if _same_call(later, step) and later.result is not None and not later.is_error:
            return "failed, and the same call succeeded later"
    return None


def _actions(question: Question, at: int) -> str | None:
    """Not among the ground-truth actions; silent where these are not shown."""
    if question.gold_actions is None:
        return None
    step = question.steps[at]
    if any(_is_action(step, action) for action in question.gold_actions):
        return None
    return "is not among the reference actions"


def _same_call(one: Shown, other: Shown) -> bool:
    return (
        one.player == other.player == "assistant"
        and one.tool == other.tool
        and one.arguments == other.arguments
    )


def _is_action(step: Shown, action: Mapping[str, Any]) -> bool:
    """Tell whether a call performs an action.

    ``compare_args`` null compares the arguments the call has, a list compares those keys, an
    empty list the name only.
    """
    if step.tool != action["name"] or (action.get("requestor") or "assistant") != step.player:
        return False
    mine: dict[str, Any] = json.loads(step.arguments or "{}")
    theirs: dict[str, Any] = action.get("arguments") or {}
    keys = action.get("compare_args")
    compared = mine.keys() if keys is None else keys
    return all(mine.get(key) == theirs.get(key) for key in compared)


RULES: dict[str, Callable[[Question, int], str | None]] = {
    "duplicate": _duplicate,
    "error": _error,
    "actions": _actions,
}


@dataclass(frozen=True, slots=True)
class Rules:
    """A step is redundant when any of the chosen rules says so; all three by default."""

    summary: str = "the paper's three Round-I rules; ?rules=duplicate,error,actions"

    def check(self, params: Mapping[str, str]) -> None:
        """``rules`` is a list of rule names."""
        known_only("rules", params, ("rules",))
        _chosen(params)

    def answer(self, question: Question) -> str:
        """The first rule that applies gives the reason."""
        chosen = _chosen(question.params)

        def says(position: int) -> str | None:
            found = (RULES[name](question, position - 1) for name in chosen)
            return next((reason for reason in found if reason), None)

        return written(question, says)


def _chosen(params: Mapping[str, str]) -> list[str]:
    names = [name.strip() for name in params.get("rules", ",".join(RULES)).split(",")]
    for name in names:
        if name not in RULES:
            raise UsageError(f"offline:rules has no rule {name!r}; there are: {', '.join(RULES)}")
    return names
