"""Prompts into shards: nothing lost, nothing moved, nothing too large."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from batcher.lines import write_lines
from batcher.pack import ENVELOPE, Due, fits, pack
from batcher.providers.base import Limits, Prompt


def due(*sizes: int) -> list[Due]:
    return [Due(f"{at:032x}", 1, size, 1) for at, size in enumerate(sizes)]


def sizes(shards: list[list[Due]]) -> list[list[int]]:
    return [[one.n_bytes for one in shard] for shard in shards]


def test_b12_at_most_so_many_requests() -> None:
    """Twenty-five prompts at ten a batch are ten, ten and five."""
    limits = Limits(requests=10, bytes=10**9, line_bytes=10**9)
    assert [len(shard) for shard in pack(due(*[5] * 25), limits)] == [10, 10, 5]


def test_b11_exactly_so_many_bytes() -> None:
    """A shard may be filled to its last byte; one byte more begins another."""
    limits = Limits(requests=100, bytes=2 * (100 + ENVELOPE), line_bytes=10**9)
    assert sizes(list(pack(due(100, 100, 100), limits))) == [[100, 100], [100]]
    assert sizes(list(pack(due(100, 101, 100), limits))) == [[100], [101], [100]]


def test_a_prompt_that_fits_nowhere_is_an_error() -> None:
    """A prompt larger than a line, or than a batch, is told apart beforehand and refused here."""
    limits = Limits(requests=10, bytes=1000, line_bytes=500)
    assert fits(due(500 - ENVELOPE)[0], limits)
    assert not fits(due(501 - ENVELOPE)[0], limits)
    with pytest.raises(ValueError, match="fits no batch"):
        list(pack(due(1, 501), limits))


def test_nothing_makes_no_shard() -> None:
    """Without prompts there is no batch, rather than an empty one."""
    assert list(pack([], Limits(1, 1000, 1000))) == []


@given(
    st.lists(st.integers(0, 700), max_size=60),
    st.integers(1, 8),
    st.integers(1000, 4000),
)
def test_packing_is_greedy_and_loses_nothing(lengths: list[int], requests: int, most: int) -> None:
    """For all sizes: the same prompts in the same order, every shard fits, none could hold more."""
    limits = Limits(requests=requests, bytes=most, line_bytes=most)
    prompts = due(*lengths)
    shards = list(pack(prompts, limits))
    assert [one for shard in shards for one in shard] == prompts
    taken = [sum(one.n_bytes + ENVELOPE for one in shard) for shard in shards]
    assert all(shards)
    assert all(size <= most for size in taken)
    assert all(len(shard) <= requests for shard in shards)
    for at, shard in enumerate(shards[1:]):
        full = len(shards[at]) == requests
        assert full or taken[at] + shard[0].n_bytes + ENVELOPE > most


@given(st.lists(st.text(st.characters(codec="utf-8"), max_size=40), min_size=1, max_size=5))
def test_b11_a_line_is_never_longer_than_it_was_counted(texts: list[str]) -> None:
    """What a line adds to its body is within the room that packing leaves for it."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "lines.jsonl")
        bodies = [json.dumps({"text": text}, ensure_ascii=False).encode() for text in texts]
        prompts = [Prompt(f"{'a' * 8}-{'f' * 32}-{10**9}", "f" * 32, body) for body in bodies]
        write_lines(path, "/v1/chat/completions", prompts)
        lines = path.read_bytes().split(b"\n")
    assert lines.pop() == b""
    assert [json.loads(line)["body"] for line in lines] == [json.loads(body) for body in bodies]
    for line, body in zip(lines, bodies, strict=True):
        assert len(line) + 1 <= len(body) + ENVELOPE
