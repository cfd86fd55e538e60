"""Anthropic Message Batches, with the vendor's SDK.

Facts about the service, from its documentation and the SDK's source of 2026-11: a batch carries no
metadata and never shows its requests again, so one whose creation is in doubt is told by when it
was made and how many requests it holds, and proved by the first custom id among its results; at
most one create may therefore be in doubt at a time. Every ended batch is ``ended``, however it
ended: only the results tell. The API version of 2026-10-21 refuses sampling parameters, and refuses
them line by line and hours later, so its judges take none. The SDK reads results with a decoder
that dies of a blank line, and sends the key to whatever host ``results_url`` names.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from batcher import messages as wire
from batcher.judge import Judge
from batcher.lines import ends_well, read_lines
from batcher.marks import mark
from batcher.providers.base import Batch, Builder, Limits, Poll, Prompt, Reply
from batcher.refusals import over_limit, retry_after
from cache.errors import InDoubt, NotVisible, OverLimit, ProviderError, Refused, Unreachable
from cache.hashing import digest

if TYPE_CHECKING:
    import anthropic
    from anthropic.types.messages import MessageBatch

BASE_URL = "https://api.anthropic.com"
#: Server clocks may differ from ours by this much when batches are looked for by time.
_SKEW = timedelta(minutes=15)


def build(judge: Judge) -> Builder:
    """Make Messages requests; base URL from the judge, else from the environment."""
    base_url = judge.get("base_url") or os.environ.get("ANTHROPIC_BASE_URL") or BASE_URL
    return Builder(base_url.rstrip("/"), wire.ENDPOINT, wire.bodies(judge))


def connect(base_url: str, key: str) -> Anthropic:
    """Return the provider."""
    return Anthropic(base_url, key)


class Anthropic:
    """A server that speaks Message Batches."""

    # The service allows 100,000 requests and 256 MB; the SDK holds the whole body in memory.
    limits = Limits(requests=100_000, bytes=60_000_000, line_bytes=60_000_000)
    answers_live = False
    tags_batches = False

    def __init__(self, base_url: str, key: str) -> None:
        """Take an address without its ``/v1``; the SDK is imported with the first call."""
        self._base_url = base_url
        self._key = key
        self._made: anthropic.Anthropic | None = None

    @property
    def key_fingerprint(self) -> str:
        """The first digits of the key's SHA-256."""
        return digest(self._key)

    @property
    def _client(self) -> anthropic.Anthropic:
        if self._made is None:
            import anthropic

            # The SDK would sleep through any Retry-After inside the call, an hour if told so; we
            # look again later by ourselves.
            self._made = anthropic.Anthropic(
                api_key=self._key, base_url=self._base_url, max_retries=0, timeout=60.0
            )
        return self._made

    def submit(self, batch: Batch, prompts: Iterable[Prompt]) -> str:
        """Create the batch: one call, never repeated here."""
        requests: list[Any] = [
            {"custom_id": prompt.custom_id, "params": json.loads(prompt.body)} for prompt in prompts
        ]
        mark([request["params"] for request in requests])
        with _translated("create"):
            made = self._client.with_options(timeout=300.0).messages.batches.create(
                requests=requests
            )
        remote_id = getattr(made, "id", None)
        if not isinstance(remote_id, str) or not remote_id:
            raise InDoubt(f"{self._base_url}: the create was answered with something else")
        return remote_id

    def find(self, batch: Batch, known: frozenset[str]) -> str | None:
        """Look for a batch of that time and size that is nobody else's."""
        oldest = batch.created_at - _SKEW
        candidates: list[MessageBatch] = []
        with _translated("list"):
            # Newest first is documented; the pages end where they are too old.
            for one in self._client.messages.batches.list(limit=100):
                if one.created_at < oldest:
                    break
                if one.id not in known and _size(one) in (batch.n_prompts, None):
                    candidates.append(one)
        proved = [one for one in candidates if self._proves(one, batch)]
        if proved:
            return proved[0].id
        open_ = [one for one in candidates if one.processing_status != "ended"]
        if len(open_) > 1:
            raise Unreachable(f"{len(open_)} batches could be it; the first results will tell")
        return open_[0].id if open_ else None

    def _proves(self, one: MessageBatch, batch: Batch) -> bool:
        if one.processing_status != "ended" or not one.results_url:
            return False
        try:
            found = self.fetch(one.id, ())
            return any((reply.custom_id or "").startswith(f"{batch.token}-") for reply in found)
        except NotVisible as error:
            raise Unreachable(f"{one.id} could be it, and its results are not there yet") from error

    def poll(self, remote_id: str) -> Poll:
        """Read the status; counts stand still until the whole batch has ended."""
        one = self._retrieve(remote_id)
        counts = one.request_counts
        detail: dict[str, object] = {"total": _size(one)}
        if one.processing_status == "ended" and counts:
            detail |= {
                "completed": counts.succeeded,
                "failed": counts.errored,
                "expired": counts.expired,
                "cancelled": counts.canceled,
            }
        return Poll(str(one.processing_status), one.processing_status == "ended", detail)

    def fetch(self, remote_id: str, pending: Iterable[Prompt]) -> Iterator[Reply]:
        """Download the results whole, then yield their lines."""
        one = self._retrieve(remote_id)
        if one.archived_at:
            raise NotVisible("results are kept for 29 days, and these are older")
        if not one.results_url:
            raise Unreachable("its results are not there yet")
        here, there = urlsplit(self._base_url)[:2], urlsplit(one.results_url)[:2]
        if there not in (("", ""), here):
            where = "://".join(there)
            raise NotVisible(
                f"its results lie at {where}, not at {self._base_url}: no key goes there"
            )
        with tempfile.TemporaryDirectory(prefix="needless-") as folder:
            path = Path(folder, "results.jsonl")
            self._download(remote_id, path, _size(one))
            yield from read_lines(path, wire.read_line)

    def cancel(self, remote_id: str) -> None:
        """Ask for the end; an ended batch is left as it is."""
        try:
            with _translated("cancel"):
                self._client.messages.batches.cancel(remote_id)
        except Refused:
            return

    def clean(self, remote_id: str) -> None:
        """Leave it: a batch and its results go by themselves after 29 days."""

    def _retrieve(self, remote_id: str) -> MessageBatch:
        with _translated("retrieve"):
            one = self._client.messages.batches.retrieve(remote_id)
        if isinstance(one, str) or not getattr(one, "id", None) or not one.processing_status:
            raise Unreachable(f"{self._base_url}: answered with something that is no batch")
        return one

    def _download(self, remote_id: str, path: Path, expected: int | None) -> None:
        """Stream the results to disk: as many lines as requests, the last one readable."""
        sizes: list[int] = []
        for _ in range(3):
            with (
                _translated("download"),
                self._client.messages.batches.with_streaming_response.results(
                    remote_id
                ) as response,
                path.open("wb") as file,
            ):
                for chunk in response.iter_bytes(1 << 16):
                    file.write(chunk)
            with path.open("rb") as file:
                lines = sum(1 for line in file if line.strip())
            size = path.stat().st_size
            # What comes alike twice is how it is: what is missing then is asked again.
            if size in sizes or (ends_well(path) and expected and lines >= expected):
                return
            sizes.append(size)
        raise Unreachable("the results came incomplete three times")


