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
    return canonical_bytes(value).decode()


def canonical_bytes(value: object) -> bytes:
    """Return ``canonical(value)`` in UTF-8."""
    return _encode(value)


class Identity:
    """The identity of every prompt of one provider, base URL and endpoint."""

    def __init__(self, *, provider: str, base_url: str, endpoint: str) -> None:
        self._head = f'{{"base_url":{canonical(base_url)},"body":'.encode()
        self._tail = (
            f',"endpoint":{canonical(endpoint)},"hash_version":{HASH_VERSION},'
            f'"provider":{canonical(provider)}'
        ).encode()

    def prompt_hash(self, body: bytes, repeat: int = 0) -> str:
        """Return 32 lower-case hex digits; ``body`` is canonical JSON in UTF-8."""
        sha = hashlib.sha256(self._head)
        sha.update(body)
        sha.update(self._tail)
        sha.update(b',"repeat":%d}' % repeat if repeat > 0 else b"}")
        return sha.hexdigest()[:32]


def digest(text: str, length: int = 12) -> str:
    """Return a short hex digest of ``text``, for versions and stable ids."""
    return hashlib.sha256(text.encode()).hexdigest()[:length]
