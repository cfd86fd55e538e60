"""A whole run against a batch service: what is sent and stored, and that it is paid for once."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import pytest

from batcher.providers.base import Limits
from tests.conftest import Serve
from tests.running import INSTANT, JUDGE, Desk
from tests.wire.answers import answer
from tests.wire.service import CallFault, Faults, LineFault, Log, Service

#: The service counts the tokens of prefixes it has seen as cached.
WITH_CACHE = Faults(prefix_cache=True)

TEXTS = (
    "select responses.text, body from responses join prompt_bodies using (prompt_hash) "
    "where outcome = 'ok'"
)


def given(body: str) -> str | None:
    """What the service answers to a body, whichever line it was."""
    return answer(json.loads(body)).text


@dataclass(frozen=True)
class Finished:
    """A run that has ended, and the provider's book of it."""

    desk: Desk
    log: Log


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory, sample: Path) -> Finished:
    """Two strategies on four trajectories, in one batch."""
    desk = Desk(Path(shutil.copy(sample, tmp_path_factory.mktemp("finished") / "n.duckdb")))
    with pytest.MonkeyPatch.context() as patch, Service(WITH_CACHE, INSTANT) as service:
        patch.setenv("NO_PROXY", "127.0.0.1")
        patch.setenv("OPENAI_BASE_URL", service.base_url)
        patch.setenv("OPENAI_API_KEY", "k1")
        assert desk.run(strategies=("one_to_one", "window_to_one"), limit=4).code == 0
        return Finished(desk, service.log())


def test_a_second_run_sends_nothing(serve: Serve, desk: Desk) -> None:
    """A run creates one batch and deletes its input; the same run again sends nothing."""
    service = serve()
    assert desk.run().code == 0
    before = service.log()
    assert len(before["creates"]) == before["uploads"] == 1
    assert before["deleted"] == [before["creates"][0]["input_file_id"]]
    assert desk.run().code == 0
    after = service.log()
    assert (after["creates"], after["uploads"]) == (before["creates"], 1)


def test_a_whole_run_answers_every_prompt_once(finished: Finished) -> None:
    """One create, every line sent once and answered once, every text the answer to its body."""
    log = finished.log
    assert [one["retry_count"] for one in log["creates"]] == [0]
    assert set(log["custom_ids"].values()) == set(log["answered_bodies"].values()) == {1}
    found = finished.desk.rows(TEXTS)
    assert len(found) == len(log["custom_ids"]) == finished.desk.states()["answered"]
    assert all(text == given(body) for text, body in found)


def test_b35_verdicts_follow_their_ids_whatever_the_order_of_the_lines(finished: Finished) -> None:
    """The service shuffles its lines; each step still gets the verdict on its own prompt."""
    rows = finished.desk.rows(
        "select p.is_redundant, b.body from predictions p "
        "join requests r on r.trajectory_id = p.trajectory_id and r.strategy = p.strategy "
        "and r.targets[1] = p.step_index join prompt_bodies b using (prompt_hash)"
    )
    assert len(rows) == 44
    assert {row[0] for row in rows} == {True, False}
    assert all(said == json.loads(str(given(body)))["redundant"] for said, body in rows)


def test_b18_equal_prompts_are_sent_once_and_answer_every_request(finished: Finished) -> None:
    """Steps that read alike are one line; each of their requests has its prediction."""
    desk = finished.desk
    lines = finished.log["creates"][0]["lines"]
    assert lines == desk.one("select count(*) from prompts") < 44
    assert desk.one("select count(*) from predictions") == 44


