"""The paper's three Round-I rules (section 4.1), each switchable: ``?rules=duplicate,error``.

They draft labels, they do not know the truth: on the benchmark's successes the third marks most
of an agent's calls. Each sees only the steps that the strategy shows. Asked for kind and evidence,
the first two name the other call; the third knows neither, and guesses.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from batcher.offline.base import Grounds, Question, Shown, guessed, known_only, written
from cache.errors import UsageError


def _original(question: Question, at: int) -> int | None:
    """Where the first call with the same tool, arguments and result is, earlier."""
    step = question.steps[at]
    for earlier, other in enumerate(question.steps[:at]):
        if _same_call(other, step) and other.result == step.result:
            return earlier
    return None


def _duplicate(question: Question, at: int) -> str | None:
    """The same tool, arguments and result as any earlier call of the agent."""
    found = _original(question, at) is not None
    return "repeats an earlier call with the same result" if found else None


def _success(question: Question, at: int) -> int | None:
    """Where the first equal call that succeeds is, later, if this one failed."""
    step = question.steps[at]
    if not step.is_error:
        return None
    for later, other in enumerate(question.steps[at + 1 :], at + 1):
        if _same_call(other, step) and other.result is not None and not other.is_error:
            return later
    return None


def _error(question: Question, at: int) -> str | None:
    """An error result, superseded by a later equal call that succeeds."""
    found = _success(question, at) is not None
    return "failed, and the same call succeeded later" if found else None


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


#: What a rule that knows of another step says of this one, and where that step is.
KIND = {"duplicate": "duplicated", "error": "abnormal"}
OTHER = {"duplicate": _original, "error": _success}
CONFIDENCE = {"duplicated": 0.9, "abnormal": 0.8}


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

        def grounds(question: Question, position: int) -> Grounds:
            for name in chosen:
                if name in OTHER and (other := OTHER[name](question, position - 1)) is not None:
                    kind = KIND[name]
                    return Grounds(kind, question.messages[other], CONFIDENCE[kind])
            return guessed(question, position)

        return written(question, says, grounds)


def _chosen(params: Mapping[str, str]) -> list[str]:
    names = [name.strip() for name in params.get("rules", ",".join(RULES)).split(",")]
    for name in names:
        if name not in RULES:
            raise UsageError(f"offline:rules has no rule {name!r}; there are: {', '.join(RULES)}")
    return names
