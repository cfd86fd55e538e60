"""What the runs of one domain teach: which tools only read, and what they answer.

A tool is a read when its name begins with a verb of looking (``READ_VERBS``) and no run disproves
it: nowhere does the same call answer differently although nothing but such look-ups happened in
between. Everything else, the user's own tools included, counts as something that may write.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from cache.records import Message, Step, ToolCall, Trajectory

#: Verbs with which the names of tools that only look begin.
READ_VERBS = (
    *("browse", "calculate", "check", "compute", "count", "describe", "fetch", "find", "get"),
    *("inspect", "list", "look", "lookup", "query", "read", "retrieve", "search", "show", "view"),
)


def looks_like_a_read(tool: str) -> bool:
    """Tell from a name, whatever namespace stands before it: ``crm.getOrder`` is one."""
    last = re.split(r"[./:]", tool)[-1]
    words = re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+", last)
    return bool(words) and words[0].lower() in READ_VERBS


@dataclass(slots=True)
class Corpus:
    """All runs of one domain, successful or not, as far as injection needs them."""

    _fickle: set[str] = field(default_factory=set)
    _known: dict[tuple[str, str], dict[str, set[str]]] = field(
        default_factory=lambda: defaultdict(lambda: defaultdict(set))
    )
    #: By tool: (arguments, result) pairs from before anything was written.
    samples: dict[str, list[tuple[str, str]]] = field(default_factory=lambda: defaultdict(list))
    #: By data set and tool: what an agent says with such a call.
    sayings: dict[tuple[str, str], list[str]] = field(default_factory=lambda: defaultdict(list))
    #: By data set: the ids of the assistant's calls.
    call_ids: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    #: Error results of the assistant's calls.
    errors: list[str] = field(default_factory=list)

    def is_read(self, tool: str | None) -> bool:
        """Tell whether a tool only reads."""
        return tool is not None and looks_like_a_read(tool) and tool not in self._fickle

    def answer(self, tool: str, arguments: str, task_id: str) -> str | None:
        """Return what a call answers in the untouched world of a task, if the runs agree on it.

        Runs of the same task go before runs of others.
        """
        by_task = self._known.get((tool, arguments), {})
        for found in (by_task.get(task_id, set()), set().union(*by_task.values())):
            if len(found) == 1:
                return next(iter(found))
        return None

    def learn(self, run: Trajectory) -> None:
        """Add one run."""
        latest: dict[tuple[str, str], str] = {}
        untouched = True
        for step in run.steps:
            if step.tool is None:
                continue
            tool, arguments = step.tool, step.arguments or "{}"
            if not looks_like_a_read(tool):
                latest.clear()
                untouched = False
            elif step.result is not None and not step.is_error and step.judged:
                if latest.setdefault((tool, arguments), step.result) != step.result:
                    self._fickle.add(tool)
                if untouched:
                    self._known[tool, arguments][run.task_id].add(step.result)
                    self.samples[tool].append((arguments, step.result))
            if step.judged and step.is_error and step.result:
                self.errors.append(step.result)
        for message, call in _calls(run.messages):
            self.call_ids[run.dataset].append(call.call_id)
            self.sayings[run.dataset, call.name].append(message.content)


def _calls(messages: Sequence[Message]) -> Iterator[tuple[Message, ToolCall]]:
    for message in messages:
        if message.role == "assistant":
            for call in message.tool_calls:
                yield message, call


def learnt(runs: Iterable[Trajectory]) -> dict[str, Corpus]:
    """Return what the runs teach, by domain."""
    domains: dict[str, Corpus] = defaultdict(Corpus)
    for run in runs:
        domains[run.domain].learn(run)
    return domains


def writes_between(steps: Sequence[Step], corpus: Corpus, after: int, before: int) -> bool:
    """Tell whether anything that may write was called at a message in ``after..before``."""
    return any(
        step.tool is not None and not corpus.is_read(step.tool) and after < step.call_index < before
        for step in steps
    )
