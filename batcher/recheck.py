"""Answered prompts asked once more: which ones, and as what.

A recheck is a prompt like any other: the same body under a hash of its own, made with a repeat from
a range that no request uses. So it is claimed, sent, killed, resumed and paid for once by the very
code of a run; and no request needs it, so no prediction and no metric but ``drift`` sees it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

import sql
from batcher.ledger import Scope, make_scope, tally
from batcher.restore import complete
from batcher.selection import Selection
from cache.bulk import load, load_bodies
from cache.errors import UsageError
from cache.hashing import Identity
from cache.store import Connection, Store

_QUERIES = sql.read("queries")

#: Repeats from this one on are rechecks; each round has as many, one for each repeat of a request.
RESERVED = 1_000_000

#: Prompts stored in one transaction.
_AT_ONCE = 1_000


@dataclass(frozen=True, slots=True)
class Draw:
    """Which answered prompts are asked again: a share from 0 to 1 of them, by lots of a seed.

    ``number`` names the round. The same prompt in another round is asked anew.
    """

    share: float
    seed: int = 1
    number: int = 1


@dataclass(frozen=True, slots=True)
class Drawn:
    """How many prompts are answered, how many of those were drawn, and how many are new."""

    answered: int
    drawn: int
    new: int


class _Lot(NamedTuple):
    """A row of ``drawn.sql``."""

    prompt_hash: str
    is_new: bool
    repeat: int
    provider: str
    base_url: str
    endpoint: str
    model: str
    settings: str
    n_bytes: int
    n_input_tokens: int


def draw(store: Store, selections: Sequence[Selection], how: Draw, now: datetime) -> Drawn:
    """Store the prompts that ask a sample of some selections' answered ones again.

    Doing it again stores nothing more. Raises ``UsageError`` where nothing is answered.
    """
    with store.reading() as con:
        scope = Scope(selections=tuple(selections))
        answered = tally(con, scope).get("answered", 0)
        make_scope(con, scope)
        rows = con.execute(_QUERIES["drawn"], [str(how.seed), how.share, how.number]).fetchall()
    lots = [_Lot(*row) for row in rows]
    if not lots:
        raise UsageError(
            "nothing that is selected has an answer to check again; `needless run` with the same "
            "selection asks first"
        )
    new = [lot for lot in lots if lot.is_new]
    for at in range(0, len(new), _AT_ONCE):
        with store.writing() as con:
            _store(con, new[at : at + _AT_ONCE], how.number, now)
    store.rest()
    return Drawn(answered, len(lots), len(new))


def again_hash(where: Identity, body: bytes, repeat: int, number: int) -> str:
    """Return the hash under which round ``number`` asks a prompt again."""
    return where.prompt_hash(body, number * RESERVED + repeat)


def _store(con: Connection, lots: Sequence[_Lot], number: int, now: datetime) -> None:
    by_hash = {lot.prompt_hash: lot for lot in lots}
    bodies: dict[str, bytes] = {}
    links: list[dict[str, object]] = []
    prompts: list[dict[str, object]] = []
    for prompt_hash, body in con.execute(_QUERIES["bodies"], [list(by_hash)]).fetchall():
        lot = by_hash.pop(prompt_hash)
        where = Identity(provider=lot.provider, base_url=lot.base_url, endpoint=lot.endpoint)
        again = again_hash(where, body, lot.repeat, number)
        bodies[again] = body
        links.append(
            {
                "round": number,
                "prompt_hash": prompt_hash,
                "again_hash": again,
                "created_at": now,
            }
        )
        prompts.append(
            {
                "prompt_hash": again,
                **{name: getattr(lot, name) for name in _COPIED},
                "created_at": now.isoformat(),
            }
        )
    known = {row[0] for row in con.execute(_QUERIES["bodies"], [list(bodies)]).fetchall()}
    load(con, "rechecks", links)
    load(con, "prompts", prompts, unless="prompt_hash")
    complete(con, prompts)  # one whose batch was put back from the journal has no body yet
    load_bodies(con, _without(bodies, known))


def _without(bodies: dict[str, bytes], known: set[str]) -> Iterator[tuple[str, bytes]]:
    return ((name, body) for name, body in bodies.items() if name not in known)


_COPIED = ("provider", "base_url", "endpoint", "model", "settings", "n_bytes", "n_input_tokens")
