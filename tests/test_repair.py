"""Files that do not open any more: `doctor --repair` brings the database back, and every batch."""

from __future__ import annotations

import random
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from cache.collect import SAMPLE
from cache.errors import StoreBroken
from cache.repair import save
from cache.store import Store
from tests.conftest import Serve
from tests.running import ROOT, Desk, needless
from tests.wire.ledger import Log
from tests.wire.service import CallFault, Faults, Service

Damage = Callable[[bytes], bytes]
WAY = ("--strategy", "window_to_one", "--judge", "openai:gpt-4o-mini", "--limit", "2")

#: Commits what it is told to, with the checkpoint put off, and dies in its next transaction.
WRITER = """
import os, signal, sys
from pathlib import Path
from cache.store import Store
with Store(Path(sys.argv[1])).writing() as con:
    for statement in sys.argv[2:]:
        con.execute(statement)
    con.execute("commit")
    con.execute("begin")
    con.execute("insert into quarantine values ('b', 'torn', 1, 'x', now())")
    os.kill(os.getpid(), signal.SIGKILL)
"""
ROWS = "insert into quarantine select 'b', 'r', range, 'x', now() from range(1000)"


def die_writing(db: Path, *statements: str) -> Path:
    """Leave a write-ahead log with these statements in it, and return its path."""
    command = [sys.executable, "-c", WRITER, str(db), *statements]
    assert subprocess.run(command, cwd=ROOT, check=False).returncode == -signal.SIGKILL
    log = Path(f"{db}.wal")
    assert log.stat().st_size > 1000
    return log


def garbled(data: bytes) -> bytes:
    """The first half as it was, and noise."""
    half = len(data) // 2
    return data[:half] + random.Random(81).randbytes(len(data) - half)


def noise(data: bytes) -> bytes:
    return random.Random(81).randbytes(len(data))


def repair(db: Path) -> str:
    """Repair a database that can be repaired; return what was said."""
    result = needless(db, "doctor", "--repair")
    assert result.exit_code == 0, result.output
    assert "Traceback" not in result.output
    return " ".join(result.stderr.split())


def bought_once(service: Service) -> Log:
    """Assert that the provider got one batch with ten lines, and answered each of them once."""
    log = service.log()
    assert len(log["creates"]) == 1
    assert len(log["custom_ids"]) == 10
    assert set(log["custom_ids"].values()) == {1}
    assert set(log["answered_bodies"].values()) == {1}
    return log


@pytest.mark.parametrize(
    "damage", [garbled, lambda log: log[:200] + noise(log)[200:400] + log[400:]]
)
def test_b81_a_log_that_cannot_be_replayed_is_moved_aside(db: Path, damage: Damage) -> None:
    """Every command names the cure; the cure keeps the log, and the file opens without it."""
    log = die_writing(db, ROWS)
    broken = damage(log.read_bytes())
    log.write_bytes(broken)
    for command in ("doctor", "status"):
        result = needless(db, command)
        assert result.exit_code == 1
        assert "needless doctor --repair" in " ".join(result.output.split())
    said = repair(db)
    (aside,) = db.parent.glob("n.duckdb.wal.broken-*")
    assert f"the write-ahead log was moved to {aside}" in said
    assert aside.read_bytes() == broken
    assert Desk(db).one("select count(*) from trajectories") == 16
    assert "opens, and all of it can be read" in repair(db)


@pytest.mark.parametrize("damage", [lambda log: log[:-10], noise, lambda log: log[:7]])
def test_b81_a_log_that_was_cut_short_costs_what_it_lacks(db: Path, damage: Damage) -> None:
    """DuckDB leaves out what is torn: the file opens, and what was there before is there."""
    log = die_writing(db, ROWS)
    log.write_bytes(damage(log.read_bytes()))
    assert "opens" in repair(db)
    desk = Desk(db)
    assert desk.one("select count(*) from quarantine where reason = 'torn'") == 0
    assert desk.one("select count(*) from trajectories") == 16


