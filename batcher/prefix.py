"""How much of a prompt its provider may find in its prompt cache: what stands at its beginning."""

from __future__ import annotations

#: Shorter beginnings are cached nowhere (OpenAI from 1,024 tokens; Anthropic from 1,024 to 4,096).
SHORTEST = 1024


def common(one: bytes, other: bytes) -> int:
    """Return how many bytes two texts have in common at their beginning."""
    low, high = 0, min(len(one), len(other))
    if one[:high] == other[:high]:
        return high
    while low + 1 < high:  # the first low bytes agree, the first high bytes do not
        middle = (low + high) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle
    return low


class Neighbours:
    """Compares each prompt with the one before it at the same judge, as they travel."""

    def __init__(self) -> None:
        self._before: dict[str, bytes] = {}

    def shared(self, judge: str, body: bytes, n_tokens: int) -> int:
        """Return the tokens of a body that its predecessor begins with too, 0 if too few."""
        before = self._before.get(judge, b"")
        self._before[judge] = body
        if before == body:  # the same prompt is not sent again
            return 0
        tokens = n_tokens * common(before, body) // max(1, len(body))
        return tokens if tokens >= SHORTEST else 0
