"""Figures: which are drawn, that their numbers are the views', and that files are written."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import pytest

from batcher import figures
from batcher.figures.base import COLOURS, DASHES, SHAPES
from cache.store import Connection, Store
from tests.running import needless
from tests.test_metrics import WINDOW, World

ROOT = Path(__file__).resolve().parents[1]
STRATEGY, DIGEST, _, JUDGE = WINDOW
OTHER = (STRATEGY, DIGEST, False, "openai:gpt-4o")


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return Store(tmp_path_factory.mktemp("figures") / "figures.duckdb")


def world() -> World:
    """Four trajectories in two domains, asked by two judges that cost nothing and say nothing."""
    made = World()
    for n, domain in enumerate(("airline", "retail", "airline", "airline")):
        made.run(f"t{n}", 2, {"v1": (1,)}, domain, n_messages=20)
        made.ask(f"t{n}", (True, False)).ask(f"t{n}", (n != 0, True), OTHER)
    return made


def pay(con: Connection, usd: float, judge: str) -> None:
    """Let each prompt of a judge have cost something."""
    con.execute(
        "insert into responses by name select 'b' as batch_id, prompt_hash::varchar as custom_id, "
        "prompt_hash, 'ok' as outcome, false as is_transient, now() as received_at, "
        "9 as output_tokens, $1::double as cost_usd from requests where judge = $2",
        [usd, judge],
    )


def read(store: Store, made: World, *, paid: bool = False, sure: bool = False) -> dict[str, Any]:
    with store.writing() as con:
        made.fill(con)
        if paid:
            pay(con, 0.01, JUDGE)
            pay(con, 0.5, "openai:gpt-4o")
        if sure:
            con.execute("update predictions set confidence = 0.75 where is_redundant")
        return figures.read(con)


def test_all_are_drawn_as_text_and_as_pixels(store: Store) -> None:
    """With everything known, each figure is an SVG and a PNG, and its numbers stand in it."""
    drawn = {
        one.name: one for one in figures.draw(read(store, world(), paid=True, sure=True), png=True)
    }

    assert list(drawn) == list(figures.FIGURES)
    for one in drawn.values():
        assert one.svg.startswith("<svg")
        assert one.png.startswith(b"\x89PNG\r\n")
        assert one.title
        assert one.caption
    text = {name: re.findall(r"<text[^>]*>([^<]+)</text>", one.svg) for name, one in drawn.items()}
    assert {"airline", "retail", "3", "1"} <= {*text["lengths"]}
    assert {JUDGE, OTHER[3], "Step-level · airline"} <= {*text["scores_by_length"]}
    assert {"4/4", "3/4"} <= {*text["recall_by_kind"]}
    assert f"1 {JUDGE} {STRATEGY}" in [re.sub(" +", " ", one) for one in text["cost_against_score"]]
    assert {"4", "7"} <= {*text["calibration"]}


def test_what_has_no_numbers_is_left_out(store: Store) -> None:
    """Nothing paid, no cost; no confidence, no calibration; nothing at all, no figure."""
    assert {"cost_against_score", "calibration"} & {*read(store, world())} == set()
    assert list(read(store, World())) == []


def test_small_levels_are_left_out(store: Store) -> None:
    """As in the paper, fewer than three trajectories of a length are no point of a line."""
    rows = read(store, world())["scores_by_length"]

    assert {row["domain"] for row in rows} == {"airline"}


def test_series_differ_without_colour(store: Store) -> None:
    """Two series of a figure have different shapes, and lines different dashes."""
    assert len({*SHAPES}) == len(SHAPES) >= 6
    assert len({*map(str, DASHES)}) == len(DASHES) >= 6
    assert len({*COLOURS}) == len(COLOURS)
    made = world().ask("t0", (True, False), ("all_to_all", "ccc", False, JUDGE))
    for n in (2, 3):
        made.ask(f"t{n}", (True, False), ("all_to_all", "ccc", False, JUDGE))
    rows = {name: found for name, found in read(store, made).items() if name == "scores_by_length"}
    (drawn,) = figures.draw(rows)

    assert "stroke-dasharray" in drawn.svg
    shapes = {
        re.sub(r"[\d.,-]+", "", path)
        for path in re.findall(r'aria-roledescription="point"[^>]* d="([^"]+)"', drawn.svg)
    }
    assert len(shapes) == 2


def test_two_figures_on_one_page_share_no_id() -> None:
    """An id inside a figure is its own there, and what refers to it still finds it."""
    svg = '<svg><g id="clip0"/><g clip-path="url(#clip0)"/><use xlink:href="#clip0"/></svg>'
    one, two = (figures.Drawn(name, "", "", svg).inline() for name in ("one", "two"))

    assert one == svg.replace("clip0", "one-clip0")
    assert two == svg.replace("clip0", "two-clip0")


def test_a_name_is_no_markup(store: Store) -> None:
    """A domain called like an element is a word of the figure."""
    made = World().run("t", 1, domain="<script>alert(1)</script>")
    for one in figures.draw(read(store, made)):
        assert "<script" not in one.inline()


def test_the_command_writes_files(db: Path, tmp_path: Path) -> None:
    """--figures makes the folder, writes SVG and PNG, and prints their names."""
    folder = tmp_path / "some" / "figures"
    done = needless(db, "report", "--figures", str(folder))

    assert done.exit_code == 0, done.stderr
    assert done.stdout.split() == [str(folder / f"lengths.{form}") for form in ("svg", "png")]
    assert sorted(path.name for path in folder.iterdir()) == ["lengths.png", "lengths.svg"]


def test_the_command_says_what_is_wrong(
    db: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a METRIC, into a file's place, or without the extra, it ends with what to do."""
    place = tmp_path / "file"
    place.write_text("mine")

    done = needless(db, "report", "scores", "--figures", str(tmp_path / "f"))
    assert done.exit_code == 2
    assert "--figures DIR stands alone" in done.stderr
    done = needless(db, "report", "--figures", str(place / "f"))
    assert done.exit_code == 1
    assert "cannot be written" in done.stderr
    assert place.read_text() == "mine"
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    done = needless(db, "report", "--figures", str(tmp_path / "f"))
    assert done.exit_code == 2
    assert "pip install 'needless[figures]'" in done.stderr


def test_every_figure_is_explained() -> None:
    """A figure is a file of its own, and is in the table of its page."""
    files = {path.stem for path in (ROOT / "batcher" / "figures").glob("*.py")}
    page = (ROOT / "docs" / "report.md").read_text("utf-8")

    assert {*figures.FIGURES.values()} == files - {"__init__", "base"}
    assert [name for name in figures.FIGURES if f"| `{name}` |" not in page] == []