@pytest.mark.parametrize("has_id", [True, False], ids=["named", "in doubt"])
def test_b81_what_a_lost_log_held_is_put_back_before_anything_is_sent(
    serve: Serve, db: Path, has_id: bool
) -> None:
    """A database set back to before its batch opens without a word; a run finds the batch."""
    faults = () if has_id else (CallFault("batches.create", "drop_after"),)
    service = serve(Faults(calls=faults))
    desk = Desk(db)
    scope = desk.ask()
    before = Path(shutil.copy(db, db.with_name("before")))
    desk.advance(scope, collect=False, wait=False) if not has_id else desk.send()
    shutil.copy(before, db)
    assert "--repair` puts them back" in " ".join(needless(db, "doctor").stdout.split())
    result = needless(db, "run", *WAY, "--poll", "0.05")
    assert result.exit_code == 0, result.output
    assert "put back, 10 prompts" in result.stderr
    bought_once(service)
    assert Desk(db).states() == {"answered": 10}
    assert needless(db, "resume").stderr == ""


@pytest.mark.parametrize("stage", ["prepared", "creating"])
def test_b81_a_batch_whose_create_the_database_forgot_is_not_created_again(
    serve: Serve, db: Path, stage: str
) -> None:
    """The row is there, its last events are not: the journal's id is taken over."""
    service = serve()
    desk = Desk(db)
    desk.send()
    keep = {"prepared": 1, "creating": 2}[stage]
    with desk.store.writing() as con:
        con.execute("update batches set remote_id = null")
        con.execute(
            "delete from batch_events where event_id >= $1 + "
            "(select min(event_id) from batch_events)",
            [keep],
        )
    assert "put back, 10 prompts" in repair(db)
    assert "the journal knows of no batch that the database lacks" in repair(db)
    assert Desk(db).advance().code == 0
    bought_once(service)


@pytest.mark.parametrize("damage", [noise, lambda data: b"", lambda data: data[:5000]])
@pytest.mark.parametrize("ended", [True, False], ids=["ingested before", "open"])
def test_b81_after_a_rebuild_nothing_is_bought_again(
    serve: Serve, db: Path, damage: Damage, ended: bool
) -> None:
    """From a file without content: the batch is back, its results come, and a run uses them."""
    service = serve()
    desk = Desk(db)
    desk.run() if ended else desk.send()
    expected = desk.one("select remote_id from batches")
    broken = damage(db.read_bytes())
    db.write_bytes(broken)
    assert "needless doctor --repair" in needless(db, "status").stderr
    said = repair(db)
    (aside,) = db.parent.glob("n.duckdb.broken-*")
    assert aside.read_bytes() == broken
    assert f"fetches the results of {expected}" in said
    assert "knows of no batch" in repair(db)
    result = needless(db, "resume", "--poll", "0.05")
    assert result.exit_code == 0, result.output
    assert Desk(db).outcomes() == {"ok": 10}
    result = needless(db, "run", *WAY, "--poll", "0.05")
    assert result.exit_code == 0, result.output
    desk = Desk(db)
    bought_once(service)
    assert desk.states() == {"answered": 10}
    assert desk.one("select count(*) from predictions") == 10
    assert desk.one("select count(*) from prompts where n_bytes > 0 and n_input_tokens > 0") == 10
    assert desk.one("select count(*) from prompts where settings = ''") == 0
    assert desk.one("select count(distinct prompt_hash) from prompt_bodies") == 10
    assert desk.one("select count(*) from prompt_bodies") == 10


def test_b81_a_batch_in_doubt_without_bodies_is_not_sent_empty(serve: Serve, db: Path) -> None:
    """Not at the provider, and its bodies lost: it is closed, and asked for again by a run."""
    service = serve(Faults(calls=(CallFault("batches.create", "drop"),)))
    desk = Desk(db)
    desk.advance(desk.ask(), collect=False, wait=False)
    assert service.log()["creates"] == []
    db.write_bytes(b"")
    assert "may exist at openai" in repair(db)
    ended = Desk(db).advance()
    assert ended.code == 1
    assert "the bodies of its prompts went with a lost database" in ended.message
    assert service.log()["creates"] == []
    assert needless(db, "run", *WAY, "--poll", "0.05").exit_code == 0
    bought_once(service)


