"""The DuckDB file: opened for one short transaction, then closed.

While a process holds the file open, nobody else can even read it. So every session here is one
transaction, and no caller may keep one open while it waits for a network or for time to pass.
"""

from __future__ import annotations

import errno
import random
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeAlias

import duckdb

from cache.errors import InputError, StoreBroken, StoreError, StoreLocked, StoreTooNew
from cache.mend import seal, unseal
from cache.migrate import is_current, migrate

Connection: TypeAlias = duckdb.DuckDBPyConnection
Row: TypeAlias = tuple[object, ...]

#: Rows of a row group. A full one is compressed and written at once; the default of 122,880 would
#: hold gigabytes of prompt bodies back, in memory and twice on disk.
ROW_GROUP = 2048

#: What DuckDB says of a file whose content is damaged, and of one that it may not use.
_DAMAGE = re.compile(r"corrupt|checksum|not read enough bytes|replaying WAL|deserializ", re.I)
_ACCESS = re.compile(
    r"no space left|file too large|quota exceeded|read-only file system|permission denied|"
    r"cannot open file|is a directory",
    re.I,
)
_FULL = (errno.ENOSPC, errno.EFBIG, errno.EDQUOT)


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
        self._is_mending = False

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Yield a connection inside one transaction: committed at the end, or undone."""
        with self._session(read_only=False) as con:
            con.execute("begin")
            try:
                if not self._current:
                    migrate(con, str(self.path))
                yield con
            except BaseException:
                with suppress(duckdb.Error):  # a full disk may have undone it already
                    con.execute("rollback")
                raise
            con.execute("commit")
        self._current = True

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Yield a read-only connection; the file must exist."""
        if not self.path.exists():
            raise StoreError(
                f"{self.path}: no such database; `needless import` or `needless run` makes it, "
                "--db names another"
            )
        if not self._current:
            with self._session(read_only=True) as con:
                current = is_current(con, str(self.path))
            if not current:
                with self.writing():
                    pass
            self._current = True
        with self._session(read_only=True) as con:
            yield con

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
            try:
                folder.mkdir(parents=True, exist_ok=True)
                for table in _tables(con):
                    path = folder / f"{table}.parquet"
                    partial = folder / f"{table}.parquet.partial"
                    con.execute(f"copy {table} to {_quoted(partial)} (format parquet)")
                    written.append(partial.replace(path))
            except (OSError, duckdb.Error) as error:
                raise InputError(f"{folder}: cannot be written: {error}") from error
        return written

    def verify(self) -> None:
        """Read everything there is, once; raises ``StoreBroken`` where that is not possible."""
        with self.writing() as con:
            for table in _tables(con):
                con.execute(f"select bit_xor(hash(everything)) from {table} as everything")
        self.rest()

    def copy(self, damaged: Path, wanted: Callable[[str], bool]) -> bool:
        """Copy another file's tables of certain names; False, and none, where one is unreadable.

        The tables here must be empty. An older file may lack some of them.
        """
        try:
            with self.writing() as con:
                con.execute(f"attach {_quoted(damaged)} as damaged (read_only)")
                theirs = _tables(con, "damaged")
                for table in _tables(con):
                    if table in theirs and wanted(table):
                        con.execute(f"insert into {table} by name from damaged.{table}")
        except (StoreBroken, duckdb.Error):
            return False
        finally:
            self.rest()
        return True

    def rest(self) -> None:
        """Give back the memory that large sessions took; the next one takes a little longer."""
        if self._engine is not None:
            self._engine.close()
            self._engine = None

    @contextmanager
    def _session(self, *, read_only: bool) -> Iterator[Connection]:
        """Open the file and let go of it; a full disk and damage are told as the program's own."""
        try:
            con = self._connect(read_only=read_only)
            try:
                yield con
            finally:
                try:
                    _detach(con)
                except duckdb.Error:
                    con.close()
                    self.rest()  # an engine that has failed would keep the file
                    raise
        except duckdb.Error as error:
            if not (_DAMAGE.search(str(error)) or _ACCESS.search(str(error))):
                raise
            raise _explained(self.path, error) from error
        except OSError as error:  # of the files in which rows are staged
            if error.errno not in _FULL:
                raise
            raise StoreError(f"{self.path}: nothing was stored: {error.strerror}") from error

    def _connect(self, *, read_only: bool) -> Connection:
        if self._engine is None:
            self._engine = duckdb.connect()
        engine = self._engine
        try:
            return self._waited_for(lambda: _attached(engine, self.path, read_only))
        except StoreBroken as error:
            torn = str(error)
            before = seal(self.path, torn) if not self._is_mending else None
            if before is None:
                raise
        self._is_mending = True
        try:
            self.verify()
        except StoreBroken:
            unseal(self.path, torn, before)
            raise
        finally:
            self._is_mending = False
        return self._connect(read_only=read_only)

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


def _tables(con: Connection, database: str = "needless") -> list[str]:
    """Name the tables of the open file, oldest first."""
    rows = con.execute(
        "select table_name from duckdb_tables() where database_name = $1 order by table_oid",
        [database],
    ).fetchall()
    return [row[0] for row in rows]


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
    cure = "`needless doctor --repair` brings back what it can"
    if "not a valid DuckDB" in text:
        return StoreBroken(
            f"{path}: not a DuckDB database; --db names the file to use. If it was one, {cure}"
        )
    reason = re.sub(r"^[A-Z]\w*( \w+)? Error: ", "", text).splitlines()
    if found := _ACCESS.search(text):
        why = found[0].lower()
        return StoreError(f"{path}: cannot be read or written: {why}; put that right and try again")
    return StoreBroken(f"{path}: cannot be opened: {reason[0]}; {cure}")


@contextmanager
def cursor(con: Connection) -> Iterator[Connection]:
    """Yield a second way into the open file, which sees what is committed."""
    other = con.cursor()
    try:
        other.execute("use needless")
        yield other
    finally:
        other.close()
