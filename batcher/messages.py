"""Anthropic's Messages wire format: bodies out of chats, replies out of result lines."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

import msgspec

from batcher.judge import Judge
from batcher.lines import opened
from batcher.providers.base import Reply
from cache.errors import UsageError
from cache.hashing import canonical_bytes
from prompts.answers import SCHEMAS
from prompts.render import Chat

ENDPOINT = "/v1/messages"

#: Output tokens allowed when the judge names no cap.
MAX_TOKENS = 4096

#: Error types of a result that may pass by themselves.
_PASSING = ("rate_limit_error", "timeout_error", "api_error", "overloaded_error")


def bodies(judge: Judge) -> Callable[[Chat], bytes]:
    """Return what makes a judge's request bodies; raises ``UsageError`` for its parameters."""
    if judge.mode == "live":
        raise UsageError(f"judge {judge}: anthropic judges are asked in batches; leave mode out")
    cap, form = MAX_TOKENS, "json_schema"
    for name, text in judge.sent_params.items():
        if name == "max_tokens" and text.isdigit() and int(text) > 0:
            cap = int(text)
        elif name == "response_format" and text in ("json_schema", "text"):
            form = text
        else:
            raise UsageError(
                f"judge {judge}: no parameter {name}={text!r}; it takes: max_tokens, "
                "response_format, base_url (the API has no sampling parameters any more)"
            )

    @lru_cache
    def system(text: str) -> msgspec.Raw:
        return msgspec.Raw(canonical_bytes([{"text": text, "type": "text"}]))

    def content(chat: Chat) -> object:
        # Blocks, because a prompt cache of this API ends where a block does.
        blocks = [{"text": part, "type": "text"} for part in chat.parts]
        return blocks if chat.shared else chat.user

    def body(chat: Chat) -> bytes:
        found: dict[str, object] = {
            "max_tokens": cap,
            "messages": [{"content": content(chat), "role": "user"}],
            "model": judge.model,
            "system": system(chat.system),
        }
        if form == "json_schema":
            wanted = {"schema": SCHEMAS[chat.answer], "type": "json_schema"}
            found["output_config"] = {"format": wanted}
        return canonical_bytes(found)

    return body


def read_line(line: bytes) -> Reply:
    """Return what one result line says; unknown result types are errors, whatever the SDK says."""
    return opened(line, _said)


def _said(custom_id: str | None, fields: dict[str, Any], raw: str) -> Reply:
    result = fields.get("result")
    result = result if isinstance(result, dict) else {}
    kind = result.get("type")
    if kind in ("canceled", "expired"):
        return Reply(custom_id, "cancelled" if kind == "canceled" else "expired", raw=raw)
    message = result.get("message")
    if kind == "succeeded" and isinstance(message, dict):
        return _message(custom_id, message, raw)
    found = _mapping(result.get("error"))
    if isinstance(found.get("error"), Mapping):
        found = _mapping(found["error"])  # nested by the vendor, flat on some servers
    name = str(found.get("type") or f"result type {kind!r}")
    return Reply(
        custom_id,
        "error",
        raw=raw,
        error=f"{name}: {found.get('message') or 'no reason given'}",
        # A result that holds nothing is the provider's fault.
        is_transient=name in _PASSING or kind in (None, "succeeded"),
    )


def _message(custom_id: str | None, message: Mapping[str, Any], raw: str) -> Reply:
    blocks = [block for block in message.get("content") or () if isinstance(block, dict)]
    # Thinking may come first: only text blocks are the answer.
    text = "".join(str(block.get("text", "")) for block in blocks if block.get("type") == "text")
    stop = message.get("stop_reason")
    outcome = {
        "max_tokens": "truncated",
        "model_context_window_exceeded": "truncated",
        "refusal": "refused",
    }.get(str(stop), "ok" if text.strip() else "empty")
    usage = _mapping(message.get("usage"))
    fresh = _count(usage, "input_tokens")
    read = _count(usage, "cache_read_input_tokens") or 0
    short, long = _written(usage)
    return Reply(
        custom_id=custom_id,
        outcome=outcome,
        raw=raw,
        text=text or None,
        finish_reason=stop if isinstance(stop, str) else None,
        model=message.get("model") if isinstance(message.get("model"), str) else None,
        # The vendor counts cached tokens beside the input; here input includes them.
        input_tokens=None if fresh is None else fresh + read + (short or 0) + (long or 0),
        cached_tokens=None if fresh is None else read,
        write_5m_tokens=short,
        write_1h_tokens=long,
        output_tokens=_count(usage, "output_tokens"),
    )


def _written(usage: Mapping[str, Any]) -> tuple[int | None, int | None]:
    """Return the tokens written into the prompt cache for five minutes and for an hour.

    Where only their sum is given it is all for five minutes, the vendor's default.
    """
    total = _count(usage, "cache_creation_input_tokens")
    split = _mapping(usage.get("cache_creation"))
    short = _count(split, "ephemeral_5m_input_tokens")
    long = _count(split, "ephemeral_1h_input_tokens")
    if total is None:
        return short, long
    return max(total - (long or 0), 0), long


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _count(usage: Mapping[str, Any], name: str) -> int | None:
    value = usage.get(name)
    return value if isinstance(value, int) and value >= 0 else None
