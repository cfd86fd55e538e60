"""`needless recheck`: a sample of answered prompts asked again, and what was answered stays."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from batcher.predict import predict
from tests.conftest import Serve
from tests.running import JUDGE, Desk, needless, running, until
from tests.vendors import CLAUDE, for_all
from tests.wire.ledger import Log
from tests.wire.service import CallFault, Faults, LineFault, spawn

WAY = ("--strategy", "window_to_one", "--limit", "2")
OPENAI = ("--judge", JUDGE, *WAY)
POLL = ("--poll", "0.05")
ALL = ("--share", "1")

#: What a recheck must leave as it is.
SCORED = (
    "from predictions order by all",
    "select * exclude (mode) from requests order by all",
    "from scores order by all",
    "from step_scores order by all",
    "from coverage order by all",
    "from verdicts order by all",
)

#: First and later verdict of each prompt that was asked again, read off the texts alone.
TEXTS = (
    "select (first.text ->> 'redundant')::boolean, (later.text ->> 'redundant')::boolean "
    "from rechecks join responses as first using (prompt_hash) "
    "join responses as later on later.prompt_hash = rechecks.again_hash"
)


@pytest.fixture(name="serve")
def for_every_vendor(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> Serve:
    return for_all(serve, monkeypatch)


def recheck(db: Path, *flags: str, code: int = 0) -> str:
    """Ask again; return what is said."""
    result = needless(db, "recheck", *flags, *POLL)
    assert result.exit_code == code, result.output
    return result.stderr


def drift(db: Path) -> list[dict[str, Any]]:
    return list(json.loads(needless(db, "report", "drift", "--format", "json").stdout))


def again(desk: Desk) -> list[tuple[Any, ...]]:
    """What is asked again: (round, prompt), in order."""
    return desk.rows("select round, prompt_hash from rechecks order by all")


@pytest.mark.parametrize("judge", [JUDGE, f"{JUDGE}?mode=live", CLAUDE])
def test_flips_are_counted_and_nothing_else_changes(serve: Serve, desk: Desk, judge: str) -> None:
    """A judge that says something else later: flips as the texts tell, scores as before."""
    serve(Faults(vary_repeats=True))
    assert desk.run(judge).code == 0
    before = [desk.rows(statement) for statement in SCORED]
    paid = set(desk.rows("from responses"))
    recheck(desk.store.path, "--judge", judge, *WAY, *ALL)
    assert [desk.rows(statement) for statement in SCORED] == before
    assert paid < set(desk.rows("from responses"))
    pairs = desk.rows(TEXTS)
    (row,) = drift(desk.store.path)
    flips = sum(first != later for first, later in pairs)
    assert 0 < flips < len(pairs) == 10
    assert (row["n_rechecked"], row["n_answered"], row["n_steps"]) == (10, 10, 10)
    assert (row["n_flipped"], row["flip_rate"]) == (flips, flips / 10)
    assert row["n_to_redundant"] == sum(later and not first for first, later in pairs)
    assert row["n_to_redundant"] + row["n_to_necessary"] == flips


def test_a_judge_that_stays_the_same_never_flips(db: Path) -> None:
    """Programs are deterministic: no flip in any strategy, also where one prompt has many steps."""
    assert needless(db, "run", "--judge", "offline:random", "--repeats", "2").exit_code == 0
    recheck(db, "--judge", "offline:random", "--repeats", "2", *ALL)
    rows = drift(db)
    assert {row["strategy"] for row in rows} == {"one_to_one", "window_to_one", "all_to_all"}
    assert {row["flip_rate"] for row in rows} == {0}
    desk = Desk(db)
    steps = desk.one("select count(*) from predictions")
    assert sum(row["n_steps"] for row in rows) == steps
    assert desk.one("select count(distinct again_hash) from rechecks") == desk.one(
        "select count(distinct prompt_hash) from requests"
    )


def test_the_same_recheck_again_asks_nothing_again(serve: Serve, desk: Desk) -> None:
    """A round is asked once; another number is another round, and asks the same prompts anew."""
    service = serve()
    desk.run()
    said = recheck(desk.store.path, *OPENAI, *ALL)
    assert "round 1 asks 10 of 10 answered prompts again, 10 of them newly drawn" in said
    assert len(service.log()["creates"]) == 2
    assert "0 of them newly drawn" in recheck(desk.store.path, *OPENAI, *ALL)
    assert len(service.log()["creates"]) == 2
    recheck(desk.store.path, *OPENAI, *ALL, "--again", "2")
    assert len(service.log()["creates"]) == 3
    assert [row["round"] for row in drift(desk.store.path)] == [1, 2]
    assert set(service.log()["answered_bodies"].values()) == {3}


def test_the_sample_is_a_matter_of_seed_and_prompt(desk: Desk) -> None:
    """The same seed draws the same; a larger share adds; more prompts in the cache move none."""
    db, judge = desk.store.path, ("--judge", "offline:rules")
    desk.run("offline:rules", limit=8)
    flags = (*judge, "--strategy", "window_to_one")
    recheck(db, *flags, "--share", "0.3")
    first = again(desk)
    total = desk.one("select count(distinct prompt_hash) from requests")
    assert 0 < len(first) < total
    recheck(db, *flags, "--share", "0.3", "--again", "2", "--seed", "2")
    other = [prompt for number, prompt in again(desk) if number == 2]
    assert other != [prompt for _, prompt in first]
    desk.run("offline:rules", limit=None)
    recheck(db, *flags, "--share", "0.3", "--again", "3")
    later = [prompt for number, prompt in again(desk) if number == 3]
    known = {
        row[0]
        for row in desk.rows(
            "select prompt_hash from requests where trajectory_id in "
            "(select trajectory_id from trajectories limit 8)"
        )
    }
    assert len(later) > len(first)
    assert {prompt for _, prompt in first} <= {*later}
    assert {prompt for prompt in later if prompt in known} == {prompt for _, prompt in first}
    recheck(db, *flags, "--share", "0.6")
    assert {*first} < {row for row in again(desk) if row[0] == 1}


def test_at_least_one_is_asked(desk: Desk) -> None:
    """However small the share, something is checked; with nothing answered that is an error."""
    said = recheck(desk.store.path, "--judge", "offline:rules", code=2)
    assert "`needless run` with the same selection asks first" in said
    desk.run("offline:rules")
    said = recheck(desk.store.path, "--judge", "offline:rules", "--share", "0.000001")
    assert "asks 1 of 10 answered prompts" in said


def test_only_the_selection_is_asked_again(serve: Serve, desk: Desk) -> None:
    """Another judge's answers, and what has none, are left alone."""
    service = serve(Faults(lines=(LineFault("text", value="no", times=1),)))
    assert desk.run().code == 4
    desk.run("openai:gpt-4.1-mini")
    assert "of 9 answered" in recheck(desk.store.path, *OPENAI, *ALL)
    assert [one["lines"] for one in service.log()["creates"]] == [10, 10, 9]
    assert {row["judge"] for row in drift(desk.store.path)} == {JUDGE}


