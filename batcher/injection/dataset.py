"""Injection into stored runs: what is read, and the data set and label set that are made."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import msgspec

from batcher.injection import inject
from batcher.injection.corpus import learnt
from batcher.selection import Selection, trajectory_ids
from cache.errors import UsageError
from cache.hashing import canonical, digest
from cache.inputs import write
from cache.records import KINDS, Mark, Message, ToolCall, Trajectory
from cache.steps import split_steps
from cache.store import Connection, Store

#: How the ``source`` of an injected trajectory begins. Raise the number when the steps change.
SOURCE = "injection 1:"


@dataclass(frozen=True, slots=True)
class Injected:
    """What one injection made, or found made; ``steps`` counts synthetic steps by kind."""

    into: str
    trajectories: int
    already: int
    steps: Mapping[str, int]

    def __str__(self) -> str:
        """One sentence for the user."""
        kinds = ", ".join(f"{self.steps.get(kind, 0)} {kind}" for kind in KINDS)
        there = f" ({self.already} were there already)" if self.already else ""
        return (
            f"data set and label set {self.into!r}: {self.trajectories} trajectories{there} "
            f"with {sum(self.steps.values())} synthetic steps, {kinds}"
        )


def inject_dataset(
    store: Store,
    *,
    into: str,
    seed: int,
    rates: Mapping[str, float],
    datasets: Sequence[str] = (),
    domains: Sequence[str] = (),
    limit: int | None = None,
    now: datetime,
) -> Injected:
    """Put synthetic steps into the successful runs selected, and store them as ``into``.

    Doing it again changes nothing. Raises ``UsageError`` when ``into`` is taken by something else,
    other parameters or other runs included.
    """
    with store.reading() as con:
        sources = [
            row[0]
            for row in con.execute(
                "select distinct dataset from trajectories where not starts_with(source, $1) "
                "order by 1",
                [SOURCE],
            ).fetchall()
        ]
        chosen = Selection((), (), tuple(datasets or sources), tuple(domains), limit=limit)
        ids = trajectory_ids(con, chosen)
        runs = _runs(con, list(chosen.datasets))
        marks = _marks(con, ids)
        recipe = SOURCE + canonical(
            {
                "seed": seed,
                "rate": rates,
                "dataset": sorted(datasets),
                "domain": sorted(domains),
                "limit": limit,
                "of": digest(canonical([ids, sorted(runs.items()), sorted(marks.items())])),
            }
        )
        _check(con, into, recipe)
    corpora = learnt(runs.values())
    items = [
        inject(
            runs[name],
            corpora[runs[name].domain],
            into=into,
            seed=seed,
            rates=rates,
            marks=marks.get(name, ()),
        )
        for name in ids
    ]
    done = write(store, [(recipe, item) for both in items for item in both], dataset=into, now=now)
    steps = _synthetic(said.marks for _, said in items)
    steps.subtract(_synthetic(marks.values()))
    return Injected(into, len(items), done.already, steps)


def _synthetic(many: Iterable[Sequence[Mark]]) -> Counter[str]:
    return Counter(mark.kind or "" for marks in many for mark in marks if mark.is_synthetic)


def _check(con: Connection, into: str, recipe: str) -> None:
    """Refuse a name that something else has."""
    made = con.execute(
        "select source from trajectories where dataset = $1 and source <> $2 "
        "union all select source from annotations where label_set = $1 and source <> $2 limit 1",
        [into, recipe],
    ).fetchone()
    if made is None:
        return
    if made[0].startswith(SOURCE):
        raise UsageError(
            f"{into!r} was injected with other parameters or from other runs "
            f"({made[0].removeprefix(SOURCE)}); choose another name for --into"
        )
    raise UsageError(
        f"{into!r} is the name of an imported data set or label set ({made[0]}); choose another "
        "name for --into"
    )


def _runs(con: Connection, datasets: list[str]) -> dict[str, Trajectory]:
    """Return the whole runs of some data sets by id, in the order of their import."""
    messages: dict[str, list[Message]] = defaultdict(list)
    for name, calls, *fields in con.execute(
        "select trajectory_id, tool_calls, message_index, role, content, requestor, "
        "coalesce(tool_call_id, ''), is_error from messages join trajectories using "
        "(trajectory_id) where list_contains($1, dataset) order by trajectory_id, message_index",
        [datasets],
    ).fetchall():
        index, role, content, requestor, call_id, is_error = fields
        named = tuple(
            ToolCall(call["name"], call["arguments"], call["id"])
            for call in (msgspec.json.decode(calls) if calls else ())
        )
        messages[name].append(Message(index, role, content, named, requestor, call_id, is_error))
    rows = con.execute(
        "select trajectory_id, dataset, domain, task_id, trial, agent_model, objective, "
        "coalesce(policy, ''), gold_actions, success, reward from trajectories "
        "where list_contains($1, dataset) order by rowid",
        [datasets],
    ).fetchall()
    return {
        row[0]: Trajectory(
            trajectory_id=row[0],
            dataset=row[1],
            domain=row[2],
            task_id=row[3],
            messages=(told := tuple(messages[row[0]])),
            steps=split_steps(told),
            trial=row[4],
            agent_model=row[5],
            objective=row[6],
            policy=row[7],
            gold_actions=row[8],
            success=row[9],
            reward=row[10],
        )
        for row in rows
    }


def _marks(con: Connection, ids: list[str]) -> dict[str, list[Mark]]:
    """Return the labels of some runs; where label sets disagree on a step, the first by name."""
    marks: dict[str, dict[tuple[int, ...], Mark]] = defaultdict(dict)
    for name, call, result, kind, evidence, confidence, is_synthetic in con.execute(
        "select trajectory_id, call_index, result_index, kind, coalesce(evidence, []), confidence, "
        "is_synthetic from labels join steps using (trajectory_id, step_index) "
        "where list_contains($1, trajectory_id) order by trajectory_id, label_set, step_index",
        [ids],
    ).fetchall():
        indices = (call,) if result is None else (call, result)
        mark = Mark(indices, kind, tuple(evidence), confidence, is_synthetic)
        marks[name].setdefault(indices, mark)
    return {name: list(found.values()) for name, found in marks.items()}
