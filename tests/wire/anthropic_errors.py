"""Errors in the shape of the Anthropic API: the type follows from the HTTP status."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import Any

from tests.wire.exchange import Refused, Response, Vendor, json_response

_TYPES = {
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    504: "timeout_error",
    529: "overloaded_error",
}


def error_type(status: int) -> str:
    """Return the type of error that goes with an HTTP status."""
    return _TYPES.get(status, "api_error" if status >= 500 else "invalid_request_error")


def inner(status: int, message: str, kind: str = "") -> dict[str, Any]:
    """Return the inner of the two nested errors."""
    return {"type": kind or error_type(status), "message": message}


def outer(error: dict[str, Any], request_id: str) -> dict[str, Any]:
    """Return the body that carries an inner error."""
    return {"type": "error", "error": error, "request_id": request_id}


def new_request_id() -> str:
    """Return the id of one HTTP request."""
    return "req_" + secrets.token_hex(12)


def failure(
    status: int, message: str, kind: str = "", headers: Mapping[str, str] | None = None
) -> Response:
    """Return an HTTP error whose body and header name the same request."""
    request_id = new_request_id()
    body = outer(inner(status, message, kind), request_id)
    return json_response(body, status, {"request-id": request_id, **(headers or {})})


def refused(refusal: Refused, vendor: Vendor) -> Response:
    """Return a refusal in the shape that the vendor's clients read."""
    if vendor == "openai":
        return refusal.response()
    return failure(refusal.status, str(refusal), headers=refusal.headers)
