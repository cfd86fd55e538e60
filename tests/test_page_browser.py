"""The page of a report in a real browser: choosing, filtering, linking, and hostile text."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest

from cache.bulk import load
from cache.store import Store
from tests import chromium
from tests.running import needless

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.skipif(
    chromium.executable() is None,
    reason="no Chromium here; `apt-get install chromium` (as root) lets these tests run",
)

#: Recorded text that would do harm if it were taken for markup, or for the end of the data.
HOSTILE = (
    "</script><script>alert('out')</script>\n<img src=x onerror=alert(1)> {{scores}} \u2028 &lt;b>"
)
ODD = "odd</script><img src=x onerror=alert(2)>" + "x" * 300
ASKED = ("offline:rules", "offline:random?seed=3", "offline:always_necessary")


def hostile_rows() -> dict[str, list[dict[str, Any]]]:
    """One trajectory, in a second label set, all of whose texts are hostile."""
    who = {"trajectory_id": ODD}
    stamp = {"source": "", "imported_at": "2026-01-01T00:00:00Z"}
    setting = {"strategy": "window_to_one", "strategy_digest": "d", "gold": False, "repeat": 0}
    labelled = {"label_set": "<b>second", **who}
    step = {"player": "assistant", "call_index": 1, "result_index": 2, "is_error": True}
    run = {"dataset": HOSTILE, "domain": "<i>odd", "task_id": HOSTILE, "content_digest": ""}
    texts = {"objective": HOSTILE, "policy": HOSTILE, "gold_actions": f'["{"<b>"}"]'}
    verdict = {"step_index": 0, "is_redundant": True, "kind": HOSTILE, "evidence": [2, -1]}
    return {
        "trajectories": [{**who, **run, **texts, **stamp, "n_messages": 3}],
        "messages": [
            {**who, "message_index": at, "role": role, "content": HOSTILE, "is_error": False}
            for at, role in enumerate(("user", "assistant", "tool"))
        ],
        "steps": [{**who, **step, "step_index": 0, "judged": True, "tool": HOSTILE}],
        "annotations": [{**labelled, **stamp, "annotator": HOSTILE, "n_labels": 0}],
        "predictions": [{**who, **setting, **verdict, "judge": f"offline:{HOSTILE}"}],
    }


@pytest.fixture(scope="module")
def db(sample: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample asked by three judges, and a trajectory that means harm."""
    path = Path(shutil.copy(sample, tmp_path_factory.mktemp("browser") / "b.duckdb"))
    for judge in ASKED:
        for strategy in ("window_to_one", "all_to_all"):
            done = needless(path, "run", "--strategy", strategy, "--judge", judge)
            assert done.exit_code == 0, done.stderr
    with Store(path).writing() as con:
        for table, rows in hostile_rows().items():
            load(con, table, rows)
    return path


@pytest.fixture(scope="module")
def report(db: Path) -> Path:
    path = db.with_name("report.html")
    done = needless(db, "report", "--format", "html", "--output", str(path))
    assert done.exit_code == 0, done.stderr
    return path


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[chromium.Browser]:
    with chromium.browser(tmp_path_factory.mktemp("profile")) as found:
        yield found


@pytest.fixture
def browser(started: chromium.Browser, report: Path) -> Iterator[chromium.Browser]:
    """A browser whose pages may neither complain nor ask for anything but the file itself."""
    started.asked.clear()
    started.faults.clear()
    yield started
    assert started.faults == []
    assert {address.partition("#")[0] for address in started.asked} == {report.as_uri()}


def ids(db: Path, statement: str) -> set[str]:
    return {str(row[0]) for row in Store(db).query(statement)[1]}


def listed(tab: Page) -> set[str]:
    """The ids in the list, which says itself how many there are."""
    found = {str(name) for name in tab.locator("#list a b").all_text_contents()}
    assert tab.locator("#count").inner_text() == f"{len(found)} of 16 trajectories"
    return found


def disagreeing(*judges: str) -> str:
    """The trajectories with a step on which two of these judges differ, asked the same way."""
    names = ", ".join(f"'{judge}'" for judge in judges)
    return (
        "select trajectory_id from predictions "
        f"where judge in ({names}) group by trajectory_id, step_index, strategy, strategy_digest, "
        "gold having count(distinct is_redundant) = 2"
    )


