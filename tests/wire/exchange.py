"""One HTTP request and its answer as values, and the ways an answer can reach the client."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import msgspec

#: How the bytes travel. Everything but ``whole`` and ``small_chunks`` ends the connection.
Delivery = Literal["whole", "drop", "cut_length", "cut_close", "cut_chunked", "small_chunks"]
#: Whose shape of errors and headers an answer has.
Vendor = Literal["openai", "anthropic"]


@dataclass(frozen=True, slots=True)
class Request:
    """A request as the handlers see it; header names are lower-case."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes
    key: str = ""
    args: tuple[str, ...] = ()

    @property
    def vendor(self) -> Vendor:
        """Whose API is spoken, as path and headers tell."""
        ours = f"{self.path}/".startswith("/v1/messages/") or "anthropic-version" in self.headers
        return "anthropic" if ours else "openai"

    @property
    def retry_count(self) -> int:
        """Which retry of the SDK this is; 0 is the first try."""
        text = self.headers.get("x-stainless-retry-count", "0")
        return int(text) if text.isdecimal() else 0

    def json(self) -> dict[str, Any]:
        """Return the body as a JSON object, or refuse the request."""
        try:
            value = msgspec.json.decode(self.body or b"{}")
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise Refused(400, f"We could not parse the JSON body: {error}") from error
        if not isinstance(value, dict):
            raise Refused(400, "The JSON body must be an object.")
        return value


@dataclass(frozen=True, slots=True)
class Response:
    """An answer; ``value`` is its JSON before encoding, where it has one."""

    status: int
    body: bytes
    content_type: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict)
    delivery: Delivery = "whole"
    value: Any = None


class Refused(Exception):
    """An HTTP error in the shape of the OpenAI API."""

    def __init__(
        self,
        status: int,
        message: str,
        *,
        kind: str = "invalid_request_error",
        param: str | None = None,
        code: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.error = {"message": message, "type": kind, "param": param, "code": code}
        self.headers = headers or {}

    def response(self) -> Response:
        """Return the answer that carries this error."""
        return json_response({"error": self.error}, self.status, self.headers)


def json_response(
    value: object, status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    """Return ``value`` as a JSON answer."""
    return Response(status, msgspec.json.encode(value), headers=headers or {}, value=value)


@dataclass(frozen=True, slots=True)
class Route:
    """A named method and path; the groups of ``path`` become ``Request.args``."""

    name: str
    method: str
    path: re.Pattern[str]
    act: Callable[[Request], Response]


def route(name: str, method: str, path: str, act: Callable[[Request], Response]) -> Route:
    """Return a route; ``{}`` in ``path`` stands for one segment."""
    return Route(name, method, re.compile(path.replace("{}", "([^/]+)")), act)


@dataclass(frozen=True, slots=True)
class Part:
    """One part of a multipart form."""

    name: str
    filename: str | None
    data: bytes


def multipart(request: Request) -> dict[str, Part]:
    """Split a ``multipart/form-data`` body into its named parts."""
    kind = request.headers.get("content-type", "")
    boundary = re.search(r'boundary="?([^";]+)"?', kind)
    if not kind.startswith("multipart/form-data") or boundary is None:
        raise Refused(400, "The body must be multipart/form-data.")
    mark = b"--" + boundary[1].encode("ascii")
    parts: dict[str, Part] = {}
    start = request.body.find(mark)
    while start >= 0:
        start += len(mark)
        if request.body[start : start + 2] == b"--":
            return parts
        head_end = request.body.find(b"\r\n\r\n", start)
        stop = request.body.find(b"\r\n" + mark, head_end + 2)
        if head_end < 0 or stop < 0:
            break
        head = request.body[start:head_end].decode("utf-8", "replace")
        name = re.search(r'[; ]name="([^"]*)"', head)
        filename = re.search(r'filename="([^"]*)"', head)
        if name is not None:
            data = request.body[head_end + 4 : stop]
            parts[name[1]] = Part(name[1], filename[1] if filename else None, data)
        start = stop + 2
    raise Refused(400, "The multipart body ends too early.")
