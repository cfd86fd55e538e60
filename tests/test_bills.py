"""Bills of whole runs: what the service charged for, in the database to the last digit."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import pytest

import sql
from batcher.chat import reply
from batcher.messages import read_line
from batcher.prices import Prices
from cache.migrate import newest
from cache.store import Store
from tests.conftest import Serve
from tests.running import ROOT, Desk, needless
from tests.vendors import CLAUDE, DEEPSEEK, for_all
from tests.wire.service import Faults, LineFault

#: The bill as an analyst would work it out, from the columns beside it.
AGAIN = """
select count(*) from responses where cost_usd != (
    greatest(
        input_tokens - coalesce(cached_tokens, 0) - coalesce(write_5m_tokens, 0)
        - coalesce(write_1h_tokens, 0), 0
    ) * usd_per_m_input
    + coalesce(cached_tokens, 0) * usd_per_m_cached
    + coalesce(write_5m_tokens, 0) * usd_per_m_write_5m
    + coalesce(write_1h_tokens, 0) * usd_per_m_write_1h
    + output_tokens * usd_per_m_output
) / 1e6
"""

#: What a bill consists of.
BILL = (
    "cost_usd, list_usd, usd_per_m_input, usd_per_m_cached, usd_per_m_write_5m, "
    "usd_per_m_write_1h, usd_per_m_output, price_source"
)


def test_b65_a_run_with_a_prefix_cache_is_billed_by_kind_of_token(
    serve: Serve, desk: Desk, tmp_path: Path
) -> None:
    """The bill is that of the service's own count: cached tokens at a tenth of fresh ones."""
    service = serve(Faults(prefix_cache=True))
    text = (ROOT / "prompts" / "window_to_one.toml").read_text("utf-8")
    (tmp_path / "long.toml").write_text(text.replace("You are shown", "Word. " * 1000 + "You", 1))
    done = desk.run("openai:gpt-5-mini", strategies=("long",), prompts=tmp_path)
    assert done.code == 0
    billed = service.log()["tokens"]
    cached, out = billed["cached"], billed["completion"]
    fresh = billed["prompt"] - cached
    assert cached > 9 * 1024  # ten prompts, and only the first found nothing

    (costs,) = desk.rows(
        "select sum(fresh_tokens), sum(cached_tokens), sum(output_tokens), sum(usd) from costs"
    )
    (saved,) = desk.rows(
        "select naive_usd, actual_usd, saved_by_sharing, saved_by_batch, saved_by_prefix, "
        "spent_on_retries from cache_savings"
    )

    # gpt-5-mini, dollars per million: in a batch 0.125 fresh, 0.0125 cached, 1.00 out; live 0.25
    # and 2.00.
    paid = (fresh * 0.125 + cached * 0.0125 + out * 1.00) / 1e6
    assert costs[:3] == (fresh, cached, out)
    assert costs[3] == pytest.approx(paid)
    naive, actual, sharing, batch, prefix, retries = saved
    assert actual == pytest.approx(paid)
    assert prefix == pytest.approx(cached * (0.125 - 0.0125) / 1e6)
    assert batch == pytest.approx((billed["prompt"] * 0.125 + out * 1.00) / 1e6)
    assert (sharing, retries) == (0, 0)
    assert naive == pytest.approx(actual + batch + prefix)
    assert desk.one(AGAIN) == 0


