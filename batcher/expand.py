"""Trajectories × strategies × judges into requests, and the prompts they share.

``ask`` is pure: values in, values out. ``expand`` stores what it yields, chunk by chunk, each in
one short transaction; doing it again changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache
from typing import NamedTuple

from batcher.judge import Judge
from batcher.providers import builder
from batcher.providers.base import Builder
from batcher.restore import complete
from batcher.selection import Selection, read, trajectory_ids
from batcher.tokens import OVERHEAD, ROUGH, Counter, encoding_of
from cache.bulk import load, load_bodies
from cache.hashing import Identity, canonical, digest
from cache.records import Trajectory
from cache.store import ROW_GROUP, Connection, Store
from prompts.answers import schema_name
from prompts.render import Chat, record, render
from prompts.scopes import SCOPES
from prompts.strategy import Strategy

#: Bodies of about this many bytes are stored in one transaction.
CHUNK_BYTES = 40_000_000

#: Trajectories read from the database at a time.
READ_AT_ONCE = 200


@dataclass(frozen=True, slots=True)
class Request:
    """A row of ``requests``: one question about one excerpt."""

    trajectory_id: str
    strategy: str
    strategy_digest: str
    gold: bool
    judge: str
    repeat: int
    excerpt_index: int
    mode: str
    answer: str
    n_shown: int
    targets: tuple[int, ...]
    positions: tuple[int, ...]
    prompt_hash: str
    evidence: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class Asked:
    """A request with the prompt that it needs."""

    request: Request
    judge: Judge
    make: Builder
    n_input_tokens: int
    body: bytes


class _Side(NamedTuple):
    """A judge, its name, how its prompts are made, and what tells them apart."""

    judge: Judge
    name: str
    make: Builder
    identity: Identity
    vocabulary: str


class Asker:
    """Asks everything a selection holds of one trajectory after another.

    It keeps a token counter a vocabulary and strategy, so that counting gets cheaper as it goes.
    """

    def __init__(self, selection: Selection) -> None:
        self._selection = selection
        self._counters: dict[tuple[str, str], Counter] = {}
        self._counted: dict[tuple[str, str, int], int] = {}  # of the trajectory at hand
        self._parts: dict[tuple[str, str], int] = {}
        self._sides: list[_Side] = []
        for judge in selection.judges:
            make = builder(judge)
            where = {"base_url": make.base_url, "endpoint": make.endpoint}
            identity = Identity(provider=judge.provider, **where)
            named = "" if judge.provider == "offline" else encoding_of(judge.model)[0]
            self._sides.append(_Side(judge, str(judge), make, identity, named))

    @property
    def is_exact(self) -> bool:
        """Whether every model's own vocabulary counted the tokens."""
        return all(map(self.counts_exactly, self._selection.judges))

    def counts_exactly(self, judge: Judge) -> bool:
        """Tell whether a judge's tokens are counted with its model's own vocabulary."""
        return judge.provider == "offline" or (
            encoding_of(judge.model)[1]
            and all(counter.is_loaded for counter in self._counters.values())
        )

    def ask(self, trajectory: Trajectory) -> Iterator[Asked]:
        """Yield the requests of one trajectory, neighbours in text next to each other."""
        selection = self._selection
        recording = record(trajectory)
        self._counted.clear()
        self._parts.clear()
        for side in self._sides:
            for strategy in selection.strategies:
                excerpts = SCOPES[strategy.scope](trajectory, strategy.k, strategy.k_unit)
                for place, excerpt in enumerate(excerpts):
                    number = place if excerpt.number is None else excerpt.number
                    chat = render(strategy, recording, excerpt, gold=selection.gold)
                    yield from self._of(side, trajectory, strategy, number, chat)

    def _of(
        self, side: _Side, trajectory: Trajectory, strategy: Strategy, number: int, chat: Chat
    ) -> Iterator[Asked]:
        body = side.make.body(chat)
        n_tokens = self._count(side, strategy, number, chat, body)
        for repeat in range(self._selection.repeats):
            request = Request(
                trajectory_id=trajectory.trajectory_id,
                strategy=strategy.name,
                strategy_digest=strategy.digest,
                gold=self._selection.gold,
                judge=side.name,
                repeat=repeat,
                excerpt_index=number,
                mode=side.judge.mode,
                answer=strategy.answer,
                n_shown=len(chat.excerpt.shown),
                targets=chat.excerpt.targets,
                positions=chat.excerpt.positions,
                prompt_hash=side.identity.prompt_hash(body, repeat),
                evidence=chat.excerpt.evidence,
            )
            yield Asked(request, side.judge, side.make, n_tokens, body)

    def _count(self, side: _Side, strategy: Strategy, number: int, chat: Chat, body: bytes) -> int:
        """Count a chat's tokens; judges with the same vocabulary are put the same texts."""
        if not side.vocabulary:
            return max(1, round(len(body) / ROUGH))
        kind = (side.vocabulary, strategy.name)
        if (*kind, number) not in self._counted:
            if kind not in self._counters:
                self._counters[kind] = Counter(side.vocabulary)
            count = self._counters[kind]
            tokens = count.whole(chat.system) + count(chat.user) + OVERHEAD
            tokens += sum(self._count_shared(side.vocabulary, part) for part in chat.shared)
            self._counted[*kind, number] = tokens
        return self._counted[*kind, number]

    def _count_shared(self, vocabulary: str, part: str) -> int:
        """Count what the prompts of a trajectory have in common, once."""
        if (vocabulary, part) not in self._parts:
            if (vocabulary, "") not in self._counters:
                self._counters[vocabulary, ""] = Counter(vocabulary)
            count = self._counters[vocabulary, ""]
            self._parts[vocabulary, part] = count(part)
        return self._parts[vocabulary, part]


