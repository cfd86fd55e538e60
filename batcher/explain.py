"""Why a question about one step is served from the cache or not, and what its neighbour has else.

A question that was never asked, or has no answer, is held against the stored prompt that is nearest
to it: one about the same step, else, where it was never asked, one of the same model. Nothing is
sent and nothing stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import sql
from batcher.difference import Difference, Sent, compare, distance
from batcher.expand import Asked, Asker
from batcher.selection import Selection, read, trajectory_ids
from batcher.table import Table
from cache.errors import UsageError
from cache.records import Trajectory
from cache.store import Connection, Store

_QUERIES = sql.read("queries")

#: Prompts of the same model that are looked at where none is about the same step.
SAME_MODEL = 50

#: Names listed in a message.
_LISTED = 5

_NEVER = "never asked"


@dataclass(frozen=True, slots=True)
class Explained:
    """One question, what is known of its prompt, and how the nearest other prompt differs.

    ``prompt_hash`` is that of the wider prompt where the one asked for was cut short before.
    """

    asked: Asked
    prompt_hash: str
    state: str
    why: str
    neighbour: str | None = None
    neighbour_hash: str | None = None
    differences: tuple[Difference, ...] = ()


class _Standing(NamedTuple):
    """A row of ``standing.sql`` without its key."""

    state: str
    attempts: int
    answered_by: str | None
    answered_at: str | None
    held_by: str | None
    held_status: str | None
    newest_state: str | None
    newest_reason: str | None

    @property
    def why(self) -> str:
        last = self.newest_state or ""
        if self.newest_reason:
            last += f": {self.newest_reason}"
        if self.state == "answered":
            return f"by batch {self.answered_by}, {self.answered_at}"
        if self.state == "in flight":
            return f"in batch {self.held_by}, {self.held_status}"
        if self.state == "due":
            return f"to be sent again: {last}" if last else "stored, not sent yet"
        return f"after {self.attempts} counted attempts, the last one {last}"


class _Stored(NamedTuple):
    """A row of ``neighbours.sql`` or ``same_model.sql``."""

    prompt_hash: str
    judge: str
    strategy: str
    strategy_digest: str
    gold: bool
    repeat: int
    provider: str
    base_url: str
    endpoint: str
    body: bytes

    @property
    def sent(self) -> Sent:
        return Sent(self.provider, self.base_url, self.endpoint, self.repeat, self.body)

    @property
    def name(self) -> str:
        gold = "+gold" if self.gold else ""
        named = f"{self.strategy}{gold} {self.strategy_digest}"
        return f"{named} by {self.judge}, repeat {self.repeat}"


def explain(store: Store, selection: Selection, name: str, step_index: int) -> list[Explained]:
    """Return one explanation for each question of a selection about one step of a trajectory.

    ``name`` is a trajectory's id or the unambiguous head of one. Raises ``UsageError`` for what is
    not there, saying what is.
    """
    with store.reading() as con:
        trajectory = _trajectory(con, selection, name)
    _check(trajectory, step_index)
    # The file is closed meanwhile: a token counter may take its time to load.
    every = Asker(selection).ask(trajectory)
    asked = [one for one in every if step_index in one.request.targets]
    with store.reading() as con:
        wider = _wider(con, [one.request.prompt_hash for one in asked])
        about = _stored(con, "neighbours", trajectory.trajectory_id, step_index)
        hashes = [wider.get(one.request.prompt_hash, one.request.prompt_hash) for one in asked]
        standing = _standing(con, [*hashes, *(one.prompt_hash for one in about)])
        found: list[Explained] = []
        for one, prompt_hash in zip(asked, hashes, strict=True):
            known = standing.get(prompt_hash)
            state, why = (known.state, known.why) if known else (_NEVER, "")
            if prompt_hash != one.request.prompt_hash:
                why = f"{why}; as a wider prompt, since the answer was cut short before"
            bare = Explained(one, prompt_hash, state, why)
            if state != "answered":
                others = [other for other in about if other.prompt_hash != prompt_hash]
                if not others and known is None:
                    who = one.judge
                    others = _stored(con, "same_model", who.provider, who.model, SAME_MODEL)
                    standing |= _standing(con, [other.prompt_hash for other in others])
                bare = _beside(bare, others, standing)
            found.append(bare)
    return found


def _beside(one: Explained, others: Sequence[_Stored], standing: dict[str, _Standing]) -> Explained:
    """Add the nearest of ``others``, an answered one where two are as near."""
    request, make = one.asked.request, one.asked.make
    sent = Sent(
        one.asked.judge.provider, make.base_url, make.endpoint, request.repeat, one.asked.body
    )
    compared = [(other, compare(sent, other.sent)) for other in others]
    if not compared:
        return one
    nearest, differences = min(
        compared,
        key=lambda pair: (
            *distance(pair[1])[:2],
            standing[pair[0].prompt_hash].state != "answered",
            distance(pair[1])[2],
        ),
    )
    known = standing[nearest.prompt_hash]
    return Explained(
        asked=one.asked,
        prompt_hash=one.prompt_hash,
        state=one.state,
        why=one.why,
        neighbour=f"{nearest.name}: {known.state} {known.why}",
        neighbour_hash=nearest.prompt_hash,
        differences=differences,
    )


def _trajectory(con: Connection, selection: Selection, name: str) -> Trajectory:
    rows = con.execute(
        "select trajectory_id from trajectories where starts_with(trajectory_id, $1) "
        "order by trajectory_id != $1, rowid",
        [name],
    ).fetchall()
    ids = [row[0] for row in rows]
    if not ids:
        known = con.execute("select trajectory_id from trajectories order by rowid").fetchall()
        raise UsageError(
            f"no trajectory's id begins with {name!r}; imported: {_some([row[0] for row in known])}"
        )
    if len(ids) > 1 and ids[0] != name:
        raise UsageError(f"{name!r} begins the ids of {len(ids)} trajectories: {_some(ids)}")
    if ids[0] not in trajectory_ids(con, selection):
        raise UsageError(
            f"trajectory {ids[0]!r} is not in the selection; --all takes runs that did not "
            "succeed, and --dataset, --domain and --limit leave some out"
        )
    (found,) = read(con, ids[:1])
    return found


def _check(trajectory: Trajectory, step_index: int) -> None:
    """Raise ``UsageError`` where no judge is ever asked about the step."""
    judged = [step.step_index for step in trajectory.steps if step.judged]
    if step_index in judged:
        return
    known = [step.step_index for step in trajectory.steps]
    what = "is not a judged one" if step_index in known else "does not exist"
    raise UsageError(
        f"step {step_index} of {trajectory.trajectory_id} {what}; judged steps: "
        f"{', '.join(map(str, judged)) or 'none'}"
    )


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return (", ".join(names[:_LISTED]) or "nothing") + more


def _wider(con: Connection, hashes: Sequence[str]) -> dict[str, str]:
    return dict(
        con.execute(
            "select replace(prompt_hash::varchar, '-', ''), replace(wider_hash::varchar, '-', '') "
            "from widened semi join (select unnest($1::varchar[])::uuid as prompt_hash) "
            "using (prompt_hash)",
            [list(hashes)],
        ).fetchall()
    )


def _standing(con: Connection, hashes: Sequence[str]) -> dict[str, _Standing]:
    rows = con.execute(_QUERIES["standing"], [list(hashes)]).fetchall()
    return {row[0]: _Standing(*row[1:]) for row in rows}


def _stored(con: Connection, query: str, *values: object) -> list[_Stored]:
    return [_Stored(*row) for row in con.execute(_QUERIES[query], list(values)).fetchall()]


def table(found: Sequence[Explained]) -> Table:
    """Return explanations as a table: one row a field that differs, one where none does."""
    rows: list[tuple[object, ...]] = []
    for one in found:
        request = one.asked.request
        lead = (
            *(request.strategy, request.strategy_digest, request.gold, request.judge),
            *(request.repeat, one.prompt_hash, one.state, one.why or None),
            *(one.neighbour, one.neighbour_hash),
        )
        rows += [
            (*lead, other.field, other.offset, other.asked, other.stored)
            for other in one.differences
        ] or [(*lead, None, None, None, None)]
    hits = sum(one.state == "answered" for one in found)
    return Table(
        title=f"{hits} of {len(found)} questions about this step are answered from the cache",
        columns=(*_HEADINGS, "field", "at", "asked", "neighbour's"),
        rows=tuple(rows),
        notes=(
            "A question is served from the cache when all fields are the same. at: characters that "
            "two texts share before they part.",
        ),
        headings=_HEADINGS,
    )


_HEADINGS = (
    "strategy",
    "strategy_digest",
    "gold",
    "judge",
    "repeat",
    "prompt_hash",
    "state",
    "why",
    "neighbour",
    "neighbour_hash",
)
