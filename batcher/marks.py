"""What of a batch the Messages API is asked to keep in its prompt cache, block by block.

A mark says how a prompt is billed, not what is asked: it is put on when a batch is sent, by what
the batch holds, and is no part of a prompt or its hash.

A beginning that is kept for an hour costs twice its price to write and a tenth to read, batch
discount apart, so it pays from the third request on. One hour, since a batch may take longer than
the five minutes that cost less. Prefixes shorter than a model's least are ignored by the vendor.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from cache.hashing import canonical_bytes

#: Requests that must share a beginning before it is worth writing.
SHARERS = 3

#: The least that any model keeps, in tokens, at four characters a token.
LEAST = 1024
_CHARACTERS = 4

#: Marks that one request may carry.
MOST = 4

_KEPT = {"type": "ephemeral", "ttl": "1h"}


def mark(requests: Sequence[dict[str, Any]]) -> None:
    """Mark in place the blocks of ``requests`` (bodies of one batch) whose beginnings are shared.

    Only blocks that are JSON objects can be marked: a system or message text that is a plain string
    stays as it is, and so does everything after it.
    """
    beginnings = [list(_beginnings(request)) for request in requests]
    sharers = Counter(digest for found in beginnings for digest, _, _ in found)
    for found in beginnings:
        worth = [
            block
            for at, (digest, size, block) in enumerate(found)
            if sharers[digest] >= SHARERS
            and size >= LEAST * _CHARACTERS
            # Where the next block is shared by as many, its mark keeps this one as well.
            and (at + 1 == len(found) or sharers[found[at + 1][0]] < sharers[digest])
        ]
        for block in worth[-MOST:]:
            block["cache_control"] = dict(_KEPT)


def _beginnings(request: dict[str, Any]) -> Iterator[tuple[bytes, int, dict[str, Any]]]:
    """Yield (digest of all up to its end, that in characters, the block) for each block."""
    head = {name: request.get(name) for name in ("model", "tools", "output_config")}
    running = hashlib.sha256(canonical_bytes(head))
    size = 0
    places = [request.get("system"), *(one.get("content") for one in request.get("messages", ()))]
    for blocks in places:
        if not isinstance(blocks, list):
            if blocks is not None:
                return
            continue
        for block in blocks:
            running.update(canonical_bytes(block))
            size += len(block.get("text", ""))
            yield running.digest(), size, block
