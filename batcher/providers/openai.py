"""OpenAI Batch, with the vendor's SDK: a file up, a batch made once, two files down.

Facts about the service, each from its API reference or the SDK's source of 2026-11: the file holds
one model and one endpoint, at most 50,000 lines and 200 MB; validation happens after the create;
results come in any order, in an output file and an error file either of which may be missing; the
SDK re-sends a create on its own after a time-out unless ``max_retries`` is 0, and the service
knows no idempotency key, so a batch is tagged in its metadata and looked for there.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from batcher import chat as wire
from batcher.judge import Judge
from batcher.lines import ends_well, read_line, read_lines, write_lines
from batcher.providers.base import BATCH_LIMITS, Batch, Builder, Poll, Prompt, Reply
from batcher.refusals import over_limit, retry_after
from cache.errors import InDoubt, NotVisible, OverLimit, ProviderError, Refused, Unreachable
from cache.hashing import digest

if TYPE_CHECKING:
    import openai
    from openai.types import Batch as RemoteBatch

BASE_URL = "https://api.openai.com/v1"

#: The metadata key under which a batch carries our token.
TAG = "needless_batch"

_TERMINAL = ("failed", "completed", "expired", "cancelled")
#: Server clocks may differ from ours by this much when batches are looked for by time.
_SKEW = timedelta(minutes=15)


def build(judge: Judge) -> Builder:
    """Make chat-completions requests; base URL from the judge, else from the environment."""
    base_url = judge.get("base_url") or os.environ.get("OPENAI_BASE_URL") or BASE_URL
    return Builder(base_url.rstrip("/"), wire.ENDPOINT, wire.bodies(judge))


def connect(base_url: str, key: str) -> OpenAI:
    """Return the provider."""
    return OpenAI(base_url, key)


class OpenAI:
    """A server that speaks OpenAI's files and batches."""

    limits = BATCH_LIMITS
    answers_live = False
    tags_batches = True

    def __init__(self, base_url: str, key: str) -> None:
        """Take an address with its ``/v1``; the SDK is imported with the first call."""
        self._base_url = base_url
        self._key = key
        self._made: openai.OpenAI | None = None

    @property
    def key_fingerprint(self) -> str:
        """The first digits of the key's SHA-256."""
        return digest(self._key)

    @property
    def _client(self) -> openai.OpenAI:
        if self._made is None:
            import openai

            # The SDK would sleep through a Retry-After inside the call, while other batches wait;
            # we look again later by ourselves.
            self._made = openai.OpenAI(
                api_key=self._key, base_url=self._base_url, max_retries=0, timeout=60.0
            )
        return self._made

    def submit(self, batch: Batch, prompts: Iterable[Prompt]) -> str:
        """Upload the lines and create the batch: one create call, never repeated here."""
        with tempfile.TemporaryDirectory(prefix="needless-") as folder:
            path = Path(folder, f"needless-{batch.token}.jsonl")
            write_lines(path, batch.endpoint, prompts)
            with _translated("upload"), path.open("rb") as file:
                uploaded = self._client.with_options(timeout=600.0).files.create(
                    file=file, purpose="batch"
                )
        file_id = getattr(uploaded, "id", None)
        if not file_id:
            raise Unreachable(f"{self._base_url}: the upload was answered without a file id")
        try:
            return self._create(batch, file_id)
        except (OverLimit, Refused):
            self._delete(file_id)
            raise

    def _create(self, batch: Batch, file_id: str) -> str:
        with _translated("create"):
            made = self._client.with_options(timeout=120.0).batches.create(
                input_file_id=file_id,
                endpoint=batch.endpoint,  # type: ignore[arg-type]
                completion_window="24h",
                metadata={TAG: batch.token, "needless_id": batch.batch_id},
            )
        if isinstance(made, str):
            raise InDoubt(f"{self._base_url}: the create was answered with text, not a batch")
        if made.id:
            return made.id
        extra = made.model_extra or {}
        raise Refused(
            f"{self._base_url}: the create was answered with {sorted(extra)} instead of a batch: "
            "this server does not speak OpenAI's batch protocol, and something may run there; "
            "look at its own list of jobs, then ask live with ?mode=live"
        )

    def find(self, batch: Batch, known: frozenset[str]) -> str | None:
        """Look for the token in the metadata of every batch made since ours was prepared."""
        oldest = (batch.created_at - _SKEW).timestamp()
        found: list[tuple[float, str]] = []
        with _translated("list"):
            page = self._client.batches.list(limit=100)
            while True:
                data = page.data or []
                found += [
                    (_seconds(one.created_at), one.id)
                    for one in data
                    if (one.metadata or {}).get(TAG) == batch.token
                ]
                # Newest first is usual and not promised: a whole page must be too old to stop.
                if not data or all(_seconds(one.created_at) < oldest for one in data):
                    break
                if not page.has_next_page():
                    break
                page = page.get_next_page()
        if not found:
            return None
        found.sort()
        for _, surplus in found[1:]:
            self.cancel(surplus)
        return found[0][1]

    def poll(self, remote_id: str) -> Poll:
        """Read the batch's status and counts."""
        batch = self._retrieve(remote_id)
        status = str(batch.status).lower()
        counts = batch.request_counts
        errors = (batch.errors.data if batch.errors else None) or []
        problem = "; ".join(
            f"line {error.line}: {error.message}" if error.line else str(error.message)
            for error in errors[:3]
        )
        whole = [error for error in errors if not error.line]
        over = (over_limit(None, error.code, str(error.message)) for error in whole)
        detail: dict[str, object] = {
            "completed": counts.completed if counts else None,
            "failed": counts.failed if counts else None,
            "total": counts.total if counts else None,
        }
        if problem:
            detail["problem"] = problem
        return Poll(
            status=status,
            is_terminal=status in _TERMINAL,
            detail=detail,
            problem=problem or "no reason given",
            over=next(filter(None, over), None),
        )

    def fetch(self, remote_id: str, pending: Iterable[Prompt]) -> Iterator[Reply]:
        """Download both files whole, then yield their lines."""
        batch = self._retrieve(remote_id)
        if str(batch.status).lower() not in _TERMINAL:
            # One server of many may not have heard of the end yet.
            raise Unreachable(f"{remote_id} is {batch.status}, and its results are not there yet")
        with tempfile.TemporaryDirectory(prefix="needless-") as folder:
            paths = []
            # Either id may be null, missing or "": an empty file is then no file.
            for number, file_id in enumerate((batch.output_file_id, batch.error_file_id)):
                if file_id:
                    paths.append(Path(folder, f"{number}.jsonl"))
                    self._download(file_id, paths[-1])
            for path in paths:
                yield from read_lines(path, read_line)

    def cancel(self, remote_id: str) -> None:
        """Ask for the end; what a server says of an ended batch differs, and does not matter."""
        try:
            with _translated("cancel"):
                self._client.batches.cancel(remote_id)
        except Refused:
            return

    def clean(self, remote_id: str) -> None:
        """Delete the input file, as far as the server lets us: it expires by itself otherwise."""
        try:
            self._delete(self._retrieve(remote_id).input_file_id)
        except (Unreachable, NotVisible):
            return

    def _delete(self, file_id: str) -> None:
        try:
            self._client.files.delete(file_id)
        except _faults():
            return

    def _retrieve(self, remote_id: str) -> RemoteBatch:
        with _translated("retrieve"):
            batch = self._client.batches.retrieve(remote_id)
        if isinstance(batch, str) or not getattr(batch, "id", None) or not batch.status:
            raise Unreachable(f"{self._base_url}: answered with something that is no batch")
        return batch

    def _download(self, file_id: str, path: Path) -> None:
        """Stream a file to disk; whole means as long as announced, ended by a readable line."""
        sizes: list[int] = []
        for _ in range(3):
            with (
                _translated("download"),
                self._client.files.with_streaming_response.content(file_id) as response,
                path.open("wb") as file,
            ):
                for chunk in response.iter_bytes(1 << 16):
                    file.write(chunk)
            size = path.stat().st_size
            with _translated("retrieve"):
                announced = getattr(self._client.files.retrieve(file_id), "bytes", None)
            # As long as announced is whole, whatever its last line is like; otherwise the last
            # line must be readable, and the length the same each time.
            if announced == size or (ends_well(path) and (not announced or size in sizes)):
                return
            sizes.append(size)
        raise Unreachable(f"file {file_id} came incomplete three times")