def test_b24_custom_ids_name_batch_prompt_and_attempt(finished: Finished) -> None:
    """A custom id is legal everywhere, at most 64 characters, and tells which prompt it is."""
    token, batch_id = finished.desk.rows("select token, batch_id from batches")[0]
    hashes = finished.desk.rows("select replace(prompt_hash::varchar, '-', '') from prompts")
    assert set(finished.log["custom_ids"]) == {f"{token}-{one}-1" for (one,) in hashes}
    assert all(len(one) <= 64 for one in finished.log["custom_ids"])
    tags = {"needless_batch": token, "needless_id": batch_id}
    assert finished.log["creates"][0]["metadata"] == tags


def test_b22_the_uploaded_body_is_the_stored_one(finished: Finished) -> None:
    """What the service was asked is, byte for byte, what the database says."""
    bodies = finished.desk.rows("select body from prompt_bodies")
    assert set(finished.log["bodies"]) == {sha256(body.encode()).hexdigest() for (body,) in bodies}


def test_b61_every_answer_is_priced_and_cached_tokens_are_kept(finished: Finished) -> None:
    """Tokens in the database are those the service billed, and no answer is free."""
    billed = finished.log["tokens"]
    assert finished.desk.rows(
        "select sum(input_tokens)::bigint, sum(cached_tokens)::bigint, "
        "sum(output_tokens)::bigint from responses"
    ) == [(billed["prompt"], billed["cached"], billed["completion"])]
    free = "select count(*) from responses where coalesce(cost_usd, 0) <= 0"
    assert finished.desk.one(free) == 0


def test_b44_two_models_share_nothing(serve: Serve, desk: Desk) -> None:
    """The same questions to two models are two batches and two sets of answers."""
    service = serve()
    desk.run(JUDGE, "openai:gpt-4.1-mini")
    models = sorted(str(one["model"]) for one in service.log()["creates"])
    assert models == ["gpt-4.1-mini", "gpt-4o-mini"]
    assert desk.one("select count(*) from prompts") == 20
    assert desk.one("select count(*) from responses where outcome = 'ok'") == 20


def test_b45_parameters_make_another_prompt(serve: Serve, desk: Desk) -> None:
    """Another temperature is another question; the order in which parameters are written is not."""
    service = serve()
    desk.run(f"{JUDGE}?temperature=0&seed=1")
    desk.run(f"{JUDGE}?seed=1&temperature=0")
    assert len(service.log()["creates"]) == 1
    desk.run(f"{JUDGE}?seed=1&temperature=1")
    assert len(service.log()["creates"]) == 2


def test_b46_another_address_is_another_judge(serve: Serve, desk: Desk) -> None:
    """The same model name at two addresses: no answer of one is served for the other."""
    first, second = serve(), serve()
    desk.run(f"{JUDGE}?base_url={first.base_url}")
    desk.run(f"{JUDGE}?base_url={second.base_url}")
    assert [len(service.log()["creates"]) for service in (first, second)] == [1, 1]
    assert desk.one("select count(distinct base_url) from prompts") == 2


def test_b46_a_trailing_slash_is_the_same_address(serve: Serve, desk: Desk) -> None:
    """An address with and without a slash at its end is one address."""
    service = serve()
    desk.run(f"{JUDGE}?base_url={service.base_url}/")
    desk.run(f"{JUDGE}?base_url={service.base_url}")
    assert desk.one("select count(*) from prompts") == 10


def test_b47_repeats_are_asked_anew_and_kept_apart(serve: Serve, desk: Desk) -> None:
    """Three repeats of a question get three answers of their own; a rerun sends nothing."""
    service = serve(Faults(vary_repeats=True))
    assert desk.run(strategies=("all_to_all",), limit=1, repeats=3).code == 0
    texts = desk.rows(
        "select repeat, text from requests join responses using (prompt_hash) order by repeat"
    )
    assert [row[0] for row in texts] == [0, 1, 2]
    assert len({row[1] for row in texts}) == 3
    desk.run(strategies=("all_to_all",), limit=1, repeats=3)
    desk.run(strategies=("all_to_all",), limit=1)
    assert len(service.log()["creates"]) == 1


