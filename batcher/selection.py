"""Which questions are meant: trajectories, strategies, judges, with or without gold, repeats."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from batcher.judge import Judge
from cache.errors import UsageError
from cache.records import Case, Message, Step, Trajectory
from cache.store import Connection
from prompts.strategy import Strategy


@dataclass(frozen=True, slots=True)
class Selection:
    """``limit`` counts trajectories; ``repeats`` is how often each question is asked."""

    strategies: tuple[Strategy, ...]
    judges: tuple[Judge, ...]
    datasets: tuple[str, ...] = ()
    domains: tuple[str, ...] = ()
    gold: bool = False
    limit: int | None = None
    repeats: int = 1
    successes_only: bool = True


def trajectory_ids(con: Connection, selection: Selection) -> list[str]:
    """Return the selected trajectories in import order; raises ``UsageError`` when none fits."""
    for column, wanted in (("dataset", selection.datasets), ("domain", selection.domains)):
        known = [
            row[0]
            for row in con.execute(
                f"select distinct {column} from trajectories order by 1"
            ).fetchall()
        ]
        for name in wanted:
            if name not in known:
                raise UsageError(
                    f"no {column} is called {name!r}; imported: {', '.join(known) or 'none'}"
                )
    ids = [
        row[0]
        for row in con.execute(
            "select trajectory_id from trajectories "
            "where (len($1) = 0 or list_contains($1, dataset)) "
            "and (len($2) = 0 or list_contains($2, domain)) "
            "and (not $3 or success) order by rowid",
            [list(selection.datasets), list(selection.domains), selection.successes_only],
        ).fetchall()
    ][: selection.limit]
    if not ids:
        hint = "; --all also takes runs that did not succeed" if selection.successes_only else ""
        raise UsageError(f"the selection holds no trajectory{hint}")
    return ids


def read(con: Connection, ids: Sequence[str]) -> Iterator[Trajectory]:
    """Yield the trajectories called ``ids``, in that order, with messages, steps and cases.

    Cases are those of every label set, each once.
    """
    wanted = list(ids)
    messages: dict[str, list[Message]] = {name: [] for name in wanted}
    for name, *fields in con.execute(
        "select trajectory_id, message_index, role, content from messages "
        "where list_contains($1, trajectory_id) order by trajectory_id, message_index",
        [wanted],
    ).fetchall():
        messages[name].append(Message(*fields))
    steps: dict[str, list[Step]] = {name: [] for name in wanted}
    for name, *fields in con.execute(
        "select trajectory_id, step_index, player, judged, call_index, result_index, tool, "
        "arguments, result, is_error from steps where list_contains($1, trajectory_id) "
        "order by trajectory_id, step_index",
        [wanted],
    ).fetchall():
        steps[name].append(Step(*fields))
    cases: dict[str, list[Case]] = {name: [] for name in wanted}
    for name, step_index, evidence in con.execute(
        "select distinct trajectory_id, step_index, evidence from cases "
        "where list_contains($1, trajectory_id) order by all",
        [wanted],
    ).fetchall():
        cases[name].append(Case(step_index, tuple(evidence)))
    rows = con.execute(
        "select trajectory_id, dataset, domain, task_id, objective, policy, gold_actions, success "
        "from trajectories where list_contains($1, trajectory_id)",
        [wanted],
    ).fetchall()
    by_id = {row[0]: row for row in rows}
    for name in wanted:
        _, dataset, domain, task_id, objective, policy, gold_actions, success = by_id[name]
        yield Trajectory(
            trajectory_id=name,
            dataset=dataset,
            domain=domain,
            task_id=task_id,
            messages=tuple(messages[name]),
            steps=tuple(steps[name]),
            objective=objective,
            policy=policy,
            gold_actions=gold_actions,
            success=success,
            cases=tuple(cases[name]),
        )
