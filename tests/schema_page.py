"""Writes docs/schema.md from a database: ``python tests/schema_page.py``.

Names and types come from a new database, so the page cannot say what is not so. The words come from
the comments that open the ``.sql`` files, or that stand above a ``create table``.
"""

from __future__ import annotations

import re
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))

import sql  # noqa: E402
from cache.store import Store  # noqa: E402

PAGE = ROOT / "docs" / "schema.md"

_HEAD = """\
# Schema

Every table and view with its columns, printed from a database by `python tests/schema_page.py`;
do not edit it by hand. The files are `sql/schema` (tables), `sql/views` and `sql/metrics`. Names
here may be relied on; more columns may come.

`needless query "…"` asks, and so does the duckdb shell.
"""

Columns = list[tuple[str, str]]


def page() -> str:
    """Return the page as it should be."""
    found = _columns()
    parts = [_HEAD]
    for name, text in sql.read("schema").items():
        parts.append(f"## Tables: {name[5:]}\n\n{_sentence(_opening(text))}\n")
        parts += [_section(table, said, found) for table, said in _tables(text)]
    parts.append("## Tables: bookkeeping\n")
    parts.append(_section("schema_versions", "Which schema files this database has had.", found))
    for folder in ("views", "metrics"):
        parts.append(f"## {folder.capitalize()}\n")
        parts += [_section(name, _opening(text), found) for name, text in sql.read(folder).items()]
    missing = ", ".join(found)
    assert not missing, f"in the database and in no .sql file: {missing}"
    return "\n".join(parts)


def _columns() -> dict[str, Columns]:
    """Return the columns of every table and view of a new database."""
    with tempfile.TemporaryDirectory() as folder:
        store = Store(Path(folder, "new.duckdb"))
        with store.writing():
            pass
        _, rows = store.query(
            "select table_name, column_name, data_type from duckdb_columns() "
            "where not internal and database_name = current_database() "
            "order by table_name, column_index"
        )
    found: dict[str, Columns] = {}
    for table, column, kind in rows:
        found.setdefault(str(table), []).append((str(column), str(kind).lower()))
    return found


def _section(name: str, said: str, found: dict[str, Columns]) -> str:
    rows = "\n".join(f"| `{column}` | {kind} |" for column, kind in found.pop(name))
    return f"### `{name}`\n\n{said}\n\n| column | type |\n|---|---|\n{rows}\n"


def _opening(text: str) -> str:
    """Return the comment that opens an SQL file: prose as it is, indented lines as a list."""
    return _said(text.splitlines())


def _tables(text: str) -> list[tuple[str, str]]:
    """Return (table, the comment above it) of every ``create table``."""
    lines = text.splitlines()
    found = []
    for at, line in enumerate(lines):
        if match := re.match(r"create table (\w+)", line):
            first = at
            while first and lines[first - 1].startswith("--"):
                first -= 1
            found.append((match[1], _said(lines[first:at])))
    return found


def _said(lines: list[str]) -> str:
    prose: list[str] = []
    items: list[str] = []
    for line in lines:
        if not line.startswith("--"):
            break
        text = line.removeprefix("--").replace("|", r"\|")
        if match := re.match(r" {2,4}(\S.*?) {2,}(\S.*)", text):
            items.append(f"- `{match[1]}`: {match[2]}")
        elif items and text.startswith("    "):
            items[-1] += f" {text.strip()}"
        else:
            prose.append(text.strip())
    return "\n\n".join(part for part in ("\n".join(prose), "\n".join(items)) if part)


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
