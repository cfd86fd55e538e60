"""Trajectories × strategies × judges into requests, and the prompts they share.

``ask`` is pure: values in, values out. ``expand`` stores what it yields, chunk by chunk, each in
one short transaction; doing it again changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from batcher.providers import builder
from batcher.selection import Selection, read, trajectory_ids
from batcher.tokens import ROUGH, Counter
from cache.hashing import prompt_hash
from cache.records import Trajectory
from cache.store import STAGE_BYTES, Store, load
from prompts.render import record, render
from prompts.scopes import SCOPES

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


@dataclass(frozen=True, slots=True)
class Asked:
    """A request with the prompt that it needs."""

    request: Request
    provider: str
    base_url: str
    endpoint: str
    model: str
    n_bytes: int
    n_input_tokens: int
    body: str


class Asker:
    """Asks everything a selection holds of one trajectory after another.

    It keeps one token counter a model, so that counting gets cheaper as it goes.
    """

    def __init__(self, selection: Selection) -> None:
        self._selection = selection
        self._builders = [
            (judge, str(judge), builder(judge.provider)) for judge in selection.judges
        ]
        self._counters: dict[str, Counter] = {}

    @property
    def is_exact(self) -> bool:
        """Whether every model's own vocabulary counted the tokens."""
        return all(counter.is_exact for counter in self._counters.values())

    def ask(self, trajectory: Trajectory) -> Iterator[Asked]:
        """Yield the requests of one trajectory, neighbours in text next to each other."""
        selection = self._selection
        recording = record(trajectory)
        for strategy in selection.strategies:
            excerpts = SCOPES[strategy.scope](trajectory, strategy.k, strategy.k_unit)
            for number, excerpt in enumerate(excerpts):
                chat = render(strategy, recording, excerpt, gold=selection.gold)
                targets = excerpt.targets
                for judge, name, build in self._builders:
                    out = build(judge, chat)
                    n_bytes = len(out.body.encode())
                    n_tokens = self._count(judge.provider, out.model, out.body, n_bytes)
                    for repeat in range(selection.repeats):
                        request = Request(
                            trajectory_id=trajectory.trajectory_id,
                            strategy=strategy.name,
                            strategy_digest=strategy.digest,
                            gold=selection.gold,
                            judge=name,
                            repeat=repeat,
                            excerpt_index=number,
                            mode=judge.mode,
                            answer=strategy.answer,
                            n_shown=len(excerpt.shown),
                            targets=targets,
                            positions=excerpt.positions,
                            prompt_hash=prompt_hash(
                                out.body,
                                provider=judge.provider,
                                base_url=out.base_url,
                                endpoint=out.endpoint,
                                repeat=repeat,
                            ),
                        )
                        yield Asked(
                            request,
                            judge.provider,
                            out.base_url,
                            out.endpoint,
                            out.model,
                            n_bytes,
                            n_tokens,
                            out.body,
                        )

    def _count(self, provider: str, model: str, body: str, n_bytes: int) -> int:
        if provider == "offline":
            return max(1, round(n_bytes / ROUGH))
        if model not in self._counters:
            self._counters[model] = Counter(model)
        return self._counters[model].count(body, n_bytes)


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
    chunk: list[Asked] = []
    size = 0
    for done, trajectory in enumerate(trajectories(store, ids), 1):
        for one in asker.ask(trajectory):
            chunk.append(one)
            size += one.n_bytes
        if size >= STAGE_BYTES:
            asked += _write(store, chunk, now())
            chunk, size = [], 0
            progress(done, len(ids))
    asked += _write(store, chunk, now())
    progress(len(ids), len(ids))
    return asked


_REQUEST_KEY = (
    "trajectory_id, strategy, strategy_digest, gold, judge, repeat, excerpt_index, prompt_hash"
)


def _write(store: Store, chunk: Sequence[Asked], now: datetime) -> int:
    if not chunk:
        return 0
    unique = {one.request.prompt_hash: one for one in reversed(chunk)}
    ordered = [one for one in chunk if unique.pop(one.request.prompt_hash, None)]
    with store.writing() as con:
        load(con, "requests", (one.request for one in chunk), unless=_REQUEST_KEY)
        if load(con, "prompts", _prompt_rows(ordered, now), unless="prompt_hash"):
            bodies = ({"prompt_hash": o.request.prompt_hash, "body": o.body} for o in ordered)
            load(con, "prompt_bodies", bodies, unless="prompt_hash")
    return len(chunk)


def _prompt_rows(chunk: Iterable[Asked], now: datetime) -> Iterator[dict[str, object]]:
    for one in chunk:
        yield {
            "prompt_hash": one.request.prompt_hash,
            "provider": one.provider,
            "base_url": one.base_url,
            "endpoint": one.endpoint,
            "model": one.model,
            "n_bytes": one.n_bytes,
            "n_input_tokens": one.n_input_tokens,
            "created_at": now,
        }