def trajectories(store: Store, ids: Sequence[str]) -> Iterator[Trajectory]:
    """Yield trajectories from the database, which is closed while the caller works on them."""
    for at in range(0, len(ids), READ_AT_ONCE):
        with store.reading() as con:
            some = list(read(con, ids[at : at + READ_AT_ONCE]))
        yield from some


def expand(
    store: Store,
    selection: Selection,
    *,
    now: Callable[[], datetime],
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> int:
    """Store the requests of a selection and the prompts they need; return how many requests.

    ``progress(done, total)`` counts trajectories.
    """
    with store.reading() as con:
        ids = trajectory_ids(con, selection)
    asker = Asker(selection)
    asked = 0
    chunk = _Chunk()
    for done, trajectory in enumerate(trajectories(store, ids), 1):
        for one in asker.ask(trajectory):
            chunk.add(one)
            asked += 1
            if chunk.is_full:
                _write(store, chunk, now())
                chunk = _Chunk()
        progress(done, len(ids))
    _write(store, chunk, now())
    return asked


class _Chunk:
    """Requests and the distinct prompts they need, in order, up to what one transaction takes."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.prompts: dict[str, Asked] = {}
        self._size = 0

    def add(self, one: Asked) -> None:
        self.requests.append(one.request)
        if self.prompts.setdefault(one.request.prompt_hash, one) is one:
            self._size += len(one.body)

    @property
    def is_full(self) -> bool:
        # Whole row groups are compressed once; a part of one is compressed again by its successor.
        whole = len(self.prompts) % ROW_GROUP == 0
        return self._size >= (CHUNK_BYTES if whole else 2 * CHUNK_BYTES)


_REQUEST_KEY = (
    "trajectory_id, strategy, strategy_digest, gold, judge, repeat, excerpt_index, prompt_hash"
)


def _write(store: Store, chunk: _Chunk, now: datetime) -> None:
    if not chunk.requests:
        return
    with store.writing() as con:
        load(con, "requests", _effective(con, chunk.requests), unless=_REQUEST_KEY)
        known = _known(con, list(chunk.prompts))
        new = {name: one for name, one in chunk.prompts.items() if name not in known}
        load(con, "prompts", _prompt_rows(new.values(), now))
        bare = {name: chunk.prompts[name] for name, size in known.items() if not size}
        complete(con, _prompt_rows(bare.values(), now))
        new |= bare
        # Each body is let go of once it is staged: the insert needs the room.
        chunk.prompts.clear()
        load_bodies(con, ((name, new.pop(name).body) for name in list(new)))
    store.rest()


def _effective(con: Connection, requests: list[Request]) -> list[Request]:
    """Point requests at the wider prompt where the one they need was cut short before."""
    wider = dict(
        con.execute(
            "select replace(prompt_hash::varchar, '-', ''), replace(wider_hash::varchar, '-', '') "
            "from widened"
        ).fetchall()
    )
    if not wider:
        return requests
    return [
        replace(one, prompt_hash=wider.get(one.prompt_hash, one.prompt_hash)) for one in requests
    ]


def _known(con: Connection, names: list[str]) -> dict[str, int]:
    """Return which of these prompts are stored already, with their bytes.

    None are those of a prompt whose body went with a lost database (``batcher/restore.py``).
    """
    rows = con.execute(
        "select replace(prompt_hash::varchar, '-', ''), n_bytes from prompts "
        "semi join (select unnest($1::varchar[])::uuid as prompt_hash) using (prompt_hash)",
        [names],
    ).fetchall()
    return dict(rows)


@lru_cache
def _settings(judge: Judge, answer: str) -> str:
    """Digest what a model takes or refuses whatever is asked: parameters and answer form."""
    return digest(canonical([judge.sent_params, schema_name(answer)]))


def _prompt_rows(chunk: Iterable[Asked], now: datetime) -> Iterator[dict[str, object]]:
    at = now.isoformat()
    for one in chunk:
        yield {
            "prompt_hash": one.request.prompt_hash,
            "provider": one.judge.provider,
            "base_url": one.make.base_url,
            "endpoint": one.make.endpoint,
            "model": one.judge.model,
            "settings": _settings(one.judge, one.request.answer),
            "n_bytes": len(one.body),
            "n_input_tokens": one.n_input_tokens,
            "created_at": at,
        }