def _size(one: MessageBatch) -> int | None:
    """Return how many requests a batch holds, where its counts tell."""
    counts = one.request_counts
    if not counts:
        return None
    return counts.processing + counts.succeeded + counts.errored + counts.canceled + counts.expired


@contextmanager
def _translated(call: str) -> Iterator[None]:
    """Turn the SDK's errors into ours: a definite no, no clear answer, or a passing fault."""
    import anthropic
    import httpx2

    try:
        yield
    except anthropic.APIStatusError as error:
        ours = _of_status(call, error)
        ours.retry_after = retry_after(error.response.headers)
        raise ours from error
    except (
        anthropic.AnthropicError,
        httpx2.HTTPError,
        json.JSONDecodeError,
        AttributeError,  # the SDK trips over a list that is answered with a web page
    ) as error:
        reason = f"{call}: {type(error).__name__}: {error}"
        raise (InDoubt(reason) if call == "create" else Unreachable(reason)) from error


def _of_status(call: str, error: anthropic.APIStatusError) -> ProviderError:
    status = error.status_code
    text = f"{call}: HTTP {status}: {error.message}"
    if status == 402 or getattr(error, "type", None) == "billing_error":
        return Refused(f"{text}; the account has no credit left")
    if call == "create":
        over = over_limit(status, getattr(error, "type", None), str(error.message), text)
        if over is not None:
            return over
        if status == 429 and "retry-after" not in error.response.headers:
            # A limit on spending says so without naming a time; a limit on the rate names one.
            return OverLimit(
                f"{text}; no time to try again was given: a spending limit?", what="quota"
            )
    if status == 429:
        return Unreachable(text)
    if call == "cancel" and status < 500 and status != 408:
        return Refused(text)  # an ended batch; servers differ in how they say so
    if status in (408, 409) or status >= 500:
        return InDoubt(text) if call == "create" else Unreachable(text)
    if call in ("retrieve", "download") and status == 404:
        return NotVisible(f"{text}; not visible with this key: use the key it was sent with")
    if call in ("retrieve", "download", "list"):
        return Unreachable(f"{text}; check the API key" if status in (401, 403) else text)
    if call == "create" and status in (404, 405, 501):
        return Refused(f"{text}; this server has no Message Batches")
    return Refused(text)
