"""The database file: one writer at a time, migrated or refused, and rows as they were given."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import duckdb
import pytest

from cache.bulk import load
from cache.errors import InputError, StoreError, StoreLocked, StoreTooNew
from cache.migrate import newest, schema
from cache.store import Store
from tests.running import ROOT

HOLD = """
import sys, time
from pathlib import Path
from cache.store import Store
with Store(Path(sys.argv[1])).writing():
    print("held", flush=True)
    time.sleep(float(sys.argv[2]))
"""


@contextmanager
def held(path: Path, seconds: float) -> Iterator[int]:
    """Another process holds the file; yields its id."""
    command = [sys.executable, "-c", HOLD, str(path), str(seconds)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        try:
            yield process.pid
        finally:
            process.kill()


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """A file that does not exist yet."""
    return Store(tmp_path / "n.duckdb")


def test_b90_a_lock_that_lasts_names_the_process(store: Store) -> None:
    """After its patience a reader and a writer name the file and the process that holds it."""
    with held(store.path, 60) as pid:
        hurried = Store(store.path, patience=0.2)
        for session in (hurried.writing, hurried.reading):
            with pytest.raises(StoreLocked, match=rf"n\.duckdb: process {pid} has held"), session():
                pass


def test_b90_a_lock_that_passes_is_waited_for(store: Store) -> None:
    """A file that is let go of within the patience opens."""
    with held(store.path, 0.5):
        began = time.monotonic()
        with store.writing() as con:
            con.execute("select 1")
        assert time.monotonic() - began > 0.1


def test_b79_between_two_sessions_the_file_is_free(store: Store) -> None:
    """A store that has been used, and is not in use, keeps nobody else out."""
    with store.writing() as con:
        con.execute("insert into batch_events (batch_id, status, \"at\") values ('b', 's', now())")
    with duckdb.connect(str(store.path), read_only=True) as other:
        assert other.execute("select status from batch_events").fetchall() == [("s",)]
    with store.reading() as con, duckdb.connect(str(store.path), read_only=True) as other:
        assert con.execute("select 1").fetchall() == other.execute("select 1").fetchall()


def test_b87_a_newer_file_is_refused(store: Store) -> None:
    """A schema version of a later program is named beside ours, for reading and for writing."""
    with store.writing() as con:
        con.execute("insert into schema_versions values (9999, 'later', '', '', now())")
    for session in (Store(store.path).reading, Store(store.path).writing):
        words = f"9999 is newer than this program's {newest()}"
        with pytest.raises(StoreTooNew, match=words), session():
            pass


def test_an_older_file_is_migrated_and_keeps_its_rows(store: Store) -> None:
    """A file with the first schema only gets the others, and loses nothing."""
    with duckdb.connect(str(store.path)) as con:
        con.execute(
            "create table schema_versions (version integer primary key, name varchar not null, "
            "digest varchar not null, duckdb varchar not null, "
            "applied_at timestamptz not null default now())"
        )
        con.execute(schema()[1][1])
        con.execute("insert into schema_versions values (1, '0001_inputs', 'x', '1.0', now())")
        con.execute(
            "insert into labels values ('mine', 't', 1, 'duplicated', [2, 3], 'certain', false)"
        )
    assert store.query("select step_index, evidence from labels")[1] == [(1, [2, 3])]
    assert {row[0] for row in store.query("select version from schema_versions")[1]} == set(
        schema()
    )
    assert store.query("select * from prompts")[1] == []


def test_views_are_made_anew_when_they_have_changed(store: Store) -> None:
    """A file whose views are of another version of the program gets ours at the next opening."""
    with store.writing() as con:
        con.execute("create or replace view batch_list as select 42 as old")
        con.execute("update schema_versions set digest = 'another' where version = 0")
    assert "judged_by" in Store(store.path).query("from batch_list")[0]


def test_what_is_no_database_is_refused(tmp_path: Path) -> None:
    """A text and a file that does not exist are told apart, each by name."""
    text = tmp_path / "text"
    text.write_text("x" * 10_000)
    with pytest.raises(StoreError, match="text: not a DuckDB database"), Store(text).writing():
        pass
    with pytest.raises(StoreError, match="none: no such database"):
        Store(tmp_path / "none").query("select 1")
    assert not (tmp_path / "none").exists()


def test_a_transaction_that_fails_leaves_nothing(store: Store) -> None:
    """An error inside a session undoes all of it, also in a new file."""

    def write(then: type[BaseException] | None) -> None:
        with store.writing() as con:
            con.execute(
                "insert into batch_events (batch_id, status, \"at\") values ('b', 's', now())"
            )
            if then:
                raise then

    for fault in (ZeroDivisionError, None, KeyboardInterrupt):
        with pytest.raises(fault) if fault else nullcontext():
            write(fault)
    assert store.query("select count(*) from batch_events")[1] == [(1,)]


def test_a_query_cannot_write(store: Store) -> None:
    """A statement that would change the file is refused with the database's own words."""
    with store.writing():
        pass
    for statement in ("create table t (a int)", "delete from labels", "no sql"):
        with pytest.raises(InputError, match="the statement failed"):
            store.query(statement)


