"""Chat completions asked one by one, with the OpenAI SDK: for servers without a batch API.

Works inside ``fetch``, which is handed only what is unanswered. There is no way to ask a server
about a call whose answer was lost, so such a call may have been billed, and its error says so.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from batcher import chat as wire
from batcher.live import Busy, answer_all
from batcher.providers.base import Limits, Prompt, Reply, Unbatched
from cache.errors import Refused
from cache.hashing import digest

if TYPE_CHECKING:
    import openai

#: Seconds one call may take. Servers under load send blank lines to keep a call alive, which no
#: read time-out notices, so this is a clock on the wall.
DEADLINE = 900.0

#: Statuses of a server that has too much to do; 529 is Anthropic's.
_BUSY = (429, 503, 529)


class Live(Unbatched):
    """A server that speaks chat completions, asked many times at once."""

    limits = Limits(requests=100_000, bytes=500_000_000, line_bytes=100_000_000)

    def __init__(self, base_url: str, key: str, *, deadline: float = DEADLINE) -> None:
        """Take an address with its ``/v1``; the SDK is imported with the first call."""
        self._base_url = base_url
        self._key = key
        self._deadline = deadline
        self._made: openai.OpenAI | None = None

    @property
    def key_fingerprint(self) -> str:
        """The first digits of the key's SHA-256."""
        return digest(self._key)

    def fetch(self, remote_id: str, pending: Iterable[Prompt]) -> Iterator[Reply | None]:
        """Answer each prompt; raises ``Refused`` after what was in flight came home."""
        import openai

        self._made = openai.OpenAI(
            api_key=self._key, base_url=self._base_url, max_retries=0, timeout=self._deadline
        )
        with self._made:
            yield from answer_all(pending, self._call)

    def _call(self, prompt: Prompt) -> Reply:
        """Send one prompt; runs in a thread."""
        import httpx2
        import openai

        began = time.monotonic()
        try:
            raw = self._send(json.loads(prompt.body), began)
        except openai.APIStatusError as error:
            return _refused(prompt, error)
        except (openai.OpenAIError, httpx2.HTTPError) as error:
            took = time.monotonic() - began
            return Reply(
                prompt.custom_id,
                "error",
                raw="",
                error=f"no answer after {took:.0f} s, possibly billed: {error}",
                is_transient=True,
            )
        try:
            completion: Any = json.loads(raw)
        except (ValueError, RecursionError):
            completion = None
        if not isinstance(completion, dict):
            text = raw.decode("utf-8", "replace")
            return Reply(prompt.custom_id, "malformed", raw=text, error="not a completion")
        if completion.get("error"):
            return wire.failure(
                prompt.custom_id, 0, completion["error"], raw.decode("utf-8", "replace")
            )
        return wire.reply(prompt.custom_id, completion, raw.decode("utf-8", "replace"))

    def _send(self, body: dict[str, Any], began: float) -> bytes:
        import openai

        assert self._made is not None, "fetch made it"
        model, messages = body.pop("model"), body.pop("messages")
        with self._made.chat.completions.with_streaming_response.create(
            model=model, messages=messages, extra_body=body
        ) as response:
            parts: list[bytes] = []
            for chunk in response.iter_bytes():
                parts.append(chunk)
                if time.monotonic() - began > self._deadline:
                    raise openai.APITimeoutError(response.http_request)
            return b"".join(parts).strip()


def _refused(prompt: Prompt, error: openai.APIStatusError) -> Reply:
    status = error.status_code
    text = f"HTTP {status}: {error.message}"
    if error.code == "insufficient_quota" or status == 402:
        raise Refused(f"{text}; the account has no credit left")
    if status in (401, 403):
        raise Refused(f"{text}; check the API key")
    if status == 404:
        raise Refused(f"{text}; no such model there, or no chat completions at this address")
    if status in _BUSY:
        after = error.response.headers.get("retry-after", "")
        raise Busy(text, float(after) if after.replace(".", "", 1).isdigit() else None)
    body = error.body if isinstance(error.body, dict) else {"message": error.message}
    return wire.failure(prompt.custom_id, status, body, json.dumps(body))


def connect(base_url: str, key: str) -> Live:
    """Return the provider."""
    return Live(base_url, key)
