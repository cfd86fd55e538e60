"""Presets: runs that belong together, asked for by one word."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from batcher.judge import parse
from batcher.presets import load, names
from cache.errors import InputError, UsageError
from prompts.strategy import load as strategies
from tests.conftest import Serve
from tests.running import Desk, needless

MINE = """
summary = "two ways"
[[run]]
strategy = "window_to_one"
judge = ["openai:gpt-4o-mini", "offline:rules"]
limit = 2
[[run]]
strategy = ["window_to_one", "all_to_all"]
judge = "openai:gpt-4o-mini"
gold = true
limit = 1
"""


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    path = tmp_path / "mine.toml"
    path.write_text(MINE)
    return path


@pytest.mark.parametrize("name", names())
def test_every_preset_names_judges_and_strategies_that_exist(name: str) -> None:
    """What comes with the program can be run."""
    preset = load(name)
    assert preset.summary
    known = strategies()
    for run in preset.runs:
        assert set(run.get("strategy", ())) <= known.keys()
        for judge in run.get("judge", ()):
            assert parse(judge).model


def test_the_paper_s_preset_is_its_tables(db: Path) -> None:
    """Three strategies and three judges, and once more on airline with the reference shown."""
    with Desk(db).store.writing() as con:
        con.execute("update trajectories set domain = 'airline' where rowid % 2 = 0")
    rows = json.loads(needless(db, "plan", "--preset", "paper", "--json").stdout)[:-1]
    assert len(rows) == 2 * 3 * 3
    assert sum(row["strategy"].endswith("+gold") for row in rows) == 9
    assert {row["judge"].partition("?")[0] for row in rows} == {
        "openai:gpt-5.4",
        "openai:gpt-4o",
        "deepseek:deepseek-v4-pro",
    }


def test_the_release_s_preset_is_its_three_tasks(db: Path) -> None:
    """A question for each labelled step twice, and one a trajectory; another judge may be named."""
    flags = ("--preset", "release", "--judge", "anthropic:claude-haiku-4-5")
    rows = json.loads(needless(db, "plan", *flags, "--json").stdout)
    asked = {row["strategy"]: row["requests"] for row in rows[:-1]}
    n_labels = Desk(db).one("select count(*) from labels")
    n_judged = Desk(db).one("select count(distinct trajectory_id) from steps where judged")
    assert asked == {"classify": n_labels, "retrieve": n_labels, "detect": n_judged}
    assert {row["judge"] for row in rows[:-1]} == {"anthropic:claude-haiku-4-5"}


def test_a_preset_of_one_s_own_runs_and_is_planned_before(
    serve: Serve, db: Path, mine: Path
) -> None:
    """Each table is one selection; what two of them share is sent once; the plan says so."""
    service = serve()
    total = json.loads(needless(db, "plan", "--preset", str(mine), "--json").stdout)[-1]
    result = needless(db, "run", "--preset", str(mine), "--poll", "0.05")
    assert result.exit_code == 0, result.output
    desk = Desk(db)
    assert desk.states() == {"answered": total["to send"]}
    assert set(service.log()["custom_ids"].values()) == {1}
    asked = desk.rows("select distinct strategy, gold, judge from requests order by all")
    assert asked == [
        ("all_to_all", True, "openai:gpt-4o-mini"),
        ("window_to_one", False, "offline:rules"),
        ("window_to_one", False, "openai:gpt-4o-mini"),
        ("window_to_one", True, "openai:gpt-4o-mini"),
    ]


def test_flags_go_before_a_preset_s_keys(db: Path, mine: Path) -> None:
    """A judge named beside a preset replaces its judges in every run; the rest stays."""
    flags = ("--preset", str(mine), "--judge", "offline:random", "--no-gold")
    rows = json.loads(needless(db, "plan", *flags, "--json").stdout)[:-1]
    assert {(row["judge"], row["strategy"]) for row in rows} == {
        ("offline:random", "window_to_one"),
        ("offline:random", "all_to_all"),
    }


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("[[run]]\nstrateggy = 'x'", "unknown key 'strateggy'"),
        ("[[run]]\ngold = 'yes'", "gold must be true or false"),
        ("[[run]]\nlimit = true", "limit must be a whole number"),
        ("[[run]]\njudge = 3", "judge must be a name"),
        ("summary = 'x'", "no [[run]] table"),
        ("run = 'x'", "no [[run]] table"),
        ("run = ['x']", "not a table"),
        ("other = 1\n[[run]]\nlimit = 1", "not ['other']"),
        ("[[run", "not readable as TOML"),
    ],
)
def test_a_bad_preset_is_refused_by_name(tmp_path: Path, text: str, wanted: str) -> None:
    """The file and what is wrong in it are named: a misspelt limit may cost money."""
    path = tmp_path / "bad.toml"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        load(str(path))
    assert str(path) in str(caught.value)
    assert wanted in str(caught.value)


def test_an_unknown_preset_lists_the_known_ones() -> None:
    """Who mistypes a name is told the names."""
    with pytest.raises(UsageError, match="paper"):
        load("papr")
