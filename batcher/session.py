"""What several commands do alike: make a selection, ask it, move it on, and say how it ended."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

from batcher import cancel as cancelling
from batcher.budget import dollars
from batcher.estimate import due_bills
from batcher.expand import expand
from batcher.judge import parse
from batcher.ledger import Scope, given_up, resolve, tally
from batcher.offline import JUDGES
from batcher.prices import Prices
from batcher.providers import connect, module_of
from batcher.recheck import Draw, draw
from batcher.restore import restore
from batcher.resume import Pace, Standing, advance
from batcher.selection import Selection
from cache.collect import SAMPLE, collect
from cache.errors import ProviderError, Unanswered, Unfinished
from cache.store import Store
from prompts.strategy import choose, load

Say = Callable[[str], None]


def select(
    strategies: tuple[str, ...], judges: tuple[str, ...], prompts: Path | None, **chosen: Any
) -> Selection:
    """Return the selection that names make; the offline judges where none is named."""
    named = tuple(parse(text) for text in judges or [f"offline:{name}" for name in JUDGES])
    for judge in named:
        module_of(judge.provider)
    return Selection(
        strategies=tuple(choose(load(prompts), strategies)),
        judges=tuple(dict.fromkeys(named)),
        **chosen,
    )


def ensure_inputs(store: Store, say: Say, now: datetime) -> None:
    """Import the bundled sample where nothing has been imported."""
    if store.path.exists() and store.query("select 1 from trajectories limit 1")[1]:
        return
    done = collect(store, SAMPLE, dataset="sample", now=now)
    say(f"nothing was imported yet: using the bundled sample, {done.trajectories} trajectories")


def ask(
    store: Store,
    selections: Sequence[Selection],
    pace: Pace,
    say: Say,
    prices: Prices | None = None,
    *,
    progress: Callable[[int, int], None],
    agree: Callable[[str], bool],
) -> Scope | None:
    """Store the requests of selections; None when ``agree`` says no to what is about to be sent."""
    ensure_inputs(store, say, pace.now())
    for judge in dict.fromkeys(judge for chosen in selections for judge in chosen.judges):
        connect(judge.provider, "", judge.mode)  # a key that is missing is better told now
    for chosen in selections:
        expand(store, chosen, now=pace.now, progress=progress)
    scope = Scope(selections=tuple(selections))
    return scope if _agreed(store, scope, pace.now(), prices, agree) else None


def ask_again(
    store: Store,
    selections: Sequence[Selection],
    how: Draw,
    pace: Pace,
    say: Say,
    prices: Prices | None = None,
    *,
    agree: Callable[[str], bool],
) -> Scope | None:
    """Store what asks a sample of answered prompts again; None when ``agree`` says no to it."""
    for judge in dict.fromkeys(judge for chosen in selections for judge in chosen.judges):
        connect(judge.provider, "", judge.mode)
    drawn = draw(store, selections, how, pace.now())
    say(
        f"round {how.number} asks {drawn.drawn} of {drawn.answered} answered prompts again, "
        f"{drawn.new} of them newly drawn"
    )
    scope = Scope(selections=tuple(selections), again=how.number)
    return scope if _agreed(store, scope, pace.now(), prices, agree) else None


def _agreed(
    store: Store,
    scope: Scope,
    now: datetime,
    prices: Prices | None,
    agree: Callable[[str], bool],
) -> bool:
    """Tell whether the user agrees to each part of what is due in a scope and costs something."""
    for one in due_bills(store, scope, now, prices or Prices()):
        price = "at a price that is not known"
        if one.dollars is not None:
            price = f"about {dollars(one.dollars.likely)}, at most {dollars(one.dollars.high)}"
        question = (
            f"Send {one.prompts:,} prompts with {one.input_tokens:,} input tokens to "
            f"{one.provider}:{one.model} ({one.mode}; {price})?"
        )
        if not agree(question):
            return False
    return True


def scope_of(store: Store, batch_ids: Sequence[str]) -> Scope:
    """Return the scope of the batches named (our id or the provider's), or of everything."""
    with store.reading() as con:
        return Scope(batch_ids=resolve(con, batch_ids) if batch_ids else None)


def move_on(
    store: Store, scope: Scope, pace: Pace, say: Say, prices: Prices | None = None, **how: bool
) -> Standing:
    """Advance everything in ``scope``, with one connection a provider."""
    for sentence in restore(store, pace.now(), earlier=False):  # a lost log opens without a word
        say(sentence)
    return advance(store, scope, lru_cache(connect), pace, say, prices=prices, **how)


def conclude(store: Store, scope: Scope, standing: Standing) -> None:
    """Raise what the exit code must tell: a problem, something open, or missing answers."""
    if standing.problems:
        raise ProviderError("; ".join(standing.problems) + "; `needless resume` tries again")
    if standing.open or standing.parked:
        raise Unfinished(
            f"batches still open: {standing.open + standing.parked}; `needless resume` goes on, "
            "`needless status` lists them"
            + (f"; {standing.over_budget}" * bool(standing.over_budget))
        )
    with store.reading() as con:
        counts = tally(con, scope)
        errors, commonest = given_up(con)
    total = sum(counts.values())
    if missing := total - counts.get("answered", 0):
        why = "`needless report coverage` tells why"
        if scope.again is not None:
            why = "`needless report drift` counts the others"
        if errors:
            why = f"{errors} ended in an error, most often: {commonest}; {why}"
        why = standing.over_budget or why
        raise Unanswered(f"{missing} of {total} prompts have no answer that can be read; {why}")


def cancel(
    store: Store,
    names: Sequence[str],
    pace: Pace,
    say: Say,
    prices: Prices | None = None,
    *,
    wait: bool,
    abandon: bool,
) -> None:
    """Cancel batches, store what they had finished, and raise what is still open."""
    standing = cancelling.cancel(
        store, names, lru_cache(connect), pace, say, wait=wait, abandon=abandon, prices=prices
    )
    if standing.problems:
        raise ProviderError("; ".join(standing.problems))
    if standing.open:
        raise Unfinished("the provider is still stopping them; `needless resume` stores the rest")
