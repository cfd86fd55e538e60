"""The check of a batch input file: one pass, every problem with its line number."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import msgspec

from tests.wire import answers
from tests.wire.settings import Settings

#: The list of problems is cut here, as a long file would otherwise repeat itself.
MOST_PROBLEMS = 100
_decode = msgspec.json.Decoder().decode
_FIELDS = ("custom_id", "method", "url", "body")


@dataclass(frozen=True, slots=True)
class Problem:
    """One entry of ``errors.data``; ``line`` counts from 1."""

    code: str
    message: str
    line: int | None = None
    param: str | None = None

    def plain(self) -> dict[str, Any]:
        """Return the problem as the API shows it."""
        return {
            "code": self.code,
            "line": self.line,
            "message": self.message,
            "param": self.param,
        }


@dataclass(frozen=True, slots=True)
class Line:
    """One request: where its bytes are, and what is counted about it."""

    custom_id: str
    start: int
    stop: int
    body_sha256: str
    prompt_tokens: int


@dataclass(frozen=True, slots=True)
class InputFile:
    """A checked file; ``problems`` stays hidden until validation ends."""

    data: bytes
    sha256: str
    lines: tuple[Line, ...]
    problems: tuple[Problem, ...]
    model: str | None

    @property
    def prompt_tokens(self) -> int:
        """Prompt tokens of the whole file."""
        return sum(line.prompt_tokens for line in self.lines)

    def body(self, line: Line) -> dict[str, Any]:
        """Decode the body of one request."""
        body: dict[str, Any] = _decode(self.data[line.start : line.stop])["body"]
        return body


def inspect(data: bytes, endpoint: str, settings: Settings) -> InputFile:
    """Check every line of ``data`` for a batch on ``endpoint``."""
    problems: list[Problem] = []
    lines: list[Line] = []
    seen: dict[str, int] = {}
    model: str | None = None
    if not data:
        problems.append(Problem("empty_file", "The input file is empty."))
    if len(data) > settings.max_bytes:
        limit = f"{settings.max_bytes} bytes"
        problems.append(Problem("file_too_large", f"The input file is larger than {limit}."))
    number = start = 0
    while start < len(data):
        stop = data.find(b"\n", start)
        stop = len(data) if stop < 0 else stop
        number += 1
        found = _check(data[start:stop], number, endpoint)
        if isinstance(found, Problem):
            problems.append(found)
        else:
            custom_id, body = found
            if custom_id in seen:
                text = f"The custom_id {custom_id!r} is on line {seen[custom_id]} already."
                problems.append(Problem("duplicate_custom_id", text, number, "custom_id"))
            seen.setdefault(custom_id, number)
            named = body.get("model")
            if isinstance(named, str):
                model = named if model is None else model
                if named != model:
                    text = f"A file holds requests to one model: {model!r} and {named!r} found."
                    problems.append(Problem("model_mismatch", text, number, "body.model"))
            sha256 = answers.fingerprint(body)
            lines.append(Line(custom_id, start, stop, sha256, answers.prompt_tokens(body)))
        start = stop + 1
    if number > settings.max_requests:
        text = f"The file has {number} requests; the limit is {settings.max_requests}."
        problems.append(Problem("too_many_tasks", text))
    digest = hashlib.sha256(data).hexdigest()
    return InputFile(data, digest, tuple(lines), tuple(problems[:MOST_PROBLEMS]), model)


def _check(raw: bytes, number: int, endpoint: str) -> Problem | tuple[str, dict[str, Any]]:
    """Return what is wrong with one line, or its id and body."""
    if raw.startswith(b"\xef\xbb\xbf"):
        return Problem("invalid_json_line", "The line starts with a byte order mark.", number)
    if not raw.strip():
        return Problem("invalid_json_line", "The line is blank.", number)
    try:
        value = _decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return Problem("invalid_json_line", "The line is not valid JSON.", number)
    if not isinstance(value, dict):
        return Problem("invalid_json_line", "The line is not a JSON object.", number)
    for name in _FIELDS:
        if value.get(name) is None:
            text = f"Missing required parameter: '{name}'."
            return Problem("missing_required_parameter", text, number, name)
    custom_id, body = value["custom_id"], value["body"]
    if not isinstance(custom_id, str) or not custom_id:
        return Problem("invalid_request", "custom_id must be a string.", number, "custom_id")
    if not isinstance(body, dict):
        return Problem("invalid_request", "body must be an object.", number, "body")
    if value["method"] != "POST":
        return Problem("invalid_method", "method must be 'POST'.", number, "method")
    if value["url"] != endpoint:
        text = f"The url must be {endpoint!r}, as in the batch."
        return Problem("url_mismatch", text, number, "url")
    return custom_id, body
