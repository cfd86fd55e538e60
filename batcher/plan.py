"""What a selection would send and what it would cost: no network, and nothing is stored."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

import sql
from batcher.budget import Budget, budget
from batcher.estimate import Dollars, Outlook, Outlooks, bill, list_price
from batcher.expand import Asker, trajectories
from batcher.hours import PEAKS, cheap_from
from batcher.judge import Judge
from batcher.pack import ENVELOPE
from batcher.prefix import Neighbours
from batcher.prices import Prices
from batcher.providers.base import BATCH_LIMITS
from batcher.selection import Selection, trajectory_ids
from batcher.table import Table
from cache.bulk import load
from cache.store import Store

_PLAN = sql.read("queries")["plan"]


@dataclass(slots=True)
class Line:
    """One judge and strategy of a plan.

    ``requests`` counts questions, ``prompts`` distinct ones; those are answered already, in flight,
    given up, or to be sent. Tokens and dollars are of what is to be sent, dollars as the judge's
    prompts travel; ``live`` is the same sent live, ``off_peak`` the same in the provider's cheap
    hours, where it has any. ``naive`` is every request once, live, with nothing shared or answered
    before. Dollars are None where the model has no known price.
    """

    judge: Judge
    strategy: str
    outlook: Outlook
    requests: int = 0
    prompts: int = 0
    answered: int = 0
    in_flight: int = 0
    given_up: int = 0
    to_send: int = 0
    n_bytes: int = 0
    input_tokens: int = 0
    shared_tokens: int = 0
    dollars: Dollars | None = field(default_factory=Dollars)
    live: float | None = 0.0
    naive: float | None = 0.0
    off_peak: float | None = None

    @property
    def output_tokens(self) -> tuple[int, int, int]:
        """Output tokens of all that is to be sent: low, likely, high."""
        one = self.outlook
        return (
            round(one.low * self.to_send),
            round(one.likely * self.to_send),
            round(one.high * self.to_send),
        )


@dataclass(frozen=True, slots=True)
class Plan:
    """``is_exact`` is false where tokens were counted with a vocabulary that is not the model's."""

    trajectories: int
    lines: tuple[Line, ...]
    is_exact: bool
    budget: Budget

    @property
    def batches(self) -> int:
        """How many batches the whole fills: a judge's strategies travel together."""
        found = 0
        for judge in {line.judge for line in self.lines}:
            of_judge = [line for line in self.lines if line.judge == judge]
            n = sum(line.to_send for line in of_judge)
            size = sum(line.n_bytes for line in of_judge) + n * ENVELOPE
            found += max(-(-n // BATCH_LIMITS.requests), -(-size // BATCH_LIMITS.bytes))
        return found


def plan(
    store: Store, selections: Sequence[Selection], now: datetime, prices: Prices | None = None
) -> Plan:
    """Return the plan of some selections, from the same questions that a run would store."""
    prices = prices or Prices()
    planned: list[dict[str, object]] = []
    askers = [Asker(chosen) for chosen in selections]
    near = Neighbours()
    ids: set[str] = set()
    for chosen, asker in zip(selections, askers, strict=True):
        with store.reading() as con:
            some = trajectory_ids(con, chosen)
        ids.update(some)
        planned += _planned(store, asker, some, near)
    with store.reading() as con:
        con.execute(
            "create temp table planned (judge varchar, strategy varchar, gold boolean, "
            "answer varchar, mode varchar, prompt_hash uuid, n_bytes integer, "
            "n_input_tokens integer, n_shared_tokens integer)"
        )
        load(con, "planned", planned)
        rows = con.execute(_PLAN).fetchall()
        outlooks, purse = Outlooks(con), budget(con)
    judges = {str(judge): judge for chosen in selections for judge in chosen.judges}
    lines: dict[tuple[str, str, bool], Line] = {}
    for name, strategy, gold, answer, *request in rows:
        line = lines.get((name, strategy, gold))
        if line is None:
            exact = askers[0].counts_exactly(judges[name])
            outlook = outlooks.of(name, strategy, answer, is_exact=exact)
            shown = f"{strategy} +gold" if gold else strategy
            line = lines[name, strategy, gold] = Line(judges[name], shown, outlook)
            line.off_peak = 0.0 if judges[name].provider in PEAKS else None
        _count(line, prices, now, *request)
    is_exact = all(asker.is_exact for asker in askers)
    return Plan(len(ids), tuple(lines.values()), is_exact, purse)


def _planned(
    store: Store, asker: Asker, ids: list[str], neighbours: Neighbours
) -> Iterator[dict[str, object]]:
    for trajectory in trajectories(store, ids):
        for one in asker.ask(trajectory):
            yield {
                "judge": one.request.judge,
                "strategy": one.request.strategy,
                "gold": one.request.gold,
                "answer": one.request.answer,
                "mode": one.request.mode,
                "prompt_hash": one.request.prompt_hash,
                "n_bytes": len(one.body),
                "n_input_tokens": one.n_input_tokens,
                "n_shared_tokens": neighbours.shared(
                    one.request.judge, one.body, one.n_input_tokens
                ),
            }


def _count(
    line: Line,
    prices: Prices,
    now: datetime,
    is_first: bool,
    state: str,
    n_bytes: int,
    tokens: int,
    shared: int,
) -> None:
    """Add one request to its line."""
    judge = line.judge
    line.requests += 1
    alone = list_price(prices, judge.provider, judge.model, now, line.outlook, tokens)
    line.naive = None if line.naive is None or alone is None else line.naive + alone
    if not is_first:
        return
    line.prompts += 1
    line.answered += state == "answered"
    line.in_flight += state == "in flight"
    line.given_up += state == "given up"
    if state != "due":
        return
    line.to_send += 1
    line.n_bytes += n_bytes
    line.input_tokens += round(tokens * line.outlook.input_factor)
    line.shared_tokens += round(shared * line.outlook.input_factor)
    price = bill(prices, judge.provider, judge.model, judge.mode, now, line.outlook, tokens, shared)
    line.dollars = None if line.dollars is None or price is None else line.dollars + price
    if judge.provider in PEAKS and line.off_peak is not None:
        cheap = cheap_from(judge.provider, now)
        rest = bill(prices, judge.provider, judge.model, judge.mode, cheap, line.outlook, tokens)
        line.off_peak = None if rest is None else line.off_peak + rest.likely
    line.live = None if line.live is None or alone is None else line.live + alone


def table(made: Plan) -> Table:
    """Return a plan as a table with all its columns, its totals in the last row."""
    rows = [_cells(line) for line in made.lines]
    columns = ("judge", "strategy", *_COLUMNS)
    sums = [_sum([row[at] for row in rows]) for at in range(2, len(columns))]
    notes = [
        f"{made.trajectories} trajectories, {made.batches} batches. $ is for prompts as they "
        "travel; $ naive for every request once, live, nothing shared."
    ]
    if all(line.to_send == 0 for line in made.lines):
        notes.append("Nothing is to be sent: all answered, in flight or given up.")
    elif seen := sum(line.outlook.n_seen > 0 for line in made.lines):
        notes.append(f"{seen} of {len(made.lines)} rows are estimated from earlier answers.")
    if not made.is_exact:
        notes.append("Token counts are estimates: a model's own vocabulary is not known.")
    if made.budget.is_set:
        notes.append(f"{str(made.budget).capitalize()}.")
    return Table("Plan", columns, (*rows, ("total", "", *sums)), tuple(notes))


def brief(made: Plan) -> Table:
    """Return the same for a terminal: without columns that hold nothing or matter less."""
    whole = table(made)
    minor = {"output tokens low", "output tokens", "output tokens high"}
    maybe = {"in flight", "given up", "shareable", "$ off-peak"}
    kept = [
        at
        for at, name in enumerate(whole.columns)
        if name not in minor and (name not in maybe or any(row[at] for row in whole.rows))
    ]
    return replace(
        whole,
        columns=tuple(whole.columns[at] for at in kept),
        rows=tuple(tuple(row[at] for at in kept) for row in whole.rows),
        headings=("judge",),
    )


_COLUMNS = (
    *("requests", "prompts", "answered", "in flight", "given up", "to send"),
    *("input tokens", "shareable", "output tokens low", "output tokens", "output tokens high"),
    *("$ low", "$", "$ high", "$ live", "$ off-peak", "$ naive"),
)


def _cells(line: Line) -> tuple[object, ...]:
    money = line.dollars
    dollars = (money.low, money.likely, money.high) if money else (None, None, None)
    if line.judge.provider == "offline":
        dollars = (0.0, 0.0, 0.0)
    return (
        *(str(line.judge), line.strategy, line.requests, line.prompts, line.answered),
        *(line.in_flight, line.given_up, line.to_send, line.input_tokens, line.shared_tokens),
        *line.output_tokens,
        *("unpriced" if one is None else one for one in (*dollars, line.live)),
        line.off_peak,
        "unpriced" if line.naive is None else line.naive,
    )


def _sum(values: list[object]) -> object:
    """Add up a column: one number that is not known leaves the sum unknown."""
    if "unpriced" in values:
        return "unpriced"
    numbers = [value for value in values if isinstance(value, int | float)]
    return sum(numbers) if numbers else None
