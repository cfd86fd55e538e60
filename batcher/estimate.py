"""What answering a prompt will take: tokens and dollars, as a range.

Own history goes first: what a judge's answers under a strategy have taken so far, from the view
``observed_usage``. Without it, input tokens are our own count and answers are of template length.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime

import sql
from batcher.ledger import Scope, make_scope
from batcher.prices import Prices
from batcher.rates import Tokens
from cache.store import Connection, Store

_DUE_TOKENS = sql.read("queries")["due_tokens"]

#: Answers from which on a judge's own history is believed.
HISTORY_FROM = 10

#: answer form: output tokens of a short, a usual and a long answer. One short sentence as a reason
#: is 22 to 25 tokens with the JSON around it, one over a whole trajectory 40.
TEMPLATES: dict[str, tuple[float, float, float]] = {
    "verdict": (15, 25, 120),
    "positions": (20, 45, 300),
    "kind": (30, 40, 80),
    "evidence": (30, 40, 80),
    "findings": (10, 120, 600),
}
_OTHER = (20, 60, 300)

#: Answer forms whose prompts share long beginnings, which a vendor may charge for keeping.
_SHARING = ("kind", "evidence", "findings")

#: Models that think before they answer unless told not to, and what that adds. A guess that the
#: first ten answers replace.
_THINKS = re.compile(r"^(o\d|gpt-5(-mini|-nano|-pro)?$)")
_THOUGHT = (100.0, 600.0, 3000.0)

#: The part of a shareable beginning that is found in a provider's cache, without own history.
#: Vendors promise nothing; for batches one of them has seen 30 to 98 %.
_HITS = 0.5

#: Requests up to this size cost alike in every tariff; looking up once is enough.
_ONE_STEP = 100_000

#: How far our own count may be too low where a model's vocabulary is not known.
_UNKNOWN_VOCABULARY = 1.25


@dataclass(frozen=True, slots=True)
class Outlook:
    """What to expect of a prompt.

    ``input_factor`` is tokens billed for one of our own count, ``cached_share`` the part of them
    read from the provider's prompt cache and ``write_share`` the part written into it;
    ``may_write`` says that all of them might be. The rest are output tokens.
    """

    low: float
    likely: float
    high: float
    input_factor: float = 1.0
    input_margin: float = _UNKNOWN_VOCABULARY
    cached_share: float = 0.0
    write_share: float = 0.0
    may_write: bool = False
    n_seen: int = 0


@dataclass(frozen=True, slots=True)
class Dollars:
    """A range of US dollars."""

    low: float = 0.0
    likely: float = 0.0
    high: float = 0.0

    def __add__(self, other: Dollars) -> Dollars:
        """Add up case by case."""
        return Dollars(self.low + other.low, self.likely + other.likely, self.high + other.high)


class Outlooks:
    """The outlook of every judge and strategy, read from the database once."""

    def __init__(self, con: Connection) -> None:
        self._seen = {
            (row[0], row[1]): Outlook(
                low=row[6],
                likely=row[7],
                high=row[8],
                input_factor=row[3] or 1.0,
                input_margin=1.0,
                cached_share=min(1.0, row[4] or 0.0),
                write_share=row[5] or 0.0,
                may_write=bool(row[5]),
                n_seen=row[2],
            )
            for row in con.execute(
                "select judge, strategy, n_answers, input_factor, cached_share, write_share, "
                "output_low, output_likely, output_high from observed_usage"
            ).fetchall()
        }

    def of(self, judge: str, strategy: str, answer: str, *, is_exact: bool = False) -> Outlook:
        """Return what to expect; ``is_exact`` says that the model's own vocabulary counted."""
        seen = self._seen.get((judge, strategy))
        if seen is not None and seen.n_seen >= HISTORY_FROM:
            return seen
        if judge.startswith("offline:"):
            return Outlook(0, 0, 0)
        low, likely, high = TEMPLATES.get(answer, _OTHER)
        model, _, params = judge.partition(":")[2].partition("?")
        is_told = "reasoning_effort=none" in params or "reasoning_effort=minimal" in params
        if (_THINKS.match(model) and not is_told) or "thinking=enabled" in params:
            low, likely, high = (
                some + more for some, more in zip((low, likely, high), _THOUGHT, strict=True)
            )
        return Outlook(
            *(low, likely, high),
            input_margin=1.05 if is_exact else _UNKNOWN_VOCABULARY,
            may_write=answer in _SHARING and judge.startswith("anthropic:"),
        )


def bill(
    prices: Prices,
    provider: str,
    model: str,
    mode: str,
    at: datetime,
    outlook: Outlook,
    n_input_tokens: int,
    n_shared_tokens: int = 0,
) -> Dollars | None:
    """Return what one prompt will cost, or None where the model's price is not known.

    Low: all that it shares with its neighbour is read from the provider's cache, and the answer is
    short. Likely: half of that, or what history says. High: nothing is read from a cache, all is
    written into one where that can be, and the answer is long.
    """
    tokens = n_input_tokens * outlook.input_factor
    most = tokens * outlook.input_margin
    shared = max(n_shared_tokens, tokens * outlook.cached_share)
    hits = tokens * outlook.cached_share if outlook.n_seen else _HITS * n_shared_tokens
    written = tokens * outlook.write_share
    cases = (
        (tokens, shared, 0.0, outlook.low),
        (tokens, hits, written, outlook.likely),
        (most, 0.0, most if outlook.may_write else 0.0, outlook.high),
    )
    found: list[float] = []
    rates = prices.rates(provider, model, mode, at, input_tokens=round(most))
    for size, cached, kept, out in cases:
        if most > _ONE_STEP:  # a longer context may cost more
            rates = prices.rates(provider, model, mode, at, input_tokens=round(size))
        if rates is None:
            return None
        usage = Tokens(round(size), round(out), round(cached), written_1h=round(kept))
        found.append(rates.usd(usage))
    low, likely, high = found
    return Dollars(min(low, likely), likely, max(high, likely))


def list_price(
    prices: Prices, provider: str, model: str, at: datetime, outlook: Outlook, n_input_tokens: int
) -> float | None:
    """Return what one prompt would cost asked live, with nothing cached, at a usual length."""
    return prices.list_cost(
        provider,
        model,
        at,
        input_tokens=round(n_input_tokens * outlook.input_factor),
        output_tokens=round(outlook.likely),
    )


@dataclass(slots=True)
class Due:
    """What is due at one model: prompts, our count of their tokens, dollars where known."""

    provider: str
    model: str
    mode: str
    prompts: int = 0
    input_tokens: int = 0
    dollars: Dollars | None = None


def due_bills(store: Store, scope: Scope, now: datetime, prices: Prices) -> list[Due]:
    """Return what is due in a scope, one entry a model and mode; offline judges are left out."""
    with store.reading() as con:
        make_scope(con, scope)
        outlooks = Outlooks(con)
        rows = con.execute(_DUE_TOKENS).fetchall()
    found: dict[tuple[str, str, str], Due] = {}
    for *where, judge, strategy, answer, tokens in rows:
        provider, model, mode = where
        fresh = Due(provider, model, mode, dollars=Dollars())
        one = found.setdefault((provider, model, mode), fresh)
        one.prompts += 1
        one.input_tokens += tokens
        price = bill(
            prices, provider, model, mode, now, outlooks.of(judge, strategy, answer), tokens
        )
        one.dollars = None if one.dollars is None or price is None else one.dollars + price
    return list(found.values())
