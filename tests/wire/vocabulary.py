"""Billing by a real vocabulary instead of four characters a token."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Any

import tiktoken

from batcher.tokens import vocabulary
from tests.wire import answers
from tests.wire.answers import Answer

#: What a chat takes besides its text: three tokens a message, three for the reply.
A_MESSAGE, A_REPLY = 3, 3


@lru_cache
def _encoding(name: str) -> tiktoken.Encoding:
    import os

    folder = vocabulary(name)
    assert folder is not None, f"no vocabulary {name}"
    os.environ.setdefault("TIKTOKEN_CACHE_DIR", str(folder))
    return tiktoken.get_encoding(name)


@lru_cache(maxsize=4096)
def _count(name: str, text: str) -> int:
    return len(_encoding(name).encode_ordinary(text))


def recount(body: dict[str, Any], given: Answer, name: str) -> Answer:
    """Return the answer with its usage counted in the vocabulary ``name``.

    Cached and written tokens keep their share of the prompt.
    """
    messages = len(body.get("messages") or []) + ("system" in body)
    usage = given.usage
    prompt = _count(name, answers.prompt_text(body)) + A_MESSAGE * messages + A_REPLY
    part = prompt / usage.prompt
    counted = replace(
        usage,
        prompt=prompt,
        completion=_count(name, given.text or ""),
        cached=round(usage.cached * part),
        written_5m=round(usage.written_5m * part),
        written_1h=round(usage.written_1h * part),
    )
    return replace(given, usage=counted)