def test_an_answer_that_cannot_be_read_is_no_flip(serve: Serve, desk: Desk) -> None:
    """It counts as rechecked and not as answered; the exit code says so; no rate of nothing."""
    service = serve()
    desk.run()
    service.set_faults(Faults(lines=(LineFault("text", value="no"),)))
    said = recheck(desk.store.path, *OPENAI, *ALL, code=4)
    assert "10 of 10 prompts have no answer that can be read" in said
    (row,) = drift(desk.store.path)
    assert (row["n_rechecked"], row["n_answered"], row["n_steps"]) == (10, 0, 0)
    assert row["flip_rate"] is None
    assert desk.one("select coverage from coverage") == 1


def test_an_answer_cut_short_is_not_asked_with_more_room(serve: Serve, desk: Desk) -> None:
    """A wider prompt would be another one than the one that is checked: it has no answer."""
    service = serve()
    desk.run()
    service.set_faults(Faults(lines=(LineFault("length", times=1),)))
    recheck(desk.store.path, *OPENAI, *ALL, code=4)
    assert [one["lines"] for one in service.log()["creates"]] == [10, 10]
    assert drift(desk.store.path)[0]["n_answered"] == 9
    assert desk.one("select count(*) from widened") == 0


def test_a_widened_prompt_is_checked_as_what_was_answered(serve: Serve, desk: Desk) -> None:
    """The answer that counts came from the wider prompt, and that one is asked again."""
    serve(Faults(lines=(LineFault("length", times=1),)))
    assert desk.run().code == 0
    recheck(desk.store.path, *OPENAI, *ALL)
    assert drift(desk.store.path)[0]["n_answered"] == 10
    assert desk.rows(
        "select count(*) from rechecks join widened on wider_hash = rechecks.prompt_hash"
    ) == [(1,)]


