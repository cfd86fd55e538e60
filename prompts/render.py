"""An excerpt into the text a judge reads.

What everything of a trajectory shares comes first and byte-identical, the target last, so that
providers' prompt caches hit. All recorded text is quoted line by line with ``| ``: nothing inside
a trajectory can stand at the start of a line, so nothing in it can look like a part of the prompt.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from jinja2 import ChoiceLoader, FileSystemLoader, StrictUndefined, Template, TemplateError
from jinja2.sandbox import SandboxedEnvironment

from cache.errors import InputError
from cache.records import Step, Trajectory
from prompts.scopes import Excerpt
from prompts.strategy import Strategy
from prompts.transcript import called, messages, pair, quote, transcript

__all__ = ["Chat", "Recording", "quote", "record", "render"]


@dataclass(frozen=True, slots=True)
class Chat:
    """What is put to a judge: two messages and the form of the answer.

    The user's message is the parts of ``shared`` and then ``user``. They are kept apart for
    providers whose prompt caches want to be told where a part that others share ends: the first is
    the same in a domain, all of them are in a trajectory.
    ``excerpt`` and ``gold_actions`` (JSON text, None when not shown) say the same without words,
    for judges that are programs.
    """

    system: str
    user: str
    answer: str
    excerpt: Excerpt
    gold_actions: str | None
    shared: tuple[str, ...] = ()

    @property
    def parts(self) -> tuple[str, ...]:
        """The user's message in its parts, which simply follow each other."""
        return (*(f"{part}\n\n" for part in self.shared), self.user)


@dataclass(frozen=True, slots=True)
class Recording:
    """A trajectory's texts, quoted once and used in all its prompts.

    ``steps`` maps a step index to the step's text without its number; ``transcript`` is all
    messages, each under its index.
    """

    objective: str
    gold: str
    gold_actions: str | None
    steps: Mapping[int, str]
    policy: str
    transcript: str


def record(trajectory: Trajectory) -> Recording:
    """Quote everything of a trajectory that a prompt may show."""
    contents = {message.index: message.content for message in trajectory.messages}
    seen: set[int] = set()
    steps: dict[int, str] = {}
    for step in trajectory.steps:
        says = "" if step.call_index in seen else contents[step.call_index]
        seen.add(step.call_index)
        steps[step.step_index] = _step_text(step, says)
    actions = trajectory.gold_actions
    return Recording(
        objective=quote(trajectory.objective),
        gold=_gold_text(actions),
        gold_actions=actions,
        steps=steps,
        policy=quote(trajectory.policy),
        transcript=transcript(trajectory),
    )


def render(strategy: Strategy, recording: Recording, excerpt: Excerpt, *, gold: bool) -> Chat:
    """Return the chat for one excerpt; raises ``InputError`` naming a template that fails."""
    system, templates = _templates(strategy)
    shown = recording.steps
    if strategy.scope == "step":
        text = shown[excerpt.shown[0].step_index]
    else:
        text = "\n".join(
            f"[{at}] {shown[step.step_index]}" for at, step in enumerate(excerpt.shown, 1)
        )
    targets = [messages(pair(excerpt.shown[at - 1])) for at in excerpt.positions]
    values = {
        "objective": recording.objective,
        "gold": recording.gold if gold else "",
        "excerpt": text,
        "positions": excerpt.positions,
        "policy": recording.policy,
        "transcript": recording.transcript,
        "targets": targets,
        "evidence": messages(excerpt.evidence or ()),
    }
    try:
        *shared, user = (template.render(values).strip() for template in templates)
        return Chat(
            system=system,
            user=user,
            answer=strategy.answer,
            excerpt=excerpt,
            gold_actions=recording.gold_actions if gold else None,
            shared=tuple(shared),
        )
    except TemplateError as error:
        raise InputError(f"strategy {strategy.name}, user template: {error}") from error


def _step_text(step: Step, says: str) -> str:
    who = "agent" if step.player == "assistant" else "user"
    if step.tool is None:
        return f"{who} says\n{quote(says)}"
    lines = [f"{who} calls", called(step)]
    if says:
        lines[:0] = [f"{who} says", quote(says)]
    if step.result_index is None:
        lines.append("no result was recorded")
    else:
        lines += ["and receives an error" if step.is_error else "and receives", ""]
        lines[-1] = quote(step.result or "")
    return "\n".join(lines)


def _gold_text(gold_actions: str | None) -> str:
    actions = json.loads(gold_actions) if gold_actions else []
    if not actions:
        return "| (no action is needed)" if gold_actions else "| (not known)"
    return "\n".join(
        quote(
            f"{number}. {action['requestor'] or 'assistant'}: {action['name']} "
            f"{json.dumps(action['arguments'], ensure_ascii=False, sort_keys=True)}"
        )
        for number, action in enumerate(actions, 1)
    )


@lru_cache
def _templates(strategy: Strategy) -> tuple[str, tuple[Template, ...]]:
    """Return the system text, and the templates of the user's message in their order."""
    environment = SandboxedEnvironment(
        undefined=StrictUndefined,
        loader=ChoiceLoader([FileSystemLoader(folder) for folder in strategy.folders]),
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=False,  # the result is plain text for a model, not HTML
    )
    try:
        system = environment.from_string(strategy.system).render().strip()
        parts = (*strategy.shared, strategy.user)
        return system, tuple(environment.from_string(part) for part in parts)
    except TemplateError as error:
        raise InputError(f"strategy {strategy.name}, template: {error}") from error