def test_every_vendor_s_bill_can_be_worked_out_again_in_sql(
    serve: Serve, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not about: to the last bit, from the unit prices stored beside the tokens."""
    for_all(serve, monkeypatch)(Faults(prefix_cache=True))
    for judge in (CLAUDE, DEEPSEEK, "openai:gpt-4.1-mini", "offline:rules"):
        assert desk.run(judge).code == 0

    assert desk.one("select count(*) from responses where cost_usd is not null") == 40
    assert desk.one(AGAIN) == 0
    assert desk.one("select count(distinct price_source) from responses") == 4
    assert desk.rows(
        "select distinct cost_usd, list_usd from responses where price_source = 'offline'"
    ) == [(0.0, 0.0)]


def test_questions_asked_again_save_what_they_would_have_cost(serve: Serve, desk: Desk) -> None:
    """A second strategy with the same words is on the naive bill, and on no other."""
    serve()
    desk.run(strategies=("one_to_one",), limit=1)
    columns = "select n_requests, naive_usd, actual_usd, saved_by_sharing from cache_savings"
    (before,) = desk.rows(columns)
    with desk.store.writing() as con:
        con.execute("insert into requests select * replace ('twin' as strategy) from requests")
    (after,) = desk.rows(columns)

    assert after[0] == 2 * before[0]
    assert after[1] == pytest.approx(2 * before[1])
    assert after[2] == pytest.approx(before[2])
    assert after[3] == pytest.approx(before[3] + before[1])
    assert desk.rows("select distinct strategy from costs") == [("one_to_one",)]


def test_b61_what_an_expired_batch_had_finished_is_on_the_bill(serve: Serve, desk: Desk) -> None:
    """Six lines of ten were answered: their tokens are billed, the other four are no gap in it."""
    service = serve()
    service.hold()
    desk.send()
    service.expire(service.log()["creates"][0]["batch_id"], done=6)
    desk.advance(wait=False)
    billed = service.log()["tokens"]

    # gpt-4o-mini in a batch: 0.075 in, 0.30 out.
    paid = (billed["prompt"] * 0.075 + billed["completion"] * 0.30) / 1e6
    ((n_responses, n_priced, n_unpriced, usd),) = desk.rows(
        "select n_responses, n_priced, n_unpriced, usd from costs"
    )
    assert (n_responses, n_priced, n_unpriced) == (10, 6, 0)
    assert usd == pytest.approx(paid)


def test_b63_five_looks_at_a_running_batch_bill_nothing_and_its_end_bills_once(
    serve: Serve, desk: Desk
) -> None:
    """There is no row of zero dollars on the way, and one bill a line at the end."""
    service = serve()
    service.hold()
    desk.send()
    for _ in range(5):
        desk.advance(wait=False)
        assert desk.rows("from costs") == []
    service.release()
    assert desk.advance().code == 0

    assert desk.rows("select n_responses, n_priced from costs") == [(10, 10)]
    assert desk.one("select count(*) from responses where cost_usd > 0") == 10


def test_b64_an_unknown_model_has_no_figure_at_all(serve: Serve, desk: Desk) -> None:
    """Its tokens are known, and every dollar and every unit price of it is NULL."""
    serve(Faults(lines=(LineFault("no_usage", times=1),)))
    desk.run("openai:foo-1")

    assert desk.rows(f"select distinct {BILL} from responses") == [(None,) * 8]
    assert desk.rows("select n_priced, n_unpriced, usd from costs") == [(0, 10, None)]
    assert "foo-1" in needless(desk.store.path, "report", "costs").stdout


def test_a_price_list_of_one_s_own_is_what_a_run_is_billed_by(
    serve: Serve, desk: Desk, tmp_path: Path
) -> None:
    """A model that no catalogue knows is priced by the user's list, from then on."""
    serve()
    path = tmp_path / "prices.toml"
    path.write_text('["foo-"]\ninput = 2\noutput = 8\nbatch = 0.25\n', "utf-8")
    desk.prices = Prices.read(path)
    desk.run("openai:foo-1")

    assert desk.rows(
        "select distinct usd_per_m_input, usd_per_m_output, price_source from responses"
    ) == [(0.5, 2.0, "prices.toml: foo-, batch")]
    assert desk.one(AGAIN) == 0


@pytest.mark.parametrize(("day", "unit"), [(4, 0.30), (5, 0.15)])
def test_a_live_answer_is_billed_by_the_time_it_came(
    serve: Serve, desk: Desk, monkeypatch: pytest.MonkeyPatch, day: int, unit: float
) -> None:
    """Asked before DeepSeek's peak hours and answered in them: double on a Friday, not later."""
    for_all(serve, monkeypatch)()
    desk.pace = replace(desk.pace, now=lambda: datetime(2026, 12, day, 5, 30, tzinfo=UTC))
    desk.send(DEEPSEEK)
    desk.pace = replace(desk.pace, now=lambda: datetime(2026, 12, day, 7, 30, tzinfo=UTC))
    assert desk.advance().code == 0

    assert desk.rows("select distinct usd_per_m_input from responses") == [(unit,)]


@pytest.mark.parametrize(
    ("usage", "found"),
    [
        (b'"cache_creation_input_tokens":1000,', (1110, 1000, None)),
        (
            b'"cache_creation_input_tokens":1000,"cache_creation":'
            b'{"ephemeral_5m_input_tokens":300,"ephemeral_1h_input_tokens":700},',
            (1110, 300, 700),
        ),
        (b'"cache_creation":{"ephemeral_1h_input_tokens":700},', (810, None, 700)),
        (b"", (110, None, None)),
    ],
)
def test_written_tokens_are_read_by_how_long_they_are_kept(
    usage: bytes, found: tuple[int | None, ...]
) -> None:
    """Anthropic gives their sum, or both; a sum alone is five minutes, the vendor's default."""
    one = read_line(
        b'{"custom_id":"a","result":{"type":"succeeded","message":{"content":[],"usage":{'
        + usage
        + b'"input_tokens":10,"cache_read_input_tokens":100,"output_tokens":7}}}}'
    )

    assert (one.input_tokens, one.write_5m_tokens, one.write_1h_tokens) == found


def test_openai_s_written_tokens_are_part_of_the_prompt() -> None:
    """Models with one price of writing count such tokens among the prompt's details."""
    details = {"cached_tokens": 3, "cache_write_tokens": 4}
    usage: dict[str, Any] = {"prompt_tokens": 9, "prompt_tokens_details": details}

    one = reply("a", {"usage": usage, "choices": []}, "")

    assert (one.input_tokens, one.cached_tokens) == (9, 3)
    assert (one.write_5m_tokens, one.write_1h_tokens) == (4, None)


def test_answers_of_an_older_database_keep_their_cost(tmp_path: Path) -> None:
    """A file from before unit prices is migrated: what it knows stays, what it lacks is NULL."""
    path = tmp_path / "old.duckdb"
    with duckdb.connect(str(path)) as con:
        con.execute(
            "create table schema_versions (version integer primary key, name varchar not null, "
            "digest varchar not null, duckdb varchar not null, applied_at timestamptz)"
        )
        for name, text in sorted(sql.read("schema").items())[:4]:
            con.execute(text)
            con.execute(
                "insert into schema_versions values ($1, $2, '', '', now())", [int(name[:4]), name]
            )
        con.execute("create view answers as select * from responses")
        con.execute(
            "insert into responses by name select 'b' as batch_id, 'c' as custom_id, "
            "uuid() as prompt_hash, 'ok' as outcome, false as is_transient, 0.25 as cost_usd, "
            "now() as received_at"
        )
    store = Store(path)
    with store.writing():
        pass

    assert store.query("select max(version) from schema_versions")[1] == [(newest(),)]
    assert store.query(f"select {BILL} from responses")[1] == [(0.25, *(None,) * 7)]
