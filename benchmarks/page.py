"""How long the page of a report takes to make and to open, in headless Chromium.

``python benchmarks/page.py --trajectories 200``. Needs the extras of development and Chromium. Each
trajectory has forty messages of half a kilobyte, sixteen judged steps, two label sets, and the
verdicts of four judges by three strategies. ``--keep FOLDER`` leaves page and database behind.
"""

from __future__ import annotations

import argparse
import random
import shutil
import sys
import tempfile
import time
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from batcher import figures
from batcher.page import page
from cache.bulk import load
from cache.store import Store

NOW = datetime(2026, 1, 1, tzinfo=UTC)
STRATEGIES = ("one_to_one", "window_to_one", "all_to_all")
JUDGES = (
    "openai:gpt-4o",
    "anthropic:claude-haiku-4-5",
    "deepseek:deepseek-v4-pro",
    "offline:rules",
)
KINDS = ("abnormal", "duplicated", "incorrect", "exploratory")
LABEL_SETS = ("human", "second")
WORDS = [f"word{n}" for n in range(400)]
JUDGED = range(2, 34, 2)


def fill(store: Store, n: int) -> None:
    """Put n trajectories with labels and verdicts into a new database."""
    source = random.Random(1)
    rows: dict[str, list[dict[str, Any]]] = {}

    def add(table: str, **row: Any) -> None:
        rows.setdefault(table, []).append(row)

    for at in range(n):
        name = f"trajectory-{at:04}"
        who = {"trajectory_id": name}
        add(
            "trajectories",
            **who,
            dataset="made",
            domain=("airline", "retail", "telecom")[at % 3],
            task_id=str(at),
            objective=" ".join(source.choices(WORDS, k=40)),
            policy="The policy. " * 500,
            success=True,
            n_messages=source.choice((12, 25, 40, 60)),
            content_digest="",
            source="",
            imported_at=NOW.isoformat(),
        )
        for index in range(40):
            call = index in JUDGED
            tool = index - 1 in JUDGED
            role = "tool" if tool else "assistant" if call or index % 2 == 0 else "user"
            text = "" if call else " ".join(source.choices(WORDS, k=80))
            add("messages", **who, message_index=index, role=role, content=text, is_error=False)
        marks = {index for index in JUDGED if source.random() < 0.3}
        for step, index in enumerate(JUDGED):
            add(
                "steps",
                **who,
                step_index=step,
                player="assistant",
                judged=True,
                call_index=index,
                result_index=index + 1,
                tool="look_up",
                arguments='{"query": "' + " ".join(source.choices(WORDS, k=6)) + '"}',
                is_error=False,
            )
        for label_set in LABEL_SETS:
            note = {"label_set": label_set, **who}
            stamp = {"source": "", "imported_at": NOW.isoformat()}
            add("annotations", **note, annotator="a", n_labels=len(marks), **stamp)
            for step, index in enumerate(JUDGED):
                if index in marks and source.random() < 0.9:
                    kind, proof = source.choice(KINDS), [index, index + 1]
                    mark = {"kind": kind, "evidence": proof, "is_synthetic": source.random() < 0.3}
                    add("labels", **note, step_index=step, confidence="certain", **mark)
        for strategy in STRATEGIES:
            for number, judge in enumerate(JUDGES):
                setting = {"strategy": strategy, "strategy_digest": "d", "gold": False}
                setting |= {"judge": judge, "repeat": 0}
                prompt = f"{at:08x}{STRATEGIES.index(strategy):08x}{number:016x}"
                asked = {"mode": "batch", "answer": "verdict", "n_shown": 1, "excerpt_index": 0}
                asked |= {"targets": [1], "positions": [1], "prompt_hash": prompt}
                add("requests", **who, **setting, **asked)
                line = {"batch_id": "b", "custom_id": prompt, "prompt_hash": prompt}
                add("batch_prompts", **line, attempt=1)
                usage = {"outcome": "ok", "is_transient": False, "received_at": NOW.isoformat()}
                cost = (0.01 * 4**-number) * (1 + STRATEGIES.index(strategy)) if number < 3 else 0.0
                add("responses", **line, **usage, cost_usd=cost, output_tokens=9)
                for step, index in enumerate(JUDGED):
                    sure = round(source.random(), 2)
                    right = source.random() < 0.6 + 0.3 * sure - 0.05 * number
                    said = (index in marks) == right
                    add(
                        "predictions",
                        **who,
                        **setting,
                        step_index=step,
                        is_redundant=said,
                        kind=source.choice(KINDS) if said else None,
                        evidence=[index] if said else None,
                        confidence=sure if said and strategy == "all_to_all" else None,
                    )
    with store.writing() as con:
        for table, values in rows.items():
            load(con, table, values)


def opened(path: Path, profile: Path) -> dict[str, float]:
    """Open the page in a browser that never saw it; return seconds."""
    from playwright.sync_api import sync_playwright

    browser = shutil.which("chromium") or sys.exit("no chromium here")
    with sync_playwright() as play:
        context = play.chromium.launch_persistent_context(
            profile, executable_path=browser, args=["--no-sandbox", "--disable-gpu"]
        )
        tab = context.new_page()
        began = time.perf_counter()
        tab.goto(path.as_uri(), wait_until="commit")
        tab.locator("#list a").first.wait_for()
        listed = time.perf_counter() - began
        painted = tab.evaluate("performance.getEntriesByType('navigation')[0].domInteractive")
        began = time.perf_counter()
        tab.locator("#list a").nth(99).click()
        tab.locator("#trajectory .overview").wait_for()
        chosen = time.perf_counter() - began
        began = time.perf_counter()
        tab.locator("input[name=only]").first.check()
        filtered = time.perf_counter() - began
        context.close()
    return {
        "list usable": listed,
        "document read": painted / 1000,
        "trajectory chosen": chosen,
        "filter set": filtered,
    }


def main() -> None:
    """Make, open, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    parser.add_argument("--trajectories", type=int, default=200)
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--keep", type=Path)
    options = parser.parse_args()
    with ExitStack() as stack:
        folder = options.keep or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        folder.mkdir(parents=True, exist_ok=True)
        store = Store(folder / "page.duckdb")
        fill(store, options.trajectories)
        began = time.perf_counter()
        with store.reading() as con:
            contents, rows = page.read(con, NOW), figures.read(con)
        text = page.text(contents, figures.draw(rows))
        took = time.perf_counter() - began
        path = folder / "page.html"
        path.write_text(text, "utf-8")
        print(f"{options.trajectories} trajectories: {path.stat().st_size / 1e6:.1f} MB", end=", ")
        print(f"made in {took:.2f} s")
        for _ in range(options.times):
            with tempfile.TemporaryDirectory() as profile:
                seconds = opened(path, Path(profile))
            print(", ".join(f"{what} {value:.2f} s" for what, value in seconds.items()))


if __name__ == "__main__":
    main()
