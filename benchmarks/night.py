"""How long a benchmark of the later release's size takes from files to a report, without a network.

    python benchmarks/night.py [--trajectories 1920] [--kilobytes 28]

Multiplies the bundled sample into so many trajectories of about that size, no two alike, and runs
the commands a user would, each in a process of its own. Prints wall seconds.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
SAMPLE = ROOT / "cache" / "sample"
WORDS = (ROOT / "docs" / "flow.md").read_text("utf-8").split()


def filler(seed: int, n_bytes: int) -> str:
    """Return some prose that no other seed gives."""
    words: list[str] = []
    size, state = 0, seed * 7919 + 17
    while size < n_bytes:
        state = (state * 1103515245 + 12345) % 2**31
        words.append(WORDS[state % len(WORDS)])
        size += len(words[-1]) + 1
    return " ".join(words)


def multiply(folder: Path, count: int, n_bytes: int) -> list[Path]:
    """Write a results file and a label file; return their paths."""
    found: dict[str, Any] = json.loads((SAMPLE / "library.json").read_text("utf-8"))
    labels = [
        json.loads(line) for line in (SAMPLE / "labels.jsonl").read_text("utf-8").splitlines()
    ]
    by_id = {label["trajectory_id"]: label for label in labels}
    runs, marks = [], []
    for number in range(count):
        run = json.loads(json.dumps(found["simulations"][number % len(found["simulations"])]))
        label = by_id.get(run["id"])
        run["id"] = f"{run['id']}-{number:05d}"
        run["trial"] = number // len(found["simulations"])
        talk = [one for one in run["messages"] if one["role"] == "user"]
        missing = max(0, n_bytes - len(json.dumps(run)))
        for one in run["messages"]:
            if one["role"] == "tool":  # results of one run are alike, of two runs are not
                one["content"] += f" (shelf {number})"
        for at, one in enumerate(talk):
            one["content"] += " " + filler(number * 100 + at, missing // len(talk))
        runs.append(run)
        if label:
            marks.append(json.dumps({**label, "trajectory_id": run["id"]}))
    paths = [folder / "many.json", folder / "labels.jsonl"]
    paths[0].write_text(json.dumps({**found, "simulations": runs}), "utf-8")
    paths[1].write_text("\n".join(marks), "utf-8")
    return paths


def main() -> None:
    """Measure, and print."""
    wanted = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    wanted.add_argument("--trajectories", type=int, default=1920)
    wanted.add_argument("--kilobytes", type=float, default=28)
    asked = wanted.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        paths = multiply(Path(folder), asked.trajectories, int(asked.kilobytes * 1000))
        print(f"{asked.trajectories} trajectories, {paths[0].stat().st_size / 1e6:.1f} MB of JSON")
        total = 0.0
        for words in (
            ["import", str(paths[0]), "--labels", str(paths[1]), "--dataset", "many"],
            ["plan", "--preset", "release", "--json"],
            ["run", "--judge", "offline:rules"],
            ["report"],
        ):
            began = time.monotonic()
            command = [sys.executable, str(ROOT / "cli.py"), "--db", f"{folder}/n.duckdb", *words]
            subprocess.run(command, check=True, capture_output=True)
            took = time.monotonic() - began
            total += took
            print(f"{words[0]:8} {took:6.1f} s")
        print(f"{'all':8} {total:6.1f} s")


if __name__ == "__main__":
    main()
