"""What an answer cost: bills worked out by hand, and never a zero for what is not known."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta, timezone

import pytest
from freezegun import freeze_time

from batcher.prices import Priced, Prices

#: A Tuesday, outside DeepSeek's peak hours.
NOW = datetime(2026, 12, 1, 12, tzinfo=UTC)
PRICES = Prices()


def bill(
    model: str, mode: str, n_in: int, cached: int, out: int, at: datetime = NOW, **written: int
) -> Priced:
    found = PRICES.priced(
        {"d": "deepseek", "c": "anthropic"}.get(model[0], "openai"),
        model,
        mode,
        at,
        input_tokens=n_in,
        cached_tokens=cached,
        output_tokens=out,
        **written,
    )
    assert found is not None
    return found


def dollars(model: str, mode: str, n_in: int, cached: int, out: int, at: datetime = NOW) -> float:
    return bill(model, mode, n_in, cached, out, at).usd


def test_a_batch_costs_half() -> None:
    """gpt-4o: 2.50 and 10 dollars a million live, 1.25 and 5 in a batch."""
    assert dollars("gpt-4o", "live", 1000, 0, 100) == pytest.approx(0.0025 + 0.001)
    assert dollars("gpt-4o", "batch", 1000, 0, 100) == pytest.approx(0.00125 + 0.0005)


@pytest.mark.parametrize(
    ("model", "usd", "list_usd"),
    [
        # 2 M fresh at 0.075, 8 M cached at 0.075, 1 M out at 0.30: 0.15 + 0.60 + 0.30.
        # Live and uncached: 10 x 0.15 + 0.60.
        ("gpt-4o-mini", 1.05, 2.10),
        # 2 x 0.20 + 8 x 0.20 + 0.80: no batch price of cached tokens is known, so the dearer
        # reading counts, 0.20 and not the live 0.10. Live and uncached: 10 x 0.40 + 1.60.
        ("gpt-4.1-mini", 2.80, 5.60),
        # 2 x 0.125 + 8 x 0.0125 + 1.00: 0.25 + 0.10 + 1.00. Live: 10 x 0.25 + 2.00.
        ("gpt-5-mini", 1.35, 4.50),
        # 2 x 1.25 + 8 x 0.13 + 7.50: 2.50 + 1.04 + 7.50. Live: 10 x 2.50 + 15.00.
        ("gpt-5.4", 11.04, 40.00),
    ],
)
def test_b65_cached_tokens_have_their_own_price(model: str, usd: float, list_usd: float) -> None:
    """A thousand batch answers, each with 10,000 tokens in of which 8,000 cached, and 1,000 out."""
    one = bill(model, "batch", 10_000, 8_000, 1_000)

    assert one.usd * 1000 == pytest.approx(usd)
    assert one.list_usd * 1000 == pytest.approx(list_usd)
    assert dollars("gpt-5-mini", "batch", 1000, 800, 10) == pytest.approx(
        (200 * 0.125 + 800 * 0.0125 + 10 * 1.00) / 1e6
    )


def test_writes_into_the_cache_cost_more_by_how_long_they_are_kept() -> None:
    """claude-sonnet-4-5 in a batch, a thousand answers with 20,000 tokens in and 100 out.

    1,000 fresh, 2,000 written for five minutes, 5,000 for an hour, 12,000 read.
    """
    one = bill(
        "claude-sonnet-4-5",
        "batch",
        20_000,
        12_000,
        100,
        write_5m_tokens=2_000,
        write_1h_tokens=5_000,
    )

    # 1 x 1.50 + 2 x 1.875 + 5 x 3.00 + 12 x 0.15 + 0.1 x 7.50
    # = 1.50 + 3.75 + 15.00 + 1.80 + 0.75. Live and uncached: 20 x 3.00 + 0.1 x 15.00.
    assert one.usd * 1000 == pytest.approx(22.80)
    assert one.list_usd * 1000 == pytest.approx(61.50)


def test_one_price_of_writing_holds_however_long_it_is_kept() -> None:
    """gpt-6-sol has one: 1.25 in a batch where a fresh token costs 1.00."""
    one = bill("gpt-6-sol", "batch", 10_000, 0, 0, write_5m_tokens=10_000)

    assert one.usd * 1000 == pytest.approx(12.50)
    assert one.rates.write_1h == one.rates.write_5m == 1.25


def test_a_long_request_is_priced_by_its_own_tier() -> None:
    """All tokens of a request beyond the limit cost more; many small ones do not, nor one at it."""
    # gpt-5.4 above 272,000: 5.00 in and 22.50 out live, 2.50, 0.25 cached and 11.25 in a batch.
    assert dollars("gpt-5.4", "live", 300_000, 0, 1000) == pytest.approx(1.50 + 0.0225)
    assert dollars("gpt-5.4", "live", 272_000, 0, 1000) == pytest.approx(0.68 + 0.015)
    assert dollars("gpt-5.4", "live", 272_001, 0, 0) == pytest.approx(272_001 * 5.00 / 1e6)
    assert 500 * dollars("gpt-5.4", "live", 1000, 0, 0) == pytest.approx(500_000 * 2.50 / 1e6)
    # 100,000 x 2.50 + 200,000 x 0.25 + 1,000 x 11.25: 0.25 + 0.05 + 0.01125.
    assert dollars("gpt-5.4", "batch", 300_000, 200_000, 1000) == pytest.approx(0.31125)
    # claude-sonnet-4-5 above 200,000, in a batch: 3.00 in, 0.30 read, 11.25 out.
    # 50,000 x 3.00 + 200,000 x 0.30 + 1,000 x 11.25: 0.15 + 0.06 + 0.01125.
    assert dollars("claude-sonnet-4-5", "batch", 250_000, 200_000, 1000) == pytest.approx(0.22125)
    # At the limit: 200,000 x 1.50.
    assert dollars("claude-sonnet-4-5", "batch", 200_000, 0, 0) == pytest.approx(0.30)


@pytest.mark.parametrize(
    ("at", "usd"),
    [
        # 1,000 fresh, 9,000 cached and 1,000 out, a thousand times.
        # Off-peak 1 x 0.66 + 9 x 0.022 + 1.98 = 0.66 + 0.198 + 1.98; peak is the double.
        ("2026-12-01T12:00", 2.838),
        ("2026-12-01T00:59", 2.838),
        ("2026-12-01T01:00", 5.676),
        ("2026-12-01T03:59", 5.676),
        ("2026-12-01T04:00", 2.838),
        ("2026-12-01T06:00", 5.676),
        ("2026-12-01T09:59", 5.676),
        ("2026-12-01T10:00", 2.838),
        ("2026-12-04T07:00", 5.676),  # a Friday
        ("2026-12-05T07:00", 2.838),  # a Saturday
        ("2026-12-06T02:00", 2.838),  # a Sunday
    ],
)
def test_deepseek_has_peak_hours_on_working_days(at: str, usd: float) -> None:
    """01:00-04:00 and 06:00-10:00 UTC from Monday to Friday cost double."""
    when = datetime.fromisoformat(at).replace(tzinfo=UTC)

    assert 1000 * dollars("deepseek-v4-pro", "live", 10_000, 9_000, 1_000, when) == pytest.approx(
        usd
    )


def test_the_hour_is_that_of_utc_whatever_zone_a_time_is_in() -> None:
    """07:00 UTC on a Friday is peak time, also where the clock reads 12:30."""
    india = timezone(timedelta(hours=5, minutes=30))
    at = datetime(2026, 12, 4, 12, 30, tzinfo=india)

    assert dollars("deepseek-flash", "live", 1_000_000, 0, 0, at) == pytest.approx(0.30)


def test_b64_an_unknown_model_has_no_price() -> None:
    """Nothing is known of it, and nothing is not zero."""
    of = ("openai", "foo-1", "batch", NOW)

    assert PRICES.cost(*of, input_tokens=5, output_tokens=1) is None
    assert PRICES.rates(*of) is None
    assert PRICES.list_cost("openai", "foo-1", NOW, input_tokens=5, output_tokens=1) is None


@pytest.mark.parametrize("usage", [(None, 1), (5, None)])
def test_a_missing_usage_has_no_price(usage: tuple[int | None, int | None]) -> None:
    """An answer without token counts costs an unknown sum."""
    n_in, out = usage

    assert (
        PRICES.cost("openai", "gpt-4o", "batch", NOW, input_tokens=n_in, output_tokens=out) is None
    )


@freeze_time("2026-01-01")
def test_the_price_goes_by_the_time_of_the_request_not_by_today() -> None:
    """Batch prices are known from 2026-10-14 on, whatever the machine's clock says."""
    assert dollars("gpt-4o", "batch", 1000, 0, 0) == pytest.approx(0.00125)