def rows_of(number: int, **changes: object) -> dict[str, object]:
    return {"batch_id": f"b{number}", "custom_id": "c", "state": "ok", "detail": None} | changes


def test_load_keeps_the_order_and_says_how_many_were_new(store: Store) -> None:
    """Rows lie in the table as they were given; those whose key is there are left out."""
    with store.writing() as con:
        assert load(con, "readings", (rows_of(n) for n in range(3000))) == 3000
        again = (rows_of(n) for n in range(2990, 3010))
        assert load(con, "readings", again, unless="batch_id, custom_id") == 10
        assert load(con, "readings", (), unless="batch_id, custom_id") == 0
    ids = [row[0] for row in store.query("select batch_id from readings order by rowid")[1]]
    assert ids[:3000] == [f"b{n}" for n in range(3000)]
    assert set(ids[3000:]) == {f"b{n}" for n in range(3000, 3010)}


def test_b83_values_keep_their_type_after_any_number_of_rows(store: Store) -> None:
    """After 20,480 rows that look like numbers a text is still the text that it was."""
    odd = ["1.50", "true", "null", "007", "2026-01-01", ""]
    with store.writing() as con:
        texts = ["7"] * 20_480 + odd
        load(con, "readings", (rows_of(0, detail=text) for text in texts))
    tail = store.query("select detail from readings order by rowid offset 20479")[1]
    assert [row[0] for row in tail] == ["7", *odd]


def test_b83_a_value_that_does_not_fit_its_column_is_an_error(store: Store) -> None:
    """A word in a number's place stops the transaction, wherever it stands."""
    line = {"batch_id": "b", "custom_id": "c", "prompt_hash": "0" * 32}
    lines = [line | {"attempt": attempt} for attempt in (*[1] * 20_480, "two")]
    with pytest.raises(duckdb.Error), store.writing() as con:
        load(con, "batch_prompts", lines)
    with store.writing() as con:
        assert load(con, "batch_prompts", lines[:2]) == 2
    assert store.query("select count(*) from batch_prompts")[1] == [(2,)]


def test_every_character_survives(store: Store) -> None:
    """Line breaks of all kinds, quotes, NUL-free controls and astral characters come back."""
    text = "a\nb\r\nc\u2028d\x85e\"'\\ \t\x01 \U0001f600 {}[]"
    with store.writing() as con:
        load(con, "readings", [rows_of(1, detail=text)])
    assert store.query("select detail from readings")[1] == [(text,)]


def test_a_text_of_many_megabytes_is_a_value_like_any_other(store: Store) -> None:
    """A text of 20 MB, above the default size of a JSON object, is stored whole."""
    text = "ö" * 10_000_000
    with store.writing() as con:
        load(con, "readings", [rows_of(1, detail=text), rows_of(2)])
    assert store.query("select length(detail) from readings")[1] == [(10_000_000,), (None,)]


def test_a_path_with_a_quote_and_a_blank_is_a_path(tmp_path: Path) -> None:
    """The folder of a database may be called anything."""
    folder = tmp_path / "it's a folder"
    folder.mkdir()
    store = Store(folder / "n.duckdb")
    with store.writing() as con:
        load(con, "readings", [rows_of(1)])
    assert len(store.export(folder / "out")) > 10


def test_load_keeps_the_order_of_what_is_new(tmp_path: Path) -> None:
    """Of rows some of which are there already, the new ones are stored in their own order."""
    store = Store(tmp_path / "n.duckdb")
    rows = [{"batch_id": f"b{n}", "custom_id": "c", "state": "ok"} for n in range(3010)]
    with store.writing() as con:
        load(con, "readings", rows[:3000])
        load(con, "readings", rows, unless="batch_id, custom_id")
    ids = [row[0] for row in store.query("select batch_id from readings order by rowid")[1]]
    assert ids == [row["batch_id"] for row in rows]
