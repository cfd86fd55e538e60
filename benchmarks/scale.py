"""How the whole path scales: plan and shard, ingest, storage, metrics, each against a floor.

    python benchmarks/scale.py [--requests 10000 100000] [--kilobytes 3.5 28]

Every figure is taken in the same run as its floor, in CPU and wall seconds, each in a process of
its own, so that peak memory is that part's alone. The floors:

plan+shard   serialise the same requests, SHA-256 them, write the same bytes
ingest       parse the same result lines, insert their fields in bulk, commit
metrics      one hand-written aggregate over the same predictions, giving the same mean F1
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from batcher.expand import expand  # noqa: E402
from batcher.ingest import ingest  # noqa: E402
from batcher.judge import parse  # noqa: E402
from batcher.ledger import Scope, all_lines, open_batches  # noqa: E402
from batcher.lines import read_line, read_lines, write_lines  # noqa: E402
from batcher.predict import predict  # noqa: E402
from batcher.prepare import prepare  # noqa: E402
from batcher.prices import Prices  # noqa: E402
from batcher.providers.base import BATCH_LIMITS, Batch, Poll, Prompt, Reply  # noqa: E402
from batcher.selection import Selection  # noqa: E402
from batcher.submit import adopt  # noqa: E402
from cache.inputs import write  # noqa: E402
from cache.records import Message, ToolCall, Trajectory  # noqa: E402
from cache.steps import split_steps  # noqa: E402
from cache.store import Store  # noqa: E402
from prompts.strategy import load as load_strategies  # noqa: E402

STEPS = 25  # judged steps a trajectory
NOW = datetime(2026, 11, 30, tzinfo=UTC)


def words(source: random.Random, n_bytes: int) -> str:
    """Text of about ``n_bytes`` with the statistics of made-up words."""
    vocabulary = [
        "".join(source.choices("abcdefghijklmnoprstuvwy", k=source.randint(2, 9)))
        for _ in range(2_000)
    ]
    some = source.choices(vocabulary, k=n_bytes // 6)
    return " ".join(some)[:n_bytes]


def trajectories(n: int, step_bytes: int) -> Iterator[Trajectory]:
    """Runs of ``STEPS`` calls each, whose neighbouring windows share most of their text."""
    source = random.Random(1)
    pool = words(source, 2_000_000)
    for number in range(n):
        messages: list[Message] = []
        for at in range(0, 2 * STEPS, 2):
            begin = source.randrange(len(pool) - step_bytes)
            call = ToolCall(f"get_{at}", json.dumps({"id": f"{number}-{at}"}), f"c{at}")
            messages.append(Message(at, "assistant", "", (call,)))
            text = json.dumps({"found": pool[begin : begin + step_bytes]})
            messages.append(Message(at + 1, "tool", text, requestor="assistant"))
        yield Trajectory(
            trajectory_id=f"t{number:06}",
            dataset="made",
            domain="made",
            task_id=str(number),
            messages=tuple(messages),
            steps=split_steps(messages),
            objective="find it",
            gold_actions="[]",
            success=True,
        )


def prompts_folder(folder: Path, system_bytes: int) -> Path:
    """A strategy whose system text is as long as the release's, shared by all its prompts."""
    folder.mkdir()
    text = words(random.Random(2), system_bytes)
    (folder / "made.toml").write_text(
        f'scope = "window"\nk = 3\nanswer = "verdict"\nsystem = """{text}"""\n'
        'user = """\n{{ objective }}\n{{ excerpt }}\nIs step {{ positions[0] }} redundant?\n"""\n'
    )
    return folder


class Measured:
    """CPU and wall seconds of a block; CPU includes threads and children that have ended."""

    def __enter__(self) -> Measured:
        self._wall, self._cpu = time.perf_counter(), self._used()
        return self

    def __exit__(self, *_: object) -> None:
        self.wall, self.cpu = time.perf_counter() - self._wall, self._used() - self._cpu

    @staticmethod
    def _used() -> float:
        me = resource.getrusage(resource.RUSAGE_SELF)
        return me.ru_utime + me.ru_stime


def peak_mb() -> int:
    """Peak resident memory of this process."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def report(part: str, measured: Measured, **more: object) -> None:
    """Hand one part's figures to the parent process."""
    figures = {"cpu": measured.cpu, "wall": measured.wall, "rss": peak_mb(), **more}
    print(json.dumps({"part": part, **figures}))


