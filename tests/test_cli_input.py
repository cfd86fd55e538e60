"""What a user gives the command line: defaults in their order, and wrong input of every kind."""

from __future__ import annotations

from pathlib import Path

import pytest

from cache.store import Store
from tests.running import Desk, needless

RULES = ("run", "--judge", "offline:rules", "--limit", "2", "--strategy", "all_to_all")


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("run", "--strategy", "one_to_many"), 2, "one_to_one"),
        (("run", "--judge", "gpt-4o"), 2, "provider:model"),
        (("run", "--judge", "nobody:gpt-4o"), 2, "openai"),
        (("run", "--judge", "offline:nobody"), 2, "rules"),
        (("run", "--judge", "offline:rules?p=1"), 2, "rules"),
        (("plan", "--judge", "openai:gpt-4o?warmth=1"), 2, "temperature"),
        (("plan", "--judge", "openai:gpt-4o?temperature=hot"), 2, "not a number"),
        (("run", "--judge", "openai:gpt-4o?mode=later"), 2, "batch"),
        (("run", "--judge", "openai:gpt-4o"), 1, "OPENAI_API_KEY"),
        (("run", "--dataset", "nothing"), 2, "sample"),
        (("run", "--domain", "nowhere"), 2, "library"),
        (("run", "--limit", "0"), 2, "0"),
        (("run", "--repeats", "0"), 2, "0"),
        (("run", "--prompts", "no-such-folder"), 1, "no-such-folder"),
        (("plan", "--strategy", "x"), 2, "there are"),
        (("report", "no_metric"), 2, "step_scores"),
        (("report", "--format", "xml"), 2, "csv"),
        (("query", "select nothing"), 1, "nothing"),
        (("query", "delete from labels"), 1, "read-only"),
        (("resume", "batch_unknown"), 2, "needless status"),
        (("cancel", "batch_unknown"), 2, "needless status"),
        (("cancel",), 2, "BATCH_IDS"),
        (("import", "no-such-file.json"), 1, "no such file"),
        (("import",), 2, "PATHS"),
        (("no-such-command",), 2, "No such command"),
    ],
)
def test_wrong_input_is_a_sentence_that_helps(
    db: Path, arguments: tuple[str, ...], code: int, words: str
) -> None:
    """What is wrong is named on stderr with what there is; stdout stays empty."""
    result = needless(db, *arguments)
    assert (result.exit_code, result.stdout) == (code, "")
    assert words in result.stderr
    assert "Traceback" not in result.stderr


def test_an_empty_selection_says_how_to_widen_it(db: Path) -> None:
    """Where only failed runs are left, the sentence names the flag that takes them."""
    with Store(db).writing() as con:
        con.execute("update trajectories set success = false")
    result = needless(db, *RULES)
    assert result.exit_code == 2
    assert "--all" in result.stderr


def test_files_that_are_no_input_are_named(db: Path, tmp_path: Path) -> None:
    """Broken JSON, an unknown shape and an unknown format name the file or what is known."""
    broken = tmp_path / "broken.json"
    broken.write_text('{"simulations": [', "utf-8")
    other = tmp_path / "other.json"
    other.write_text('{"a": 1}', "utf-8")
    for path in (broken, other):
        result = needless(db, "import", str(path))
        assert (result.exit_code, path.name in result.stderr) == (1, True)
    result = needless(db, "import", str(other), "--as", "xml")
    assert (result.exit_code, "tau2" in result.stderr) == (2, True)


def test_files_that_are_no_database_are_named(tmp_path: Path) -> None:
    """No file, a folder, a text and a file of a newer program: each is told apart."""
    text = tmp_path / "text.duckdb"
    text.write_text("not a database" * 1000)
    newer = tmp_path / "newer.duckdb"
    with Store(newer).writing() as con:
        con.execute("insert into schema_versions values (9999, 'later', '', '', now())")
    for path, words in (
        (tmp_path / "none.duckdb", "no such database"),
        (text, "not a DuckDB database"),
        (newer, "upgrade needless"),
    ):
        result = needless(path, "status")
        assert (result.exit_code, result.stdout) == (1, "")
        assert words in result.stderr
    assert needless(tmp_path, "status").exit_code == 2


def test_flags_go_before_the_environment_before_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """needless.toml is the default, NEEDLESS_DB overrules it, --db overrules both."""
    monkeypatch.chdir(tmp_path)
    Path("needless.toml").write_text('db = "file.duckdb"\n[run]\nlimit = 1')
    run = ("run", "--judge", "offline:rules", "--strategy", "all_to_all")
    assert needless(None, *run).exit_code == 0
    assert Desk(Path("file.duckdb")).one("select count(*) from requests") == 1
    monkeypatch.setenv("NEEDLESS_DB", "environment.duckdb")
    assert needless(None, *run, "--limit", "2").exit_code == 0
    assert Desk(Path("environment.duckdb")).one("select count(*) from requests") == 2
    assert needless(Path("flag.duckdb"), *run).exit_code == 0
    assert Path("flag.duckdb").exists()
    Path("needless.toml").write_text("db = ")
    result = needless(None, "status")
    assert (result.exit_code, "needless.toml" in result.stderr) == (2, True)


def test_defaults_in_a_file_are_named_like_the_flags(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In needless.toml ``judge`` and ``strategy`` mean --judge and --strategy."""
    monkeypatch.chdir(tmp_path)
    Path("needless.toml").write_text(
        '[run]\nlimit = 1\nstrategy = ["all_to_all"]\njudge = ["offline:rules"]'
    )
    assert needless(None, "run").exit_code == 0
    assert Desk(Path("needless.duckdb")).one("select count(*) from requests") == 1


def test_a_default_nobody_reads_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A misspelt key or command in needless.toml is refused, not ignored: it may cost money."""
    monkeypatch.chdir(tmp_path)
    for text, word in (("[run]\nlimt = 1", "limt"), ("[rum]\nlimit = 1", "rum")):
        Path("needless.toml").write_text(text)
        result = needless(None, "run", "--judge", "offline:rules", "--limit", "1")
        assert (result.exit_code, word in result.stderr) == (2, True)
