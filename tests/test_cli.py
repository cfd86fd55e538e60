"""The command line: exit codes, stdout for data and stderr for talk, wrong input of every kind."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
import time
from pathlib import Path

import duckdb
import pytest

from cache.store import Store
from cli import main
from tests.conftest import Serve
from tests.running import ROOT, Desk, needless, program, running, until
from tests.wire.service import Faults, LineFault, Settings

RULES = ("run", "--judge", "offline:rules", "--limit", "2", "--strategy", "all_to_all")
OPENAI = ("run", "--judge", "openai:gpt-4o-mini", "--limit", "1", "--poll", "0.05")


@pytest.fixture(scope="module")
def scored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database in which the offline judge was asked about two trajectories of the sample."""
    db = tmp_path_factory.mktemp("scored") / "n.duckdb"
    assert needless(db, *RULES).exit_code == 0
    return db


@pytest.mark.parametrize("command", sorted(main.commands))
def test_every_command_explains_itself(command: str) -> None:
    """Each command has a first sentence, and each of its flags a help text."""
    result = needless(None, command, "--help")
    assert result.exit_code == 0
    assert main.commands[command].get_short_help_str()
    assert result.stdout.startswith(f"Usage: main {command}")


def test_run_with_nothing_imported_uses_the_sample(tmp_path: Path) -> None:
    """No key, no network, no file: the sample is imported, said so on stderr, scores on stdout."""
    result = needless(tmp_path / "n.duckdb", *RULES)
    assert result.exit_code == 0
    assert "using the bundled sample, 16 trajectories" in result.stderr
    assert "offline:rules" in result.stdout
    assert "sample" not in result.stdout.split("\n", 1)[0]


def test_events_can_be_json(tmp_path: Path) -> None:
    """With --json each line of stderr is an object with a time and an event."""
    result = needless(tmp_path / "n.duckdb", "--json", *RULES)
    events = [json.loads(line) for line in result.stderr.splitlines()]
    assert all(set(event) >= {"at", "event"} for event in events)
    assert events


def test_exit_code_3_is_not_finished_yet(serve: Serve, db: Path) -> None:
    """A run that does not wait, and a submit, end with 3 while the provider works."""
    service = serve()
    service.hold()
    assert needless(db, *OPENAI, "--no-wait").exit_code == 3
    assert needless(db, "submit", *OPENAI[1:-2]).exit_code == 3
    assert needless(db, "resume", "--no-wait").exit_code == 3
    assert len(service.log()["creates"]) == 1


def test_exit_code_4_is_an_answer_missing(serve: Serve, db: Path) -> None:
    """A finished run with an unreadable answer prints its scores and ends with 4."""
    serve(Faults(lines=(LineFault("text", value="no", times=1),)))
    result = needless(db, *OPENAI)
    assert result.exit_code == 4
    assert "have no answer that can be read" in result.stderr
    assert "gpt-4o-mini" in result.stdout


@pytest.mark.parametrize("form", ["table", "csv", "json", "md", "html", "latex"])
def test_every_form_of_a_report(scored: Path, form: str) -> None:
    """The same scores in six forms; stderr is silent."""
    result = needless(scored, "report", "--format", form)
    assert (result.exit_code, result.stderr) == (0, "")
    assert "all_to_all" in result.stdout.replace("\\_", "_")
    if form == "csv":
        rows = list(csv.DictReader(io.StringIO(result.stdout)))
        assert [row["level"] for row in rows if row["judge"] != "baseline"] == [
            "Traj-level",
            "Step-level",
        ]
    if form == "json":
        assert json.loads(result.stdout)[0]["strategy"] == "all_to_all"


def test_a_report_is_written_whole_or_not_at_all(scored: Path, tmp_path: Path) -> None:
    """--output replaces a file in one step, and leaves nothing where it cannot."""
    target = tmp_path / "scores.csv"
    target.write_text("old")
    args = ("report", "--format", "csv", "--output")
    assert needless(scored, *args, str(target)).exit_code == 0
    assert target.read_text() == needless(scored, "report", "--format", "csv").stdout
    result = needless(scored, *args, str(tmp_path / "missing" / "scores.csv"))
    assert result.exit_code == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["scores.csv"]


def test_a_narrow_terminal_breaks_no_line(scored: Path) -> None:
    """A table fits the width it has, and loses no column."""
    wide = needless(scored, "report", "step_scores", columns=400).stdout
    narrow = needless(scored, "report", "step_scores", columns=60).stdout
    assert max(map(len, narrow.splitlines())) <= 60 < max(map(len, wide.splitlines()))
    assert "trajectory_correct" in narrow


def test_export_writes_tables_that_can_be_read_back(scored: Path, tmp_path: Path) -> None:
    """Every table becomes one Parquet file with the same rows; their names are on stdout."""
    result = needless(scored, "export", str(tmp_path / "it's here"))
    paths = [Path(line) for line in result.stdout.splitlines()]
    tables = {path.stem for path in paths}
    assert {"trajectories", "steps", "labels", "prompts", "responses", "predictions"} <= tables
    store = Store(scored)
    with duckdb.connect() as con:
        for path in paths:
            ((count,),) = con.execute(
                "select count(*) from read_parquet($1)", [str(path)]
            ).fetchall()
            assert store.query(f"select count(*) from {path.stem}")[1] == [(count,)]


