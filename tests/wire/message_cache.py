"""The prompt cache of the Messages API: it keeps prefixes only where a request marks them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tests.wire.answers import CHARACTERS_PER_TOKEN, block_text, tool_text

_LIVES = {"5m": 300.0, "1h": 3600.0}
MOST_MARKS = 4
_LONGER = ("haiku-4-5", "opus-4-5", "opus-4-6")


@dataclass(frozen=True, slots=True)
class Prefix:
    """What a prompt holds up to the end of one block; ``life`` is "" where none was asked for."""

    digest: bytes
    tokens: int
    life: str


@dataclass(frozen=True, slots=True)
class CacheUse:
    """Tokens that one request read from the cache and wrote into it."""

    read: int = 0
    written_5m: int = 0
    written_1h: int = 0


def shortest(model: str) -> int:
    """Return how many tokens a prefix must have to be kept; shorter ones are silently not."""
    return 4096 if any(name in model for name in _LONGER) else 1024


def prefixes(params: dict[str, Any]) -> list[Prefix]:
    """Return the prefix that ends with each block: tools, then system, then messages."""
    found = list(_blocks(params))
    marks = [life for _, life in found]
    if isinstance(params.get("cache_control"), dict) and marks:
        marks[-1] = marks[-1] or _life(params)
    running = hashlib.sha256(str(params.get("model")).encode())
    size = 0
    made: list[Prefix] = []
    for (text, _), life in zip(found, marks, strict=True):
        running.update(text.encode("utf-8", "surrogatepass") + b"\0")
        size += len(text)
        made.append(Prefix(running.digest(), size // CHARACTERS_PER_TOKEN, life))
    return made


class MessageCache:
    """Prefixes and when each ends; reading one makes it last longer."""

    def __init__(self) -> None:
        self._ends: dict[bytes, tuple[float, str]] = {}

    def use(self, params: dict[str, Any], now: float) -> CacheUse:
        """Return what a request reads and writes, and remember what it marks."""
        least = shortest(str(params.get("model")))
        blocks = [prefix for prefix in prefixes(params) if prefix.tokens >= least]
        marked = [prefix for prefix in blocks if prefix.life]
        if not marked:
            return CacheUse()
        read = 0
        for prefix in blocks:
            ends, life = self._ends.get(prefix.digest, (0.0, ""))
            if now < ends and prefix.tokens <= marked[-1].tokens:
                read = prefix.tokens
                self._ends[prefix.digest] = (now + _LIVES[life], life)
        hour = max((prefix.tokens for prefix in marked if prefix.life == "1h"), default=0)
        for prefix in marked:
            if prefix.tokens > read:
                self._ends[prefix.digest] = (now + _LIVES[prefix.life], prefix.life)
        after_hour = max(read, hour)
        return CacheUse(read, max(0, marked[-1].tokens - after_hour), after_hour - read)


def _blocks(params: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Every block's text, and how long its ``cache_control`` keeps it."""
    for tool in params.get("tools") or []:
        yield tool_text(tool), _life(tool)
    contents = [params.get("system")]
    contents += [message.get("content") for message in params.get("messages") or []]
    for content in contents:
        if isinstance(content, str):
            yield content, ""
        for block in content if isinstance(content, list) else []:
            yield block_text(block), _life(block)


def _life(block: Any) -> str:
    control = block.get("cache_control") if isinstance(block, dict) else None
    return str(control.get("ttl") or "5m") if isinstance(control, dict) else ""
