"""The results of an ended message batch: one line for each request, with the faults of lines."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import msgspec

from tests.wire import messages
from tests.wire.anthropic_errors import outer
from tests.wire.faults import Faults
from tests.wire.message_model import MessageModel
from tests.wire.message_order import MessageRequest
from tests.wire.model import Reply
from tests.wire.result_files import bent

_encode = msgspec.json.Encoder().encode


@dataclass(slots=True)
class MessageResults:
    """The lines while a batch is computed, and how its requests ended."""

    lines: list[bytes] = field(default_factory=list)
    succeeded: int = 0
    errored: int = 0
    canceled: int = 0
    expired: int = 0

    def counts(self) -> dict[str, int]:
        """Return the request counts of an ended batch."""
        return {
            "processing": 0,
            "succeeded": self.succeeded,
            "errored": self.errored,
            "canceled": self.canceled,
            "expired": self.expired,
        }


def compute(
    done: Iterable[MessageRequest], version: str, model: MessageModel, faults: Faults
) -> MessageResults:
    """Run the requests in ``done``, in that order, and write their lines."""
    results = MessageResults()
    for request in done:
        reply = model.reply(request.params, version, request.custom_id)
        good = reply.status == 200
        results.succeeded += good
        results.errored += not good
        made = _succeeded(reply) if good else _errored(reply, request.custom_id, faults)
        value: dict[str, Any] = {"custom_id": request.custom_id, "result": made}
        if reply.rule is not None and reply.rule.kind == "no_response_key":
            del value["result"]
        results.lines.extend(bent(_encode(value), reply.rule, _contradict))
    return results


def leave(results: MessageResults, rest: Iterable[MessageRequest], how: str) -> None:
    """Write a line for every request that did not run: ``canceled`` or ``expired``."""
    for request in rest:
        results.canceled += how == "canceled"
        results.expired += how == "expired"
        results.lines.append(_encode({"custom_id": request.custom_id, "result": {"type": how}}))


def _succeeded(reply: Reply) -> dict[str, Any]:
    body = reply.body
    match reply.rule.kind if reply.rule is not None else None:
        case "unknown_result":
            value = reply.rule.value if reply.rule is not None else ""
            return {"type": value or "postponed"}
        case "body_null":
            body = None
        case "string_body":
            body = _encode(body).decode()
    return {"type": "succeeded", "message": body}


def _errored(reply: Reply, custom_id: str, faults: Faults) -> dict[str, Any]:
    mark = hashlib.sha256(custom_id.encode()).hexdigest()[:24]
    error = reply.body if faults.single_error_nesting else outer(reply.body, "req_" + mark)
    return {"type": "errored", "error": error}


def _contradict(line: dict[str, Any]) -> None:
    message = line["result"].get("message")
    if isinstance(message, dict):
        messages.contradict(message)