def test_b81_a_retry_that_waits_for_its_body_does_not_keep_a_resume_going(
    serve: Serve, db: Path
) -> None:
    """An expired line in a rebuilt database ends the resume; the next run sends it again."""
    serve()
    desk = Desk(db)
    (batch_id,) = desk.send()
    db.write_bytes(b"")
    repair(db)
    desk = Desk(db)
    assert desk.advance().code == 0
    with desk.store.writing() as con:
        con.execute("update responses set outcome = 'expired'")
        con.execute("delete from readings")
    assert needless(db, "resume", batch_id, "--poll", "0.05").exit_code == 4


def test_b81_what_can_be_read_of_a_damaged_file_is_kept(serve: Serve, db: Path) -> None:
    """Damage in the paid tables leaves the imported ones, and the results are fetched again."""
    service = serve()
    desk = Desk(db)
    assert desk.run().code == 0
    with desk.store.writing() as con:  # what lies at the end of the file
        con.execute(
            "insert into quarantine select 'b', 'r', range, "
            "md5(range::varchar) || md5((range + 7)::varchar), now() from range(40000)"
        )
    data = db.read_bytes()
    at = len(data) - 3 * 262_144
    db.write_bytes(data[:at] + random.Random(81).randbytes(2 * 262_144) + data[at + 2 * 262_144 :])
    with pytest.raises(StoreBroken):
        Store(db).verify()
    said = repair(db)
    assert "trajectories and labels could be copied from it" in said
    desk = Desk(db)
    assert desk.one("select count(*) from trajectories") == 16
    assert desk.advance().code == 0
    assert desk.run().code == 0
    bought_once(service)


def test_b81_every_table_is_saved_from_a_file_that_can_be_read(serve: Serve, desk: Desk) -> None:
    """A copy has every row of every table, and new events come after the old ones."""
    serve()
    assert desk.run().code == 0
    other = Store(desk.store.path.with_name("other.duckdb"))
    assert save(other, desk.store.path) == "everything in it could be read and was copied"
    tables = {row[0] for row in desk.rows("select table_name from duckdb_tables()")}
    assert {"trajectories", "prompts", "responses", "predictions"} <= tables
    for table in tables - {"schema_versions"}:
        assert other.query(f"from {table}")[1] == desk.rows(f"from {table}")
    with other.writing() as con:
        con.execute("insert into batch_events (batch_id, status, \"at\") values ('b', 's', now())")
    assert other.query("select arg_max(status, event_id) from batch_events")[1] == [("s",)]


def test_b81_a_file_that_never_was_a_database_is_left_alone(tmp_path: Path) -> None:
    """A slip of the hand in --db costs nobody a file."""
    text = tmp_path / "notes.txt"
    text.write_text("not a database at all\n" * 100)
    result = needless(text, "doctor", "--repair")
    assert result.exit_code == 1
    assert "move it away, or name another with --db" in " ".join(result.stderr.split())
    assert [path.name for path in tmp_path.glob("notes*") if "lease" not in path.name] == [
        "notes.txt"
    ]


def test_b81_a_newer_file_is_not_taken_for_a_damaged_one(db: Path) -> None:
    """Nothing is moved aside that another version of the program can read."""
    with Store(db).writing() as con:
        con.execute("insert into schema_versions values (9999, 'later', '', '', now())")
    result = needless(db, "doctor", "--repair")
    assert result.exit_code == 1
    assert "9999 is newer" in result.stderr
    assert not list(db.parent.glob("*broken*"))


