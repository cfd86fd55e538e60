"""`needless cache explain`: why a question hits or misses, and what its neighbour has else."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from prompts import strategy
from tests.conftest import Serve
from tests.running import JUDGE, Desk, needless
from tests.wire.service import Faults, LineFault

TRAJECTORY, STEP = "library-01", "2"
WAY: dict[str, Any] = {"strategies": ("window_to_one",), "limit": 1}


def explained(db: Path, *flags: str, judge: str = JUDGE) -> list[dict[str, Any]]:
    """The rows of one explanation, of one strategy unless the flags name more."""
    asked = ("--judge", judge, "--strategy", "window_to_one", *flags, "--format", "json")
    result = needless(db, "cache", "explain", TRAJECTORY, STEP, *asked)
    assert result.exit_code == 0, result.stderr
    return list(json.loads(result.stdout))


def test_a_hit_names_its_batch(serve: Serve, desk: Desk) -> None:
    """Answered: by which batch, on which day; there is nothing to compare."""
    serve()
    desk.run(**WAY)
    (row,) = explained(desk.store.path)
    ((batch_id, day),) = desk.rows(
        "select batch_id, received_at::date::varchar from responses group by all"
    )
    assert row["state"] == "answered"
    assert row["why"].startswith(f"by batch {batch_id}, {day}")
    assert (row["neighbour"], row["field"]) == (None, None)


def test_a_parameter_that_was_added_is_found(serve: Serve, desk: Desk) -> None:
    """The classic miss: temperature 0 asked, none stored."""
    serve()
    desk.run(**WAY)
    (row,) = explained(desk.store.path, judge=f"{JUDGE}?temperature=0")
    assert row["state"] == "never asked"
    assert row["neighbour"].startswith("window_to_one ")
    assert ": answered by batch" in row["neighbour"]
    assert (row["field"], row["asked"], row["neighbour's"]) == ("temperature", "0.0", "none")


def test_an_edited_strategy_is_found(serve: Serve, desk: Desk, tmp_path: Path) -> None:
    """One word of a system prompt: where it stands, and the words on both sides."""
    serve()
    desk.run(**WAY)
    own = Path(shutil.copytree(Path(strategy.__file__).parent, tmp_path / "own"))
    text = (own / "window_to_one.toml").read_text("utf-8")
    (own / "window_to_one.toml").write_text(text.replace("system = '''", "system = '''Be brief. "))
    (row,) = explained(desk.store.path, "--prompts", str(own))
    assert (row["state"], row["field"], row["at"]) == ("never asked", "system text", 0)
    assert row["asked"].startswith("Be brief. ")
    stored = desk.one("select any_value(body -> 'messages' -> 0 ->> 'content') from prompt_bodies")
    assert stored.startswith(row["neighbour's"].removesuffix("…"))


def test_the_nearest_neighbour_is_of_the_same_model(serve: Serve, desk: Desk) -> None:
    """With gold, a prompt without it to the same model is nearer than one to another model."""
    serve()
    desk.run(JUDGE, "openai:gpt-4.1-mini", **WAY)
    rows = explained(desk.store.path, "--gold", "--repeats", "2")
    assert {row["neighbour"].split(" by ")[1].split(",")[0] for row in rows} == {JUDGE}
    assert [(row["repeat"], row["field"]) for row in rows] == [
        (0, "user text"),
        (1, "user text"),
        (1, "repeat"),
    ]


def test_a_model_that_was_never_asked_about_the_step(serve: Serve, desk: Desk) -> None:
    """Other trajectories of the same model serve as neighbours; with none there is none."""
    serve()
    assert explained(desk.store.path)[0]["neighbour"] is None
    desk.run(strategies=("window_to_one",), datasets=("sample",), limit=3)
    with desk.store.writing() as con:
        con.execute("delete from requests where trajectory_id = $1", [TRAJECTORY])
    rows = explained(desk.store.path, judge=f"{JUDGE}?seed=1")
    assert {row["field"] for row in rows} == {"seed", "user text"}


def test_what_is_stored_and_not_sent_is_due(serve: Serve, desk: Desk) -> None:
    """A prompt may be known and have no answer: due, and held against nothing of its own."""
    serve()
    desk.ask(**WAY)
    rows = explained(desk.store.path)
    assert {(row["state"], row["why"]) for row in rows} == {("due", "stored, not sent yet")}
    assert {row["neighbour"] for row in rows} == {None}


def test_what_is_in_flight_names_its_batch(serve: Serve, desk: Desk) -> None:
    """While a provider works on it the batch that speaks for it is told."""
    service = serve()
    service.hold()
    (batch_id,) = desk.send(**WAY)
    row = explained(desk.store.path)[0]
    assert (row["state"], row["why"]) == ("in flight", f"in batch {batch_id}, submitted")


def test_what_was_given_up_says_why(serve: Serve, desk: Desk) -> None:
    """An answer that cannot be read: the parser's reason is the reason."""
    serve(Faults(lines=(LineFault("text", value="no"),)))
    assert desk.run(**WAY).code == 4
    row = explained(desk.store.path)[0]
    assert row["state"] == "given up"
    assert row["why"] == (
        "after 1 counted attempts, the last one unparseable: not one JSON object: 'no'"
    )


def test_a_widened_prompt_is_explained_as_what_it_became(serve: Serve, desk: Desk) -> None:
    """Cut short, asked again with more room and answered: a hit, and it says how."""
    serve(Faults(lines=(LineFault("length", times=5),)))
    desk.run(**WAY)
    (row,) = explained(desk.store.path)
    assert row["state"] == "answered"
    assert row["why"].endswith("as a wider prompt, since the answer was cut short before")


def test_nothing_is_stored_by_asking_why(serve: Serve, desk: Desk) -> None:
    """An explanation changes no row, and calls nobody."""
    service = serve()
    desk.run(**WAY)
    count = "select count(*) from prompts union all select count(*) from requests"
    before, calls = desk.rows(count), service.log()["calls"]
    explained(desk.store.path, "--repeats", "3")
    assert (desk.rows(count), service.log()["calls"]) == (before, calls)


@pytest.mark.parametrize("form", ["table", "csv", "json", "md", "html"])
def test_every_form_of_an_explanation(serve: Serve, desk: Desk, form: str) -> None:
    """All forms hold the field; the head of an id is enough; a narrow terminal breaks no line."""
    serve()
    desk.run(**WAY)
    asked = ("--judge", f"{JUDGE}?temperature=0", "--format", form)
    result = needless(desk.store.path, "cache", "explain", "library-01", STEP, *asked, columns=60)
    assert "temperature" in result.stdout
    if form == "table":
        assert max(map(len, result.stdout.splitlines())) <= 60


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (("zz", "2"), "no trajectory's id begins with 'zz'; imported: library-01, "),
        (("library-0", "2"), "'library-0' begins the ids of "),
        (("library-01", "900"), "does not exist; judged steps: 2, 3"),
        (("library-01", "0"), "is not a judged one; judged steps: 2, 3"),
        (("library-02", "2", "--limit", "1"), "is not in the selection; --all "),
    ],
)
def test_what_is_not_there_is_told_with_what_is(
    db: Path, asked: tuple[str, ...], said: str
) -> None:
    """A name that nothing has, one that several have, a step that nobody is asked about."""
    result = needless(db, "cache", "explain", *asked)
    assert result.exit_code == 2
    assert said in result.stderr
