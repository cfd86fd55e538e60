"""Faults that other tools shipped and that have no file of their own here."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from batcher.ledger import note
from batcher.providers.base import Limits
from tests.conftest import Serve
from tests.running import ROOT, Desk, needless
from tests.vendors import for_all
from tests.wire.service import Faults, LineFault


def test_b14_what_has_left_the_queue_gives_its_room_back(serve: Serve, desk: Desk) -> None:
    """After refusals for a full queue and an end of every batch, no token counts as waiting."""
    serve(Faults(token_limits={"gpt-4o-mini": 20_000}))
    limits = Limits(requests=4, bytes=10**7, line_bytes=10**7)
    assert Desk(desk.store.path, limits=limits).run().code == 0
    assert {row[0] for row in desk.rows("select waiting_tokens from queue_limits")} <= {0}
    assert desk.attempts() == {1}


def test_b30_a_sleeping_laptop_loses_nothing(serve: Serve, desk: Desk) -> None:
    """Thirty hours pass between two looks: the batch has expired, its finished part is stored."""
    service = serve()
    service.hold()
    (batch_id,) = desk.send()
    remote_id = desk.one("select remote_id from batches")
    service.expire(remote_id, done=6)
    woken = datetime.now(UTC) + timedelta(hours=30)
    desk.pace = replace(desk.pace, now=lambda: woken)
    desk.advance(wait=False)
    assert desk.one(f"select status from batch_states where batch_id = '{batch_id}'") == "ingested"
    assert desk.outcomes() == {"ok": 6, "expired": 4}
    service.release()
    desk.pace = replace(desk.pace, now=lambda: datetime.now(UTC) + timedelta(hours=31))
    assert desk.advance().code == 0
    assert desk.states() == {"answered": 10}


def test_b54_an_edited_strategy_is_another_version_and_never_mixed(
    serve: Serve, desk: Desk, tmp_path: Path
) -> None:
    """One word changed: new prompts under a new digest, beside the old answers, in rows apart."""
    service = serve()
    desk.run(strategies=("one_to_one",))
    text = (ROOT / "prompts" / "one_to_one.toml").read_text("utf-8")
    (tmp_path / "one_to_one.toml").write_text(text.replace("Is this step", "Was this step"))
    assert desk.run(strategies=("one_to_one",), prompts=tmp_path).code == 0
    assert len(service.log()["creates"]) == 2
    versions = desk.rows("select strategy_digest, count(*) from score_averages group by 1")
    assert [count for _, count in versions] == [1, 1]
    assert desk.one("select count(distinct strategy_digest) from predictions") == 2


def test_b55_two_versions_of_a_strategy_are_told_apart_by_their_digests(
    serve: Serve, desk: Desk, tmp_path: Path
) -> None:
    """The report has a row a version, each with its digest, and their requests differ by it."""
    serve()
    desk.run(strategies=("one_to_one",))
    text = (ROOT / "prompts" / "one_to_one.toml").read_text("utf-8")
    (tmp_path / "one_to_one.toml").write_text(text.replace("Is this step", "Was this step"))
    desk.run(strategies=("one_to_one",), prompts=tmp_path)
    digests = [row[0] for row in desk.rows("select distinct strategy_digest from requests")]
    assert len(digests) == 2
    shown = needless(desk.store.path, "report", "score_averages", "--format", "csv").stdout
    assert all(shown.count(digest) == 1 for digest in digests)


@pytest.mark.parametrize(
    ("vendor", "says"),
    [
        ("openai:gpt-4o-mini", "max_tokens is too large: 999999; this model supports 16384"),
        ("anthropic:claude-haiku-4-5", "max_tokens: 999999 > 64000, the maximum for this model"),
    ],
)
def test_b20_a_cap_above_the_models_own_is_told_plainly_and_costs_nothing(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, desk: Desk, vendor: str, says: str
) -> None:
    """Every line is refused, once and unpaid; the end says max_tokens; a lower cap asks again."""
    service = for_all(serve, monkeypatch)(
        Faults(lines=(LineFault("http_error", body='tokens":999999', message=says),))
    )
    ended = desk.run(f"{vendor}?max_tokens=999999")
    assert (ended.code, desk.states()) == (4, {"given up": 10})
    assert "10 ended in an error, most often: " in ended.message
    assert says in ended.message
    assert desk.one("select coalesce(sum(cost_usd), 0) from responses") == 0
    assert service.log()["answered_bodies"] == {}
    assert desk.run(f"{vendor}?max_tokens=999999").code == 4
    assert len(service.log()["creates"]) == 1
    assert desk.run(f"{vendor}?max_tokens=4096").code == 0
    assert desk.states() == {"given up": 10, "answered": 10}


def test_b59_a_state_is_written_whole_or_not_at_all(desk: Desk) -> None:
    """A process that dies while it writes what became of a batch leaves what was known before."""
    desk.run("offline:rules", limit=1, strategies=("one_to_one",))
    batch_id, status = desk.rows("select batch_id, status from batch_states")[0]
    with pytest.raises(RuntimeError), desk.store.writing() as con:  # noqa: PT012
        note(con, batch_id, "half", datetime.now(UTC))
        raise RuntimeError
    assert desk.rows("select batch_id, status from batch_states") == [(batch_id, status)]


def test_b85_a_night_of_rows_is_loaded_in_one_statement(tmp_path: Path) -> None:
    """A hundred thousand rows are staged and inserted, in their order, with none lost."""
    from cache.bulk import load
    from cache.store import Store

    store = Store(tmp_path / "n.duckdb")
    rows = ({"batch_id": f"b{n}", "custom_id": "c", "state": "ok"} for n in range(100_000))
    with store.writing() as con:
        assert load(con, "readings", rows) == 100_000
    assert store.query("select count(*), max(rowid) from readings")[1] == [(100_000, 99_999)]
