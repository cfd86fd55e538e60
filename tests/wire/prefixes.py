"""A prompt cache: prefixes seen before count as cached tokens."""

from __future__ import annotations

import hashlib

from tests.wire.answers import CHARACTERS_PER_TOKEN

#: Caching starts at this many tokens and grows in these steps.
SHORTEST, STEP = 1024, 128


class PrefixCache:
    """Remembers prefixes per model for as long as the service lives."""

    def __init__(self) -> None:
        self._seen: set[bytes] = set()

    def cached(self, model: str, prompt: str) -> int:
        """Return the tokens of the longest known prefix, then remember all of its prefixes."""
        longest = 0
        running = hashlib.sha256(model.encode() + b"\0")
        start = 0
        for tokens in range(SHORTEST, len(prompt) // CHARACTERS_PER_TOKEN + 1, STEP):
            stop = tokens * CHARACTERS_PER_TOKEN
            running.update(prompt[start:stop].encode("utf-8", "surrogatepass"))
            start = stop
            mark = running.digest()
            if mark in self._seen:
                longest = tokens
            self._seen.add(mark)
        return longest
