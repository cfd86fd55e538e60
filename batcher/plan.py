"""What a selection would send and what it would cost: no network, and nothing is stored."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sql
from batcher.expand import Asker, trajectories
from batcher.pack import ENVELOPE
from batcher.prices import cost
from batcher.providers.base import BATCH_LIMITS
from batcher.selection import Selection, trajectory_ids
from batcher.table import Table
from cache.bulk import load
from cache.store import Store

_PLAN = sql.read("queries")["plan"]

#: Output tokens a template answer takes, by answer form; reasoning models take more.
ANSWER_TOKENS = {"verdict": 40, "positions": 60, "kind": 50, "evidence": 50, "findings": 180}


@dataclass(frozen=True, slots=True)
class Line:
    """One judge and strategy of a plan; dollars are None where the model has no known price.

    ``to_send`` counts distinct prompts that have no answer and are in no open batch.
    """

    judge: str
    strategy: str
    requests: int
    prompts: int
    answered: int
    in_flight: int
    given_up: int
    to_send: int
    input_tokens: int
    usd: float | None
    usd_live: float | None


@dataclass(frozen=True, slots=True)
class Plan:
    """``is_exact`` is false where tokens were counted with a vocabulary that is not the model's."""

    trajectories: int
    lines: tuple[Line, ...]
    batches: int
    is_exact: bool


def plan(store: Store, selection: Selection, now: datetime) -> Plan:
    """Return the plan of a selection, from the same questions that a run would store."""
    with store.reading() as con:
        ids = trajectory_ids(con, selection)
    asker = Asker(selection)

    def rows() -> Iterator[dict[str, object]]:
        for trajectory in trajectories(store, ids):
            for one in asker.ask(trajectory):
                yield {
                    "judge": one.request.judge,
                    "strategy": one.request.strategy,
                    "mode": one.request.mode,
                    "prompt_hash": one.request.prompt_hash,
                    "n_bytes": len(one.body),
                    "n_input_tokens": one.n_input_tokens,
                }

    planned = list(rows())
    with store.reading() as con:
        con.execute(
            "create temp table planned (judge varchar, strategy varchar, mode varchar, "
            "prompt_hash uuid, n_bytes integer, n_input_tokens integer)"
        )
        load(con, "planned", planned)
        found = con.execute(_PLAN).fetchall()
    judges = {str(judge): judge for judge in selection.judges}
    answers = {strategy.name: strategy.answer for strategy in selection.strategies}
    lines: list[Line] = []
    for judge, strategy, *counts, to_send, tokens, _ in found:
        out = ANSWER_TOKENS.get(answers[strategy], 60)
        usd, usd_live = (
            _usd(judges[judge].provider, judges[judge].model, mode, now, to_send, tokens, out)
            for mode in (judges[judge].mode, "live")
        )
        requests, prompts, answered, in_flight, given_up = counts
        lines.append(
            Line(
                judge=judge,
                strategy=strategy,
                requests=requests,
                prompts=prompts,
                answered=answered,
                in_flight=in_flight,
                given_up=given_up,
                to_send=to_send,
                input_tokens=tokens,
                usd=usd,
                usd_live=usd_live,
            )
        )
    return Plan(len(ids), tuple(lines), _batches(found), asker.is_exact)


def _batches(found: list[tuple[Any, ...]]) -> int:
    """How many batches the whole fills: a judge's strategies travel together."""
    totals: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for judge, _, *_, to_send, _, n_bytes in found:
        totals[judge][0] += to_send
        totals[judge][1] += n_bytes + to_send * ENVELOPE
    return sum(
        max(-(-n // BATCH_LIMITS.requests), -(-size // BATCH_LIMITS.bytes))
        for n, size in totals.values()
    )


def _usd(
    provider: str, model: str, mode: str, now: datetime, n: int, tokens: int, out: int
) -> float | None:
    """Dollars for ``n`` prompts of ``tokens`` in all, priced one average request at a time."""
    if n == 0:
        return 0.0
    one = cost(
        provider,
        model,
        mode,
        now,
        input_tokens=round(tokens / n),
        cached_tokens=0,
        output_tokens=out,
    )
    return None if one is None else one * n


def table(made: Plan) -> Table:
    """Return a plan as a table, its totals in the last row."""
    columns = (
        "judge",
        "strategy",
        "requests",
        "prompts",
        "answered",
        "in flight",
        "given up",
        "to send",
        "input tokens",
        "$",
        "$ live",
    )
    rows: list[tuple[object, ...]] = [
        (
            *(line.judge, line.strategy, line.requests, line.prompts, line.answered),
            *(line.in_flight, line.given_up, line.to_send, line.input_tokens),
            *(_money(line.usd), _money(line.usd_live)),
        )
        for line in made.lines
    ]
    totals = [sum(int(str(row[at])) for row in rows) for at in range(2, 9)]
    dollars = [
        _money(None if None in found else sum(x for x in found if x is not None))
        for found in ([line.usd for line in made.lines], [line.usd_live for line in made.lines])
    ]
    notes = [
        f"{made.trajectories} trajectories, {made.batches} batches. Dollars assume short answers."
    ]
    if all(line.to_send == 0 for line in made.lines):
        notes.append("Nothing is to be sent: all answered, in flight or given up.")
    if not made.is_exact:
        notes.append("Token counts are estimates: a model's own vocabulary is not known.")
    return Table("Plan", columns, (*rows, ("total", "", *totals, *dollars)), tuple(notes))


def _money(dollars: float | None) -> object:
    return "unpriced" if dollars is None else round(dollars, 4)
