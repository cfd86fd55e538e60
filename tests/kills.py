"""Kill the program at moments that a seed chooses, resume it, and compare with a run left alone.

    python tests/kills.py --count 200 [--seed 0] [--via openai anthropic live]

Each trial starts a run in a process of its own against a provider in another one, kills it with
SIGKILL after a random time, perhaps kills the resumed one as well, and then lets it end. It holds
when: batches created = shards; no line was sent in two batches; no prompt has two answers in the
database, and so none is priced twice; the predictions are those of the run left alone.
"""

from __future__ import annotations

import argparse
import collections
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
if __name__ == "__main__":
    sys.path[0] = str(ROOT)

from cache.collect import SAMPLE, collect  # noqa: E402
from cache.store import Store  # noqa: E402
from tests.wire.control import Remote, spawn  # noqa: E402
from tests.wire.service import CallFault, Faults  # noqa: E402

PACE = '{"validating": 0.2, "in_progress": 0.4, "finalizing": 0.2, "cancelling": 0}'

#: What makes the narrow moments wide enough to be hit: between asking and hearing.
SLOW = Faults(
    calls=(
        CallFault("files.create", "delay", times=0, seconds=0.1),
        CallFault("batches.create", "delay_after", times=0, seconds=0.2),
        CallFault("messages.batches.create", "delay_after", times=0, seconds=0.2),
        CallFault("files.content", "delay", times=0, seconds=0.1),
        CallFault("messages.batches.results", "delay", times=0, seconds=0.1),
    )
)

JUDGES = {
    "openai": ("openai:gpt-4o-mini", "openai:gpt-4.1-mini", "openai:gpt-5-mini"),
    "anthropic": ("anthropic:claude-haiku-4-5", "anthropic:claude-sonnet-5"),
    "live": ("openai:gpt-4o-mini?mode=live",),
}
_PREDICTIONS = "select trajectory_id, step_index, judge, is_redundant from predictions order by all"


@dataclass(frozen=True)
class Trial:
    """Whether one trial held, how long its first process lived, and what was wrong."""

    lived: float
    faults: tuple[str, ...]


def arguments(via: str) -> list[str]:
    """The run under test: thirty prompts or so, in as many batches as there are judges."""
    judges = [word for judge in JUDGES[via] for word in ("--judge", judge)]
    return ["run", "--poll", "0.1", "--limit", "2", "--strategy", "window_to_one", *judges]


def start(db: Path, service: Remote, words: Sequence[str]) -> subprocess.Popen[bytes]:
    """Start the program; it finds the provider in its environment."""
    base = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    own = {
        "NO_PROXY": "127.0.0.1",
        "OPENAI_API_KEY": "k",
        "ANTHROPIC_API_KEY": "k",
        "OPENAI_BASE_URL": service.base_url,
        "ANTHROPIC_BASE_URL": service.base_url.removesuffix("/v1"),
    }
    return subprocess.Popen(
        [sys.executable, str(ROOT / "cli.py"), "--db", str(db), *words],
        env=base | own,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )


def to_the_end(db: Path, service: Remote, words: Sequence[str]) -> tuple[int, str]:
    """Run the program to its end; return its exit code and what it said last."""
    with start(db, service, words) as process:
        _, said = process.communicate(timeout=120)
    return process.returncode, said.decode()[-300:]


def killed(db: Path, service: Remote, words: Sequence[str], after: float) -> None:
    """Run the program and kill it after so many seconds, if it still lives."""
    with start(db, service, words) as process:
        try:
            process.communicate(timeout=after)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.communicate()


def predictions(db: Path) -> list[tuple[object, ...]]:
    """What the run came to."""
    return Store(db).query(_PREDICTIONS)[1]


def trial(
    via: str,
    seed: int,
    db: Path,
    service: Remote,
    length: float,
    expected: list[tuple[object, ...]],
) -> Trial:
    """Kill once or twice, resume, and look at both sides' books."""
    chance = random.Random(f"{via} {seed}")
    lived = chance.uniform(0.2, length)
    service.reset()
    service.set_faults(SLOW)
    killed(db, service, arguments(via), lived)
    if chance.random() < 0.4:
        killed(db, service, ["resume", "--poll", "0.1"], chance.uniform(0.2, length))
    code, said = to_the_end(db, service, arguments(via))
    log = service.log()
    faults: list[str] = []
    if code:
        faults.append(f"exit {code}: {said}")
    if via != "live" and len(log["creates"]) != len(JUDGES[via]):
        faults.append(f"{len(log['creates'])} creates for {len(JUDGES[via])} shards")
    twice = [name for name, count in log["custom_ids"].items() if count > 1]
    if via != "live" and twice:
        faults.append(f"{len(twice)} lines sent twice")
    store = Store(db)
    priced = store.query(
        "select count(*) from (select prompt_hash from responses where outcome = 'ok' "
        "group by 1 having count(*) > 1)"
    )[1]
    if priced != [(0,)]:
        faults.append(f"{priced[0][0]} prompts answered twice in the database")
    if predictions(db) != expected:
        faults.append("other predictions than the run left alone")
    if log["crashes"]:
        faults.append(f"the provider crashed: {log['crashes'][0]}")
    return Trial(lived, tuple(faults))


def main() -> int:
    """Run the trials and print what did not hold; return how many did not."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--count", type=int, default=30, help="trials for each way")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--via", nargs="*", choices=JUDGES, default=list(JUDGES))
    options = parser.parse_args()
    failed = 0
    with (
        tempfile.TemporaryDirectory(prefix="needless-kills-") as name,
        spawn("--settings", PACE) as service,
    ):
        sample = Path(name, "sample.duckdb")
        collect(Store(sample), SAMPLE, dataset="sample", now=datetime.now(UTC))
        for via in options.via:
            alone = Path(shutil.copy(sample, Path(name, f"{via}.duckdb")))
            service.reset()
            service.set_faults(SLOW)
            began = time.monotonic()
            code, said = to_the_end(alone, service, arguments(via))
            length = time.monotonic() - began
            if code:
                print(f"{via}: the run left alone ended with {code}: {said}")
                return 1
            expected = predictions(alone)
            kinds: collections.Counter[str] = collections.Counter()
            for number in range(options.count):
                db = Path(shutil.copy(sample, Path(name, "trial.duckdb")))
                for left in Path(name).glob("trial.duckdb.*"):
                    left.unlink()
                done = trial(via, options.seed + number, db, service, length, expected)
                kinds["held" if not done.faults else "failed"] += 1
                if done.faults:
                    seed = options.seed + number
                    print(f"{via} seed {seed}, killed at {done.lived:.2f} s: {done.faults}")
            failed += kinds["failed"]
            print(
                f"{via}: {kinds['held']} of {options.count} held; the run left alone takes "
                f"{length:.1f} s",
                flush=True,
            )
    return failed


if __name__ == "__main__":
    sys.exit(min(main(), 100))
