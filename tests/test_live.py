"""Prompts asked one by one: each is called once, and a fault costs no other prompt anything."""

from __future__ import annotations

import json
from contextlib import suppress
from hashlib import sha256

import pytest

from cache.errors import ProviderError
from cache.records import Message, ToolCall, Trajectory
from cache.steps import split_steps
from tests.conftest import Serve
from tests.running import JUDGE, Desk
from tests.vendors import CLAUDE, LIVE, ONE, call, for_all, in_turn, store_all, struck
from tests.wire.answers import answer
from tests.wire.service import Faults, LineFault

CHAT = "chat.create"
BODIES = "select body from prompt_bodies"


def test_a_whole_run_calls_once_a_prompt_and_a_second_one_not_at_all(
    serve: Serve, desk: Desk
) -> None:
    """Every prompt called and priced once, its text the answer to its own body; then nothing."""
    service = serve()
    assert desk.run(LIVE).code == 0
    log = service.log()
    assert (log["chat_calls"], log["creates"], log["retries"]) == (10, [], {})
    assert set(log["answered_bodies"].values()) == {1}
    texts = desk.rows("select text, body from responses join prompt_bodies using (prompt_hash)")
    assert all(text == answer(json.loads(body)).text for text, body in texts)
    billed = (log["tokens"]["prompt"], log["tokens"]["completion"])
    assert desk.rows(
        "select sum(input_tokens)::bigint, sum(output_tokens)::bigint from responses "
        "where cost_usd > 0"
    ) == [billed]
    assert desk.one("select count(*) from predictions") == 10
    assert desk.run(LIVE).code == 0
    assert service.log()["chat_calls"] == 10


def test_b22_a_batch_and_a_live_judge_share_body_hash_and_answer(serve: Serve, desk: Desk) -> None:
    """One builder: the same bytes both ways, so what a batch answered serves the live judge.

    The other way round as well, and the price of an answer is that of the way it came.
    """
    service = serve()
    assert desk.run(JUDGE).code == 0
    assert desk.run(LIVE).code == 0
    assert (service.log()["chat_calls"], desk.one("select count(*) from prompts")) == (0, 10)
    assert desk.one("select count(*) from predictions") == 20
    assert desk.run(f"{LIVE}&seed=1").code == 0
    stored = {sha256(row[0].encode()).hexdigest() for row in desk.rows(BODIES)}
    assert set(service.log()["bodies"]) == stored
    assert desk.run(f"{JUDGE}?seed=1").code == 0
    assert (service.log()["chat_calls"], len(service.log()["creates"])) == (10, 1)
    cost = "select sum(cost_usd) from responses join batches using (batch_id) where mode = "
    assert desk.one(f"{cost}'live'") == pytest.approx(2 * desk.one(f"{cost}'batch'"), rel=0.02)


def test_b52_eight_equal_prompts_are_one_call(serve: Serve, desk: Desk) -> None:
    """Eight steps that read alike: one prompt, one call, eight predictions."""
    messages: list[Message] = []
    for _ in range(8):
        messages.append(Message(len(messages), "assistant", "", (ToolCall("find", '{"n":1}'),)))
        messages.append(Message(len(messages), "tool", "none", requestor="assistant"))
    made = tuple(messages)
    store_all(
        desk.store,
        [Trajectory("t8", "eight", "d", "1", made, split_steps(made), objective="o", success=True)],
    )
    service = serve(struck(CHAT, "delay", times=0, seconds=0.02))
    chosen = {"strategies": ("one_to_one",), "datasets": ("eight",), "limit": None}
    assert desk.run(LIVE, **chosen).code == 0
    assert (service.log()["chat_calls"], desk.one("select count(*) from predictions")) == (1, 8)


def test_a_busy_server_is_asked_again_and_every_prompt_is_answered(
    serve: Serve, desk: Desk
) -> None:
    """429 with a time, 503, 529: sent back for load is no attempt, and nothing is lost."""
    service = serve(
        Faults(
            calls=(
                call(CHAT, "status", times=3, status=429, retry_after="0.05", code="rate_limit"),
                call(CHAT, "status", first=4, times=2, status=503, retry_after="0.01"),
                call(CHAT, "status", first=6, status=529, retry_after="0.01"),
            )
        )
    )
    assert desk.run(LIVE).code == 0
    assert desk.outcomes() == {"ok": 10}
    assert desk.attempts() == {1}
    assert service.log()["chat_calls"] == 16
    assert set(service.log()["answered_bodies"].values()) == {1}


def test_b32_a_fault_of_one_call_is_a_later_attempt(serve: Serve, desk: Desk) -> None:
    """500, a web page, half an object, a cut or lost answer: kept as what it was, asked again."""
    kinds = ("html", "truncated_json", "cut_length", "cut_chunked", "drop", "small_chunks")
    service = serve(
        Faults(
            calls=(
                call(CHAT, "status", status=500),
                call(CHAT, "status", first=2, status=408),
                *(call(CHAT, kind, first=at) for at, kind in enumerate(kinds, 3)),
            ),
        )
    )
    assert desk.run(LIVE).code == 0
    assert desk.outcomes() == {"ok": 10, "error": 5, "malformed": 2}
    assert service.log()["chat_calls"] == 17
    assert desk.attempts() == {1, 2}
    lost = "select count(*) from answers where contains(error, 'possibly billed')"
    assert desk.one(lost) == 3


