"""The Files half of the OpenAI protocol: uploads, listings, bytes, deletion."""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass
from typing import Any

from tests.wire.clock import Clock
from tests.wire.exchange import Refused, Request, Response, Route, json_response, multipart, route
from tests.wire.faults import Strikes
from tests.wire.ledger import Ledger, Upload
from tests.wire.settings import Settings


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file of one key; ``result`` marks what a batch wrote."""

    id: str
    key: str
    filename: str
    purpose: str
    data: bytes
    created: float
    expires: float
    result: bool = False

    def plain(self) -> dict[str, Any]:
        """Return the file object of the API."""
        return {
            "id": self.id,
            "object": "file",
            "bytes": len(self.data),
            "created_at": int(self.created),
            "expires_at": int(self.expires),
            "filename": self.filename,
            "purpose": self.purpose,
            "status": "processed",
            "status_details": None,
        }


class OpenAIFiles:
    """All files, oldest first; the caller holds the service's lock."""

    def __init__(self, clock: Clock, ledger: Ledger, strikes: Strikes, settings: Settings) -> None:
        self._clock = clock
        self._ledger = ledger
        self._strikes = strikes
        self._settings = settings
        self._files: dict[str, StoredFile] = {}

    def routes(self) -> list[Route]:
        """Return the routes of this half."""
        return [
            route("files.create", "POST", "/v1/files", self._create),
            route("files.list", "GET", "/v1/files", self._list),
            route("files.retrieve", "GET", "/v1/files/{}", self._retrieve),
            route("files.content", "GET", "/v1/files/{}/content", self._content),
            route("files.delete", "DELETE", "/v1/files/{}", self._delete),
        ]

    def get(self, file_id: str, key: str) -> StoredFile:
        """Return a file that ``key`` may see and that has not expired."""
        file = self.find(file_id)
        if not self._visible(file, key):
            raise _unknown(file_id)
        return file

    def find(self, file_id: str) -> StoredFile:
        """Return a file whoever it belongs to."""
        if file_id not in self._files:
            raise _unknown(file_id)
        return self._files[file_id]

    def add_result(self, key: str, filename: str, data: bytes, at: float, life: float) -> str:
        """Store a file that a batch wrote and return its id."""
        file_id = _new_id()
        self._files[file_id] = StoredFile(
            file_id, key, filename, "batch_output", data, at, at + life, result=True
        )
        return file_id

    def _visible(self, file: StoredFile, key: str) -> bool:
        mine = file.key == key or not self._strikes.faults.scope_to_key
        return mine and self._clock.now() < file.expires

    def _create(self, request: Request) -> Response:
        parts = multipart(request)
        if "file" not in parts or "purpose" not in parts:
            name = "purpose" if "file" in parts else "file"
            text = f"Missing required parameter: '{name}'."
            raise Refused(400, text, param=name, code="missing_required_parameter")
        part, purpose = parts["file"], parts["purpose"].data.decode("utf-8", "replace")
        filename = part.filename or "upload"
        if purpose == "batch" and not filename.endswith(".jsonl"):
            text = f"Invalid file format for Batch API. Must be .jsonl, got {filename!r}."
            raise Refused(400, text)
        if len(part.data) > self._settings.max_upload_bytes:
            raise Refused(413, "The file is too large.")
        now = self._clock.now()
        life = self._settings.file_life
        if "expires_after[seconds]" in parts:
            life = float(parts["expires_after[seconds]"].data)
        file = StoredFile(_new_id(), request.key, filename, purpose, part.data, now, now + life)
        self._files[file.id] = file
        self._ledger.files.append(
            Upload(
                file_id=file.id,
                filename=filename,
                bytes=len(part.data),
                sha256=hashlib.sha256(part.data).hexdigest(),
                retry_count=request.retry_count,
            )
        )
        return json_response(file.plain())

    def _list(self, request: Request) -> Response:
        purpose = request.query.get("purpose")
        seen = [
            file.plain()
            for file in self._files.values()
            if self._visible(file, request.key) and purpose in (None, file.purpose)
        ]
        if request.query.get("order", "desc") == "desc":
            seen.reverse()
        return json_response(page(seen, request, most=10_000, default=10_000))

    def _retrieve(self, request: Request) -> Response:
        return json_response(self.get(request.args[0], request.key).plain())

    def _content(self, request: Request) -> Response:
        file = self.get(request.args[0], request.key)
        lag = self._strikes.faults.content_lag
        if file.result and self._clock.now() < file.created + lag:
            raise _unknown(file.id)
        return Response(200, file.data, content_type="application/octet-stream")

    def _delete(self, request: Request) -> Response:
        file = self.get(request.args[0], request.key)
        del self._files[file.id]
        self._ledger.deleted.append(file.id)
        return json_response({"id": file.id, "object": "file", "deleted": True})


def page(
    items: list[dict[str, Any]], request: Request, *, most: int, default: int
) -> dict[str, Any]:
    """Return one cursor page of ``items`` as the request's ``limit`` and ``after`` say."""
    text = request.query.get("limit", str(default))
    if not text.isdecimal() or not 1 <= int(text) <= most:
        raise Refused(400, f"limit must be between 1 and {most}.", param="limit")
    start = 0
    after = request.query.get("after")
    if after:
        ids = [item["id"] for item in items]
        if after not in ids:
            raise Refused(404, f"No such object: {after}", param="after")
        start = ids.index(after) + 1
    data = items[start : start + int(text)]
    return {
        "object": "list",
        "data": data,
        "first_id": data[0]["id"] if data else None,
        "last_id": data[-1]["id"] if data else None,
        "has_more": start + len(data) < len(items),
    }


def _new_id() -> str:
    return "file-" + secrets.token_hex(12)


def _unknown(file_id: str) -> Refused:
    return Refused(404, f"No such File object: {file_id}", param="id")
