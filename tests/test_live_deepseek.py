"""DeepSeek: the same live calls in its own words."""

from __future__ import annotations

import json

import pytest

from batcher.chat import reply
from cache.errors import NeedlessError, UsageError
from tests.conftest import Serve
from tests.running import Desk
from tests.vendors import DEEPSEEK, ONE, for_all
from tests.wire.service import Faults, LineFault

BODIES = "select body from prompt_bodies"


@pytest.fixture(name="serve")
def for_deepseek(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> Serve:
    return for_all(serve, monkeypatch)


def test_a_whole_run_is_live_without_being_told(serve: Serve, desk: Desk) -> None:
    """There is no batch API: every prompt is called once, without thinking, as a JSON object."""
    service = serve()
    assert desk.run(DEEPSEEK).code == 0
    assert (service.log()["chat_calls"], service.log()["creates"]) == (10, [])
    assert desk.rows("select distinct mode, endpoint from batches") == [
        ("live", "/v1/chat/completions")
    ]
    bodies = [json.loads(row[0]) for row in desk.rows(BODIES)]
    assert all(
        {name: value for name, value in body.items() if name != "messages"}
        == {
            "model": "deepseek-flash",
            "max_tokens": 4096,
            "response_format": {"type": "json_object"},
            "thinking": {"type": "disabled"},
        }
        for body in bodies
    )
    assert desk.run(DEEPSEEK).code == 0
    assert service.log()["chat_calls"] == 10


def test_b45_thinking_can_be_switched_on(serve: Serve, desk: Desk) -> None:
    """Thinking, a cap and plain text are parameters; each makes a prompt of its own."""
    serve()
    desk.ask(f"{DEEPSEEK}?thinking=enabled&max_tokens=99&response_format=text", **ONE)
    (body,) = (json.loads(row[0]) for row in desk.rows(BODIES))
    assert (body["thinking"], body["max_tokens"]) == ({"type": "enabled"}, 99)
    assert "response_format" not in body
    desk.ask(f"{DEEPSEEK}?thinking=disabled", f"{DEEPSEEK}", **ONE)
    assert desk.one("select count(*) from prompts") == 2


@pytest.mark.parametrize(
    ("judge", "words"),
    [
        (f"{DEEPSEEK}?mode=batch", "no batch API"),
        (f"{DEEPSEEK}?thinking=perhaps", "thinking='perhaps'"),
        (f"{DEEPSEEK}?max_completion_tokens=9", "max_completion_tokens"),
    ],
)
def test_what_it_does_not_take_is_refused(serve: Serve, desk: Desk, judge: str, words: str) -> None:
    """A mode, a value or a name that the service does not know never leaves the machine."""
    serve()
    with pytest.raises(UsageError, match=words):
        desk.ask(judge, **ONE)
    assert desk.one("select count(*) from prompts") == 0


def test_its_key_is_its_own(serve: Serve, desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another vendor's key does not count as this one's."""
    service = serve()
    monkeypatch.delenv("DEEPSEEK_API_KEY")
    with pytest.raises(NeedlessError, match="DEEPSEEK_API_KEY"):
        desk.run(DEEPSEEK, **ONE)
    assert service.log()["calls"] == {}


def test_empty_json_mode_is_asked_again(serve: Serve, desk: Desk) -> None:
    """JSON mode may return nothing at all: that is no verdict, and worth another call."""
    service = serve(Faults(lines=(LineFault("content_null", times=2),)))
    assert desk.run(DEEPSEEK).code == 0
    assert desk.outcomes() == {"ok": 10, "empty": 2}
    assert service.log()["chat_calls"] == 12


@pytest.mark.parametrize(
    ("usage", "cached"),
    [
        ({"prompt_tokens": 9, "prompt_cache_hit_tokens": 5, "prompt_cache_miss_tokens": 4}, 5),
        ({"prompt_tokens": 9, "prompt_cache_hit_tokens": 0}, 0),
        ({"prompt_tokens": 9, "prompt_tokens_details": {"cached_tokens": 3}}, 3),
        ({"prompt_tokens": 9}, None),
    ],
)
def test_b65_cached_tokens_are_read_where_they_stand(
    usage: dict[str, object], cached: int | None
) -> None:
    """Hits are counted beside the prompt's tokens, which include them."""
    found = reply("a", {"usage": usage, "choices": []}, "")
    assert (found.input_tokens, found.cached_tokens) == (9, cached)


def test_reasoning_is_no_answer() -> None:
    """The chain of thought stands in a field of its own and is never read as the verdict."""
    message = {"content": "", "reasoning_content": '{"redundant": true}'}
    found = reply("a", {"choices": [{"message": message, "finish_reason": "stop"}]}, "")
    assert found.outcome == "empty"