def test_b42_nothing_is_asked_more_than_three_times(serve: Serve, desk: Desk) -> None:
    """A prompt that always fails is called three times, one that is bad once; then both rest."""
    service = serve(
        Faults(lines=(LineFault("http_error", status=400, times=1), LineFault("status_zero")))
    )
    ended = desk.run(LIVE, limit=1)
    prompts = desk.one("select count(*) from prompts")
    assert (ended.code, desk.states()) == (4, {"given up": prompts})
    assert service.log()["chat_calls"] == 1 + 3 * (prompts - 1)
    assert desk.one("select count(*) from answers where not transient") == 1
    assert "invalid_prompt" in desk.one("select error from answers where not transient")
    assert desk.run(LIVE, limit=1).code == 4
    assert service.log()["chat_calls"] == 1 + 3 * (prompts - 1)


def test_b49_an_answer_that_is_none_is_never_served(serve: Serve, desk: Desk) -> None:
    """Refusals and a cut answer are kept and priced, and become no prediction."""
    service = serve(in_turn("refusal", "content_filter", "length"))
    assert desk.run(LIVE).code == 4
    assert desk.outcomes() == {"ok": 8, "refused": 2, "truncated": 1}
    assert desk.one("select count(*) from answers where cost_usd > 0") == 11
    assert desk.one("select count(*) from predictions") == 8
    assert service.log()["chat_calls"] == 11


@pytest.mark.parametrize(
    ("status", "code", "words"),
    [
        (402, None, "no credit left"),
        (429, "insufficient_quota", "no credit left"),
        (401, None, "check the API key"),
    ],
)
def test_what_cannot_be_paid_stops_the_run(
    serve: Serve, desk: Desk, status: int, code: str | None, words: str
) -> None:
    """No credit, no valid key: what had come is stored, the rest is asked another time, once."""
    service = serve(struck(CHAT, "status", first=3, times=0, status=status, code=code))
    ended = desk.run(LIVE)
    assert (ended.code, words in ended.message) == (1, True)
    assert desk.outcomes() == {"ok": 2}
    assert desk.one("select count(*) from predictions") == 2
    calls = service.log()["chat_calls"]
    assert calls < 10
    service.set_faults(Faults())
    assert desk.advance().code == 0
    assert desk.outcomes() == {"ok": 10}
    assert service.log()["chat_calls"] == calls + 8
    assert desk.attempts() == {1}


def test_an_address_of_ones_own_is_asked(serve: Serve, desk: Desk) -> None:
    """A judge that names a server is asked there, and shares nothing with the default one."""
    local, vendor = serve(), serve()
    assert desk.run(f"{LIVE}&base_url={local.base_url}", **ONE).code == 0
    assert desk.run(LIVE, **ONE).code == 0
    assert [one.log()["chat_calls"] for one in (local, vendor)] == [1, 1]


def test_b52_a_prompt_asked_in_a_batch_and_live_is_paid_once(serve: Serve, desk: Desk) -> None:
    """One run with both modes of one judge: their bodies are the same, so one answer serves."""
    service = serve()
    assert desk.run(JUDGE, f"{JUDGE}?mode=live").code == 0
    assert set(service.log()["bodies"].values()) == {1}
    assert desk.one("select count(*) from predictions") == 20


def test_a_model_that_does_not_exist_is_not_asked_for_every_prompt(
    serve: Serve, desk: Desk
) -> None:
    """A live model that answers 404 to everything is told once; its prompts are due, not lost."""
    service = serve(Faults(unknown_models=("gpt-4o-mini",)))
    with suppress(ProviderError):
        desk.run(LIVE, limit=4)
    service.set_faults(Faults())
    assert service.log()["chat_calls"] < desk.one("select count(*) from prompts")
    assert desk.run(LIVE, limit=4).code == 0


def test_b08_one_account_that_stops_does_not_hold_up_the_others(
    serve: Serve, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A live model is refused, and its batch stays open: the others are brought home all the same.

    One call is enough to know it; the exit code tells.
    """
    service = for_all(serve, monkeypatch)(Faults(unknown_models=("gpt-nothing",)))
    with suppress(ProviderError):
        desk.run("openai:gpt-nothing?mode=live", **ONE)
    calls = service.log()["chat_calls"]
    desk.ask(LIVE, CLAUDE, **ONE)
    with suppress(ProviderError):
        assert desk.advance().code == 1
    answered = "select count(*) from prompt_states where state = 'answered'"
    assert desk.one(answered) == 2
    assert service.log()["chat_calls"] <= calls + 2
