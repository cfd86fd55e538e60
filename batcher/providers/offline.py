"""Judges that are programs, behind the same three verbs: no key, no network, no cost.

They are sent what an LLM judge is sent, as data instead of words, so they see exactly as much of
a trajectory as the strategy shows.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from batcher.judge import Judge
from batcher.offline import JUDGES, Question
from batcher.providers.base import Builder, Limits, Prompt, Reply, Unbatched
from cache.errors import UsageError
from cache.hashing import canonical_bytes
from cache.records import Step
from prompts.answers import FINDINGS
from prompts.render import Chat
from prompts.transcript import pair

ENDPOINT = "offline"


def build(judge: Judge) -> Builder:
    """Write the question as JSON: judge, parameters, the steps shown, the positions asked."""
    if judge.model not in JUDGES:
        raise UsageError(
            f"no offline judge is called {judge.model!r}; there are: {', '.join(sorted(JUDGES))}"
        )
    params = judge.sent_params
    JUDGES[judge.model].check(params)

    def body(chat: Chat) -> bytes:
        gold = None if chat.gold_actions is None else json.loads(chat.gold_actions)
        question: dict[str, object] = {
            "answer": chat.answer,
            "gold_actions": gold,
            "model": judge.model,
            "params": params,
            "positions": chat.excerpt.positions,
            "steps": [_step(step) for step in chat.excerpt.shown],
        }
        if chat.answer in FINDINGS:
            question["evidence"] = chat.excerpt.evidence
            question["messages"] = [pair(step) for step in chat.excerpt.shown]
        return canonical_bytes(question)

    return Builder("", ENDPOINT, body)


def _step(step: Step) -> dict[str, object]:
    if step.tool is None:
        return {"player": step.player}
    return {
        "player": step.player,
        "tool": step.tool,
        "arguments": step.arguments,
        "result": step.result,
        "is_error": step.is_error,
    }


class Offline(Unbatched):
    """Answers inside ``fetch``; a batch is over as soon as it is made."""

    limits = Limits(requests=100_000, bytes=200_000_000, line_bytes=200_000_000)
    key_fingerprint = ""

    def fetch(self, remote_id: str, pending: Iterable[Prompt]) -> Iterator[Reply]:
        """Answer each prompt."""
        for prompt in pending:
            body = json.loads(prompt.body)
            text = JUDGES[body["model"]].answer(Question.from_body(body))
            yield Reply(prompt.custom_id, "ok", raw="", text=text, model=body["model"])


def connect(base_url: str, key: str) -> Offline:
    """Return the provider."""
    return Offline()
