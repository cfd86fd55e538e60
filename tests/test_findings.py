"""Promises that are not kept yet; each moves to the file of its noun once it is."""

from __future__ import annotations

from pathlib import Path

from cache.bulk import load
from cache.store import Store


def test_load_keeps_the_order_of_what_is_new(tmp_path: Path) -> None:
    """Of rows some of which are there already, the new ones are stored in their own order."""
    store = Store(tmp_path / "n.duckdb")
    rows = [{"batch_id": f"b{n}", "custom_id": "c", "state": "ok"} for n in range(3010)]
    with store.writing() as con:
        load(con, "readings", rows[:3000])
        load(con, "readings", rows, unless="batch_id, custom_id")
    ids = [row[0] for row in store.query("select batch_id from readings order by rowid")[1]]
    assert ids == [row["batch_id"] for row in rows]