def test_choosing_a_trajectory(browser: chromium.Browser, report: Path) -> None:
    """A click shows messages, steps, and every label and verdict beside each judged step."""
    tab = browser.open(report)
    assert tab.locator("#trajectory").inner_text() == "Choose a trajectory to read it."
    tab.get_by_role("link", name="library-06").click()

    assert tab.locator("#trajectory > h3").inner_text() == "library-06"
    assert "#t=library-06" in tab.url
    assert tab.locator("#list a[aria-current]").inner_text().startswith("library-06")
    assert tab.locator("#trajectory .overview tbody tr").count() == 1 + 6
    assert tab.locator("[id^=message-]").count() == 20
    for step in tab.locator("#trajectory .step.judged").all():
        who = step.locator(".verdicts tbody th").all_inner_texts()
        assert who[0].split() == ["sample", "label", "set"]
        assert {name.split()[0] for name in who[1:]} == {*ASKED}
        assert len(who) == 1 + 6


def test_the_verdicts_shown_are_those_of_the_database(
    browser: chromium.Browser, report: Path, db: Path
) -> None:
    """The overview of a trajectory is, sign by sign, what the judges said."""
    tab = browser.open(report, "#t=library-03&judge=offline:rules&strategy=all_to_all")
    signs = tab.locator(".overview tbody tr").last.locator("td").all_inner_texts()
    _, rows = Store(db).query(
        "select is_redundant from predictions where trajectory_id = 'library-03' and "
        "judge = 'offline:rules' and strategy = 'all_to_all' order by step_index"
    )

    assert signs == ["●" if row[0] else "○" for row in rows]
    assert {"●", "○"} == {*signs}


def test_filter_on_text_and_domain(browser: chromium.Browser, report: Path) -> None:
    """Part of an id, or a domain, leaves what has it; Clear brings all back."""
    tab = browser.open(report)
    everything = listed(tab)
    tab.locator("#filters").get_by_label("Trajectory", exact=True).fill("RY-1")
    assert listed(tab) == {name for name in everything if "ry-1" in name}
    tab.get_by_role("button", name="Clear").click()
    assert listed(tab) == everything
    tab.locator("#filters").get_by_label("Domain").select_option("<i>odd")
    assert listed(tab) == {ODD}


def test_filter_on_disagreement(browser: chromium.Browser, report: Path, db: Path) -> None:
    """Only trajectories with a step on which judges, or a judge and a label, differ are left."""
    two = "offline:rules", "offline:always_necessary"
    tab = browser.open(report)
    tab.get_by_text("Judges, strategies and label sets").click()
    for judge in two:
        tab.locator("#filters").get_by_label(judge).check()
    tab.locator("#filters").get_by_label("judges disagree").check()
    expected = ids(db, disagreeing(*two))
    assert listed(tab) == expected
    assert 0 < len(expected) < 15

    tab.locator("#filters").get_by_label("judges disagree").uncheck()
    tab.locator("#filters").get_by_label(two[1]).uncheck()
    tab.locator("#filters").get_by_label("against a label").check()
    tab.locator("#filters").get_by_label("all_to_all").check()
    expected = ids(
        db,
        "select trajectory_id from predictions join truth using (trajectory_id, step_index) "
        "where judge = 'offline:rules' and strategy = 'all_to_all' "
        "and is_redundant != is_labelled",
    )
    assert listed(tab) == expected
    assert 0 < len(expected) < 15


def test_filter_on_judge_strategy_and_label_set(browser: chromium.Browser, report: Path) -> None:
    """What is ticked is what is shown and compared, and who has nothing of it is not listed."""
    tab = browser.open(report, "#t=library-06")
    tab.get_by_text("Judges, strategies and label sets").click()
    tab.locator("#filters").get_by_label("offline:rules").check()
    assert ODD not in listed(tab)
    tab.locator("#filters").get_by_label("window_to_one@").last.check()
    titles = tab.locator("#trajectory .overview tbody th").all_inner_texts()
    assert titles[0] == "label set · sample"
    assert [title.partition("@")[0] for title in titles[1:]] == ["window_to_one"]
    assert titles[1].endswith(" · offline:rules")
    tab.get_by_role("button", name="Clear").click()
    tab.locator("#filters").get_by_label("<b>second").check()
    assert listed(tab) == {ODD}


