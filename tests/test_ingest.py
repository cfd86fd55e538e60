"""Storing results: as often as it happens, each line is stored and paid for once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from batcher.predict import predict
from tests.conftest import Serve
from tests.running import ROOT, Desk
from tests.wire.service import Faults, LineFault

PAID = ("prompts", "prompt_bodies", "batch_prompts", "responses", "quarantine")


def paid(desk: Desk) -> list[list[Any]]:
    return [desk.rows(f"from {table} order by all") for table in PAID]


def reopen(desk: Desk) -> None:
    """Make every batch look as if the process had died before it wrote that it was done."""
    with desk.store.writing() as con:
        con.execute(
            'insert into batch_events (batch_id, status, "at") '
            "select batch_id, 'completed', now() from batches"
        )


def test_b58_storing_twice_changes_nothing_and_costs_nothing(serve: Serve, desk: Desk) -> None:
    """Results that are fetched and stored again add no row, no token and no cent."""
    service = serve(Faults(lines=(LineFault("http_error", times=2), LineFault("length", times=1))))
    assert desk.run().code == 4
    before = paid(desk)
    predictions = desk.rows("from predictions order by all")
    for _ in range(2):
        reopen(desk)
        assert desk.advance().code == 4
    assert paid(desk) == before
    assert desk.rows("from predictions order by all") == predictions
    assert desk.one("select count(*) from batch_events where status = 'ingested'") == 6
    assert len(service.log()["creates"]) == 2


def test_b80_a_reader_and_a_line_that_comes_twice_disturb_nothing(serve: Serve, desk: Desk) -> None:
    """Every line twice, stored while another connection of this process has just read."""
    serve(Faults(lines=(LineFault("duplicate_same"),)))
    scope = desk.ask()
    with desk.store.reading() as con:
        assert con.execute("select count(*) from responses").fetchall() == [(0,)]
    assert desk.advance(scope).code == 0
    assert desk.outcomes() == {"ok": 10}


def test_b51_predictions_made_anew_are_the_same(serve: Serve, desk: Desk) -> None:
    """Everything derived can be thrown away: it comes back equal, without a call."""
    service = serve(Faults(lines=(LineFault("text", value="no", times=2),)))
    desk.run(strategies=("one_to_one", "all_to_all"), limit=3, repeats=2)
    tables = ("readings", "predictions")
    before = [desk.rows(f"from {table} order by all") for table in tables]
    calls = service.log()["calls"]
    assert predict(desk.store, anew=True) == len(before[1]) > 0
    assert [desk.rows(f"from {table} order by all") for table in tables] == before
    assert predict(desk.store) == 0
    assert service.log()["calls"] == calls


def test_the_first_readable_answer_counts_for_ever(serve: Serve, desk: Desk) -> None:
    """A second answer to a prompt, from a batch of long ago, changes no number."""
    serve()
    desk.run()
    before = desk.rows("from predictions order by all")
    with desk.store.writing() as con:
        con.execute(
            "insert into responses by name select * replace ('late' as batch_id, "
            "'{\"redundant\": true}' as text, now() + interval 1 day as received_at) "
            "from responses"
        )
    predict(desk.store, anew=True)
    assert desk.rows("from predictions order by all") == before


def test_a_response_keeps_the_line_it_came_in(serve: Serve, desk: Desk) -> None:
    """The raw line is stored whole, so that a better reading of it costs nothing."""
    serve()
    desk.run()
    assert (
        desk.one(
            "select count(*) from responses where raw ->> '$.custom_id' = custom_id "
            "and raw ->> '$.response.body.choices[0].message.content' = text"
        )
        == 10
    )


def test_b51_predictions_that_are_gone_are_made_again(serve: Serve, desk: Desk) -> None:
    """Readings and predictions are derived: a rerun makes the same ones again for nothing."""
    service = serve()
    desk.run()
    before = desk.rows("from predictions order by all")
    with desk.store.writing() as con:
        con.execute("delete from predictions")
        con.execute("delete from readings")
    assert desk.run().code == 0
    assert desk.rows("from predictions order by all") == before
    assert len(service.log()["creates"]) == 1


def test_a_question_whose_answer_is_known_is_answered_from_it(
    serve: Serve, desk: Desk, tmp_path: Path
) -> None:
    """Two strategies that ask the same words share the answers, and both have predictions."""
    service = serve()
    desk.run(strategies=("one_to_one",), limit=1)
    text = (ROOT / "prompts" / "one_to_one.toml").read_text("utf-8")
    (tmp_path / "twin.toml").write_text(text.replace('scope = "step"', 'k = 1\nscope = "step"'))
    assert desk.run(strategies=("twin",), limit=1, prompts=tmp_path).code == 0
    assert len(service.log()["creates"]) == 1
    assert desk.rows("select strategy, count(*) from predictions group by 1 order by 1") == [
        ("one_to_one", 5),
        ("twin", 5),
    ]
