"""What a call fault makes of a good answer."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from tests.wire.exchange import Delivery, Response, json_response
from tests.wire.faults import CallFault
from tests.wire.message_batch import unfinished

_PAGE = b"<!doctype html><html><body><h1>We will be back soon</h1></body></html>"
_DELIVERIES: dict[str, Delivery] = {
    "drop_after": "drop",
    "cut_length": "cut_length",
    "cut_close": "cut_close",
    "cut_chunked": "cut_chunked",
    "small_chunks": "small_chunks",
}


def web_page() -> Response:
    """Return what a proxy shows when the provider is away."""
    return Response(200, _PAGE, content_type="text/html; charset=utf-8")


def distort(response: Response, rules: Iterable[CallFault]) -> Response:
    """Apply the rules that act on an answer; the others change nothing."""
    for rule in rules:
        if rule.kind in _DELIVERIES:
            response = replace(response, delivery=_DELIVERIES[rule.kind])
        elif rule.kind == "truncated_json":
            response = replace(response, body=response.body[: len(response.body) // 2])
        elif rule.kind == "wrapped" and response.status == 200:
            response = json_response({"job": response.value})
        elif response.status == 200 and isinstance(response.value, dict):
            response = json_response(_bend(response.value, rule))
    return response


def _bend(value: dict[str, Any], rule: CallFault) -> dict[str, Any]:
    """Change one object, or every object of a list."""
    listed = value.get("object") == "list" or "has_more" in value
    if isinstance(value.get("data"), list) and listed:
        return {**value, "data": [_bend(item, rule) for item in value["data"]]}
    status = "processing_status" if "processing_status" in value else "status"
    match rule.kind:
        case "unknown_status":
            return {**value, status: rule.value or "paused"}
        case "upper_status":
            return {**value, status: str(value.get(status)).upper()}
        case "counts_null":
            return {**value, "request_counts": None}
        case "backwards" if status == "processing_status":
            counts = unfinished(sum(value["request_counts"].values()))
            results = {"ended_at": None, "results_url": None, "request_counts": counts}
            return {**value, status: "in_progress", **results}
        case "backwards":
            results = {"output_file_id": None, "error_file_id": None, "completed_at": None}
            return {**value, "status": "in_progress", **results}
        case _:
            return value