def test_b50_a_rerun_sends_only_what_failed_and_may_pass(serve: Serve, desk: Desk) -> None:
    """Of ten lines two fail with a passing fault: these two are sent again, nothing else."""
    service = serve(Faults(lines=(LineFault("http_error", status=500, times=2),)))
    assert desk.run().code == 0
    assert [one["lines"] for one in service.log()["creates"]] == [10, 2]
    assert desk.attempts() == {1, 2}


def test_b11_every_file_fits_the_limit_in_bytes(serve: Serve, db: Path) -> None:
    """Uploads are cut by the exact size of their lines, and nothing is lost on the way."""
    service = serve()
    desk = Desk(db, limits=Limits(requests=50, bytes=20_000, line_bytes=20_000))
    assert desk.run(limit=4).code == 0
    sizes = [one["bytes"] for one in service.log()["files"]]
    assert len(sizes) > 3
    assert max(sizes) <= 20_000
    assert set(service.log()["custom_ids"].values()) == {1}


def test_b12_every_file_fits_the_limit_in_number(serve: Serve, db: Path) -> None:
    """Ten prompts at four a batch are batches of four, four and two."""
    service = serve()
    desk = Desk(db, limits=Limits(requests=4, bytes=10**6, line_bytes=10**6))
    assert desk.run().code == 0
    assert sorted(one["lines"] for one in service.log()["creates"]) == [2, 4, 4]


def test_a_prompt_too_large_for_any_batch_is_given_up_by_name(serve: Serve, db: Path) -> None:
    """What fits no line is never uploaded, is told with its size, and does not stop the rest."""
    service = serve()
    desk = Desk(db, limits=Limits(requests=50, bytes=10**6, line_bytes=4_000))
    ended = desk.run()
    errors = [row[0] for row in desk.rows("select error from answers where state = 'error'")]
    assert ended.code == 4
    assert len(errors) == desk.states()["given up"] == 2
    assert all("that the provider takes" in error for error in errors)
    assert service.log()["creates"][0]["lines"] == desk.states()["answered"] == 8
    desk.run()
    assert len(service.log()["creates"]) == 1


def test_b64_an_unknown_model_has_no_price_rather_than_none(serve: Serve, desk: Desk) -> None:
    """The cost of a model without a known price is NULL, not 0."""
    serve()
    desk.run("openai:foo-1")
    assert desk.rows("select distinct cost_usd from responses") == [(None,)]


def test_a_quiet_service_is_looked_at_ever_less_often(serve: Serve, desk: Desk) -> None:
    """Pauses grow up to the longest while nothing changes."""
    service = serve()
    service.hold()
    scope = desk.ask()
    desk.advance(scope, wait=False)
    service.release()
    service.set_faults(Faults(calls=(CallFault("batches.retrieve", "unknown_status", times=8),)))
    assert desk.advance(scope).code == 0
    assert all(0 < nap <= desk.pace.longest for nap in desk.naps)
    assert max(desk.naps) > 2 * desk.pace.first


def test_a_clean_batch_has_no_error_file_in_any_of_three_ways(serve: Serve, desk: Desk) -> None:
    """No id, an empty id and a file of no bytes all mean that nothing failed."""
    service = serve()
    for number, value in enumerate(("null", "empty_string", "empty_file")):
        service.set_faults(Faults.parse({"clean_error_file": value}))
        assert desk.run(f"{JUDGE}?seed={number}").code == 0
    assert desk.outcomes() == {"ok": 30}


def test_crlf_and_blank_lines_change_nothing(serve: Serve, desk: Desk) -> None:
    """Lines that end in CR LF and a blank one at the end are read like any other."""
    serve(Faults(crlf=True, trailing_blank_line=True, lines=(LineFault("http_error", times=1),)))
    assert desk.run().code == 4
    assert desk.outcomes() == {"ok": 9, "error": 1}
    assert desk.one("select count(*) from quarantine") == 0