def test_doctor_repair_with_nothing_there_makes_a_database(tmp_path: Path) -> None:
    """The cure does no harm where there is no illness."""
    assert "opens" in repair(tmp_path / "n.duckdb")


#: Forks a child for each line on stdin, kills it after so many seconds, and tells what it said.
NURSERY = """
import os, signal, sys, time
from datetime import UTC, datetime
from pathlib import Path
from cache.collect import SAMPLE, collect
from cache.store import Store
from tests.running import Desk

def work(number, heard):
    desk = Desk(Path(sys.argv[1]))
    while True:
        with desk.store.writing() as con:
            con.execute("insert into quarantine values ('b', 'r', $1, 'x', now())", [number])
        os.write(heard, b"%d " % number)
        number += 1
        collect(desk.store, SAMPLE, dataset="sample", now=datetime.now(UTC))
        desk.said.clear()
        desk.run("offline:random", repeats=number, limit=1)

for line in sys.stdin:
    first, seconds = line.split()
    ear, mouth = os.pipe()
    child = os.fork()
    if not child:
        try:
            work(int(first), mouth)
        finally:
            os._exit(1)
    os.close(mouth)
    time.sleep(float(seconds))
    os.kill(child, signal.SIGKILL)
    status = os.waitpid(child, 0)[1]
    with os.fdopen(ear) as said:
        print(os.WTERMSIG(status), said.read(), flush=True)
"""


@pytest.mark.slow
def test_b81_fifty_kills_in_the_middle_of_commits(tmp_path: Path) -> None:
    """Whenever it is killed, the file opens, and what was acknowledged is in it."""
    db = tmp_path / "n.duckdb"
    moments = random.Random(81)
    stored = logs = 0
    with subprocess.Popen(
        [sys.executable, "-c", NURSERY, str(db)],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as nursery:
        assert nursery.stdin is not None
        assert nursery.stdout is not None
        for _ in range(50):
            print(stored, moments.uniform(0.05, 0.6), file=nursery.stdin, flush=True)
            ended, *said = map(int, nursery.stdout.readline().split())
            assert ended == signal.SIGKILL
            logs += Path(f"{db}.wal").exists()
            if db.exists():
                lines = Store(db).query("select line from quarantine order by 1")[1]
                assert lines == [(number,) for number in range(len(lines))]
                stored = len(lines)
            assert all(number < stored for number in said)
        nursery.stdin.close()
    assert logs, "no kill fell into a commit"
    desk = Desk(db)
    assert desk.run("offline:random", repeats=stored, limit=1).code == 0
    assert desk.one("select count(*) from responses") == desk.one("select count(*) from prompts")
    assert "opens, and all of it can be read" in repair(db)


#: Runs the command line on a disk that is full once a file has so many bytes.
FULL = """
import resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]),) * 2)
from cli import main
main(sys.argv[2:])
"""


@pytest.mark.parametrize("room", [0, 4_000, 50_000, 300_000])
@pytest.mark.parametrize("command", ["import", "run", "doctor"])
def test_b81_a_full_disk_ends_with_a_sentence(db: Path, room: int, command: str) -> None:
    """Exit code 1 and what is wrong; the file opens afterwards, and all can be done again."""
    words = {
        "import": ("import", str(SAMPLE[0]), "--dataset", "again"),
        "run": ("run", "--judge", "offline:rules"),
        "doctor": ("doctor", "--repair"),
    }[command]
    limit = db.stat().st_size + room
    ended = subprocess.run(
        [sys.executable, "-c", FULL, str(limit), "--db", str(db), *words],
        cwd=ROOT,
        check=False,
        capture_output=True,
        text=True,
    )
    assert "Traceback" not in ended.stderr, ended.stderr
    if ended.returncode:
        assert ended.returncode == 1
        assert "file too large" in ended.stderr.lower(), ended.stderr
    assert not list(db.parent.glob("*broken*"))
    assert Desk(db).one("select count(*) from trajectories") >= 16
    assert needless(db, *words).exit_code == 0
