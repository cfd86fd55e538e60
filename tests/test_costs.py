"""The bill by kind of token, and what was saved of it: every cent in one place, and once."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from cache.bulk import load
from cache.store import Store
from tests.running import needless

NOW = datetime(2026, 12, 1, 12, tzinfo=UTC)

#: Dollars per million tokens in these batches; live everything fresh costs twice as much.
UNITS = {"input": 2.0, "cached": 0.5, "write_5m": 3.0, "write_1h": 4.0, "output": 10.0}


class Books:
    """A database with one batch a mode, and answers to prompts that requests may share."""

    def __init__(self, path: Path) -> None:
        self.store = Store(path)
        self._n = 0
        with self.store.writing() as con:
            for mode in ("batch", "live"):
                con.execute(
                    "insert into batches select $1, 'openai', '', '', 'gpt-5-mini', $1, $1, null, "
                    "0, 0, 0, '', '', $2",
                    [mode, NOW],
                )
            for name, domain in (("t1", "airline"), ("t2", "retail")):
                con.execute(
                    "insert into trajectories by name select $1 as trajectory_id, 'd' as dataset, "
                    "$2 as domain, 't' as task_id, 'o' as objective, 1 as n_messages, "
                    "'x' as content_digest, 's' as source, $3::timestamptz as imported_at",
                    [name, domain, NOW],
                )

    def ask(self, prompt: int, strategy: str, trajectory: str = "t1") -> None:
        row = {
            "trajectory_id": trajectory,
            "strategy": strategy,
            "strategy_digest": "a",
            "gold": False,
            "judge": "openai:gpt-5-mini",
            "repeat": 0,
            "excerpt_index": 0,
            "mode": "batch",
            "answer": "verdict",
            "n_shown": 1,
            "targets": [0],
            "positions": [1],
            "prompt_hash": f"{prompt:032x}",
        }
        self._add("requests", row)

    def answer(self, prompt: int, state: str = "ok", mode: str = "batch", **more: Any) -> None:
        """Store an answer; usage is in thousands of tokens and priced only if there is some."""
        self._n += 1
        line = {"batch_id": mode, "custom_id": f"c{self._n}", "prompt_hash": f"{prompt:032x}"}
        self._add("batch_prompts", {**line, "attempt": self._n})
        is_priced = more.pop("is_priced", bool(more))
        usage = {name: 1000 * n for name, n in more.items()}
        row: dict[str, Any] = {
            **line,
            "outcome": state,
            "is_transient": False,
            "received_at": NOW.isoformat(),
            **{f"{name}_tokens": n for name, n in usage.items()},
        }
        if is_priced:
            times = 2.0 if mode == "live" else 1.0
            units = {name: times * unit for name, unit in UNITS.items()}
            kinds = ("cached", "write_5m", "write_1h")
            fresh = usage["input"] - sum(usage.get(name, 0) for name in kinds)
            cost = fresh * units["input"] + usage["output"] * units["output"]
            cost += sum(usage.get(name, 0) * units[name] for name in kinds)
            row |= {f"usd_per_m_{name}": unit for name, unit in units.items()}
            row["cost_usd"] = cost / 1e6
            row["list_usd"] = 2 * (usage["input"] * 2.0 + usage["output"] * 10.0) / 1e6
        self._add("responses", row)

    def _add(self, table: str, row: dict[str, Any]) -> None:
        with self.store.writing() as con:
            load(con, table, [row])

    def read(self, statement: str) -> list[dict[str, Any]]:
        columns, rows = self.store.query(statement)
        return [dict(zip(columns, row, strict=True)) for row in rows]


@pytest.fixture
def books(tmp_path: Path) -> Iterator[Books]:
    made = Books(tmp_path / "books.duckdb")
    yield made
    # Whatever a test has stored: both views come to the same bill, and it adds up.
    (sums,) = made.read(
        "select (select coalesce(sum(usd), 0) from costs) as bill, "
        "(select coalesce(sum(cost_usd), 0) from responses) as paid, "
        "(select coalesce(sum(usd_fresh + usd_cached + usd_write_5m + usd_write_1h + usd_output), "
        "0) + coalesce(sum(usd_unsplit), 0) from costs) as parts"
    )
    assert sums["bill"] == pytest.approx(sums["paid"])
    assert sums["parts"] == pytest.approx(sums["paid"])
    for row in made.read("from cache_savings where naive_usd is not null"):
        parts = row["saved_by_sharing"] + row["saved_by_batch"] + row["saved_by_prefix"]
        assert row["naive_usd"] == pytest.approx(
            row["actual_usd"] + parts - row["spent_on_retries"]
        )


def test_each_kind_of_token_has_its_dollars(books: Books) -> None:
    """Fresh, cached, written for five minutes and for an hour, and out, of which reasoning."""
    books.ask(1, "one_to_one")
    books.answer(1, input=100, cached=40, write_5m=20, write_1h=10, output=5, reasoning=3)

    (row,) = books.read("from costs")

    assert (row["judge"], row["mode"]) == ("openai:gpt-5-mini", "batch")
    assert (row["strategy"], row["domain"]) == ("one_to_one", "airline")
    kinds = ("fresh", "cached", "write_5m", "write_1h", "output", "reasoning")
    tokens = [row[f"{name}_tokens"] for name in kinds]
    assert tokens == [30_000, 40_000, 20_000, 10_000, 5_000, 3_000]
    # 30 x 2, 40 x 0.5, 20 x 3, 10 x 4, 5 x 10, in thousandths of a dollar.
    dollars = [row[f"usd_{name}"] for name in kinds[:-1]]
    assert dollars == pytest.approx([0.06, 0.02, 0.06, 0.04, 0.05])
    assert row["usd"] == pytest.approx(0.23)
    assert row["usd_unsplit"] is None


def test_a_shared_prompt_is_paid_once_by_the_first_that_asked(books: Books) -> None:
    """Three requests, one prompt: one bill, on the account of the first."""
    books.ask(1, "window_to_one", "t2")
    books.ask(1, "one_to_one", "t1")
    books.ask(1, "one_to_one", "t2")
    books.answer(1, input=100, output=1)

    (row,) = books.read("from costs")
    (saved,) = books.read("from cache_savings")

    assert (row["strategy"], row["domain"], row["n_responses"]) == ("window_to_one", "retail", 1)
    assert row["usd"] == pytest.approx(0.21)  # 100 x 2 + 1 x 10
    # Live it is twice that, and three times asked: 1.26. Two of them were shared: 0.84.
    assert (saved["n_requests"], saved["n_prompts"]) == (3, 1)
    assert saved["naive_usd"] == pytest.approx(1.26)
    assert saved["saved_by_sharing"] == pytest.approx(0.84)
    assert saved["saved_by_batch"] == pytest.approx(0.21)
    assert saved["saved_by_prefix"] == pytest.approx(0)
    assert saved["saved_share"] == pytest.approx(1 - 0.21 / 1.26)


def test_what_the_provider_s_cache_saved_may_be_less_than_nothing(books: Books) -> None:
    """Reading saves, writing costs: each judge and mode has the sum of the two."""
    books.ask(1, "one_to_one")
    books.ask(2, "one_to_one")
    books.answer(1, input=100, write_1h=100, output=1)  # 100 x 4 instead of 100 x 2
    (alone,) = books.read("from cache_savings")
    books.answer(2, input=100, cached=100, output=1)  # 100 x 0.5 instead of 100 x 2
    (both,) = books.read("from cache_savings")

    assert alone["saved_by_prefix"] == pytest.approx(-0.20)
    assert both["saved_by_prefix"] == pytest.approx(-0.20 + 0.15)
    assert both["saved_by_batch"] == pytest.approx(2 * 0.21)


def test_a_retry_is_paid_for_and_not_part_of_the_naive_bill(books: Books) -> None:
    """An answer that was cut short, and a second one that could be read: both are on the bill."""
    books.ask(1, "one_to_one")
    books.answer(1, "truncated", input=100, output=4)  # 100 x 2 + 4 x 10 = 0.24
    books.answer(1, input=100, output=1)  # 0.21

    (row,) = books.read("from costs")
    (saved,) = books.read("from cache_savings")

    assert (row["n_responses"], row["n_priced"], row["n_retries"]) == (2, 2, 1)
    assert row["usd"] == pytest.approx(0.45)
    assert saved["naive_usd"] == pytest.approx(0.42)
    assert saved["spent_on_retries"] == pytest.approx(0.24)


def test_a_widened_prompt_and_the_answer_cut_short_are_one(books: Books) -> None:
    """Requests move on to the wider prompt; what the narrow one cost stays on their account."""
    books.ask(2, "one_to_one")
    with books.store.writing() as con:
        con.execute(
            "insert into widened values ($1::uuid, $2::uuid, 16384, now())",
            [f"{1:032x}", f"{2:032x}"],
        )
    books.answer(1, "truncated", input=100, output=4)
    books.answer(2, input=100, output=10)

    (row,) = books.read("from costs")
    (saved,) = books.read("from cache_savings")

    assert (row["strategy"], row["n_retries"]) == ("one_to_one", 1)
    assert (saved["n_prompts"], saved["n_requests"]) == (1, 1)
    assert saved["spent_on_retries"] == pytest.approx(0.24)


def test_b64_what_has_no_price_stands_apart_and_is_never_nothing(books: Books) -> None:
    """Without a price there is no sum, and a sum says how many are not in it."""
    books.ask(1, "one_to_one")
    books.answer(1, input=100, output=1, is_priced=False)
    (row,) = books.read("from costs")
    (saved,) = books.read("from cache_savings")
    assert (row["n_priced"], row["n_unpriced"], row["fresh_tokens"]) == (0, 1, 100_000)
    assert row["usd"] is row["usd_fresh"] is row["usd_output"] is row["usd_unsplit"] is None
    assert saved["naive_usd"] is saved["actual_usd"] is saved["saved_share"] is None
    assert saved["n_left_out"] == 1

    books.ask(2, "one_to_one")
    books.answer(2, input=100, output=1)
    books.ask(3, "one_to_one")
    books.answer(3, "error")
    books.answer(3, "expired")
    books.answer(3, "missing")
    (row,) = books.read("from costs")
    (saved,) = books.read("from cache_savings")
    assert (row["n_responses"], row["n_priced"], row["n_unpriced"]) == (5, 1, 2)
    assert row["usd"] == pytest.approx(0.21)
    assert (saved["n_responses"], saved["n_left_out"], saved["n_requests"]) == (1, 2, 1)


def test_answers_whose_requests_are_gone_are_still_on_the_bill(books: Books) -> None:
    """Requests can be thrown away, what was paid cannot: it has a judge, and no strategy."""
    books.answer(1, input=100, output=1)

    (row,) = books.read("from costs")
    (saved,) = books.read("from cache_savings")

    assert (row["judge"], row["strategy"], row["domain"]) == ("openai:gpt-5-mini", None, None)
    assert row["usd"] == pytest.approx(0.21)
    assert (saved["n_requests"], saved["naive_usd"]) == (1, pytest.approx(0.42))


def test_batch_and_live_are_rows_apart(books: Books) -> None:
    """Each answer is on the bill of the way it travelled; live saves nothing by batches."""
    books.ask(1, "one_to_one")
    books.ask(2, "one_to_one")
    books.answer(1, input=100, output=1)
    books.answer(2, mode="live", input=100, output=1)

    assert [
        (row["mode"], round(row["saved_by_batch"], 6), round(row["actual_usd"], 6))
        for row in books.read("from cache_savings order by mode")
    ] == [("batch", 0.21, 0.21), ("live", 0.0, 0.42)]
    assert len(books.read("from costs")) == 2


def test_bills_from_before_unit_prices_are_whole_but_not_split(books: Books) -> None:
    """An older database has cost_usd and nothing else: it is in the total, and named apart."""
    books.ask(1, "one_to_one")
    books.answer(1, input=100, output=1, is_priced=False)
    with books.store.writing() as con:
        con.execute("update responses set cost_usd = 0.5")

    (row,) = books.read("from costs")

    assert (row["usd"], row["usd_unsplit"], row["usd_fresh"]) == (0.5, 0.5, None)
    assert (row["n_priced"], row["n_unpriced"]) == (1, 0)
    assert books.read("select n_left_out from cache_savings") == [{"n_left_out": 1}]


def test_both_can_be_printed(books: Books) -> None:
    """`needless report costs` and `needless report cache_savings`, with dollars as they are."""
    books.ask(1, "one_to_one")
    books.answer(1, input=100, output=1)
    for name, value in (("costs", "0.2100"), ("cache_savings", "0.4200")):
        shown = needless(books.store.path, "report", name)
        assert shown.exit_code == 0
        assert value in shown.stdout
