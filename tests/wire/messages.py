"""An answer as the JSON of a Messages response."""

from __future__ import annotations

from typing import Any

from tests.wire.answers import Answer, Usage
from tests.wire.faults import LineFault

_REASONS = {"stop": "end_turn", "length": "max_tokens", "content_filter": "refusal"}
_THOUGHT = "Comparing the step with those before it. Not an answer: {}"


def message(
    params: dict[str, Any], given: Answer, mark: str, tier: str, rule: LineFault | None
) -> dict[str, Any]:
    """Return ``given`` as a message; ``mark`` makes its id."""
    kind = rule.kind if rule is not None else None
    reason = "refusal" if given.refusal is not None else _REASONS[given.finish_reason]
    if rule is not None and kind == "stop_reason":
        reason = rule.value or "pause_turn"
    text = given.refusal if given.text is None else given.text
    content: list[dict[str, Any]] = []
    if text is not None:
        content.append({"type": "text", "text": text, "citations": None})
    if kind == "thinking":
        content.insert(0, {"type": "thinking", "thinking": _THOUGHT, "signature": "bG9vcGJhY2s="})
    if kind == "empty_choices":
        content.clear()
    details = {"type": "refusal", "category": None, "explanation": None}
    return {
        "id": "msg_" + mark,
        "type": "message",
        "role": "assistant",
        "model": params.get("model"),
        "content": content,
        "stop_reason": reason,
        "stop_sequence": None,
        "stop_details": details if reason == "refusal" else None,
        "container": None,
        "usage": None if kind == "no_usage" else _usage(given.usage, tier),
    }


def contradict(body: dict[str, Any]) -> None:
    """Make another answer of a message that has one."""
    for block in body["content"]:
        if block["type"] == "text":
            block["text"] = block["text"][::-1]


def _usage(usage: Usage, tier: str) -> dict[str, Any]:
    """Every token of the prompt counts in one of three places, once."""
    written = usage.written_5m + usage.written_1h
    return {
        "input_tokens": usage.prompt - usage.cached - written,
        "cache_creation_input_tokens": written,
        "cache_read_input_tokens": usage.cached,
        "cache_creation": {
            "ephemeral_5m_input_tokens": usage.written_5m,
            "ephemeral_1h_input_tokens": usage.written_1h,
        },
        "output_tokens": usage.completion,
        "output_tokens_details": {"thinking_tokens": usage.reasoning},
        "server_tool_use": None,
        "service_tier": tier,
        "inference_geo": "not_available",
    }
