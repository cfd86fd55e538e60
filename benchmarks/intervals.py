"""What intervals and comparisons cost: 1,000 resamples against one plain aggregate.

    python benchmarks/intervals.py [--shape TRAJECTORIES SETTINGS]... [--steps 12] [--threads 2]

For each shape a database is made with three domains and that many settings, all asked about all
trajectories. Every view is read to its last row five times, in turn with the floor: one aggregate
written by hand that gives the same mean F1 by domain. The medians of wall time are printed, and
their ratio. A further line says how the spread of resampled means compares with theory.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from cache.store import Connection, Store  # noqa: E402

VIEWS = ("scores", "score_intervals", "comparisons", "agreement", "baselines")

FLOOR = """
    with truth as (
        select s.trajectory_id, s.step_index, l.step_index is not null as bad
        from steps s left join labels l using (trajectory_id, step_index) where s.judged
    ), f as (
        select p.strategy, p.judge, p.trajectory_id,
            count(*) filter (p.is_redundant and bad) as tp,
            count(*) filter (p.is_redundant != bad) as wrong
        from predictions p join truth using (trajectory_id, step_index) group by all
    )
    select strategy, judge, t.domain,
        avg(case when tp = 0 then 0 else 2 * tp / (2 * tp + wrong) end) as f1
    from f join trajectories t using (trajectory_id) group by all
"""


def fill(con: Connection, trajectories: int, settings: int, steps: int) -> None:
    """Make trajectories, labels of a fifth of their steps, and judges that are often right."""
    con.execute(
        "insert into trajectories (trajectory_id, dataset, domain, task_id, objective, n_messages, "
        "content_digest, source, imported_at) "
        "select 't' || i, 'made', 'domain' || i % 3, i, '', 20, '', '', now() from range($1) t(i)",
        [trajectories],
    )
    con.execute(
        "insert into steps (trajectory_id, step_index, player, judged, call_index, is_error) "
        "select 't' || i, s, 'assistant', true, 2 * s, false from range($1) t(i), range($2) u(s)",
        [trajectories, steps],
    )
    con.execute(
        "insert into annotations select 'made', 't' || i, 'a', 0, '', now() from range($1) t(i)",
        [trajectories],
    )
    con.execute(
        "insert into labels (label_set, trajectory_id, step_index, is_synthetic) "
        "select 'made', 't' || i, s, false from range($1) t(i), range($2) u(s) "
        "where hash(i || ' ' || s) % 5 = 0",
        [trajectories, steps],
    )
    con.execute(
        "insert into predictions (trajectory_id, step_index, strategy, strategy_digest, gold, "
        "judge, repeat, is_redundant) "
        "select 't' || i, s, 'strategy' || j // 3, 'x', false, 'judge' || j % 3, 0, "
        "case when hash(i || ' ' || s || ' ' || j) % 3 = 0 "
        "then hash(i || ' ' || s) % 5 = 0 else hash(j || ' ' || s || ' ' || i) % 4 = 0 end "
        "from range($1) t(i), range($2) u(s), range($3) v(j)",
        [trajectories, steps, settings],
    )


def seconds(con: Connection, statement: str) -> float:
    """Wall time until the last row is here."""
    begin = time.perf_counter()
    con.execute(statement).fetchall()
    return time.perf_counter() - begin


def spread(con: Connection) -> float:
    """The mean over domains of half an interval's width, in normal 1.96 standard errors."""
    row = con.execute(
        "select avg((step_score_high - step_score_low) / 2 / (1.96 * error)) "
        "from score_intervals join (select strategy, judge, domain, "
        "stddev_pop(f1) / sqrt(count(*)) as error from step_scores group by all) "
        "using (strategy, judge, domain)"
    ).fetchone()
    assert row is not None
    return float(row[0])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    parser.add_argument("--shape", type=int, nargs=2, action="append")
    parser.add_argument("--steps", type=int, default=12)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    for trajectories, settings in options.shape or [(200, 9), (1920, 3)]:
        with tempfile.TemporaryDirectory(prefix="needless-intervals-") as folder:
            store = Store(Path(folder) / "db")
            with store.writing() as con:
                fill(con, trajectories, settings, options.steps)
            with store.reading() as con:
                con.execute(f"set threads = {options.threads}")
                taken: dict[str, list[float]] = {}
                for _ in range(5):
                    taken.setdefault("floor", []).append(seconds(con, FLOOR))
                    for name in VIEWS:
                        taken.setdefault(name, []).append(seconds(con, f"from {name}"))
                width = spread(con)
        floor = statistics.median(taken.pop("floor"))
        print(f"{trajectories:,} trajectories x {settings} settings, {options.steps} steps each")
        for name, times in taken.items():
            one = statistics.median(times)
            print(f"  {name:<16} {one:7.3f} s / {floor:6.4f} s = {one / floor:6.1f}")
        print(f"  half an interval's width is {width:.3f} of the normal one", flush=True)


if __name__ == "__main__":
    main()
