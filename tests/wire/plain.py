"""Decoded JSON to frozen dataclasses, refusing names that do not exist.

A misspelt fault that is silently off makes a test pass for nothing.
"""

from __future__ import annotations

import dataclasses
from typing import Any, TypeVar, cast

import msgspec

T = TypeVar("T")


def from_plain(value: object, kind: type[T]) -> T:
    """Return ``value`` as ``kind``; raise ``ValueError`` for unknown names and wrong types."""
    try:
        made = msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        raise ValueError(f"{kind.__name__}: {error}") from error
    _check_names(value, made)
    return made


def to_plain(value: object) -> dict[str, Any]:
    """Return a dataclass as decoded JSON."""
    return cast("dict[str, Any]", msgspec.to_builtins(value))


def _check_names(value: object, made: object) -> None:
    if isinstance(made, tuple) and isinstance(value, list):
        for part, made_part in zip(value, made, strict=True):
            _check_names(part, made_part)
    if not dataclasses.is_dataclass(made) or not isinstance(value, dict):
        return
    known = {field.name for field in dataclasses.fields(made)}
    unknown = sorted(set(value) - known)
    if unknown:
        raise ValueError(f"{type(made).__name__} has no {', '.join(map(repr, unknown))}")
    for name, part in value.items():
        _check_names(part, getattr(made, name))
