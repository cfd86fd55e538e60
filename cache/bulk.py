"""Rows in bulk: staged in a file with explicit types, then inserted by one statement."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import msgspec

from cache.store import Connection

#: Rows are staged in files of about this many bytes, which bounds the memory of a large insert.
STAGE_BYTES = 64_000_000


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
        source = (
            f"read_json($1, format = 'newline_delimited', columns = {{{shape}}}, "
            f"maximum_object_size = {max(longest + 1, 1 << 24)})"
        )
        chosen = f"select * from {source}"
        if unless:  # a join does not keep the order of its rows
            numbered = f"(select *, row_number() over () as staged_row from {source})"
            chosen = (
                f"select * exclude (staged_row) from {numbered} "
                f"anti join {table} using ({unless}) order by staged_row"
            )
        row = con.execute(f"insert into {table} by name {chosen}", [path]).fetchone()
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
    """Append (prompt hash, body) pairs to ``prompt_bodies``, in their order.

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
        if not longest:
            return
        line = max(longest + 64, 1 << 21)
        # What has been written is of no use in memory; the caller lets the engine rest afterwards.
        con.execute(f"set memory_limit = '{max(250, 12 * line // 1_000_000)}MB'")
        con.execute(
            "insert into prompt_bodies by name select * from read_csv($1, delim = '\x1f', "
            "quote = '', escape = '', header = false, auto_detect = false, "
            "columns = {prompt_hash: 'UUID', body: 'VARCHAR'}, "
            f"max_line_size = {line}, buffer_size = {2 * line})",  # the default takes 32 MB
            [str(path)],
        )
