"""The process is killed at any moment; the next one goes on, and nothing is sent or paid twice."""

from __future__ import annotations

import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from tests.running import Desk, needless, report, running, until
from tests.wire.ledger import Log
from tests.wire.service import CallFault, Faults, spawn

MODELS = ("gpt-4o-mini", "gpt-4.1-mini", "gpt-5-mini")
ASK = (
    *("run", "--poll", "0.05", "--limit", "2", "--strategy", "window_to_one"),
    *(word for model in MODELS for word in ("--judge", f"openai:{model}")),
)
#: Long enough that a kill can fall into each state.
PACE = '{"validating": 0.1, "in_progress": 0.2, "finalizing": 0.1}'

#: Slow enough that a kill can fall between asking and hearing, and into a download.
SLOW = Faults(
    calls=(
        CallFault("files.create", "delay", times=0, seconds=0.05),
        CallFault("batches.create", "delay_after", times=0, seconds=0.15),
        CallFault("files.content", "delay", times=0, seconds=0.15),
    )
)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory, sample: Path) -> str:
    """The report of a run that nobody kills."""
    db = Path(shutil.copy(sample, tmp_path_factory.mktemp("undisturbed") / "n.duckdb"))
    with pytest.MonkeyPatch.context() as patch, spawn() as service:
        patch.setenv("NO_PROXY", "127.0.0.1")
        patch.setenv("OPENAI_BASE_URL", service.base_url)
        patch.setenv("OPENAI_API_KEY", "k1")
        assert needless(db, *ASK).exit_code == 0
    return report(db)


#: When to kill, in terms of the provider's book.
MOMENTS: dict[str, Callable[[Log], bool]] = {
    "after the first upload": lambda log: log["uploads"] == 1,
    "after the second create, which is not heard of yet": lambda log: len(log["creates"]) == 2,
    "while waiting": lambda log: log["calls"].get("batches.retrieve", 0) >= 4,
    "during the first download": lambda log: log["calls"].get("files.content", 0) == 1,
    "during the last download": lambda log: log["calls"].get("files.content", 0) == 3,
}


@pytest.mark.slow
@pytest.mark.parametrize("moment", MOMENTS)
def test_b02_a_killed_run_goes_on_where_it_was(
    db: Path, undisturbed: str, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    """Killed and resumed: three creates, each line sent and answered once, the same report."""
    with spawn("--settings", PACE) as service:
        monkeypatch.setenv("OPENAI_BASE_URL", service.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", "k1")
        service.set_faults(SLOW)
        with running(db, *ASK):
            until(lambda: MOMENTS[moment](service.log()))
            time.sleep(random.Random(moment).uniform(0, 0.05))
        service.set_faults(Faults())
        # A create that was on its way may still arrive, hence some doubt.
        desk = Desk(db, doubt=timedelta(seconds=0.5))
        desk.pace = type(desk.pace)(
            desk.pace.now, time.sleep, first=0.05, longest=0.1, doubt=timedelta(seconds=0.5)
        )
        assert desk.advance().code == 0
        log = service.log()
    assert log["crashes"] == []
    assert sorted(str(one["model"]) for one in log["creates"]) == sorted(MODELS)
    assert len(log["custom_ids"]) == 30
    assert set(log["custom_ids"].values()) == {1}
    assert set(log["answered_custom_ids"].values()) == {1}
    assert set(log["answered_bodies"].values()) == {1}
    assert desk.one("select count(*) from responses") == 30
    assert report(db) == undisturbed


def test_b81_a_process_that_dies_while_it_writes_leaves_a_file_that_opens(db: Path) -> None:
    """Killed inside a transaction: what was committed is there, the rest is not."""
    script = (
        "import os, signal, sys; from pathlib import Path; from cache.store import Store\n"
        "store = Store(Path(sys.argv[1]))\n"
        "insert = \"insert into quarantine values ('b', 'r', 1, repeat('x', 100000), now())\"\n"
        "with store.writing() as con: con.execute(insert)\n"
        "with store.writing() as con:\n"
        "    con.execute(insert); os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    for killed in range(1, 4):
        ended = subprocess.run(
            [sys.executable, "-c", script, str(db)],
            cwd=Path(__file__).parents[1],
            check=False,
        )
        assert ended.returncode == -signal.SIGKILL
        assert Desk(db).one("select count(*) from quarantine") == killed


@pytest.mark.slow
def test_b56_an_offline_run_killed_in_the_middle_goes_on(db: Path, tmp_path: Path) -> None:
    """Killed over and over, it ends with the report of an undisturbed run, each prompt once."""
    ask = ("run", "--judge", "offline:random", "--judge", "offline:rules", "--repeats", "12")
    quiet = Path(shutil.copy(db, tmp_path / "quiet.duckdb"))
    assert needless(quiet, *ask).exit_code == 0
    moments = random.Random(56)
    for _ in range(3):
        with running(db, *ask):
            until(lambda: Path(f"{db}.owner").exists())
            time.sleep(moments.uniform(0, 1.5))
    assert needless(db, *ask).exit_code == 0
    desk = Desk(db)
    assert desk.one("select count(*) from responses") == desk.one("select count(*) from prompts")
    assert desk.one("select count(*) from (select distinct prompt_hash from responses)") == (
        desk.one("select count(*) from prompts")
    )
    assert report(db) == report(quiet)
