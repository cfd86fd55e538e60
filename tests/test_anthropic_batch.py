"""A whole run against Message Batches: what is sent and stored, and that it is paid for once."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from batcher.providers.base import Limits
from cache.errors import UsageError
from prompts.answers import SCHEMAS
from tests.conftest import Serve
from tests.running import JUDGE, Desk, needless
from tests.vendors import CLAUDE, ONE, for_all
from tests.wire.answers import answer
from tests.wire.service import Faults

BODIES = "select body from prompt_bodies"


@pytest.fixture(name="serve")
def for_claude(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> Serve:
    return for_all(serve, monkeypatch)


def test_a_whole_run_asks_once_and_a_second_one_not_at_all(serve: Serve, desk: Desk) -> None:
    """One create, each prompt answered and priced once, each text the answer to its own body.

    The same run again sends nothing. Nothing is deleted: the vendor does that by itself.
    """
    service = serve()
    assert desk.run(CLAUDE).code == 0
    log = service.log()
    assert [(one["vendor"], one["lines"]) for one in log["creates"]] == [("anthropic", 10)]
    assert (log["retries"], log["deleted"]) == ({}, [])
    assert set(log["custom_ids"].values()) == set(log["answered_bodies"].values()) == {1}
    texts = desk.rows("select text, body from responses join prompt_bodies using (prompt_hash)")
    assert all(text == answer(json.loads(body)).text for text, body in texts)
    assert desk.one("select count(*) from responses where cost_usd > 0") == 10
    assert desk.one("select count(*) from predictions") == 10
    assert desk.run(CLAUDE).code == 0
    assert service.log()["calls"] == log["calls"]


def test_the_body_asks_for_the_schema_and_names_no_sampling(serve: Serve, desk: Desk) -> None:
    """System, one user message, a cap and the schema of the answer; nothing the API refuses."""
    serve()
    desk.ask(CLAUDE, strategies=("window_to_one", "all_to_all"), limit=1)
    bodies = [json.loads(row[0]) for row in desk.rows(BODIES)]
    fields = {"model", "max_tokens", "system", "messages", "output_config"}
    assert all(set(body) == fields for body in bodies)
    assert all(body["model"] == "claude-haiku-4-5" and body["max_tokens"] > 0 for body in bodies)
    assert {body["system"][0]["type"] for body in bodies} == {"text"}
    assert all([one["role"] for one in body["messages"]] == ["user"] for body in bodies)
    forms = [body["output_config"]["format"] for body in bodies]
    assert {form["type"] for form in forms} == {"json_schema"}
    assert all(form["schema"] in SCHEMAS.values() for form in forms)
    assert len({json.dumps(form) for form in forms}) == 2


def test_b21_parameters_change_the_body_or_are_refused(serve: Serve, desk: Desk) -> None:
    """A cap and plain text are taken; sampling is refused here, not line by line hours later."""
    serve()
    desk.ask(f"{CLAUDE}?max_tokens=77&response_format=text", **ONE)
    (body,) = (json.loads(row[0]) for row in desk.rows(BODIES))
    assert (body["max_tokens"], "output_config" in body) == (77, False)
    for name in ("temperature", "top_p", "top_k"):
        with pytest.raises(UsageError, match=rf"{name}='0'.*no sampling parameters any more"):
            desk.ask(f"{CLAUDE}?{name}=0", **ONE)
    for text in ("max_tokens=0", "max_tokens=many", "response_format=json_object", "seed=1"):
        with pytest.raises(UsageError, match=text.partition("=")[0]):
            desk.ask(f"{CLAUDE}?{text}", **ONE)


def test_live_is_refused_with_the_reason(db: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """These judges are asked in batches; the command line says so and stores nothing."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k1")
    result = needless(db, "run", "--judge", f"{CLAUDE}?mode=live", "--limit", "1")
    assert result.exit_code == 2
    assert "asked in batches" in result.stderr
    assert Desk(db).one("select count(*) from prompts") == 0


def test_b44_two_models_and_two_vendors_share_nothing(serve: Serve, desk: Desk) -> None:
    """One question to three judges is three batches, three answers and three prices."""
    service = serve()
    assert desk.run(CLAUDE, "anthropic:claude-sonnet-4-5", JUDGE, **ONE).code == 0
    made = sorted((one["vendor"], str(one["model"])) for one in service.log()["creates"])
    assert made == [
        ("anthropic", "claude-haiku-4-5"),
        ("anthropic", "claude-sonnet-4-5"),
        ("openai", "gpt-4o-mini"),
    ]
    assert desk.one("select count(distinct cost_usd) from responses") == 3


def test_b47_repeats_are_asked_anew(serve: Serve, desk: Desk) -> None:
    """Two repeats of a question in one batch get an answer each."""
    service = serve(Faults(vary_repeats=True))
    assert desk.run(CLAUDE, repeats=2, **ONE).code == 0
    assert [one["lines"] for one in service.log()["creates"]] == [2]
    assert desk.one("select count(distinct text) from responses") == 2


def test_b12_batches_fit_the_limits(serve: Serve, db: Path) -> None:
    """Ten prompts at four a batch: four, four and two, one create after another."""
    service = serve()
    desk = Desk(db, limits=Limits(requests=4, bytes=10**6, line_bytes=10**6))
    assert desk.run(CLAUDE).code == 0
    assert sorted(one["lines"] for one in service.log()["creates"]) == [2, 4, 4]
    assert set(service.log()["custom_ids"].values()) == {1}


def test_b65_cached_tokens_are_inside_the_input(serve: Serve, desk: Desk) -> None:
    """The vendor counts fresh, read and written tokens apart; the input stored is their sum."""
    service = serve()
    desk.run(CLAUDE)
    billed = service.log()["tokens"]
    assert desk.rows(
        "select sum(input_tokens)::bigint, sum(cached_tokens)::bigint, "
        "sum(output_tokens)::bigint from responses"
    ) == [(billed["prompt"], billed["cached"], billed["completion"])]
