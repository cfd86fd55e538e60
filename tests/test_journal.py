"""The journal of batches: written before a provider hears of one, and readable after any kill."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cache import journal
from cache.errors import StoreError
from tests.conftest import Serve
from tests.running import Desk, needless
from tests.wire.service import CallFault, Faults

SECRET = "k1-do-not-write-me-down"


def events(desk: Desk) -> list[str]:
    """The events of the journal in their order."""
    lines = journal.path_of(desk.store.path).read_text("utf-8").splitlines()
    return [json.loads(line)["event"] for line in lines]


def test_b81_a_batch_is_written_down_with_its_lines_and_the_provider_s_id(
    serve: Serve, desk: Desk
) -> None:
    """The journal has the batch as the database has it, its custom ids, and what it is called."""
    serve().hold()
    (batch_id,) = desk.send()
    (entry,) = journal.read(desk.store.path).values()
    fields = entry.batch.__struct_fields__
    ((*row,),) = desk.rows(f"select {', '.join(fields)} from batches")
    assert [getattr(entry.batch, name) for name in fields] == row
    assert entry.named is not None
    assert entry.named.remote_id == desk.one("select remote_id from batches")
    ids = dict(journal.custom_ids(desk.store.path, [batch_id]))
    assert ids == {batch_id: [row[0] for row in desk.rows("select custom_id from batch_prompts")]}
    assert dict(journal.custom_ids(desk.store.path, [])) == {}


def test_b81_the_journal_comes_before_the_create(serve: Serve, desk: Desk) -> None:
    """A create that got no answer is in the journal, without an id; found, it is named there."""
    serve(Faults(calls=(CallFault("batches.create", "drop_after"),)))
    desk.advance(desk.ask(), collect=False)
    assert events(desk) == ["creating"]
    assert desk.advance().code == 0
    assert events(desk) == ["creating", "submitted"]


def test_b81_the_journal_holds_no_key_and_no_text(
    serve: Serve, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was asked and with which key stays out of it, and it is small."""
    serve()
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    assert desk.run().code == 0
    text = journal.path_of(desk.store.path).read_text("utf-8")
    assert SECRET not in text
    assert "messages" not in text
    assert len(text) < 10 * 50 + 1000


def test_offline_and_live_batches_are_not_written_down(serve: Serve, desk: Desk) -> None:
    """Nothing of theirs waits at a provider."""
    serve()
    assert desk.run("offline:rules", "openai:gpt-4o-mini?mode=live").code == 0
    assert not journal.path_of(desk.store.path).exists()


@pytest.mark.parametrize("cut", [1, 2, 10, 60])
def test_b81_a_line_that_was_cut_short_is_skipped(serve: Serve, desk: Desk, cut: int) -> None:
    """A torn last line costs itself only, and the next line is not lost with it."""
    serve().hold()
    desk.send()
    path = journal.path_of(desk.store.path)
    whole = path.read_bytes()
    path.write_bytes(whole[:-cut])
    (entry,) = journal.read(desk.store.path).values()
    assert (entry.named is None) == (cut > 1)
    journal.name(desk.store.path, entry.batch.batch_id, "another", proved=False)
    (entry,) = journal.read(desk.store.path).values()
    assert entry.named is not None
    assert (entry.named.remote_id, entry.named.proved) == ("another", False)


def test_what_is_no_journal_is_read_as_nothing(tmp_path: Path) -> None:
    """Neither a missing file, nor noise, nor an id of a batch that was never announced."""
    db = tmp_path / "n.duckdb"
    assert journal.read(db) == {}
    noise = b'\x00\xff\n{"event": "later", "batch_id": "b"}\n\n[]\n'
    journal.path_of(db).write_bytes(noise)
    journal.name(db, "b", "r", proved=True)
    assert journal.read(db) == {}


def test_b81_what_cannot_be_written_down_is_not_sent(serve: Serve, desk: Desk) -> None:
    """With a journal that takes no line the provider hears nothing, and the batch waits."""
    service = serve()
    journal.path_of(desk.store.path).mkdir()
    scope = desk.ask()
    with pytest.raises(StoreError, match=r"batches\.jsonl: cannot be written: Is a directory"):
        desk.advance(scope)
    assert service.log()["creates"] == []
    assert desk.one("select status from batch_states") == "prepared"
    journal.path_of(desk.store.path).rmdir()
    assert needless(desk.store.path, "resume", "--poll", "0.05").exit_code == 0
    assert len(service.log()["creates"]) == 1


def test_a_link_has_the_journal_of_its_file(tmp_path: Path) -> None:
    """However the database is named, its journal is the one beside it."""
    (tmp_path / "there").mkdir()
    real = tmp_path / "there" / "n.duckdb"
    real.touch()
    link = tmp_path / "link.duckdb"
    link.symlink_to(real)
    assert journal.path_of(link) == journal.path_of(real) == Path(f"{real}.batches.jsonl")
