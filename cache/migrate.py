"""Bring a database file to this program's schema: numbered tables, then views.

Tables come from ``sql/schema/NNNN_*.sql``, each applied once and written down in
``schema_versions``. Views come from ``sql/views`` and ``sql/metrics``: a file is one plain
``select``, its name is the view's name, and all are made anew when one of them changed.
"""

from __future__ import annotations

import re
from graphlib import TopologicalSorter

import duckdb

import sql
from cache.errors import StoreTooNew
from cache.hashing import digest

_LEDGER = """
create table if not exists schema_versions (
    version    integer primary key,
    name       varchar not null,
    digest     varchar not null,
    duckdb     varchar not null,
    applied_at timestamptz not null default now()
)
"""


def schema() -> dict[int, tuple[str, str]]:
    """Return ``{version: (name, text)}``; version 0 stands for the views, all texts in one."""
    tables = {int(name[:4]): (name, text) for name, text in sql.read("schema").items()}
    return tables | {0: ("views", "\n".join(views().values()))}


def views() -> dict[str, str]:
    """Return ``{view name: select}`` of every view and metric."""
    found = sql.read("views") | sql.read("metrics")
    return {name: text.strip().rstrip(";") for name, text in found.items()}


def newest() -> int:
    """Return the schema version that this program writes."""
    return max(schema())


def applied(con: duckdb.DuckDBPyConnection) -> dict[int, str]:
    """Return ``{version: digest}`` of what the file already has; empty for a new file."""
    known = con.execute(
        "select count(*) from duckdb_tables() where table_name = 'schema_versions'"
    ).fetchone()
    if not known or not known[0]:
        return {}
    return dict(con.execute("select version, digest from schema_versions").fetchall())


def is_current(con: duckdb.DuckDBPyConnection, path: str) -> bool:
    """Tell whether nothing is left to apply; raises ``StoreTooNew`` for a newer file."""
    have = applied(con)
    if have and max(have) > newest():
        raise StoreTooNew(
            f"{path}: schema version {max(have)} is newer than this program's {newest()}; "
            "upgrade needless, or name another file with --db"
        )
    return all(
        have.get(version) == digest(text) if version == 0 else version in have
        for version, (_, text) in schema().items()
    )


def migrate(con: duckdb.DuckDBPyConnection, path: str) -> None:
    """Apply what is missing, inside the caller's transaction."""
    if is_current(con, path):
        return
    con.execute(_LEDGER)
    have = applied(con)
    for version, (name, text) in sorted(schema().items()):
        if version and version not in have:
            con.execute(text)
            _note(con, version, name, text)
    if have.get(0) != digest(schema()[0][1]):
        _make_views(con)
        con.execute("delete from schema_versions where version = 0")
        _note(con, 0, *schema()[0])


def _note(con: duckdb.DuckDBPyConnection, version: int, name: str, text: str) -> None:
    con.execute(
        "insert into schema_versions (version, name, digest, duckdb) values ($1, $2, $3, $4)",
        [version, name, digest(text), duckdb.__version__],
    )


def _make_views(con: duckdb.DuckDBPyConnection) -> None:
    """Create every view after the views it reads from: names that follow ``from`` or ``join``."""
    texts = views()
    reads = {
        name: set(re.findall(r"\b(?:from|join)\s+(\w+)", text)) & texts.keys()
        for name, text in texts.items()
    }
    for name in TopologicalSorter(reads).static_order():
        con.execute(f"create or replace view {name} as {texts[name]}")
