"""The chat-completions wire format: a request body out of a chat, an outcome out of a body.

Batch and live send the very same body, so this is the only place that builds one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import msgspec

from batcher.judge import Judge
from batcher.providers.base import Reply
from cache.errors import UsageError
from cache.hashing import canonical_bytes
from prompts.answers import SCHEMAS, schema_name
from prompts.render import Chat

ENDPOINT = "/v1/chat/completions"

#: Output tokens allowed when the judge names no cap. Room for a sentence and for some reasoning;
#: an answer that needs more is ``truncated``, and says so.
MAX_TOKENS = 4096

#: judge parameter: how to read it
PARAMS: dict[str, type] = {
    "temperature": float,
    "top_p": float,
    "seed": int,
    "max_tokens": int,
    "reasoning_effort": str,
}

_FORMATS = ("json_schema", "json_object", "text")


@dataclass(frozen=True, slots=True)
class Dialect:
    """Where servers that speak chat completions differ in what they take.

    ``cap`` is the body's name for the output cap: reasoning models of OpenAI refuse the older
    ``max_tokens``. ``form`` is the response format asked for unless the judge names one.
    ``switches`` are further parameters with their values, the default first; ``switch`` writes one.
    """

    cap: str = "max_completion_tokens"
    form: str = "json_schema"
    switches: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    switch: Callable[[str, str], dict[str, object]] = field(default=lambda name, value: {})


def bodies(judge: Judge, dialect: Dialect | None = None) -> Callable[[Chat], bytes]:
    """Return what makes a judge's request bodies; raises ``UsageError`` for its parameters."""
    takes = dialect or Dialect()
    fixed: dict[str, object] = {takes.cap: MAX_TOKENS, "model": judge.model}
    for name, values in takes.switches.items():
        fixed |= takes.switch(name, values[0])
    form = takes.form
    for name, text in judge.sent_params.items():
        if name == "response_format" and text in _FORMATS:
            form = text
        elif text in takes.switches.get(name, ()):
            fixed |= takes.switch(name, text)
        elif name in PARAMS:
            fixed[takes.cap if name == "max_tokens" else name] = _value(judge, name, text)
        else:
            known = ", ".join((*PARAMS, *takes.switches, "response_format", "base_url", "mode"))
            raise UsageError(f"judge {judge}: no parameter {name}={text!r}; it takes: {known}")

    @lru_cache
    def system(text: str) -> msgspec.Raw:
        # The longest part of most prompts, and the same in all of them: encoded once.
        return msgspec.Raw(canonical_bytes({"content": text, "role": "system"}))

    @lru_cache
    def schema(answer: str) -> dict[str, object]:
        if form == "text":
            return {}
        if form == "json_object":
            return {"response_format": {"type": "json_object"}}
        wanted = {"name": schema_name(answer), "schema": SCHEMAS[answer], "strict": True}
        return {"response_format": {"json_schema": wanted, "type": "json_schema"}}

    def body(chat: Chat) -> bytes:
        messages = [system(chat.system), {"content": "".join(chat.parts), "role": "user"}]
        return canonical_bytes({**fixed, **schema(chat.answer), "messages": messages})

    return body


def _value(judge: Judge, name: str, text: str) -> object:
    try:
        value = PARAMS[name](text)
    except ValueError:
        raise UsageError(f"judge {judge}: {name}={text!r} is not a number") from None
    if isinstance(value, float) and not -1e6 < value < 1e6:
        raise UsageError(f"judge {judge}: {name}={text!r} is not a usable number")
    return value


def reply(custom_id: str | None, completion: Mapping[str, Any], raw: str) -> Reply:
    """Return what a completion's body says: its outcome, text and usage.

    The body is read as plain JSON: the SDK's strict models raise on values they do not know yet.
    """
    usage = _mapping(completion.get("usage"))
    choices = completion.get("choices")
    choice = _mapping(choices[0] if isinstance(choices, list) and choices else None)
    message = _mapping(choice.get("message"))
    text = message.get("content")
    text = text if isinstance(text, str) else None
    finish = choice.get("finish_reason")
    return Reply(
        custom_id=custom_id,
        outcome=_outcome(text, finish, message.get("refusal")),
        raw=raw,
        text=text,
        finish_reason=finish if isinstance(finish, str) else None,
        model=_text(completion.get("model")),
        error=_text(message.get("refusal")),
        input_tokens=_count(usage, "prompt_tokens"),
        cached_tokens=_cached(usage),
        # Models that charge for writing have one price for it, whatever the time it is kept.
        write_5m_tokens=_count(_mapping(usage.get("prompt_tokens_details")), "cache_write_tokens"),
        output_tokens=_count(usage, "completion_tokens"),
        reasoning_tokens=_count(
            _mapping(usage.get("completion_tokens_details")), "reasoning_tokens"
        ),
    )


def _outcome(text: str | None, finish: object, refusal: object) -> str:
    if finish == "length":
        return "truncated"
    if refusal or finish == "content_filter":
        return "refused"
    return "ok" if text and text.strip() else "empty"


def failure(custom_id: str | None, status: int | None, error: object, raw: str) -> Reply:
    """Return the reply for a line that carries an error instead of a completion."""
    fields = _mapping(error)
    code = str(fields.get("code") or fields.get("type") or "")
    ended = {"batch_expired": "expired", "batch_cancelled": "cancelled"}.get(code)
    message = str(fields.get("message") or error or "no reason given")
    passing = status in (None, 0, 408, 409, 425, 429) or (status or 0) >= 500
    # A line without a status and with an error of its own is a refusal unless it says time-out.
    if status is None and fields and not ended:
        passing = "timeout" in code or "server_error" in code or "overload" in code
    return Reply(
        custom_id=custom_id,
        outcome=ended or "error",
        raw=raw,
        error=f"{status or ''} {code}: {message}".strip(),
        is_transient=passing and ended is None,
    )


def _cached(usage: Mapping[str, Any]) -> int | None:
    """OpenAI counts cached input in the details, DeepSeek beside the prompt's tokens."""
    details = _mapping(usage.get("prompt_tokens_details"))
    found = _count(details, "cached_tokens")
    return _count(usage, "prompt_cache_hit_tokens") if found is None else found


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _count(usage: Mapping[str, Any], name: str) -> int | None:
    value = usage.get(name)
    return value if isinstance(value, int) and value >= 0 else None
