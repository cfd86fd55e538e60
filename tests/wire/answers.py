"""What the model says: a pure function of the request body.

The same body always gets the same answer, so a test can compute what it must find in a database.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from tests.wire.schema_values import Chooser

_canonical = msgspec.json.Encoder(order="sorted").encode
CHARACTERS_PER_TOKEN = 4


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one answer; ``cached`` and the written ones are parts of ``prompt``."""

    prompt: int
    completion: int
    cached: int = 0
    reasoning: int = 0
    written_5m: int = 0
    written_1h: int = 0


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer; ``text`` is None where the model said nothing."""

    text: str | None
    finish_reason: str
    refusal: str | None
    usage: Usage


def canonical(body: object) -> bytes:
    """Return the body with sorted keys and without spaces."""
    return _canonical(body)


def fingerprint(body: object) -> str:
    """Return the SHA-256 of the canonical body in hex."""
    return hashlib.sha256(_canonical(body)).hexdigest()


def prompt_text(body: dict[str, Any]) -> str:
    """Return the text of tools and system, where they are the body's own, and all messages."""
    tools = body.get("tools")
    before = [tool_text(tool) for tool in tools] if isinstance(tools, list) else []
    before.append(_content({"content": body.get("system")}))
    return "".join(before + [_content(message) for message in _messages(body)])


def block_text(block: Any) -> str:
    """Return the text of one block of a content list."""
    return str(block.get("text", "")) if isinstance(block, dict) else ""


def tool_text(tool: Any) -> str:
    """Return a tool of the Messages API as JSON; a tool of another API counts as nothing."""
    known = isinstance(tool, dict) and "input_schema" in tool
    return _canonical(tool).decode() if known else ""


def prompt_tokens(body: dict[str, Any]) -> int:
    """Return the number of prompt tokens billed for ``body``."""
    return max(1, len(prompt_text(body)) // CHARACTERS_PER_TOKEN)


def answer(body: dict[str, Any], *, salt: int = 0, cached: int = 0) -> Answer:
    """Return the answer to ``body``; another ``salt`` is another sample of the same question."""
    digest = hashlib.sha256(_canonical(body) + (b"#%d" % salt if salt else b"")).digest()
    whole = _text(body, digest)
    usage = Usage(prompt_tokens(body), _tokens(whole), cached)
    cap = body.get("max_completion_tokens") or body.get("max_tokens")
    if isinstance(cap, int) and usage.completion > cap:
        text = whole[: cap * CHARACTERS_PER_TOKEN]
        return Answer(text, "length", None, replace(usage, completion=cap))
    return Answer(whole, "stop", None, usage)


def completion(body: dict[str, Any], given: Answer, mark: str, made_at: float) -> dict[str, Any]:
    """Return ``given`` as the JSON of a chat completion; ``mark`` makes its id."""
    usage = given.usage
    return {
        "id": "chatcmpl-" + mark,
        "object": "chat.completion",
        "created": int(made_at),
        "model": body.get("model"),
        "choices": [
            {
                "index": 0,
                "message": {
                    "role": "assistant",
                    "content": given.text,
                    "refusal": given.refusal,
                    "annotations": [],
                },
                "logprobs": None,
                "finish_reason": given.finish_reason,
            }
        ],
        "usage": {
            "prompt_tokens": usage.prompt,
            "completion_tokens": usage.completion,
            "total_tokens": usage.prompt + usage.completion,
            "prompt_tokens_details": {"cached_tokens": usage.cached, "audio_tokens": 0},
            "completion_tokens_details": {"reasoning_tokens": usage.reasoning, "audio_tokens": 0},
        },
        "service_tier": "default",
        "system_fingerprint": "fp_loopback",
    }


def _tokens(text: str) -> int:
    return max(1, len(text) // CHARACTERS_PER_TOKEN)


def _messages(body: dict[str, Any]) -> list[dict[str, Any]]:
    messages = body.get("messages")
    if not isinstance(messages, list):
        return []
    return [message for message in messages if isinstance(message, dict)]


def _content(message: dict[str, Any]) -> str:
    content = message.get("content")
    if isinstance(content, list):
        return "".join(map(block_text, content))
    return content if isinstance(content, str) else ""


def _text(body: dict[str, Any], digest: bytes) -> str:
    schema = _schema(body)
    if schema is None:
        schema = {"properties": {"reason": {"type": "string"}, "redundant": {"type": "boolean"}}}
    definitions = schema.get("$defs") or schema.get("definitions") or {}
    chooser = Chooser(digest, _positions(body), definitions, _pairs(body))
    return msgspec.json.encode(chooser.value(schema)).decode()


def _schema(body: dict[str, Any]) -> dict[str, Any] | None:
    """The schema the answer must hold to, wherever the vendor's API puts it."""
    wanted, config = body.get("response_format"), body.get("output_config")
    places = [
        wanted.get("json_schema", {}) if isinstance(wanted, dict) else None,
        config.get("format") if isinstance(config, dict) else None,
    ]
    found = [place.get("schema") for place in places if isinstance(place, dict)]
    return next((schema for schema in found if isinstance(schema, dict)), None)


def _question(body: dict[str, Any]) -> str:
    """The last line of the last user message."""
    asked = [_content(m) for m in _messages(body) if m.get("role") == "user"]
    return ["", *asked[-1].rstrip().splitlines()][-1] if asked else ""


def _positions(body: dict[str, Any]) -> list[int]:
    """The whole numbers of the question: the candidates."""
    return list(dict.fromkeys(map(int, re.findall(r"\d+", _question(body)))))


def _pairs(body: dict[str, Any]) -> list[tuple[int, int]]:
    """The pairs of whole numbers in brackets in the question: the steps it is about."""
    found = re.findall(r"\[(\d+), (\d+)\]", _question(body))
    return [(int(call), int(result)) for call, result in found]
