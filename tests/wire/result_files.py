"""The output file and the error file of a finished batch, with the faults of single lines."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import msgspec

from tests.wire.faults import Faults, LineFault
from tests.wire.input_file import InputFile, Line
from tests.wire.model import Model, Reply

_encode = msgspec.json.Encoder().encode
#: Why a request did not run, as the error lines say it.
UNFINISHED = {
    "batch_expired": "This request could not be executed before the completion window expired.",
    "batch_cancelled": "This request was not executed because the batch was cancelled.",
    "request_timeout": "The request to the model timed out.",
}


@dataclass(slots=True)
class Results:
    """The lines of both files while a batch is computed, and what the batch object says."""

    output: list[bytes] = field(default_factory=list)
    errors: list[bytes] = field(default_factory=list)
    completed: int = 0
    failed: int = 0
    prompt: int = 0
    cached: int = 0
    completion: int = 0

    def usage(self) -> dict[str, Any]:
        """Return the batch-level usage."""
        return {
            "input_tokens": self.prompt,
            "input_tokens_details": {"cached_tokens": self.cached},
            "output_tokens": self.completion,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": self.prompt + self.completion,
        }

    def count(self, body: Any) -> None:
        """Add the tokens of one successful body."""
        usage = body.get("usage")
        if usage:
            self.prompt += usage["prompt_tokens"]
            self.cached += usage["prompt_tokens_details"]["cached_tokens"]
            self.completion += usage["completion_tokens"]


def compute(source: InputFile, done: Iterable[Line], model: Model) -> Results:
    """Run the requests in ``done``, in that order, and write their lines."""
    results = Results()
    for line in done:
        body = source.body(line)
        reply = model.reply(body, line.custom_id)
        _write(results, line.custom_id, reply)
    return results


def leave(results: Results, rest: Iterable[Line], code: str) -> None:
    """Write an error line for every request that did not run."""
    for line in rest:
        results.failed += 1
        results.errors.append(_failure(line.custom_id, code))


def file_bytes(lines: list[bytes], faults: Faults) -> bytes:
    """Join the lines of one file."""
    end = b"\r\n" if faults.crlf else b"\n"
    data = b"".join(line + end for line in lines)
    return data + end if faults.trailing_blank_line else data


def _write(results: Results, custom_id: str, reply: Reply) -> None:
    rule = reply.rule
    kind = rule.kind if rule is not None else None
    good = reply.status == 200
    write = _answer_line if reply.status else _failed_line
    text = write(custom_id, reply, kind)
    in_output = good or (rule is not None and rule.in_output)
    target = results.output if in_output else results.errors
    results.completed += good
    results.failed += not good
    if good:
        results.count(reply.body)
    target.extend(bent(text, rule, _contradict))


def bent(
    text: bytes, rule: LineFault | None, contradict: Callable[[dict[str, Any]], None]
) -> list[bytes]:
    """Return the line, or what a rule about whole lines makes of it.

    ``contradict`` changes a decoded line so that it holds another answer.
    """
    match rule.kind if rule is not None else None:
        case "missing":
            return []
        case "duplicate_same":
            return [text, text]
        case "duplicate_other":
            value = msgspec.json.decode(text)
            contradict(value)
            return [text, _encode(value)]
        case "unknown_id":
            value = msgspec.json.decode(text)
            value["custom_id"] = "nobody-sent-this"
            return [text, _encode(value)]
        case "corrupt":
            return [text[: len(text) // 2]]
        case _:
            return [text]


def _contradict(line: dict[str, Any]) -> None:
    body = (line["response"] or {}).get("body")
    if not isinstance(body, dict) or not body.get("choices"):
        line["id"] = f"{line['id']}-other"  # a failed line holds no answer to turn round
        return
    choice = body["choices"][0]["message"]
    choice["content"] = (choice["content"] or "")[::-1]


def _answer_line(custom_id: str, reply: Reply, kind: str | None) -> bytes:
    body = reply.body
    if kind == "string_body":
        body = _encode(body).decode()
    elif kind == "body_null":
        body = None
    return _line(custom_id, {"status_code": reply.status, "body": body}, None)


def _failed_line(custom_id: str, reply: Reply, kind: str | None) -> bytes:
    if kind == "status_zero":
        return _line(custom_id, {"status_code": 0, "request_id": "", "body": {}}, None)
    text = _failure(custom_id, "request_timeout")
    if kind == "no_response_key":
        value = msgspec.json.decode(text)
        del value["response"]
        return _encode(value)
    return text


def _failure(custom_id: str, code: str) -> bytes:
    return _line(custom_id, None, {"code": code, "message": UNFINISHED[code]})


def _line(custom_id: str, response: dict[str, Any] | None, error: dict[str, Any] | None) -> bytes:
    mark = hashlib.sha256(custom_id.encode()).hexdigest()[:24]
    if response is not None:
        response = {
            "status_code": response["status_code"],
            "request_id": "req_" + mark,
            **response,
        }
    return _encode(
        {"id": "batch_req_" + mark, "custom_id": custom_id, "response": response, "error": error}
    )
