"""The DuckDB file: opened for one short transaction, then closed.

While a process holds the file open, nobody else can even read it. So every session here is one
transaction, and no caller may keep one open while it waits for a network or for time to pass.
"""

from __future__ import annotations

import random
import re
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeAlias

import duckdb
import msgspec

from cache.errors import InputError, StoreError, StoreLocked, StoreTooNew
from cache.migrate import is_current, migrate

Connection: TypeAlias = duckdb.DuckDBPyConnection
Row: TypeAlias = tuple[object, ...]

#: Rows of a row group. A full one is compressed and written at once; the default of 122,880 would
#: hold gigabytes of prompt bodies back, in memory and twice on disk.
ROW_GROUP = 2048

#: Rows are staged in files of about this many bytes, which bounds the memory of a large insert.
STAGE_BYTES = 64_000_000


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
            con.close()

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Yield a read-only connection; the file must exist."""
        if not self.path.exists():
            raise StoreError(
                f"{self.path}: no such database; `needless import` or `needless run` makes it, "
                "--db names another"
            )
        con = self._connect(read_only=True)
        try:
            if not self._current and not is_current(con, str(self.path)):
                con.close()
                with self.writing():
                    pass
                con = self._connect(read_only=True)
            self._current = True
            yield con
        finally:
            con.close()

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

    def _connect(self, *, read_only: bool) -> Connection:
        return self._waited_for(lambda: _attached(self.path, read_only))

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


def _attached(path: Path, read_only: bool) -> Connection:
    """Open the file under the name ``needless``."""
    con = duckdb.connect()
    options = f"row_group_size {ROW_GROUP}{', read_only' if read_only else ''}"
    try:
        con.execute(f"attach {_quoted(path)} as needless ({options})")
        con.execute("use needless")
    except BaseException:
        con.close()
        raise
    return con


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


def cursor(con: Connection) -> Connection:
    """Return a second way into the open file, which sees what is committed."""
    other = con.cursor()
    other.execute("use needless")
    return other


def load(con: Connection, table: str, rows: Iterable[object], *, unless: str = "") -> int:
    """Insert ``rows`` into ``table`` in their order and return how many were new.

    A row is anything msgspec can encode as an object (dataclass, Struct, dict) whose fields are
    columns of the table. With ``unless``, a comma-separated key, rows whose key is there already
    are left out. Rows are staged as JSON lines with explicit types: row-by-row inserts are orders
    of magnitude slower, and inferred types change values silently.
    """
    types = dict(
        con.execute(
            "select column_name, data_type from duckdb_columns() "
            "where table_name = $1 and database_name in (current_database(), 'temp')",
            [table],
        ).fetchall()
    )
    added = 0
    for path, longest, fields in _staged(rows):
        columns = {name: types[name] for name in fields}
        shape = ", ".join(
            f"\"{name}\": '{'VARCHAR' if kind == 'JSON' else kind}'"
            for name, kind in columns.items()
        )
        anti = f"anti join {table} using ({unless})" if unless else ""
        row = con.execute(
            f"insert into {table} by name select * from read_json($1, "
            f"format = 'newline_delimited', columns = {{{shape}}}, "
            f"maximum_object_size = {max(longest + 1, 1 << 24)}) as staged {anti}",
            [path],
        ).fetchone()
        added += int(row[0]) if row else 0
    return added


def _staged(rows: Iterable[object]) -> Iterator[tuple[str, int, Sequence[str]]]:
    """Yield (path of a JSON lines file, its longest line in bytes, its fields), file by file."""
    encode = msgspec.json.Encoder(uuid_format="hex").encode
    source = iter(rows)
    first = next(source, None)
    if first is None:
        return
    fields = list(msgspec.json.decode(encode(first)))
    with tempfile.TemporaryDirectory(prefix="needless-") as folder:
        path = Path(folder, "rows.jsonl")
        line: bytes | None = encode(first)
        while line is not None:
            longest = size = 0
            with path.open("wb") as file:
                while line is not None and size < STAGE_BYTES:
                    file.write(line)
                    file.write(b"\n")
                    size += len(line)
                    longest = max(longest, len(line))
                    row = next(source, None)
                    line = None if row is None else encode(row)
            yield str(path), longest, fields


def load_bodies(con: Connection, bodies: Iterable[tuple[str, bytes]]) -> None:
    """Append (prompt hash, body) pairs that are new to ``prompt_bodies``, in their order.

    A body is one line of JSON, in which control characters are always escaped, so it can be staged
    as it is, between separators that cannot occur in it.
    """
    with tempfile.TemporaryDirectory(prefix="needless-") as folder:
        path = Path(folder, "bodies.csv")
        longest = 0
        with path.open("wb") as file:
            for prompt_hash, body in bodies:
                file.write(b"%b\x1f%b\n" % (prompt_hash.encode(), body))
                longest = max(longest, len(body))
        con.execute(
            "insert into prompt_bodies by name select * from read_csv($1, delim = '\x1f', "
            "quote = '', escape = '', header = false, auto_detect = false, "
            "columns = {prompt_hash: 'UUID', body: 'VARCHAR'}, "
            f"max_line_size = {max(longest + 64, 1 << 21)}) as staged "
            "anti join prompt_bodies using (prompt_hash)",
            [str(path)],
        )