def test_a_link_brings_everything_back(browser: chromium.Browser, report: Path) -> None:
    """Trajectory, step and filters of an address are there when somebody else opens it."""
    link = "#t=library-06&step=4&q=library-0&only=judges&judge=offline:rules"
    tab = browser.open(report, f"{link}&judge={quote('offline:random?seed=3')}")

    assert tab.locator("#trajectory > h3").inner_text() == "library-06"
    assert tab.evaluate("document.activeElement.id") == "step-4"
    assert tab.locator("#step-4").evaluate("one => one.getBoundingClientRect().top") < 100
    assert tab.locator("#filters [name=q]").input_value() == "library-0"
    ticked = "[...document.querySelectorAll('#filters :checked:not(option)')].map(one => one.value)"
    assert {*tab.evaluate(ticked)} == {"judges", "offline:rules", "offline:random?seed=3"}
    assert all(name.startswith("library-0") for name in listed(tab))
    assert tab.locator("#trajectory .overview tbody tr").count() == 1 + 4


def test_back_and_forth(browser: chromium.Browser, report: Path) -> None:
    """The browser's own buttons go from trajectory to trajectory and from step to step."""
    tab = browser.open(report)
    tab.get_by_role("link", name="library-01").click()
    tab.get_by_role("link", name="library-02").click()
    tab.get_by_role("link", name="next judged step").click()
    first = tab.evaluate("document.activeElement.id")
    tab.get_by_role("link", name="next judged step").click()
    assert tab.evaluate("document.activeElement.id") != first
    tab.go_back()
    assert tab.evaluate("document.activeElement.id") == first
    tab.go_back()
    tab.go_back()
    assert tab.locator("#trajectory > h3").inner_text() == "library-01"


def test_evidence_leads_to_its_message(browser: chromium.Browser, report: Path) -> None:
    """A message that a label names is one click away, even where it is a result beside a call."""
    tab = browser.open(report, "#t=library-01")
    evidence = tab.locator("tr.label a").first
    number = evidence.inner_text()
    evidence.click()
    assert tab.evaluate("document.activeElement.id") == f"message-{number}"


def test_the_keyboard_is_enough(browser: chromium.Browser, report: Path) -> None:
    """Tab reaches the filters and the list, Enter opens, and no step of it needs a mouse."""
    tab = browser.open(report)
    tab.locator("#filters").get_by_label("Trajectory", exact=True).focus()
    tab.keyboard.type("library-07")
    for _ in range(12):
        tab.keyboard.press("Tab")
        if tab.evaluate("document.activeElement.dataset.id ?? ''"):
            break
    tab.keyboard.press("Enter")
    assert tab.locator("#trajectory > h3").inner_text() == "library-07"
    assert tab.evaluate("document.activeElement.dataset.id") == "library-07"


def test_recorded_text_stays_text(browser: chromium.Browser, report: Path) -> None:
    """Markup in ids, messages, results, kinds and names is shown as it was recorded, never run."""
    tab = browser.open(report, f"#t={quote(ODD)}&step=0")

    assert tab.locator("#trajectory > h3").text_content() == ODD
    assert tab.locator("#message-0 pre").text_content() == HOSTILE
    assert tab.locator("#message-2 pre").text_content() == HOSTILE
    assert HOSTILE in str(tab.locator("#step-0 .verdicts").text_content())
    assert tab.locator("#trajectory :is(script, img, b, i)").count() == 0
    assert tab.locator("script:not([type])").count() == 1
    assert tab.locator("img").count() == 0


def test_an_unknown_trajectory(browser: chromium.Browser, report: Path) -> None:
    """A link into another report says that the trajectory is not here."""
    tab = browser.open(report, "#t=nowhere")
    assert tab.locator("#trajectory").inner_text() == "No trajectory here is called nowhere."


@pytest.mark.parametrize("width", [360, 800, 1280])
def test_nothing_sticks_out(browser: chromium.Browser, report: Path, width: int) -> None:
    """On a narrow screen, wide tables scroll in their frames; the page itself does not."""
    for name in ("library-06", ODD):
        tab = browser.open(report)
        tab.set_viewport_size({"width": width, "height": 800})
        tab.evaluate("fragment => { location.hash = fragment; }", f"t={quote(name)}")
        tab.locator("#trajectory .overview").wait_for()
        assert tab.evaluate("document.documentElement.scrollWidth") <= width


def test_print_shows_the_trajectory(browser: chromium.Browser, report: Path) -> None:
    """On paper there are scores and the open trajectory, without lists to click."""
    tab = browser.open(report, "#t=library-06")
    tab.emulate_media(media="print")
    assert tab.locator("#trajectory .step").first.is_visible()
    assert tab.locator("#scores table").first.is_visible()
    assert not tab.locator("#filters").is_visible()
    assert not tab.locator("#list").is_visible()
