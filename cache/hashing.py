"""Canonical JSON, and what identity means here.

Two prompts are the same prompt when the same bytes would go to the same place. The identity of a
prompt is the canonical JSON of

    {"base_url", "body", "endpoint", "hash_version", "provider"}   and "repeat" where it is above 0

where ``body`` is the request body exactly as it is sent: model, messages, parameters and response
schema are in it. Whether it travels in a batch or live is not part of it. The prompt hash is the
first 128 bits of the SHA-256 of those bytes. Changing one character below changes every hash and
so buys every answer again: raise ``HASH_VERSION`` when you mean to. A golden test pins it.
"""

from __future__ import annotations

import hashlib

import msgspec

HASH_VERSION = 1

_encode = msgspec.json.Encoder(order="sorted").encode


def canonical(value: object) -> str:
    """Return ``value`` as JSON with sorted keys, no spaces, non-ASCII characters kept.

    Raises ``ValueError`` or ``UnicodeEncodeError`` for what JSON or UTF-8 cannot hold.
    """
    return _encode(value).decode()


def prompt_hash(body: str, *, provider: str, base_url: str, endpoint: str, repeat: int = 0) -> str:
    """Return the prompt's hash as 32 lower-case hex digits; ``body`` is canonical JSON text."""
    head = (
        f'{{"base_url":{canonical(base_url)},"body":{body},"endpoint":{canonical(endpoint)},'
        f'"hash_version":{HASH_VERSION},"provider":{canonical(provider)}'
    )
    tail = f',"repeat":{repeat}}}' if repeat > 0 else "}"
    return hashlib.sha256(f"{head}{tail}".encode()).hexdigest()[:32]


def digest(text: str, length: int = 12) -> str:
    """Return a short hex digest of ``text``, for versions and stable ids."""
    return hashlib.sha256(text.encode()).hexdigest()[:length]
