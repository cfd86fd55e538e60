"""Marks for the prompt cache of the Messages API: only where they pay, and no part of a prompt."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from batcher.marks import MOST, mark
from batcher.providers.base import Batch, Prompt
from cache.hashing import canonical_bytes
from tests.conftest import Serve

LONG = "The agent's rules. " * 300  # about 1,400 tokens


def request(*texts: str, system: str = "s") -> dict[str, Any]:
    return {
        "model": "claude-sonnet-5",
        "max_tokens": 10,
        "system": [{"type": "text", "text": system}],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": text} for text in texts]}
        ],
    }


def marks(requests: list[dict[str, Any]]) -> list[list[bool]]:
    """For each request, which of its blocks are marked, system first."""
    return [
        ["cache_control" in block for block in (*one["system"], *one["messages"][0]["content"])]
        for one in requests
    ]


def test_what_three_share_is_marked_where_the_sharing_ends() -> None:
    """Rules that all share and a text that some share have a mark each; what is one's own none."""
    texts = [("t1", "a"), ("t1", "b"), ("t1", "c"), ("t2", "d"), ("t2", "e")]
    requests = [request(LONG, LONG + text, own) for text, own in texts]
    mark(requests)
    assert marks(requests) == [[False, True, True, False]] * 3 + [[False, True, False, False]] * 2
    block = requests[0]["messages"][0]["content"][0]
    assert block["cache_control"] == {"type": "ephemeral", "ttl": "1h"}


@pytest.mark.parametrize(
    "requests",
    [
        [request(LONG, "a"), request(LONG, "b")],
        [request("short", own) for own in "abcdef"],
        [request(LONG + own, "x") for own in "abcdef"],
        [],
    ],
    ids=["two", "short", "different", "none"],
)
def test_what_does_not_pay_is_not_marked(requests: list[dict[str, Any]]) -> None:
    """Writing costs more than sending: two sharers or a short beginning are left alone."""
    before = copy.deepcopy(requests)
    mark(requests)
    assert requests == before


def test_another_schema_or_model_is_another_beginning() -> None:
    """The vendor's cache is per model and answer schema."""
    requests = [request(LONG, own) for own in "abcd"]
    requests[0]["model"] = "claude-haiku-4-5"
    requests[1]["output_config"] = {"format": {"type": "json_schema", "schema": {}}}
    mark(requests)
    assert not any(any(one) for one in marks(requests))


def test_a_request_has_no_more_marks_than_it_may() -> None:
    """Of many the longest beginnings are kept."""
    levels = [f"{n} {LONG}" for n in range(6)]
    requests = [request(*levels[:n], f"own {n} {k}") for n in range(1, 7) for k in range(3)]
    mark(requests)
    assert max(sum(one) for one in marks(requests)) == MOST
    assert marks(requests)[-1] == [False, False, False, True, True, True, True, False]


def test_a_plain_text_is_left_as_it_is() -> None:
    """Nothing can be marked in it, nor after it."""
    requests = [{**request(LONG, own), "system": LONG} for own in "abc"]
    before = copy.deepcopy(requests)
    mark(requests)
    assert requests == before


def test_marks_are_sent_and_stored_nowhere(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    """The provider sees them; the prompt and its hash are those without."""
    from datetime import UTC, datetime

    from batcher.providers.anthropic import connect
    from tests.wire.service import Faults

    service = serve(Faults(prefix_cache=True))
    bodies = [canonical_bytes(request(LONG, own)) for own in "abcd"]
    prompts = [Prompt(f"t-{n:032x}-1", f"{n:032x}", body) for n, body in enumerate(bodies)]
    where = service.base_url.removesuffix("/v1")
    batch = Batch(
        *("b", "anthropic", where, "/v1/messages", "claude-sonnet-5", "batch", "t", 4),
        datetime.now(UTC),
    )
    provider = connect(where, "k")
    remote_id = provider.submit(batch, prompts)
    while not provider.poll(remote_id).is_terminal:
        pass
    replies = [reply for reply in provider.fetch(remote_id, ()) if reply is not None]
    assert sorted(reply.write_1h_tokens or 0 for reply in replies)[:3] == [0, 0, 0]
    assert sum((reply.cached_tokens or 0) > 1024 for reply in replies) == 3
    assert [prompt.body for prompt in prompts] == bodies
