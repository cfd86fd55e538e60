"""Tables of metrics: what stands in them, and that each form holds the same."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import pytest

from batcher.latex import escaped
from batcher.report import headline, metric, metrics, table2
from batcher.table import FORMS, Table, render
from cache.errors import UsageError
from cache.store import Store
from tests.test_metrics import WINDOW, World

DASH = "\N{EN DASH}"
STRATEGY, DIGEST, _, JUDGE = WINDOW
GOLD = (STRATEGY, DIGEST, True, JUDGE)
WHOLE = ("all_to_all", "ccc", False, JUDGE)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return Store(tmp_path_factory.mktemp("report") / "report.duckdb")


def table_of(store: Store, world: World) -> Table:
    with store.writing() as con:
        world.fill(con)
        return table2(con)


def three_domains() -> World:
    """One redundant trajectory a domain; retail's is missed, an airline one is unanswered."""
    world = World()
    for domain in ("telecom", "airline", "retail"):
        world.run(domain, 2, {"v1": (1,)}, domain).ask(domain, (domain != "retail", False))
    return world.run("open", 1, {"v1": (1,)}, "airline").ask("open", (None,))


def test_the_layout_of_the_paper(store: Store) -> None:
    """Both levels, the domains in the paper's order, Avg., and how many stand behind it."""
    table = table_of(store, three_domains())

    assert table.columns == (
        *("label_set", "judge", "strategy", "level"),
        *("Airline", "Retail", "Telecom", "Avg.", "scored", "asked"),
    )
    two_thirds = pytest.approx(2 / 3)
    assert table.rows == (
        ("v1", JUDGE, STRATEGY, "Traj-level", 1.0, 0.0, 1.0, two_thirds, 3, 4),
        ("v1", JUDGE, STRATEGY, "Step-level", 1.0, 0.0, 1.0, two_thirds, 3, 4),
    )


def test_no_score_stands_alone(store: Store) -> None:
    """Below the judges of a label set stands what looking at nothing gives, with no run of it."""
    world = three_domains().run("x", 1, {"v1": ()}, "moon").run("y", 1, {"v2": (1,)}, "retail")
    world.ask("y", (True,))
    with store.writing() as con:
        world.fill(con)
        table = headline(con)
    assert table.columns[4:8] == ("Airline", "Retail", "Telecom", "Avg.")
    assert [row[:2] for row in table.rows] == [
        *[("v1", JUDGE)] * 2,
        *[("v1", "baseline")] * 8,
        *[("v2", JUDGE)] * 2,
        *[("v2", "baseline")] * 8,
    ]
    # In airline one of two judged steps is redundant in one run, and the only one in the other.
    two_thirds = pytest.approx(2 / 3)
    airline = pytest.approx((2 / 3 + 1) / 2)
    average = pytest.approx((5 / 6 + 2 / 3 + 2 / 3) / 3)
    assert table.rows[2] == ("v1", "baseline", "all redundant", "Traj-level", 1, 1, 1, 1, 4, 4)
    assert table.rows[3][2:] == (
        *("all redundant", "Step-level", airline, two_thirds, two_thirds, average, 4, 4),
    )
    assert table.rows[13][2:] == ("all redundant", "Step-level", None, 1, None, 1, 1, 1)


def test_text(store: Store) -> None:
    """A reader gets percentages with two decimals in lines of 80 characters, and no colour."""
    text = render(table_of(store, three_domains()), "table", 80)

    assert "label_set: v1 · judge: offline:rules" in text
    assert "window_to_one  Traj-level   100.00    0.00   100.00  66.67       3      4" in text
    assert max(map(len, text.splitlines())) <= 80
    assert "\x1b" not in text


def test_rows_in_order(store: Store) -> None:
    """Strategies stand in the paper's order, +gold after without, others last."""
    world = World().run("t", 1)
    for setting in (WHOLE, ("beam", "b", False, JUDGE), GOLD, WINDOW):
        world.ask("t", (False,), setting)
    names = [row[2] for row in table_of(store, world).rows[::2]]
    assert names == ["window_to_one", "window_to_one +gold", "all_to_all", "beam"]


def test_versions_are_told_apart(store: Store) -> None:
    """A strategy carries its digest when two versions of it were asked, and only then."""
    world = World().run("t", 1).ask("t", (False,)).ask("t", (True,), WHOLE)
    world.ask("t", (True,), (STRATEGY, "bbb", False, JUDGE))
    names = [row[2] for row in table_of(store, world).rows[::2]]
    assert names == ["window_to_one@aaa", "window_to_one@bbb", "all_to_all"]


def test_a_block_for_each_label_set_and_judge(store: Store) -> None:
    """Label sets and judges have blocks of their own, however many there are."""
    judges = [f"openai:gpt-4o?seed={n}" for n in range(12)]
    world = World().run("t", 1, {"v1": (1,), "release": ()})
    for judge in judges:
        world.ask("t", (True,), (STRATEGY, DIGEST, False, judge))
    lines = render(table_of(store, world), "table", 80).splitlines()
    for label_set in ("v1", "release"):
        for judge in judges:
            assert f"label_set: {label_set} · judge: {judge}" in lines


