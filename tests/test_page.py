"""The page of a report as text: what stands in it, and that nothing in it is taken for markup."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import shutil
import sys
from pathlib import Path

import pytest

from batcher.page import page
from cache.store import Store
from tests.running import needless

BLOCK = re.compile(r'<script type="application/json" id="(\w+)">(.*?)</script>', re.S)
#: Everything that could end an element, or a line of a script, in one text.
ODD = "</script><!-- & ]]> \u2028\u2029 \x00 \\ \" ' {{scores}}"


@pytest.fixture(scope="module")
def asked(sample: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample, asked by two judges: to be read only."""
    db = Path(shutil.copy(sample, tmp_path_factory.mktemp("page") / "asked.duckdb"))
    for judge in ("offline:rules", "offline:random?seed=3"):
        done = needless(db, "run", "--strategy", "window_to_one", "--judge", judge)
        assert done.exit_code == 0, done.stderr
    return db


@pytest.fixture
def judged(asked: Path, tmp_path: Path) -> Path:
    """The same, for the test to change."""
    return Path(shutil.copy(asked, tmp_path / "judged.duckdb"))


def made(db: Path, *arguments: str) -> str:
    done = needless(db, "report", "--format", "html", *arguments)
    assert done.exit_code == 0, done.stderr
    return done.stdout


def test_embedded_text_comes_back_and_is_no_markup() -> None:
    """Whatever was recorded is read back as it was, and no character of it can end its element."""
    text = page.embedded({ODD: [ODD]})

    assert json.loads(text) == {ODD: [ODD]}
    assert not {*"<>&\u2028\u2029"} & {*text}


def test_the_whole_report_is_one_page(asked: Path) -> None:
    """Scores, figures, costs, trajectories and how it was made, without a METRIC."""
    text = made(asked)

    sections = re.findall(r'<section id="(\w+)">', text)
    assert sections == ["scores", "figures", "costs", "trajectories", "made"]
    assert "Redundant trajectories and steps found" in text
    assert "<h3>coverage: " in text
    assert {name for name, _ in BLOCK.findall(text)} == {"index", *(f"t{n}" for n in range(15))}


def test_every_trajectory_is_there_with_what_was_said_of_it(asked: Path) -> None:
    """Messages, steps, labels and verdicts of a trajectory are those of the database."""
    blocks = {name: json.loads(body) for name, body in BLOCK.findall(made(asked))}
    index = blocks["index"]
    heads = {head["id"]: (at, head) for at, head in enumerate(index["trajectories"])}
    at, head = heads["library-06"]
    body = blocks[f"t{at}"]

    assert index["label_sets"] == ["sample"]
    assert [one["judge"] for one in index["settings"]] == ["offline:random?seed=3", "offline:rules"]
    assert len(body["messages"]) == head["messages"] == 20
    judged_steps = [row[0] for row in body["steps"] if row[2]]
    assert head["steps"] == judged_steps
    for number in ("0", "1"):
        line = "".join(str(int(row[2])) for row in body["verdicts"] if row[0] == int(number))
        assert head["verdicts"][number] == line
        assert len(line) == len(judged_steps)
    marked = {row[1] for row in body["labels"]}
    assert head["labels"]["0"] == "".join(str(int(step in marked)) for step in judged_steps)


def test_a_step_without_an_answer_is_no_verdict(judged: Path) -> None:
    """A judge that did not answer about a step has a dash there, not a necessary."""
    with Store(judged).writing() as con:
        con.execute(
            "delete from predictions where trajectory_id = 'library-06' and judge = "
            "'offline:rules' and step_index = (select min(step_index) from steps "
            "where judged and trajectory_id = 'library-06')"
        )
    (index,) = [json.loads(body) for name, body in BLOCK.findall(made(judged)) if name == "index"]
    (head,) = [head for head in index["trajectories"] if head["id"] == "library-06"]

    assert head["verdicts"]["1"][0] == "-"
    assert "-" not in head["verdicts"]["1"][1:]


def test_nothing_is_fetched(asked: Path) -> None:
    """No element names another file, and the browser is told to fetch none."""
    text = made(asked)
    drawn = re.sub(r"\bxmlns(:\w+)?=\"[^\"]*\"", "", text)

    assert "default-src 'none'" in text
    assert re.findall(r"<(?:link|img|iframe|object|embed|base)\b", text) == []
    assert re.findall(r'\b(?:src|srcset|action)="', text) == []
    assert re.findall(r'\bhref="(?!#)', drawn) == []
    assert re.findall(r"url\((?!['\"]?#)|@import", drawn) == []
    assert "http" not in re.sub(BLOCK, "", drawn).replace("http-equiv", "")


def test_only_the_page_s_own_script_may_run(asked: Path) -> None:
    """The policy names the one script by its digest, so that no other can ever run."""
    text = made(asked)
    (script,) = re.findall(r"<script>(.*?)</script>", text, re.S)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()

    assert f"script-src 'sha256-{digest}'" in text
    assert "innerHTML" not in script
    assert "insertAdjacentHTML" not in script


def test_how_it_was_made(asked: Path) -> None:
    """Somebody who wants the same again finds versions, judges, digests, counts and label sets."""
    _, _, section = made(asked).partition('<section id="made">')
    section = re.sub(r"<[^>]+>", " ", section.partition("</section>")[0])
    digest = needless(asked, "strategies", "--format", "csv").stdout
    (digest,) = re.findall(r"window_to_one,\w+,\w+,(\w+)", digest)

    for word in ("needless", "schema of the database", "duckdb", "page made"):
        assert word in section
    assert re.search(rf"offline:random\?seed=3\s+window_to_one\s+{digest}", section)
    assert re.search(r"sample\s+library\s+16\s+15", section)
    assert "Label sets" in section


def test_a_metric_stays_a_plain_table(asked: Path) -> None:
    """With a METRIC, html is that table and nothing else."""
    text = made(asked, "scores")

    assert "<table>" in text
    assert "<script" not in text


def test_output_is_a_file(asked: Path, tmp_path: Path) -> None:
    """--output writes the page and leaves stdout alone."""
    path = tmp_path / "report.html"
    assert made(asked, "--output", str(path)) == ""
    assert path.read_text("utf-8").endswith("</html>\n")


def test_nothing_was_asked_yet(db: Path) -> None:
    """Labelled trajectories can be read before anybody is asked; what is missing says so."""
    text = made(db)

    assert "No labelled trajectory has been asked about yet." in text
    assert "No rows." in text
    assert len(BLOCK.findall(text)) == 16


def test_without_the_extra(asked: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nothing can draw, the page is made all the same; page and command say what to do."""
    monkeypatch.setitem(sys.modules, "altair", None)
    done = needless(asked, "report", "--format", "html")

    assert done.exit_code == 0
    for text in (done.stdout, done.stderr):
        assert "needless[figures]" in text
    assert "<figure" not in done.stdout
    assert '<section id="trajectories">' in done.stdout
