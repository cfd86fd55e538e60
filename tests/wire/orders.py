"""The check of a batch creation body: what the API refuses at once."""

from __future__ import annotations

import secrets
from typing import Any

from tests.wire.batch import Order
from tests.wire.exchange import Refused, Request
from tests.wire.settings import Settings

ENDPOINTS = ("/v1/chat/completions",)
MOST_PAIRS, LONGEST_NAME, LONGEST_VALUE = 16, 64, 512
SHORTEST_LIFE, LONGEST_LIFE = 3_600, 2_592_000


def read_order(request: Request, now: float, settings: Settings) -> Order:
    """Return the order in the body, or refuse it."""
    body = request.json()
    for name in ("input_file_id", "endpoint", "completion_window"):
        if not isinstance(body.get(name), str) or not body[name]:
            text = f"Missing required parameter: '{name}'."
            raise Refused(400, text, param=name, code="missing_required_parameter")
    if body["endpoint"] not in ENDPOINTS:
        text = f"Invalid value: {body['endpoint']!r}. Supported values: {', '.join(ENDPOINTS)}."
        raise Refused(400, text, param="endpoint", code="invalid_value")
    if body["completion_window"] != "24h":
        text = "Invalid value for 'completion_window'. Supported value: '24h'."
        raise Refused(400, text, param="completion_window", code="invalid_value")
    return Order(
        id="batch_" + secrets.token_hex(16),
        key=request.key,
        endpoint=body["endpoint"],
        input_file_id=body["input_file_id"],
        completion_window="24h",
        metadata=_metadata(body.get("metadata")),
        output_life=_life(body.get("output_expires_after"), settings),
        created=now,
        expires=now + settings.window,
    )


def _metadata(value: Any) -> dict[str, str] | None:
    if value is None:
        return None
    good = isinstance(value, dict) and len(value) <= MOST_PAIRS
    if not good or not all(
        isinstance(text, str) and len(name) <= LONGEST_NAME and len(text) <= LONGEST_VALUE
        for name, text in value.items()
    ):
        sizes = f"{LONGEST_NAME} and {LONGEST_VALUE} characters"
        text = f"metadata holds at most {MOST_PAIRS} pairs of strings of {sizes}."
        raise Refused(400, text, param="metadata", code="invalid_metadata")
    return dict(value)


def _life(value: Any, settings: Settings) -> float:
    if value is None:
        return settings.file_life
    seconds = value.get("seconds") if isinstance(value, dict) else None
    if not isinstance(seconds, int) or not SHORTEST_LIFE <= seconds <= LONGEST_LIFE:
        text = f"seconds must be between {SHORTEST_LIFE} and {LONGEST_LIFE}."
        raise Refused(400, text, param="output_expires_after", code="invalid_value")
    return float(seconds)