def test_what_is_missing_is_a_dash(store: Store) -> None:
    """A domain that was not asked or has no answer is a dash, never 0; others come last."""
    world = World().run("s", 1, domain="shop").run("a", 1, domain="airline").run("t", 1, {}, "x")
    world.ask("s", (False,)).ask("a", (None,)).ask("s", (False,), WHOLE)
    table = table_of(store, world)
    assert table.columns[4:7] == ("Airline", "shop", "Avg.")
    assert [row[4:] for row in table.rows] == [
        (None, 1.0, None, 1, 2),
        (None, 0.0, None, 1, 2),
        (None, 1.0, 1.0, 1, 1),
        (None, 0.0, 0.0, 1, 1),
    ]
    line = render(table, "table", 80).splitlines()[5]
    assert line.split() == ["window_to_one", "Traj-level", DASH, "100.00", DASH, "1", "2"]


def test_nothing_yet(store: Store) -> None:
    """An empty database gives a table that says so, in every form."""
    table = table_of(store, World())
    for form in FORMS:
        assert render(table, form, 80).strip()
    assert "No rows." in render(table, "table", 80)
    assert "has been asked" in render(table, "table", 80)


def test_every_metric_is_a_table(store: Store) -> None:
    """Each view renders in each form, with all its columns, in lines that fit."""
    with store.writing() as con:
        three_domains().ask("retail", (True, True), GOLD).fill(con)
        tables = [metric(con, name) for name in metrics()]
    assert sum(bool(table.rows) for table in tables) > 5
    for table in tables:
        for form in FORMS:
            text = render(table, form, 80)
            shown = table.columns if table.rows else ()
            names = map(escaped, shown) if form == "latex" else shown
            assert all(name in text for name in names), (table.title, form)
        assert max(map(len, render(table, "table", 80).splitlines())) <= 80


def test_no_such_metric(store: Store) -> None:
    """An unknown metric or form is a usage error that names the known ones."""
    with store.writing() as con, pytest.raises(UsageError, match=r"no such metric: f2.*scores"):
        metric(con, "f2")
    with pytest.raises(UsageError, match=r"no such format: xml.*html"):
        render(Table("t", (), ()), "xml", 80)


ODD = Table(
    title="odd <b> & [red]",
    columns=("name", "score", "n", "price", "flag", "list"),
    rows=(
        ("a|b", 1 / 3, 1, Decimal("43.17"), True, [1, 2]),
        (':smile: [red]<i>,"q"\n\x1b[31m', None, 20, None, None, None),
        ("z", float("nan"), 300, Decimal("0.00"), False, []),
    ),
    notes=("a <note>",),
    shares=frozenset({"score"}),
)


def test_programs_get_raw_numbers() -> None:
    """CSV and JSON keep fractions and text as they are; NULL is empty or null, NaN never shows."""
    names, first, second, third = csv.reader(io.StringIO(render(ODD, "csv", 80)))
    assert tuple(names) == ODD.columns
    assert first == ["a|b", repr(1 / 3), "1", "43.17", "true", "[1, 2]"]
    assert second == [ODD.rows[1][0], "", "20", "", "", ""]
    assert third == ["z", "", "300", "0.00", "false", "[]"]

    rows = json.loads(render(ODD, "json", 80))
    assert rows[0] == dict(zip(ODD.columns, ("a|b", 1 / 3, 1, 43.17, True, [1, 2]), strict=True))
    assert (rows[1]["name"], rows[1]["score"], rows[2]["score"]) == (ODD.rows[1][0], None, None)


def test_names_are_only_text() -> None:
    """No name can colour the terminal, break a row, or become markup of a page."""
    text = render(ODD, "table", 100)
    assert ':smile: [red]<i>,"q"\\n\\x1b[31m' in text
    assert "33.33" in text
    assert "nan" not in text

    markdown = render(ODD, "md", 80).splitlines()
    assert markdown[0] == "## odd \\<b\\> & \\[red\\]"
    assert markdown[2] == "| name | score | n | price | flag | list |"
    assert markdown[3] == "| --- | ---: | ---: | ---: | --- | --- |"
    assert markdown[4] == "| a\\|b | 33.33 | 1 | 43.17 | true | \\[1, 2\\] |"
    assert len([line for line in markdown if line.startswith("|")]) == 5

    page = render(ODD, "html", 80)
    assert "<title>odd &lt;b&gt; &amp; [red]</title>" in page
    assert '<td class="n">33.33</td>' in page
    assert "<i>" not in page
    assert "http" not in page


def test_a_narrow_line() -> None:
    """A table too wide for the line goes on below, with the names of its rows again."""
    columns = ("kind", *(f"number_{n}" for n in range(9)))
    text = render(Table("t", columns, (("duplicated", *range(9)),)), "table", 40)
    assert text.count("duplicated") == 3
    assert max(map(len, text.splitlines())) <= 40


def test_no_colour_by_force(monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment cannot put colour codes into a report."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "\x1b" not in render(ODD, "table", 80)


def test_light_to_import() -> None:
    """Neither rich nor a provider's library is loaded before a table is drawn."""
    code = "import sys, batcher.report; print({'rich', 'openai', 'anthropic'} & {*sys.modules})"
    root = Path(__file__).parents[1]
    out = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, check=True)
    assert out.stdout.strip() == b"set()"
