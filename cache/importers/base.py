"""What the importers share: opening and decoding a file, and τ²-bench's message and task schema.

The schema is here because two formats use it (results files and the RedundancyBench release) and
importers do not import each other. Its structs are a whitelist: a field that is not named is
skipped while parsing, so provider responses and keys recorded in a file never become a value.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol, TypeVar

import msgspec

from cache.errors import InputError
from cache.hashing import canonical
from cache.records import Annotation, Message, ToolCall, Trajectory

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Document:
    """A path as far as it must be known to recognise its format.

    ``keys`` are those of the object, or of the first entry of a list, of the first line of JSON
    Lines, of the first JSON file in a folder. ``fault`` says why there is no JSON value.
    """

    shape: Literal["folder", "object", "list", "lines", "other"]
    keys: frozenset[str] = frozenset()
    data: bytes = b""
    fault: str = ""


class Importer(Protocol):
    """One format. Both functions raise ``InputError``; ``read`` also while it is iterated."""

    def recognises(self, path: Path, document: Document) -> bool:
        """Tell from names and keys whether this importer can read the path."""
        ...

    def read(
        self, path: Path, document: Document, dataset: str | None
    ) -> Iterator[Trajectory | Annotation]:
        """Yield what the path holds, in the order of the file."""
        ...


def json_files(folder: Path) -> list[Path]:
    """Return the JSON files of a folder by name, without hidden ones."""
    return sorted(file for file in folder.glob("*.json") if not file.name.startswith("."))


def read_bytes(path: Path) -> bytes:
    """Return the bytes of a file without a byte order mark; ``InputError`` if there are none."""
    try:
        data = path.read_bytes().removeprefix(b"\xef\xbb\xbf")
    except FileNotFoundError:
        raise InputError(f"{path}: no such file or folder") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error
    if not data or data.isspace():
        raise InputError(f"{path}: the file is empty")
    return data


def decode(data: bytes, shape: type[T], where: str) -> T:
    """Parse JSON into ``shape``; an ``InputError`` names ``where``, then a JSON path or a byte."""
    try:
        try:
            return msgspec.json.decode(data, type=shape)
        except msgspec.DecodeError as error:
            # msgspec refuses half a surrogate pair, and calls some of them a truncated file.
            if isinstance(error, msgspec.ValidationError) or b"\\u" not in data:
                raise
            return msgspec.json.decode(_mend_surrogates(data), type=shape)
    except msgspec.ValidationError as error:
        raise InputError(f"{where}: {_explain(str(error))}") from None
    except msgspec.DecodeError as error:
        raise InputError(f"{where}: {_locate(str(error), data)}") from None
    except RecursionError:
        raise InputError(f"{where}: the JSON is nested too deeply") from None


def check_evidence(evidence: Sequence[int], where: str) -> tuple[int, ...]:
    """Return a flat list of evidence indices, or raise ``InputError``.

    Legal are none, one message, pairs in ascending order, and [-1] for a fixed policy.
    """
    given = tuple(evidence)
    if given in ((), (-1,)):
        return given
    pairs = list(zip(given[::2], given[1::2], strict=False))
    paired = len(given) == 1 or len(given) % 2 == 0
    if not paired or min(given) < 0 or any(a >= b for a, b in pairs) or len({*pairs}) < len(pairs):
        raise InputError(
            f"{where}: expected one index, [call, result] pairs in one flat list, or [-1], "
            f"got {list(given)}"
        )
    return given


class RawCall(msgspec.Struct, frozen=True):
    """A tool call as recorded; some providers write the arguments as JSON text."""

    name: str
    arguments: dict[str, object] | str | None = None
    id: str | int | None = None


class RawMessage(msgspec.Struct, frozen=True):
    """A message as recorded. ``turn_idx`` is not read: the index is the position in the list."""

    role: Literal["system", "user", "assistant", "tool"]
    content: str | None = None
    tool_calls: list[RawCall] | None = None
    id: str | int | None = None
    requestor: Literal["assistant", "user"] | None = None
    error: bool | None = None


class Instructions(msgspec.Struct, frozen=True):
    """What the simulated user was told to want."""

    domain: str | None = None
    reason_for_call: str | None = None
    task_instructions: str | None = None


class Scenario(msgspec.Struct, frozen=True):
    """The simulated user of a task."""

    instructions: Instructions | str | None = None


class Description(msgspec.Struct, frozen=True):
    """What a task is meant to test."""

    purpose: str | None = None


class Action(msgspec.Struct, frozen=True):
    """One call of the reference path."""

    name: str
    arguments: dict[str, object] | None = None
    requestor: str | None = None
    compare_args: list[str] | None = None


class Criteria(msgspec.Struct, frozen=True):
    """How a task is graded, as far as it is a reference path."""

    actions: list[Action] | None = None


class Task(msgspec.Struct, frozen=True):
    """One entry of ``tasks``."""

    id: str | int
    description: Description | str | None = None
    user_scenario: Scenario | str | None = None
    ticket: str | None = None
    evaluation_criteria: Criteria | None = None

    @property
    def instructions(self) -> Instructions | str | None:
        """What the user was told, whichever way the file nests it."""
        scenario = self.user_scenario
        return scenario.instructions if isinstance(scenario, Scenario) else scenario


def by_task_id(tasks: Sequence[Task] | None, where: str) -> dict[str, Task]:
    """Return the tasks by their id as text; ``InputError`` if one id means two different tasks."""
    known: dict[str, Task] = {}
    for at, task in enumerate(tasks or ()):
        if known.setdefault(str(task.id), task) != task:
            raise InputError(f"{where}: $.tasks[{at}].id: another task is called {task.id!r} too")
    return known


def messages_of(raws: Sequence[RawMessage]) -> tuple[Message, ...]:
    """Return the messages of one run, each with its position as its index."""
    return tuple([_message(index, raw) for index, raw in enumerate(raws)])


def _message(index: int, raw: RawMessage) -> Message:
    content = raw.content or ""
    if raw.role == "tool":
        # Some agents record no error flag: there only the text tells.
        failed = content.startswith("Error") if raw.error is None else raw.error
        call_id = "" if raw.id is None else str(raw.id)
        return Message(index, "tool", content, (), raw.requestor or "assistant", call_id, failed)
    if not raw.tool_calls:
        return Message(index, raw.role, content)
    return Message(index, raw.role, content, tuple([_call(call) for call in raw.tool_calls]))


def _call(raw: RawCall) -> ToolCall:
    arguments: object = {} if raw.arguments is None else raw.arguments
    if isinstance(arguments, str):
        # A weak model's text may be no object: then the text itself is what was called with.
        with contextlib.suppress(InputError):
            arguments = decode(arguments.encode(), dict[str, object], "")
    return ToolCall(raw.name, canonical(arguments), "" if raw.id is None else str(raw.id))


def objective_of(task: Task | None, messages: Sequence[Message]) -> str:
    """Return the task as a judge is told it: ticket, instructions, purpose or first request."""
    instructions = task.instructions if task else None
    if isinstance(instructions, Instructions):
        parts = (instructions.reason_for_call, instructions.task_instructions)
        instructions = "\n".join(part for part in parts if part)
    # A run without a user begins with a call: the agent works on the ticket alone.
    alone = bool(messages) and messages[0].role == "assistant" and bool(messages[0].tool_calls)
    if task and task.ticket and alone:
        return task.ticket
    purpose = task.description if task else None
    if isinstance(purpose, Description):
        purpose = purpose.purpose
    asked = next((m.content for m in messages if m.role == "user" and m.content), "")
    return instructions or purpose or asked


def gold_actions_of(task: Task | None) -> str | None:
    """Return the reference path as canonical JSON text, None where the file gives none."""
    if task is None or task.evaluation_criteria is None:
        return None
    return canonical(
        [
            {
                "name": action.name,
                "arguments": action.arguments or {},
                "requestor": action.requestor or "assistant",
                "compare_args": action.compare_args,
            }
            for action in task.evaluation_criteria.actions or ()
        ]
    )


# A whole pair, half a pair, or any other escape (so that an escaped backslash hides what follows).
_ESCAPE = re.compile(rb"\\(?:u[dD][89abAB]\w\w\\u[dD][c-fC-F]\w\w|(u[dD][89a-fA-F]\w\w)|.)", re.S)


def _mend_surrogates(data: bytes) -> bytes:
    r"""Replace escaped halves of surrogate pairs by \ufffd, which is as long."""
    return _ESCAPE.sub(lambda m: b"\\ufffd" if m[1] else m[0], data)


_TYPES = {
    "str": "a string",
    "int": "an integer",
    "float": "a number",
    "bool": "true or false",
    "array": "a list",
    "object": "an object",
    "null": "null",
}


def _in_words(found: re.Match[str]) -> str:
    return " or ".join(_TYPES.get(name, name) for name in found[1].split(" | "))


def _explain(message: str) -> str:
    """Turn a msgspec message, ``Expected `str`, got `int` - at `$.a` ``, into ``$.a: ...``."""
    message, _, path = message.partition(" - at `")
    message = message.replace("Invalid enum value", "not one of the values known here:")
    if message.startswith("Expected"):
        message = re.sub(r"`([a-z |]+)`", _in_words, message)
    return f"{path.rstrip('`') or '$'}: {message[:1].lower()}{message[1:300]}"


def _locate(message: str, data: bytes) -> str:
    """Say where JSON breaks: msgspec names a byte, but not for bad UTF-8 or an early end."""
    found = re.search(r"\(byte (\d+)\)", message)
    at = int(found[1]) if found else len(data)
    if "UTF-8" in message:
        try:
            data.decode()
        except UnicodeDecodeError as error:
            at = error.start
    line = data.count(b"\n", 0, at) + 1
    reason = message.removeprefix("JSON is malformed: ").partition(" (byte")[0]
    place = f"line {line}, byte {at}" if b"\n" in data else f"byte {at}"
    return f"broken JSON at {place}: {reason[:1].lower()}{reason[1:]}"
