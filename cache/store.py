"""The DuckDB file: opened for one short transaction, then closed.

While a process holds the file open, nobody else can even read it. So every session here is one
transaction, and no caller may keep one open while it waits for a network or for time to pass.
"""

from __future__ import annotations

import random
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeAlias

import duckdb

from cache.errors import InputError, StoreError, StoreLocked, StoreTooNew
from cache.migrate import is_current, migrate

Connection: TypeAlias = duckdb.DuckDBPyConnection
Row: TypeAlias = tuple[object, ...]

#: Rows of a row group. A full one is compressed and written at once; the default of 122,880 would
#: hold gigabytes of prompt bodies back, in memory and twice on disk.
ROW_GROUP = 2048


class Store:
    """One database file.

    ``patience`` is how many seconds to wait for another process to let go of the file.
    """

    def __init__(
        self,
        path: Path,
        *,
        patience: float = 10.0,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.path = path
        self._patience = patience
        self._sleep = sleep
        self._current = False
        # Making an engine takes five times as long as attaching a file to one.
        self._engine: Connection | None = None

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Yield a connection inside one transaction: committed at the end, or undone."""
        con = self._connect(read_only=False)
        try:
            con.execute("begin")
            try:
                if not self._current:
                    migrate(con, str(self.path))
                yield con
            except BaseException:
                con.execute("rollback")
                raise
            con.execute("commit")
            self._current = True
        finally:
            _detach(con)

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Yield a read-only connection; the file must exist."""
        if not self.path.exists():
            raise StoreError(
                f"{self.path}: no such database; `needless import` or `needless run` makes it, "
                "--db names another"
            )
        if not self._current:
            con = self._connect(read_only=True)
            try:
                current = is_current(con, str(self.path))
            finally:
                _detach(con)
            if not current:
                with self.writing():
                    pass
            self._current = True
        con = self._connect(read_only=True)
        try:
            yield con
        finally:
            _detach(con)

    def query(self, statement: str) -> tuple[tuple[str, ...], list[Row]]:
        """Run one read-only statement of a user's; return column names and rows.

        It reaches neither other files nor this one in any other way, and so can change nothing.
        """
        with self.reading():
            pass  # brings an older file up to date, and waits for its turn
        # The whole connection is read-only: a database that is merely attached could be detached,
        # and attached again to be written.
        con = self._waited_for(lambda: duckdb.connect(str(self.path), read_only=True))
        try:
            con.execute("set enable_external_access = false")
            con.execute("set lock_configuration = true")
            result = con.execute(statement)
            names = tuple(str(column[0]) for column in result.description or ())
            return names, result.fetchall()
        except duckdb.Error as error:
            raise InputError(f"the statement failed: {error}") from error
        finally:
            con.close()

    def export(self, folder: Path) -> list[Path]:
        """Write every table to ``folder`` as Parquet, each whole or not at all."""
        written: list[Path] = []
        with self.reading() as con:
            tables = con.execute(
                "select table_name from duckdb_tables() where database_name = current_database() "
                "order by table_oid"
            ).fetchall()
            try:
                folder.mkdir(parents=True, exist_ok=True)
                for (table,) in tables:
                    path = folder / f"{table}.parquet"
                    partial = folder / f"{table}.parquet.partial"
                    con.execute(f"copy {table} to {_quoted(partial)} (format parquet)")
                    written.append(partial.replace(path))
            except (OSError, duckdb.Error) as error:
                raise InputError(f"{folder}: cannot be written: {error}") from error
        return written

    def rest(self) -> None:
        """Give back the memory that large sessions took; the next one takes a little longer."""
        if self._engine is not None:
            self._engine.close()
            self._engine = None

    def _connect(self, *, read_only: bool) -> Connection:
        if self._engine is None:
            self._engine = duckdb.connect()
        engine = self._engine
        return self._waited_for(lambda: _attached(engine, self.path, read_only))

    def _waited_for(self, opened: Callable[[], Connection]) -> Connection:
        """Open the file, with patience while another process has it."""
        waited = 0.0
        while True:
            try:
                return opened()
            except duckdb.Error as error:
                if "Could not set lock" not in str(error):
                    raise _explained(self.path, error) from error
                if waited >= self._patience:
                    raise _locked(self.path, str(error), waited) from error
            pause = random.uniform(0.02, 0.12)
            self._sleep(pause)
            waited += pause


def _attached(engine: Connection, path: Path, read_only: bool) -> Connection:
    """Open the file under the name ``needless``."""
    con = engine.cursor()
    options = f"row_group_size {ROW_GROUP}{', read_only' if read_only else ''}"
    try:
        con.execute(f"attach {_quoted(path)} as needless ({options})")
        con.execute("use needless")
    except BaseException:
        con.close()
        raise
    return con


def _detach(con: Connection) -> None:
    """Let go of the file, and of its lock."""
    con.execute("use memory")
    con.execute("detach needless")
    con.close()


def _quoted(path: Path) -> str:
    """A path as an SQL literal: ``attach`` and ``copy`` take no parameters."""
    return "'" + str(path).replace("'", "''") + "'"


def _locked(path: Path, text: str, waited: float) -> StoreLocked:
    pid = re.search(r"PID (\d+)", text)
    who = f"process {pid[1]}" if pid else "another process"
    return StoreLocked(
        f"{path}: {who} has held the database for {waited:.0f} s; "
        "wait for it to end, or stop it, and try again"
    )


def _explained(path: Path, error: duckdb.Error) -> StoreError:
    text = str(error)
    if "version number" in text or "newer version" in text:
        return StoreTooNew(
            f"{path}: written by a newer DuckDB than {duckdb.__version__}; upgrade the duckdb "
            f"package ({text.splitlines()[0]})"
        )
    if "not a valid DuckDB" in text:
        return StoreError(f"{path}: not a DuckDB database; --db names the file to use")
    return StoreError(f"{path}: cannot be opened: {text.splitlines()[0]}")


@contextmanager
def cursor(con: Connection) -> Iterator[Connection]:
    """Yield a second way into the open file, which sees what is committed."""
    other = con.cursor()
    try:
        other.execute("use needless")
        yield other
    finally:
        other.close()
