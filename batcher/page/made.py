"""How a report was made: tables of the program, the judges, the label sets and the data."""

from __future__ import annotations

from datetime import datetime

import sql
from batcher.catalogue import version_of
from batcher.table import Table
from cache.store import Connection

_QUERIES = sql.read("queries")


def tables(con: Connection, now: datetime) -> list[Table]:
    """Return what somebody needs to make the same report again."""
    row = con.execute("select max(version) from schema_versions").fetchone()
    program = (
        ("needless", version_of("needless")),
        ("schema of the database", str(row[0] if row else "?")),
        ("duckdb", version_of("duckdb")),
        ("page made", f"{now:%Y-%m-%d %H:%M} UTC"),
    )
    return [
        Table("Program", ("what", "version"), program),
        _asked(con, "page_settings", "Judges with their parameters, and what they were asked"),
        _asked(con, "page_label_sets", "Label sets"),
        _asked(con, "page_datasets", "Data"),
    ]


def _asked(con: Connection, query: str, title: str) -> Table:
    result = con.execute(_QUERIES[query])
    columns = tuple(str(column[0]) for column in result.description or ())
    return Table(title, columns, tuple(result.fetchall()))