def test_the_prices_say_where_they_are_from() -> None:
    """The catalogue with its version, the model it took it for, and a reading that is a choice."""
    dated = bill("gpt-5.4-2026-03-05", "batch", 1, 0, 0).rates.source
    chosen = bill("gpt-4.1-mini", "batch", 1, 0, 0).rates.source

    assert dated.startswith("genai-prices ")
    assert dated.endswith(": gpt-5.4, batch")
    assert chosen.endswith("gpt-4.1-mini, batch, cached at the dearer reading")


def test_an_offline_judge_costs_nothing() -> None:
    """Programs are free, whatever they say of tokens."""
    assert (
        PRICES.cost("offline", "rules", "batch", NOW, input_tokens=None, output_tokens=None) == 0.0
    )


def test_a_hundred_thousand_prices_are_quick() -> None:
    """A plan prices each of its requests by itself, and nobody waits for that."""
    Prices().cost("openai", "gpt-5.4", "batch", NOW, input_tokens=1, output_tokens=1)  # loads it
    prices = Prices()
    began = time.process_time()
    for n in range(100_000):
        at = NOW + timedelta(seconds=n % 7200)
        prices.priced("openai", "gpt-5.4", "batch", at, input_tokens=3 * n, output_tokens=60)

    assert time.process_time() - began < 2
