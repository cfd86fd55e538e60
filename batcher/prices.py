"""What one request costs: by the user's own price list, else by the genai-prices catalogue.

A request is priced by its own time, its own size and the way it travelled, never on sums. What is
not known is None, never 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from batcher.hours import PEAKS, is_peak
from batcher.rates import FREE, Rates, Step, Steps, Tokens, at_size, complete
from batcher.tariffs import Tariff, find, tariffs

if TYPE_CHECKING:
    from genai_prices.types import ModelPrice, TieredPrices

#: The catalogue knows hours and no weekdays: a cheap hour is priced as this one of the same day.
_OFF_PEAK_HOUR = 12


@dataclass(frozen=True, slots=True)
class Priced:
    """The bill of one request. ``list_usd``: the same request live, with nothing cached."""

    usd: float
    list_usd: float
    rates: Rates


class Prices:
    """Prices of all models; the user's ``own``, if any, go before the catalogue.

    ``at`` is always an aware time. Prices are looked up once an hour of it, so asking a hundred
    thousand times is cheap.
    """

    def __init__(self, own: Sequence[Tariff] = ()) -> None:
        self._own = tuple(own)
        self._known: dict[tuple[str, str, str, datetime], Steps] = {}

    @classmethod
    def read(cls, path: Path | None) -> Prices:
        """Return the prices by a list of the user's; see ``tariffs`` for where and for errors."""
        return cls(tariffs(path))

    def rates(
        self, provider: str, model: str, mode: str, at: datetime, *, input_tokens: int = 0
    ) -> Rates | None:
        """Return the unit prices of a request of that size, or None for an unknown model."""
        hour = at.astimezone(UTC).replace(minute=0, second=0, microsecond=0)
        steps = self._known.get(key := (provider, model, mode, hour))
        if steps is None:
            steps = self._known[key] = self._steps(*key)
        return at_size(steps, input_tokens)

    def priced(
        self,
        provider: str,
        model: str,
        mode: str,
        at: datetime,
        *,
        input_tokens: int | None,
        output_tokens: int | None,
        cached_tokens: int | None = None,
        write_5m_tokens: int | None = None,
        write_1h_tokens: int | None = None,
    ) -> Priced | None:
        """Return the bill of one request, or None where the model or its usage is not known.

        ``input_tokens`` includes cached and written ones, ``output_tokens`` includes reasoning.
        """
        if provider == "offline":
            return Priced(0.0, 0.0, FREE)
        if input_tokens is None or output_tokens is None:
            return None
        used = self.rates(provider, model, mode, at, input_tokens=input_tokens)
        live = self.rates(provider, model, "live", at, input_tokens=input_tokens)
        if used is None or live is None:
            return None
        tokens = Tokens(
            input_tokens,
            output_tokens,
            cached_tokens or 0,
            write_5m_tokens or 0,
            write_1h_tokens or 0,
        )
        return Priced(used.usd(tokens), live.usd(Tokens(input_tokens, output_tokens)), used)

    def cost(
        self,
        provider: str,
        model: str,
        mode: str,
        at: datetime,
        *,
        input_tokens: int | None,
        output_tokens: int | None,
        cached_tokens: int | None = None,
    ) -> float | None:
        """Return the dollars of ``priced`` alone."""
        found = self.priced(
            provider,
            model,
            mode,
            at,
            input_tokens=input_tokens,
            output_tokens=output_tokens,
            cached_tokens=cached_tokens,
        )
        return None if found is None else found.usd

    def list_cost(
        self,
        provider: str,
        model: str,
        at: datetime,
        *,
        input_tokens: int | None,
        output_tokens: int | None,
    ) -> float | None:
        """Return what the request costs live, at list price, with nothing cached."""
        return self.cost(
            provider, model, "live", at, input_tokens=input_tokens, output_tokens=output_tokens
        )

    def _steps(self, provider: str, model: str, mode: str, hour: datetime) -> Steps:
        if provider == "offline":
            return (Step(0, FREE),)
        own = find(self._own, provider, model, hour.date())
        if own is not None:
            return (Step(0, own.batch if mode == "batch" else own.live),)
        if provider in PEAKS and not is_peak(provider, hour):
            hour = hour.replace(hour=_OFF_PEAK_HOUR)
        return _catalogue(provider, model, mode, hour)


@cache
def _catalogue(provider: str, model: str, mode: str, hour: datetime) -> Steps:
    """Return what genai-prices says, with a step wherever any of its prices changes with size."""
    live = _look_up(provider, model, hour, batch=False)
    if live is None:
        return ()
    name, price = live
    if mode == "batch":
        # It is there: the live price was. Models without a batch price keep the live one.
        name, price = _look_up(provider, model, hour, batch=True) or live
    made: list[Step] = []
    for above in sorted({0, *_starts(price)}):
        rates = _rates(price, above, f"{name}, {mode}")
        plain = _rates(live[1], above, "")
        if rates is None or plain is None:
            return ()
        halved = rates.input < plain.input
        if provider == "openai" and halved and rates.cached == plain.cached < rates.input:
            rates = _cautious(rates)
        made.append(Step(above, rates))
    return tuple(made)


def _cautious(rates: Rates) -> Rates:
    """Return batch rates whose cached price is only the live one, read at the dearer reading.

    The catalogue has no batch price of cached tokens for the gpt-4o and gpt-4.1 families, and
    falls back to the live one. OpenAI may as well give no discount for them in batches, as it once
    said; no bill has shown which. So a cached token costs the dearer of the two.
    """
    return Rates(
        rates.input,
        rates.input,
        rates.write_5m,
        rates.write_1h,
        rates.output,
        f"{rates.source}, cached at the dearer reading",
    )


def _look_up(
    provider: str, model: str, at: datetime, *, batch: bool
) -> tuple[str, ModelPrice] | None:
    """Return the catalogue's name of a model with its prices at a time, or None."""
    from genai_prices import Usage, __version__, calc_price

    try:
        found = calc_price(
            Usage(input_tokens=1),
            model_ref=model,
            provider_id=provider,
            genai_request_timestamp=at,
            price_context={"processing": "batch"} if batch else None,
        )
    except LookupError:
        return None
    return f"genai-prices {__version__}: {found.model.id}", found.model_price


def _rates(price: ModelPrice, above: int, source: str) -> Rates | None:
    """Return the rates of requests just larger than ``above``; None without input or output."""
    fresh, output = _at(price.input_mtok, above), _at(price.output_mtok, above)
    if fresh is None or output is None:
        return None
    cached, short, long = (
        _at(value, above)
        for value in (price.cache_read_mtok, price.cache_write_mtok, price.cache_write_1h_mtok)
    )
    return complete(source, fresh, output, cached=cached, write_5m=short, write_1h=long)


def _at(price: Decimal | TieredPrices | None, above: int) -> float | None:
    if price is None or isinstance(price, Decimal):
        return None if price is None else float(price)
    tiers = [tier.price for tier in price.tiers if tier.start <= above]
    return float(tiers[-1] if tiers else price.base)


def _starts(price: ModelPrice) -> set[int]:
    """Return the sizes beyond which another price holds."""
    values = (
        price.input_mtok,
        price.cache_read_mtok,
        price.cache_write_mtok,
        price.cache_write_1h_mtok,
        price.output_mtok,
    )
    tiered = (value for value in values if value is not None and not isinstance(value, Decimal))
    return {tier.start for value in tiered for tier in value.tiers}
