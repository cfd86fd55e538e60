"""What makes two prompts the same: everything that is sent and where to, and nothing else."""

from __future__ import annotations

import json
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from batcher.judge import parse
from batcher.providers import builder
from cache.hashing import Identity, canonical, canonical_bytes, digest
from cache.records import Step
from prompts.render import Chat
from prompts.scopes import Excerpt

STEP = Step(0, "assistant", True, 0, 1, "find_book", '{"title":"Ø"}', "found")
CHAT = Chat("Judge.", "Is it redundant?", "verdict", Excerpt((STEP,), (1,)), None)
OTHER_FORM = Chat("Judge.", "Is it redundant?", "positions", Excerpt((STEP,), (1,)), None)


def hashed(judge: str, chat: Chat = CHAT, repeat: int = 0) -> str:
    named = parse(judge)
    make = builder(named)
    where = {"base_url": make.base_url, "endpoint": make.endpoint}
    return Identity(provider=named.provider, **where).prompt_hash(make.body(chat), repeat)


def test_the_hash_is_pinned() -> None:
    """A prompt that was paid for keeps its hash: to change these lines is to buy it again."""
    place = Identity(provider="openai", base_url="https://api.openai.com/v1", endpoint="/v1/x")
    assert place.prompt_hash(b'{"model":"m"}') == "4fca4b10a8575851fa4a5141cdcf5b67"
    assert place.prompt_hash(b'{"model":"m"}', 2) == "246cefb72680b1a93ece724e89fa0007"
    assert hashed("openai:gpt-4o-mini") == "436e65b49506c58517322d77d9cee6a2"
    assert hashed("offline:rules") == "5d5a6aa11f54ce50796a0b3fa9feb28a"


def test_the_hash_is_of_canonical_json() -> None:
    """Anyone can compute it: the first half of SHA-256 over one JSON object with sorted keys."""
    from hashlib import sha256

    text = json.dumps(
        {
            "base_url": "https://ö",
            "body": {"b": [1, "ü"], "a": None},
            "endpoint": "/e",
            "hash_version": 1,
            "provider": "p",
            "repeat": 3,
        },
        sort_keys=True,
        ensure_ascii=False,
        separators=(",", ":"),
    )
    place = Identity(provider="p", base_url="https://ö", endpoint="/e")
    made = place.prompt_hash(canonical_bytes({"a": None, "b": [1, "ü"]}), 3)
    assert made == sha256(text.encode()).hexdigest()[:32]


def test_b45_the_order_of_keys_does_not_matter() -> None:
    """Bodies that are equal as JSON objects are one text, whatever order they were written in."""
    assert canonical({"b": {"y": 1, "x": 2}, "a": 0}) == canonical({"a": 0, "b": {"x": 2, "y": 1}})
    one, other = "openai:m?seed=1&temperature=0", "openai:m?temperature=0&seed=1"
    assert hashed(one) == hashed(other)


def test_b44_every_part_matters() -> None:
    """Model, address, each parameter, answer form, text and repeat: each makes another prompt."""
    named = {
        "openai:m": hashed("openai:m"),
        "another model": hashed("openai:n"),
        "another address": hashed("openai:m?base_url=http://127.0.0.1/v1"),
        "temperature 0": hashed("openai:m?temperature=0"),
        "temperature 1": hashed("openai:m?temperature=1"),
        "a seed": hashed("openai:m?seed=1"),
        "a cap": hashed("openai:m?max_tokens=7"),
        "an effort": hashed("openai:m?reasoning_effort=low"),
        "no schema": hashed("openai:m?response_format=text"),
        "another schema": hashed("openai:m", OTHER_FORM),
        "the first repeat": hashed("openai:m", repeat=1),
        "the second repeat": hashed("openai:m", repeat=2),
    }
    for (one, left), (other, right) in combinations(named.items(), 2):
        assert left != right, (one, other)


def test_b47_the_first_time_is_no_repeat() -> None:
    """Repeat 0 is the plain prompt: asking once and then three times pays for two more."""
    assert hashed("openai:m", repeat=0) == hashed("openai:m")


@pytest.mark.parametrize("mode", ["batch", "live"])
def test_how_it_travels_is_not_part_of_it(mode: str) -> None:
    """An answer bought live serves a batch, and the reverse."""
    assert hashed(f"openai:m?mode={mode}") == hashed("openai:m")


def test_provider_and_endpoint_are_part_of_it() -> None:
    """The same body elsewhere is another prompt."""
    where = {"provider": "openai", "base_url": "u", "endpoint": "/e"}
    changes: tuple[dict[str, str], ...] = (
        {},
        {"provider": "deepseek"},
        {"base_url": "v"},
        {"endpoint": "/f"},
    )
    made = {Identity(**(where | change)).prompt_hash(b"{}") for change in changes}
    assert len(made) == 4


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(JSON)
def test_canonical_json_says_the_same(value: object) -> None:
    """Canonical text is JSON for the same value, without a line break outside its strings."""
    text = canonical(value)
    assert json.loads(text) == value
    assert "\n" not in text
    assert canonical(json.loads(text)) == text


def test_what_json_cannot_hold_is_an_error() -> None:
    """Half a surrogate pair is refused rather than silently changed."""
    with pytest.raises((ValueError, UnicodeEncodeError)):
        canonical({"text": "\ud800"})


def test_digests_are_short_and_stable() -> None:
    """The same text has the same digest, of the length asked for."""
    assert digest("needless") == digest("needless", 64)[:12]
    assert digest("needless") != digest("needless ")
