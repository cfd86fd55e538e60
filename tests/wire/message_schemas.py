"""Which JSON schemas the Messages API takes for structured output."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

_REFUSED = (
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "maxItems",
)


def problem(schema: Any) -> str | None:
    """Return what the API would say against a schema, if anything."""
    if not isinstance(schema, dict):
        return "schema must be an object."
    definitions = schema.get("$defs") or schema.get("definitions") or {}
    for part in [schema, *definitions.values()]:
        for text in _problems(part):
            return text
    for name in definitions:
        if name in _reached(definitions, definitions[name], set()):
            return f"Recursive definition {name!r} is not supported."
    return None


def _problems(schema: dict[str, Any]) -> Iterator[str]:
    kind = schema.get("type")
    if kind == "object" and schema.get("additionalProperties") is not False:
        yield "For 'object' type, 'additionalProperties' must be explicitly set to false."
    for word in _REFUSED:
        if word in schema:
            yield f"For {kind!r} type, property {word!r} is not supported."
    if schema.get("minItems", 0) not in (0, 1):
        yield "For 'array' type, 'minItems' values other than 0 or 1 are not supported."
    for part in _parts(schema):
        yield from _problems(part)


def _parts(schema: dict[str, Any]) -> list[dict[str, Any]]:
    """The schemas directly inside one."""
    parts = list(schema.get("properties", {}).values())
    for word in ("anyOf", "oneOf", "allOf"):
        parts += schema.get(word, [])
    parts.append(schema.get("items"))
    return [part for part in parts if isinstance(part, dict)]


def _reached(definitions: dict[str, Any], schema: dict[str, Any], seen: set[str]) -> set[str]:
    """The names of all definitions that a schema leads to."""
    name = str(schema.get("$ref", "")).rsplit("/", 1)[-1]
    if name in definitions and name not in seen:
        seen.add(name)
        _reached(definitions, definitions[name], seen)
    for part in _parts(schema):
        _reached(definitions, part, seen)
    return seen
