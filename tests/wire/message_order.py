"""The check of a message batch creation: what the API refuses at once."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import Any

import msgspec

from tests.wire.exchange import Refused, Request
from tests.wire.faults import Faults
from tests.wire.message_params import refuse_params, refuse_sampling
from tests.wire.queue_limits import refuse_many
from tests.wire.settings import Settings

_CUSTOM_ID = re.compile("[A-Za-z0-9_-]{1,64}")


@dataclass(frozen=True, slots=True)
class MessageRequest:
    """One request of a batch."""

    custom_id: str
    params: dict[str, Any]


@dataclass(frozen=True, slots=True)
class MessageOrder:
    """What the client asked for."""

    requests: tuple[MessageRequest, ...]
    version: str
    sha256: str

    @property
    def model(self) -> str | None:
        """The model of all requests, where they have the same."""
        models = {str(request.params.get("model")) for request in self.requests}
        return models.pop() if len(models) == 1 else None


def read_order(request: Request, faults: Faults, settings: Settings) -> MessageOrder:
    """Return the order in the body, or refuse it."""
    if len(request.body) > settings.message_max_bytes:
        raise Refused(413, f"Request exceeds the maximum size of {settings.message_max_bytes}.")
    wanted = request.json().get("requests")
    if not isinstance(wanted, list) or not wanted:
        raise Refused(400, "requests: at least one request is required")
    if len(wanted) > settings.message_max_requests:
        most = settings.message_max_requests
        raise Refused(400, f"requests: at most {most} requests are allowed, {len(wanted)} given")
    version = request.headers.get("anthropic-version", "")
    seen: set[str] = set()
    requests: list[MessageRequest] = []
    for number, value in enumerate(wanted):
        made = _read(value, number)
        if made.custom_id in seen:
            raise Refused(400, f"requests.{number}.custom_id: Duplicate id {made.custom_id!r}")
        seen.add(made.custom_id)
        _refuse(made.params, number, version, faults)
        requests.append(made)
    if faults.quota_over_lines and len(requests) > faults.quota_over_lines:
        raise Refused(429, "This request would exceed the limit of requests in the queue.")
    refuse_many(len(requests), faults)
    return MessageOrder(tuple(requests), version, hashlib.sha256(request.body).hexdigest())


def models_in(body: bytes) -> list[str]:
    """Return the models that a body of the Messages API names, so that a fault can choose by it."""
    try:
        value = msgspec.json.decode(body)
        wanted = value.get("requests", [{"params": value}])
        return sorted({str(request["params"]["model"]) for request in wanted})
    except (msgspec.DecodeError, UnicodeDecodeError, AttributeError, KeyError, TypeError):
        return []


def _read(value: Any, number: int) -> MessageRequest:
    where = f"requests.{number}"
    if not isinstance(value, dict):
        raise Refused(400, f"{where}: Input should be an object")
    custom_id, params = value.get("custom_id"), value.get("params")
    if not isinstance(custom_id, str) or _CUSTOM_ID.fullmatch(custom_id) is None:
        text = f"String should match pattern '^{_CUSTOM_ID.pattern}$'"
        raise Refused(400, f"{where}.custom_id: {text}")
    if not isinstance(params, dict):
        raise Refused(400, f"{where}.params: Field required")
    return MessageRequest(custom_id, params)


def _refuse(params: dict[str, Any], number: int, version: str, faults: Faults) -> None:
    try:
        if faults.sampling_refused == "at_create":
            refuse_sampling(params, version)
        if faults.params_refused == "at_create":
            refuse_params(params, batch=True)
    except Refused as refusal:
        text = f"requests.{number}.params.{refusal}"
        raise Refused(refusal.status, text) from refusal