def _seconds(value: object) -> float:
    """Read a time as servers write it: a number, a number as text, or ISO 8601."""
    try:
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        pass
    from datetime import datetime

    try:
        return datetime.fromisoformat(str(value)).timestamp()
    except ValueError:
        return float("inf")  # not known to be old


def _faults() -> tuple[type[Exception], ...]:
    """What the SDK lets through when no status came: its own errors, and its transport's."""
    import httpx2
    import openai

    # AttributeError: the SDK trips over a list that is answered with a web page.
    return (openai.OpenAIError, httpx2.HTTPError, json.JSONDecodeError, AttributeError)


@contextmanager
def _translated(call: str) -> Iterator[None]:
    """Turn the SDK's errors into ours: a definite no, no clear answer, or a passing fault."""
    import openai

    try:
        yield
    except openai.APIStatusError as error:
        ours = _of_status(call, error)
        ours.retry_after = retry_after(error.response.headers)
        raise ours from error
    except _faults() as error:
        reason = f"{call}: {type(error).__name__}: {error}"
        raise (InDoubt(reason) if call == "create" else Unreachable(reason)) from error


def _of_status(call: str, error: openai.APIStatusError) -> ProviderError:
    status = error.status_code
    text = f"{call}: HTTP {status}: {error.message}"
    if call in ("upload", "create"):
        over = over_limit(status, error.code, str(error.message), text)
        if over is not None:
            return over
    if status == 429 and error.code == "insufficient_quota":
        return Refused(f"{text}; the account has no credit left")
    if status == 429:
        return Unreachable(text)
    if call == "cancel" and status < 500 and status != 408:
        return Refused(text)  # an ended batch; servers differ in how they say so
    if status in (408, 409) or status >= 500:
        return InDoubt(text) if call == "create" else Unreachable(text)
    if call == "create" and status in (404, 405, 501):
        return Refused(f"{text}; if this server has no batch API, ask live with ?mode=live")
    if call in ("retrieve", "download") and status == 404:
        return NotVisible(f"{text}; not visible with this key: use the key it was sent with")
    if call in ("retrieve", "download", "list"):
        return Unreachable(f"{text}; check the API key" if status in (401, 403) else text)
    return Refused(text)