def selection(folder: Path) -> Selection:
    """The one strategy, asked of one OpenAI judge."""
    strategy = load_strategies(folder / "prompts")["made"]
    return Selection(strategies=(strategy,), judges=(parse("openai:gpt-4o?base_url=http://x/v1"),))


class Nowhere:
    """A provider that only lends its limits."""

    limits = replace(BATCH_LIMITS, probe_from=10**9)  # no line goes first alone
    answers_live = False
    key_fingerprint = ""


def part_make(folder: Path, requests: int, kilobytes: float) -> None:
    """Make and import the trajectories; not measured against anything."""
    # A window shows seven steps; a prompt of the release is 63 % shared system text.
    body = int(kilobytes * 1000)
    system = int(body * 0.63) if kilobytes > 10 else 1100
    prompts_folder(folder / "prompts", system)
    step_bytes = max(40, (body - system - 700) // 7 - 75)
    made = trajectories(requests // STEPS, step_bytes)
    with Measured() as measured:
        write(Store(folder / "db"), (("made", one) for one in made), dataset=None, now=NOW)
    report("import", measured)


def part_plan(folder: Path) -> None:
    """Plan and shard for real: questions, prompts, storage, batches, files."""
    store = Store(folder / "db")
    before = (folder / "db").stat().st_size
    scope = Scope(selections=(selection(folder),))
    with Measured() as measured:
        expand(store, selection(folder), now=lambda: NOW)
        prepare(store, scope, lambda *_: Nowhere(), NOW, Prices())  # type: ignore[arg-type, return-value]
        with store.reading() as con:
            batches = [one.batch for one in open_batches(con, scope)]
        for batch in batches:
            path = folder / f"{batch.batch_id}.jsonl"
            write_lines(path, batch.endpoint, all_lines(store, batch.batch_id))
    with store.reading() as con:
        row = con.execute("select count(*), sum(n_bytes) from prompts").fetchone()
    assert row is not None
    stored = (folder / "db").stat().st_size - before
    report("plan", measured, n=row[0], raw=int(row[1]), stored=stored, shards=len(batches))


def part_plan_floor(folder: Path) -> None:
    """Serialise, digest and write the same requests, from objects that are there already."""
    import hashlib

    n = 0
    measured_cpu = measured_wall = 0.0
    for path in sorted(folder.glob("2*.jsonl")):
        with path.open("rb") as file:
            requests = [json.loads(line) for line in file]
        with Measured() as some, (folder / "floor.jsonl").open("wb") as out:
            for request in requests:
                line = json.dumps(request, ensure_ascii=False, sort_keys=True).encode()
                hashlib.sha256(line).digest()
                out.write(line + b"\n")
                n += 1
        measured_cpu += some.cpu
        measured_wall += some.wall
        del requests
    total = Measured()
    total.cpu, total.wall = measured_cpu, measured_wall
    report("plan floor", total, n=n)


def result_lines(folder: Path, batch: str) -> Path:
    """Result lines of about 1.2 KB for one batch."""
    source = random.Random(3)
    path = folder / f"{batch}.results"
    text = words(source, 500)
    with (folder / f"{batch}.jsonl").open("rb") as file, path.open("w", encoding="utf-8") as out:
        for line in file:
            custom_id = json.loads(line)["custom_id"]
            answer = json.dumps({"reason": text, "redundant": source.random() < 0.3})
            body = {
                "id": f"chatcmpl-{source.getrandbits(96):024x}",
                "object": "chat.completion",
                "created": 1790000000,
                "model": "gpt-4o-2024-08-06",
                "choices": [
                    {
                        "index": 0,
                        "message": {"role": "assistant", "content": answer, "refusal": None},
                        "logprobs": None,
                        "finish_reason": "stop",
                    }
                ],
                "usage": {
                    "prompt_tokens": 900,
                    "completion_tokens": 60,
                    "total_tokens": 960,
                    "prompt_tokens_details": {"cached_tokens": 0, "audio_tokens": 0},
                    "completion_tokens_details": {"reasoning_tokens": 0, "audio_tokens": 0},
                },
                "system_fingerprint": "fp_0123456789",
            }
            record = {
                "id": f"batch_req_{source.getrandbits(96):024x}",
                "custom_id": custom_id,
                "response": {"status_code": 200, "request_id": "r", "body": body},
                "error": None,
            }
            out.write(json.dumps(record) + "\n")
    return path


class Recorded(Nowhere):
    """A provider whose results lie in a file."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def fetch(self, remote_id: str, pending: Iterator[Prompt]) -> Iterator[Reply]:
        """The file's lines."""
        return read_lines(self._path, read_line)


def part_results(folder: Path) -> None:
    """Write the result files; not measured against anything."""
    with Measured() as measured:
        size = 0
        for path in folder.glob("2*.jsonl"):
            size += result_lines(folder, path.stem).stat().st_size
    report("results", measured, bytes=size)


def part_ingest(folder: Path) -> None:
    """Ingest the results of every batch, and read them into predictions."""
    store = Store(folder / "db")
    with store.reading() as con:
        batches: list[Batch] = [one.batch for one in open_batches(con, Scope())]
    with Measured() as measured:
        for batch in batches:
            sent = adopt(store, batch, f"remote-{batch.token}", NOW)
            provider = Recorded(folder / f"{batch.batch_id}.results")
            ingest(store, provider, sent, Poll("completed", True), lambda: NOW)  # type: ignore[arg-type]
    with Measured() as predicted:
        n = predict(store)
    report("ingest", measured, predict_cpu=predicted.cpu, predict_wall=predicted.wall, n=n)


def part_ingest_floor(folder: Path) -> None:
    """Parse the same lines, insert id, text and usage in bulk, commit."""
    import duckdb

    con = duckdb.connect(str(folder / "floor.db"))
    con.execute("create table r (custom_id varchar, text varchar, i int, o int, raw varchar)")
    n = 0
    with Measured() as measured:
        for path in sorted(folder.glob("2*.results")):
            rows: list[tuple[object, ...]] = []
            with path.open("rb") as file:
                for line in file:
                    one = json.loads(line)
                    body = one["response"]["body"]
                    text = body["choices"][0]["message"]["content"]
                    usage = body["usage"]
                    tokens = (usage["prompt_tokens"], usage["completion_tokens"])
                    rows.append((one["custom_id"], text, *tokens, line.decode()))
            columns = [list(column) for column in zip(*rows, strict=True)]
            con.execute(
                "insert into r select unnest($1::varchar[]), unnest($2::varchar[]), "
                "unnest($3::int[]), unnest($4::int[]), unnest($5::varchar[])",
                columns,
            )
            n += len(rows)
        con.close()
    report("ingest floor", measured, n=n)


def part_metrics(folder: Path, predictions: int) -> None:
    """The metric views over generated predictions, and one hand-written aggregate."""
    store = Store(folder / "metrics.db")
    per_setting, settings = predictions // 10, 10
    n = per_setting // 10
    with store.writing() as con:
        con.execute(
            "insert into trajectories by name select 't' || i as trajectory_id, 'd' as dataset, "
            "['airline','retail','telecom'][1 + i % 3] as domain, i::varchar as task_id, "
            "'' as objective, true as success, 20 + i % 60 as n_messages, '' as content_digest, "
            "'' as source, now() as imported_at from range($1) t(i)",
            [n],
        )
        con.execute(
            "insert into steps by name select 't' || i as trajectory_id, s::int as step_index, "
            "'assistant' as player, true as judged, (2 * s)::int as call_index, false as is_error "
            "from range($1) t(i), range(10) u(s)",
            [n],
        )
        con.execute(
            "insert into annotations select 'human', 't' || i, 'made', 3, '', now() "
            "from range($1) t(i)",
            [n],
        )
        con.execute(
            "insert into labels by name select 'human' as label_set, 't' || i as trajectory_id, "
            "s::int as step_index, 'duplicated' as kind, false as is_synthetic "
            "from range($1) t(i), range(10) u(s) where hash(i, s) % 10 < 3",
            [n],
        )
        setting = (
            "['one_to_one','window_to_one'][1 + j % 2] as strategy, 'x' as strategy_digest, "
            "false as gold, 'judge' || (j // 2) as judge, 0 as repeat"
        )
        con.execute(
            f"insert into predictions by name select 't' || i as trajectory_id, s::int as "
            f"step_index, {setting}, hash(i, s, j) % 10 < 4 as is_redundant "
            "from range($1) t(i), range(10) u(s), range($2) v(j)",
            [n, settings],
        )
        con.execute(
            f"insert into requests by name select 't' || i as trajectory_id, {setting}, "
            "s::int as excerpt_index, 'batch' as mode, 'verdict' as answer, 1 as n_shown, "
            "[s::int] as targets, [1] as positions, md5(i || '-' || s || '-' || j)::uuid "
            "as prompt_hash from range($1) t(i), range(10) u(s), range($2) v(j)",
            [n, settings],
        )
    by_hand = """
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
        from f join trajectories t using (trajectory_id) group by all order by all
    """
    with store.reading() as con:
        con.execute("set threads = 2")
        con.execute(by_hand).fetchall()  # warms the page cache for both
        with Measured() as floor:
            expected = con.execute(by_hand).fetchall()
        report("metrics floor", floor)
        con.execute("from step_scores limit 1").fetchall()
        for view in ("step_scores", "scores", "score_averages", "length_levels", "coverage"):
            with Measured() as measured:
                con.execute(f"from {view}").fetchall()
            report(f"metric {view}", measured)
        got = con.execute(
            "select strategy, judge, domain, step_score from scores order by all"
        ).fetchall()
    assert [row[:3] for row in got] == [row[:3] for row in expected]
    assert all(abs(a[3] - b[3]) < 1e-12 for a, b in zip(got, expected, strict=True))


PARTS = {
    "make": part_make,
    "plan": part_plan,
    "plan floor": part_plan_floor,
    "results": part_results,
    "ingest": part_ingest,
    "ingest floor": part_ingest_floor,
    "metrics": part_metrics,
}


def child(part: str, folder: Path, *values: object) -> list[dict[str, float]]:
    """Run one part in a process of its own and return its figures."""
    command = [sys.executable, __file__, "--part", part, str(folder), *map(str, values)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{part}: {done.stderr}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def ratio(name: str, real: dict[str, float], floor: dict[str, float], goal: float) -> str:
    """One line of the result."""
    by_cpu, by_wall = real["cpu"] / floor["cpu"], real["wall"] / floor["wall"]
    return (
        f"  {name:<12} cpu {real['cpu']:7.2f} s / {floor['cpu']:7.2f} s = {by_cpu:5.2f}   "
        f"wall {real['wall']:7.2f} s / {floor['wall']:7.2f} s = {by_wall:5.2f}   goal {goal:.0f}   "
        f"peak {real['rss']:.0f} MB"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    parser.add_argument("--requests", type=int, nargs="*", default=[10_000, 100_000])
    parser.add_argument("--kilobytes", type=float, nargs="*", default=[3.5, 28.0])
    parser.add_argument("--predictions", type=int, default=1_000_000)
    parser.add_argument("--part", nargs="+", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.part:
        part, folder, *values = options.part
        if part == "make":
            part_make(Path(folder), int(values[0]), float(values[1]))
        elif part == "metrics":
            part_metrics(Path(folder), int(values[0]))
        else:
            PARTS[part](Path(folder))  # type: ignore[operator]
        return
    wall: dict[tuple[str, float], list[float]] = {}
    for kilobytes in options.kilobytes:
        for requests in options.requests:
            with tempfile.TemporaryDirectory(prefix="needless-scale-") as name:
                folder = Path(name)
                child("make", folder, requests, kilobytes)
                (plan,) = child("plan", folder)
                (plan_floor,) = child("plan floor", folder)
                child("results", folder)
                for path in folder.glob("2*.jsonl"):
                    os.truncate(path, 0)  # the room is needed for the rest
                (ingested,) = child("ingest", folder)
                (ingest_floor,) = child("ingest floor", folder)
            print(
                f"{requests:,} requests of {kilobytes} KB: {plan['n']:,} prompts of "
                f"{plan['raw'] / plan['n']:,.0f} bytes, {plan['shards']} shards"
            )
            print(ratio("plan+shard", plan, plan_floor, 3))
            print(ratio("ingest", ingested, ingest_floor, 4))
            print(
                f"  {'stored':<12} {plan['stored'] / plan['n']:,.0f} bytes a prompt = "
                f"{100 * plan['stored'] / plan['raw']:.1f} % of raw, goal 15; "
                f"predict {ingested['predict_wall']:.2f} s",
                flush=True,
            )
            wall.setdefault(("plan+shard", kilobytes), []).append(plan["wall"])
            wall.setdefault(("ingest", kilobytes), []).append(ingested["wall"])
    for (part, kilobytes), times in wall.items():
        if len(times) == 2:
            print(f"ten times the work, {part} at {kilobytes} KB: {times[1] / times[0]:.1f} x")
    if options.predictions:
        with tempfile.TemporaryDirectory(prefix="needless-scale-") as name:
            floor, *views = child("metrics", Path(name), options.predictions)
        print(f"metrics over {options.predictions:,} predictions")
        for view in views:
            print(ratio(str(view["part"]).removeprefix("metric "), view, floor, 4))


if __name__ == "__main__":
    main()
