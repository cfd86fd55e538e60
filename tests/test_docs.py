"""The documentation cannot fall behind: what exists is named, what is shown works."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path
from typing import get_args

import click
import pytest
from click.testing import CliRunner

import sql
from batcher.offline import JUDGES
from batcher.providers import PROVIDERS
from cache.errors import NeedlessError
from cache.importers import FORMATS
from cache.store import Store
from cli import main
from prompts.strategy import load
from tests import schema_page
from tests.wire.faults import CallFault, CallKind, Faults, LineFault, LineKind
from tests.wire.ledger import Log
from tests.wire.settings import Settings

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
README = (ROOT / "README.md").read_text("utf-8")
PAGES = {path.name: path.read_text("utf-8") for path in sorted(DOCS.glob("*.md"))}
#: What people wrote; the page that is printed names every view by itself.
PROSE = "\n".join([README, *(text for name, text in PAGES.items() if name != "schema.md")])
COMMANDS = sorted(main.commands)
METRICS = sorted(sql.read("metrics"))


def blocks(text: str, language: str) -> list[str]:
    """The fenced blocks of one language; without one the language is ""."""
    found = re.findall(r"^```(\w*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return [body for name, body in found if name == language]


def is_named(name: str, text: str) -> bool:
    return re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text) is not None


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_is_explained(name: str) -> None:
    """A command has a place on the page of the command line."""
    headings = re.findall(r"^### (.*)$", PAGES["command-line.md"], re.MULTILINE)

    assert any(is_named(f"needless {name}", heading) for heading in headings)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_flag_is_explained(name: str) -> None:
    """Each way to write a flag is on the page of the command line."""
    command = main.commands[name]
    below = command.commands.values() if isinstance(command, click.Group) else ()

    assert all(one.help for one in (command, *below))
    for parameter in [
        *main.params,
        *command.params,
        *(flag for one in below for flag in one.params),
    ]:
        if isinstance(parameter, click.Option):
            for flag in (*parameter.opts, *parameter.secondary_opts):
                assert is_named(flag, PAGES["command-line.md"]), flag


@pytest.mark.parametrize("name", sorted(load()))
def test_every_strategy_is_explained(name: str) -> None:
    """A strategy is in the README and on the page of strategies."""
    assert f"`{name}`" in README
    assert f"`{name}`" in PAGES["strategies.md"]


@pytest.mark.parametrize("name", METRICS)
def test_every_metric_is_explained(name: str) -> None:
    """A metric is in the README, and has a section with an example."""
    section = re.search(rf"^## `{name}`\n(.*?)(?=^## |\Z)", PAGES["metrics.md"], re.M | re.S)

    assert f"`{name}`" in README
    assert section
    assert any(is_named(name, block) for block in blocks(section[1], "sql"))


@pytest.mark.parametrize("name", sorted(JUDGES))
def test_every_offline_judge_is_explained(name: str) -> None:
    """An offline judge is in the README and on the page of judges."""
    assert f"`offline:{name}`" in README
    assert f"`offline:{name}`" in PAGES["judges.md"]


@pytest.mark.parametrize("name", sorted(PROVIDERS))
def test_every_provider_is_explained(name: str) -> None:
    """A provider is on the page of judges, with the variable of its key."""
    key = PROVIDERS[name][1]

    assert f"`{name}" in PAGES["judges.md"]
    assert key in PAGES["judges.md"]
    assert key in README


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_is_explained(name: str) -> None:
    """A format that can be imported is on the page of importing."""
    assert f"`{name}`" in PAGES["importing.md"]


def test_every_outcome_is_explained() -> None:
    """What can become of a prompt is on the page of the flow."""
    for state in re.findall(r"^ {4}\('(\w+)'", sql.read("views")["outcome_rules"], re.MULTILINE):
        assert f"`{state}`" in PAGES["flow.md"], state


def test_every_exit_code_is_explained() -> None:
    """Whatever a script may be told is in the README and on the page of the command line."""
    codes = {0, NeedlessError.exit_code}
    families = [NeedlessError]
    while families:
        families += (family := families.pop()).__subclasses__()
        codes.add(family.exit_code)

    for text in (README, PAGES["command-line.md"]):
        assert {int(code) for code in re.findall(r"^\| (\d) \|", text, re.MULTILINE)} == codes


def test_everything_about_the_wire_service_is_explained() -> None:
    """Each kind of fault, each field of a rule, each switch, setting and entry of the log."""
    page = PAGES["wire-service.md"]
    names = {*get_args(CallKind), *get_args(LineKind), *Log.__annotations__}
    for kind in (Faults, CallFault, LineFault, Settings):
        names |= {field.name for field in dataclasses.fields(kind)}

    assert [name for name in sorted(names) if f"`{name}`" not in page] == []


@pytest.mark.parametrize("example", blocks(PAGES["wire-service.md"], "python"))
def test_every_example_of_the_wire_service_runs(example: str) -> None:
    """It can be pasted at the root of a clone, with the vendors' own SDKs."""
    exec(example, {})


