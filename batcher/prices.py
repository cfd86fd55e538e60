"""What one answered prompt cost, from the genai-prices catalogue; unknown is None, never 0."""

from __future__ import annotations

from datetime import datetime
from functools import lru_cache

#: Requests up to this many input tokens are priced alike in every tier of the catalogue.
_ONE_TIER = 100_000


def cost(
    provider: str,
    model: str,
    mode: str,
    at: datetime,
    *,
    input_tokens: int | None,
    cached_tokens: int | None,
    output_tokens: int | None,
) -> float | None:
    """Return US dollars for one request, or None where the model or the usage is not known.

    ``input_tokens`` includes the cached ones; ``at`` is an aware time, since prices change.
    """
    if provider == "offline":
        return 0.0
    if input_tokens is None or output_tokens is None:
        return None
    cached = min(cached_tokens or 0, input_tokens)
    if input_tokens > _ONE_TIER:
        return _price(provider, model, mode, at, input_tokens, cached, output_tokens)
    units = _units(provider, model, mode, at.replace(minute=0, second=0, microsecond=0))
    if units is None:
        return None
    fresh, from_cache, out = units
    return (input_tokens - cached) * fresh + cached * from_cache + output_tokens * out


@lru_cache(maxsize=4096)
def _units(provider: str, model: str, mode: str, at: datetime) -> tuple[float, float, float] | None:
    """Dollars for one fresh input, cached input and output token at that hour."""
    fresh = _price(provider, model, mode, at, 1000, 0, 0)
    cached = _price(provider, model, mode, at, 1000, 1000, 0)
    out = _price(provider, model, mode, at, 0, 0, 1000)
    if fresh is None or cached is None or out is None:
        return None
    return fresh / 1000, cached / 1000, out / 1000


def _price(
    provider: str, model: str, mode: str, at: datetime, fresh: int, cached: int, out: int
) -> float | None:
    from genai_prices import Usage, calc_price

    try:
        price = calc_price(
            Usage(input_tokens=fresh, cache_read_tokens=cached, output_tokens=out),
            model_ref=model,
            provider_id=provider,
            genai_request_timestamp=at,
            price_context={"processing": "batch"} if mode == "batch" else None,
        )
    except LookupError:
        return None
    return float(price.total_price)
