"""What plans, sharing, batches and prompt caches are worth, on trajectories of your own.

    python benchmarks/bills.py PATH... [--strategy NAME]... [--judge JUDGE]... [--gold both]

Imports the paths, plans, runs everything against a provider on this machine that bills by a real
vocabulary and grants prompt caching by the vendors' rules, and prints for each judge: the plan
against the bill, the bill against the naive one (every request once, live, list price), and what
each means saved of it. Without paths it takes the bundled sample.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from tests.running import INSTANT, needless
from tests.wire.service import Faults, Service

SAVED = """
select judge, naive_usd, actual_usd / naive_usd as bill, saved_by_sharing / naive_usd as sharing,
    saved_by_batch / naive_usd as batch, saved_by_prefix / naive_usd as prefix,
    spent_on_retries / naive_usd as retries
from cache_savings where judge not like 'offline%'
"""
ERROR = """
select sum(expected_usd) as expected_usd, sum(cost_usd) as cost_usd,
    sum(expected_usd) / sum(cost_usd) - 1 as error from plan_error
"""


def main() -> None:
    """Measure, and print."""
    wanted = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    wanted.add_argument("paths", nargs="*")
    wanted.add_argument("--strategy", action="append", default=[])
    wanted.add_argument("--judge", action="append", default=[])
    wanted.add_argument("--gold", choices=["no", "yes", "both"], default="no")
    asked = wanted.parse_args()
    judges = asked.judge or ["openai:gpt-5.4-mini", "anthropic:claude-haiku-4-5"]
    way = [part for name in asked.strategy for part in ("--strategy", name)]
    way += [part for name in judges for part in ("--judge", name)]
    golds = {"no": ["--no-gold"], "yes": ["--gold"], "both": ["--no-gold", "--gold"]}[asked.gold]
    with (
        tempfile.TemporaryDirectory() as folder,
        Service(Faults(vocabulary="o200k_base", prefix_cache=True), INSTANT) as service,
    ):
        os.environ |= {
            "OPENAI_BASE_URL": service.base_url,
            "OPENAI_API_KEY": "k",
            "ANTHROPIC_BASE_URL": service.base_url.removesuffix("/v1"),
            "ANTHROPIC_API_KEY": "k",
            "NO_PROXY": "127.0.0.1",
        }
        db = Path(folder, "bills.duckdb")
        if asked.paths:
            print(show(db, "import", *asked.paths, "--dataset", "measured"))
        for gold in golds:
            print(show(db, "plan", *way, gold))
            show(db, "run", *way, gold, "--poll", "0.05", "--yes")
            print(show(db, "query", ERROR))
        print(show(db, "query", SAVED))


def show(db: Path, *words: str) -> str:
    """Run a command and return what it prints."""
    done = needless(db, *words, columns=160)
    if done.exit_code not in (0, 4):
        sys.exit(done.output)
    return done.stdout.strip() or done.stderr.strip()


if __name__ == "__main__":
    main()
