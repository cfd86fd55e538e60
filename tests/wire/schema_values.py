"""A value for a JSON schema, chosen by a digest: the same digest gives the same value."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

WORDS = ("the", "step", "repeats", "an", "earlier", "call", "without", "new", "result")


@dataclass(frozen=True, slots=True)
class Chooser:
    """Chooses values; ``positions`` are the integers an array of integers may hold.

    Of a list of objects, an array of integers is one of ``pairs`` where there are any, and there
    are no more objects than pairs.
    """

    digest: bytes
    positions: Sequence[int]
    definitions: dict[str, Any]
    pairs: Sequence[Sequence[int]] = ()

    def pick(self, path: str, size: int) -> int:
        """Return a number below ``size`` that depends on the digest and the place only."""
        mark = hashlib.sha256(self.digest + path.encode()).digest()
        return int.from_bytes(mark[:8]) % size

    def value(self, schema: dict[str, Any], path: str = "$") -> Any:
        """Return a value that ``schema`` accepts."""
        if "$ref" in schema:
            name = str(schema["$ref"]).rsplit("/", 1)[-1]
            return self.value(self.definitions[name], path)
        if "const" in schema:
            return schema["const"]
        if "enum" in schema:
            return schema["enum"][self.pick(path, len(schema["enum"]))]
        for word in ("anyOf", "oneOf"):
            if word in schema:
                return self.value(schema[word][self.pick(path, len(schema[word]))], path)
        kind = schema.get("type", "object")
        if isinstance(kind, list):
            kind = kind[self.pick(path + "?", len(kind))]
        match kind:
            case "boolean":
                return self.pick(path, 2) == 1
            case "integer" | "number":
                return self._number(schema, path)
            case "string":
                return self._string(schema, path)
            case "array":
                return self._array(schema, path)
            case "null":
                return None
            case _:
                members: dict[str, Any] = schema.get("properties", {})
                return {name: self.value(part, f"{path}.{name}") for name, part in members.items()}

    def _number(self, schema: dict[str, Any], path: str) -> int:
        low = int(schema.get("minimum", 0))
        high = int(schema.get("maximum", low + 10))
        return low + self.pick(path, high - low + 1)

    def _string(self, schema: dict[str, Any], path: str) -> str:
        words = [WORDS[self.pick(f"{path}#{n}", len(WORDS))] for n in range(4)]
        text = " ".join(words).ljust(schema.get("minLength", 0), ".")
        return text[: schema.get("maxLength", len(text))]

    def _array(self, schema: dict[str, Any], path: str) -> list[Any]:
        items: dict[str, Any] = schema.get("items", {"type": "string"})
        least = int(schema.get("minItems", 0))
        if items.get("type") == "integer" and "]" in path and self.pairs:
            return list(self.pairs[self.pick(path, len(self.pairs))])
        if "enum" in items:
            return self._subset(items["enum"], path, least)
        if items.get("type") == "integer" and (self.positions or not least):
            return self._subset(self.positions, path, least)
        most = min(int(schema.get("maxItems", 2)), len(self.pairs) or 2)
        size = max(least, min(1 + self.pick(path, 2), most))
        return [self.value(items, f"{path}[{n}]") for n in range(size)]

    def _subset(self, choices: Sequence[Any], path: str, least: int) -> list[Any]:
        chosen = [item for item in choices if self.pick(f"{path}={item}", 3) == 0]
        return chosen if len(chosen) >= least else list(choices[:least])