def test_status_lists_every_batch(scored: Path) -> None:
    """One row a batch with its state and how many answers are stored."""
    rows = json.loads(needless(scored, "status", "--format", "json").stdout)
    assert [(row["status"], row["prompts"], row["responses"]) for row in rows] == [
        ("ingested", 2, 2)
    ]


def test_resume_by_either_id_or_by_none(serve: Serve, db: Path) -> None:
    """A batch goes on by our id, by the provider's, or with everything that is open."""
    service = serve()
    service.hold()
    judges = [f"openai:{model}" for model in ("gpt-4o-mini", "gpt-4.1-mini", "gpt-5-mini")]
    ours = Desk(db).send(*judges, limit=1)
    remote = [one["batch_id"] for one in service.log()["creates"]]
    service.release()
    assert needless(db, "resume", ours[0], "--poll", "0.05").exit_code == 0
    state = "select count(*) from batch_states where is_open"
    assert Desk(db).one(state) == 2
    left = [
        one
        for one in remote
        if Desk(db).rows(f"select 1 from batch_states where is_open and remote_id = '{one}'")
    ]
    assert needless(db, "resume", left[0], "--poll", "0.05").exit_code == 0
    assert Desk(db).one(state) == 1
    assert needless(db, "resume", "--poll", "0.05").exit_code == 0
    assert Desk(db).one(state) == 0
    assert len(service.log()["creates"]) == 3


def test_cancel_keeps_what_was_finished(serve: Serve, db: Path) -> None:
    """A cancelled batch is brought home: two of five answers are kept."""
    service = serve()
    service.hold(done=2)
    (name,) = Desk(db).send(limit=1)
    assert needless(db, "cancel", name, "--poll", "0.05").exit_code == 0
    assert Desk(db).outcomes() == {"ok": 2, "cancelled": 3}
    assert service.log()["cancelled"] == [service.log()["creates"][0]["batch_id"]]


def test_plan_sends_and_stores_nothing(serve: Serve, db: Path) -> None:
    """A plan counts prompts, tokens and dollars; after a run it says that nothing is to be sent."""
    service = serve()
    args = ("plan", *OPENAI[1:-2], "--format", "json")
    plan = json.loads(needless(db, *args).stdout)
    assert plan[-1]["judge"] == "total"
    assert plan[-1]["to send"] == 10
    assert plan[-1]["input tokens"] > 1000
    assert Desk(db).one("select count(*) from prompts") == 0
    assert service.log()["calls"] == {}
    assert needless(db, *OPENAI).exit_code == 0
    assert json.loads(needless(db, *args).stdout)[-1]["to send"] == 0


def test_b70_plan_needs_no_key_and_no_network(db: Path) -> None:
    """Without a key a plan is made all the same, and a model without a price is called so."""
    result = needless(db, "plan", "--judge", "openai:gpt-4o", "--judge", "openai:foo-1")
    assert result.exit_code == 0
    assert "unpriced" in result.stdout


def test_doctor_tells_what_is_there(db: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A missing key is no fault and a key is never shown; a database that fails is one."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret")
    result = needless(db, "doctor")
    assert result.exit_code == 0
    assert "OPENAI_API_KEY" in result.stdout
    assert "very-secret" not in result.stdout + result.stderr
    db.write_text("broken" * 1000)
    assert needless(db, "doctor").exit_code == 1


def test_lists_of_strategies_and_judges() -> None:
    """Both lists are data and need no database."""
    strategies = json.loads(needless(None, "strategies", "--format", "json").stdout)
    assert {"one_to_one", "window_to_one", "all_to_all"} <= {row["strategy"] for row in strategies}
    judges = json.loads(needless(None, "judges", "--format", "json").stdout)
    assert {"offline:rules", "offline:random", "openai:MODEL"} <= {row["judge"] for row in judges}


def test_b79_a_query_is_answered_while_a_run_waits(serve: Serve, db: Path) -> None:
    """While one process waits for a provider, another one reads within two seconds."""
    service = serve(settings=Settings(validating=0, in_progress=60, finalizing=0))
    service.hold()
    with running(db, *OPENAI):
        until(lambda: service.log()["calls"].get("batches.retrieve", 0) > 2)
        for _ in range(3):
            began = time.monotonic()
            result = needless(db, "query", "select count(*) as n from prompts", "--format", "csv")
            assert time.monotonic() - began < 2
            assert result.stdout == "n\n10\n"


def test_a_clone_runs_from_any_folder(tmp_path: Path) -> None:
    """``python cli.py`` works from elsewhere and puts its database where it was called."""
    with program(Path("here.duckdb"), *RULES, cwd=tmp_path) as process:
        out, err = process.communicate(timeout=60)
    assert (process.returncode, (tmp_path / "here.duckdb").exists()) == (0, True)
    assert "offline:rules" in out
    assert "\x1b" not in out + err


def test_help_loads_no_vendor() -> None:
    """--help pays for no SDK, no database and no template engine."""
    script = (
        "import sys; sys.argv = ['needless', '--help']; import cli\n"
        "try: cli.main()\n"
        "except SystemExit: pass\n"
        "print(sorted({'openai', 'anthropic', 'duckdb', 'jinja2', 'rich'} & set(sys.modules)))"
    )
    ended = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert ended.stdout.splitlines()[-1] == "[]"
