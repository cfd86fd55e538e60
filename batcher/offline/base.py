"""What an offline judge is: a question in, an answer's text out, by rule."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from cache.errors import UsageError
from prompts.answers import FINDINGS


@dataclass(frozen=True, slots=True)
class Shown:
    """A step as an offline judge sees it; ``tool`` is None for a turn of talk."""

    player: str
    tool: str | None = None
    arguments: str | None = None
    result: str | None = None
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class Question:
    """Steps in order, the 1-based positions asked about, and the reference actions if shown.

    For answers that name messages, ``messages`` holds (call, result) of each step, (call,) without
    a result, and ``evidence`` what is given as evidence, if it is.
    """

    steps: tuple[Shown, ...]
    positions: tuple[int, ...]
    answer: str
    params: Mapping[str, str]
    gold_actions: tuple[Mapping[str, Any], ...] | None
    body: str
    messages: tuple[tuple[int, ...], ...] = ()
    evidence: tuple[int, ...] | None = None

    @classmethod
    def from_body(cls, body: dict[str, Any]) -> Question:
        """Read the body that ``providers.offline.build`` wrote."""
        gold = body["gold_actions"]
        return cls(
            steps=tuple(Shown(**step) for step in body["steps"]),
            positions=tuple(body["positions"]),
            answer=body["answer"],
            params=body["params"],
            gold_actions=None if gold is None else tuple(gold),
            body=json.dumps(body, sort_keys=True),
            messages=tuple(tuple(pair) for pair in body.get("messages", ())),
            evidence=tuple(body["evidence"]) if body.get("evidence") else None,
        )


class OfflineJudge(Protocol):
    """One judge."""

    @property
    def summary(self) -> str:
        """One line for the list of judges."""
        ...

    def check(self, params: Mapping[str, str]) -> None:
        """Raise ``UsageError`` for parameters the judge does not know."""
        ...

    def answer(self, question: Question) -> str:
        """Return the answer's text, in the form asked for."""
        ...


def known_only(judge: str, params: Mapping[str, str], known: tuple[str, ...]) -> None:
    """Raise ``UsageError`` for a parameter that is not ``known``."""
    for name in params:
        if name not in known:
            takes = ", ".join(known) or "none"
            raise UsageError(f"offline:{judge} has no parameter {name!r}; it takes: {takes}")


@dataclass(frozen=True, slots=True)
class Grounds:
    """Why a step is redundant, for answers that say more: evidence is message indices."""

    kind: str
    evidence: tuple[int, ...]
    confidence: float


def guessed(question: Question, position: int) -> Grounds:
    """Guess a kind from where the given evidence lies; without evidence, a rule was broken.

    What comes later shows a search that failed, what came before a call beside the point.
    """
    evidence = question.evidence or (-1,)
    is_ahead = evidence[0] > question.messages[position - 1][0]
    return Grounds("exploratory" if is_ahead else "incorrect", evidence, 0.1)


def written(
    question: Question,
    says: Callable[[int], str | None],
    grounds: Callable[[Question, int], Grounds] = guessed,
) -> str:
    """Write the answer: ``says(position)`` is the reason a step is redundant, or None.

    ``grounds`` says more of a step where the answer form wants it: of those found redundant, or of
    the one that is known to be.
    """
    if question.answer in FINDINGS:
        known = question.answer != "findings"
        positions = [at for at in question.positions if known or says(at)]
        return json.dumps({"findings": [_finding(question, at, grounds) for at in positions]})
    found = {position: says(position) for position in question.positions}
    named = {position: reason for position, reason in found.items() if reason}
    if question.answer == "verdict":
        position = question.positions[0]
        return json.dumps(
            {"reason": named.get(position, "no rule applies"), "redundant": position in named}
        )
    reasons = "; ".join(f"{position}: {reason}" for position, reason in named.items())
    return json.dumps({"reason": reasons or "no rule applies", "redundant_steps": list(named)})


def _finding(
    question: Question, position: int, grounds: Callable[[Question, int], Grounds]
) -> dict[str, object]:
    found = grounds(question, position)
    return {
        "step": question.messages[position - 1],
        "evidence": found.evidence,
        "kind": found.kind,
        "confidence": found.confidence,
    }