def test_verdicts_can_be_made_again_for_nothing(serve: Serve, desk: Desk) -> None:
    """They are derived: thrown away with the predictions, and the drift is the same."""
    serve(Faults(vary_repeats=True))
    desk.run()
    recheck(desk.store.path, *OPENAI, *ALL)
    before = drift(desk.store.path)
    predict(desk.store, anew=True)
    assert drift(desk.store.path) == before


def test_no_wait_leaves_and_resume_goes_on(serve: Serve, desk: Desk) -> None:
    """Exit code 3 while it is open; a resume of everything, without an id, stores the answers."""
    service = serve()
    desk.run()
    service.hold()
    said = recheck(desk.store.path, *OPENAI, *ALL, "--no-wait", code=3)
    assert "sent 10 prompts" in said
    assert drift(desk.store.path)[0]["n_answered"] == 0
    service.release()
    assert needless(desk.store.path, "resume", *POLL).exit_code == 0
    assert drift(desk.store.path)[0]["n_answered"] == 10
    assert len(service.log()["creates"]) == 2


def test_what_was_drawn_and_not_sent_is_due(serve: Serve, desk: Desk) -> None:
    """Killed between the draw and the sending: a plain resume sends it, once."""
    from batcher import session
    from batcher.recheck import Draw, draw

    service = serve()
    desk.run()
    made = session.select(("window_to_one",), (JUDGE,), None, limit=2)
    draw(desk.store, [made], Draw(share=1.0), desk.pace.now())
    assert needless(desk.store.path, "resume", *POLL).exit_code == 0
    assert drift(desk.store.path)[0]["n_answered"] == 10
    recheck(desk.store.path, *OPENAI, *ALL)
    assert [one["lines"] for one in service.log()["creates"]] == [10, 10]


def test_a_lost_database_pays_for_no_recheck_twice(serve: Serve, db: Path) -> None:
    """Put back from the journal: the same recheck finds its answers under the same hashes."""
    service = serve(Faults(vary_repeats=True))
    desk = Desk(db)
    desk.run()
    recheck(db, *OPENAI, *ALL, "--keep-remote")
    before, sent = drift(db), len(service.log()["creates"])
    db.unlink()
    assert needless(db, "doctor", "--repair").exit_code == 0
    # The bundled sample is imported anew, and the results are fetched.
    assert needless(db, "run", *OPENAI, *POLL).exit_code == 0
    assert needless(db, "resume", *POLL).exit_code == 0
    recheck(db, *OPENAI, *ALL)
    assert drift(db) == before
    assert len(service.log()["creates"]) == sent == 2


#: When to kill, in terms of the provider's book.
MOMENTS: dict[str, Callable[[Log], bool]] = {
    "after the upload": lambda log: log["uploads"] == 2,
    "after the create, which is not heard of yet": lambda log: len(log["creates"]) == 2,
    "during the download": lambda log: log["calls"].get("files.content", 0) == 2,
}
SLOW = Faults(
    calls=(
        CallFault("files.create", "delay", times=0, seconds=0.1),
        CallFault("batches.create", "delay_after", times=0, seconds=0.15),
        CallFault("files.content", "delay", times=0, seconds=0.15),
    )
)


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_killed_recheck_pays_nothing_twice(
    db: Path, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    """Killed and run again with the same words: one more create, each prompt asked again once."""
    with spawn() as service:
        monkeypatch.setenv("OPENAI_BASE_URL", service.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", "k1")
        desk = Desk(db)
        assert desk.run().code == 0
        service.set_faults(SLOW)
        with running(db, "recheck", *OPENAI, *ALL, *POLL):
            until(lambda: MOMENTS[moment](service.log()))
            time.sleep(0.02)
        service.set_faults(Faults())
        result = needless(db, "recheck", *OPENAI, *ALL, "--poll", "0.1")
        assert result.exit_code == 0, result.output
        log: Log = service.log()
    assert log["crashes"] == []
    assert len(log["creates"]) == 2
    assert set(log["custom_ids"].values()) == {1}
    assert set(log["answered_bodies"].values()) == {2}
    assert desk.one("select count(*) from responses") == 20
    assert desk.one("select count(*) from rechecks") == 10
    assert drift(db)[0]["flip_rate"] == 0