@pytest.mark.parametrize(
    "command", ["pip install . && needless run", "pip install -e '.[dev]' && pytest"]
)
def test_the_two_commands_stand_alone(command: str) -> None:
    """To try it, and to test it: one line each, ready to be copied."""
    assert f"{command}\n" in blocks(README, "")


def test_the_checks_end_with_the_command_of_the_readme() -> None:
    """`.ci/run` tests the way the README says, and the closing line of pytest comes last."""
    lines = (ROOT / ".ci" / "run").read_text("utf-8").splitlines()

    assert lines[-1] == "pytest"
    assert "pip install --quiet -e '.[dev]'" in lines


def test_the_schema_page_is_current() -> None:
    """docs/schema.md is what the database says; `python tests/schema_page.py` writes it anew."""
    assert PAGES["schema.md"] == schema_page.page()


@pytest.mark.parametrize(
    "path",
    [
        ROOT / "README.md",
        ROOT / "CONTRIBUTING.md",
        ROOT / "CHANGELOG.md",
        *sorted(DOCS.glob("*.md")),
    ],
    ids=lambda path: path.name,
)
def test_every_link_leads_somewhere(path: Path) -> None:
    """A relative link points at a file that is there."""
    for link in re.findall(r"\]\(([^)#\s]+)[^)]*\)", path.read_text("utf-8")):
        if not link.startswith("https://"):
            assert (path.parent / link).is_file(), link


def test_the_readme_links_to_every_page() -> None:
    """No page has to be guessed."""
    for name in PAGES:
        assert f"(docs/{name})" in README, name


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """The bundled sample, judged by every offline judge, one with gold; some of it rechecked."""
    path = tmp_path_factory.mktemp("docs") / "sample.duckdb"
    later = [part for name in ("classify", "retrieve", "detect") for part in ("--strategy", name)]
    gold = ["run", "--judge", "offline:rules", "--gold"]
    for words in (["run"], gold, ["run", *later], ["recheck"]):
        done = CliRunner().invoke(main, ["--db", str(path), *words])
        assert done.exit_code == 0, done.output
    return Store(path)


@pytest.mark.parametrize("statement", blocks(PAGES["metrics.md"], "sql"))
def test_every_example_runs(judged: Store, statement: str) -> None:
    """What the page of metrics shows can be pasted, and answers something on the sample."""
    columns, rows = judged.query(statement)

    assert columns
    # On the sample nothing is missing, and its judges cost nothing and name no confidence.
    empty = ("coverage < 1", "plan_error", "FROM calibration")
    assert rows or any(words in statement for words in empty)


def test_the_readme_s_query_runs(judged: Store) -> None:
    """So does the one in the README."""
    statements = re.findall(r'needless query "(SELECT [^"]+)"', README)

    assert statements
    for statement in statements:
        assert judged.query(statement)[1]


def test_the_readme_shows_what_the_program_prints(judged: Store) -> None:
    """Every line of scores in the README's first output is one that a run prints."""
    shown = next(block for block in blocks(README, "") if "Redundant trajectories" in block)
    printed = CliRunner().invoke(main, ["--db", str(judged.path), "report"]).stdout.splitlines()

    for line in shown.splitlines():
        if re.search(r"\d\.\d\d", line):
            assert re.sub(r" +", " ", line) in [re.sub(r" +", " ", other) for other in printed]


def test_the_published_rows_that_differ_are_those_of_the_page(judged: Store) -> None:
    """The table of averages that do not add up is the view's, row by row."""
    _, rows = judged.query(
        "select model, strategy, level, printed_average, recomputed_average, difference "
        "from published where differs"
    )
    shown = re.findall(r"^\| (.*step.*|.*trajectory.*) \|$", PAGES["metrics.md"], re.MULTILINE)

    for row in rows:
        assert " | ".join(map(str, row)).replace("-0", "−0") in shown
    assert len(rows) == 6
