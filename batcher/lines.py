"""Batch files: request lines written, result lines read."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from batcher import chat as wire
from batcher.providers.base import Prompt, Reply


def write_lines(path: Path, endpoint: str, prompts: Iterable[Prompt]) -> None:
    """Write the input file: one line a prompt, the stored body byte for byte."""
    tail = f'","method":"POST","url":"{endpoint}"}}\n'.encode()
    with path.open("wb") as file:
        for prompt in prompts:
            custom_id = prompt.custom_id.encode()
            file.write(b'{"body":%b,"custom_id":"%b%b' % (prompt.body, custom_id, tail))


def read_lines(path: Path, read: Callable[[bytes], Reply]) -> Iterator[Reply]:
    """Yield a reply a line; bytes are split on line feeds only, since text may hold any other."""
    with path.open("rb") as file:
        for line in file:
            stripped = line.strip(b"\r\n\t ")
            if stripped:
                yield read(stripped)


def opened(line: bytes, said: Callable[[str | None, dict[str, Any], str], Reply]) -> Reply:
    """Return what ``said`` makes of a line's custom id, fields and text; malformed is no object."""
    raw = line.decode("utf-8", "replace")
    try:
        fields: Any = json.loads(line)
    except (ValueError, RecursionError) as error:
        return Reply(None, "malformed", raw=raw, error=f"not JSON: {error}")
    if not isinstance(fields, dict):
        return Reply(None, "malformed", raw=raw, error="JSON, but not an object")
    custom_id = fields.get("custom_id")
    return said(custom_id if isinstance(custom_id, str) else None, fields, raw)


def read_line(line: bytes) -> Reply:
    """Return what one result line says: success is status 200 **and** a usable body."""
    return opened(line, _said)


def _said(custom_id: str | None, fields: dict[str, Any], raw: str) -> Reply:
    response = fields.get("response")
    if not isinstance(response, dict):
        return wire.failure(custom_id, None, fields.get("error"), raw)
    status = response.get("status_code")
    status = status if isinstance(status, int) else None
    body = response.get("body")
    if isinstance(body, str):
        try:  # some servers encode the body twice
            body = json.loads(body)
        except ValueError:
            body = {"error": {"message": body}}
    body = body if isinstance(body, dict) else {}
    if status != 200 or not body:
        # A 200 with nothing in it is the provider's fault, as a status of 0 is.
        status = 0 if status in (None, 200) else status
        return wire.failure(custom_id, status, body.get("error") or fields.get("error"), raw)
    return wire.reply(custom_id, body, raw)


def ends_well(path: Path) -> bool:
    """Tell whether the last line of a file is whole; an empty file has none that is not."""
    size = path.stat().st_size
    if size == 0:
        return True
    last = b""
    with path.open("rb") as file:
        back = 1 << 16
        while True:
            file.seek(max(0, size - back))
            tail = file.read().rstrip(b"\r\n\t ")
            last = tail[tail.rfind(b"\n") + 1 :]
            if len(last) < len(tail) or back >= size:
                break
            back *= 8
    try:
        json.loads(last or b"null")
    except ValueError:
        return False
    return True
