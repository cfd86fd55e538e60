"""What an answer cost: by its own time and way, and never a zero for what is not known."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from freezegun import freeze_time

from batcher.prices import cost

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)


def dollars(model: str, mode: str, n_in: int, cached: int, out: int, at: datetime = NOW) -> float:
    provider = "deepseek" if model.startswith("deepseek") else "openai"
    found = cost(
        provider, model, mode, at, input_tokens=n_in, cached_tokens=cached, output_tokens=out
    )
    assert found is not None
    return found


def test_a_batch_costs_half() -> None:
    """gpt-4o: 2.50 and 10 dollars a million live, 1.25 and 5 in a batch."""
    assert dollars("gpt-4o", "live", 1000, 0, 100) == pytest.approx(0.0025 + 0.001)
    assert dollars("gpt-4o", "batch", 1000, 0, 100) == pytest.approx(0.00125 + 0.0005)


def test_b65_cached_tokens_have_their_own_price() -> None:
    """gpt-5-mini in a batch: 0.125 fresh, 0.0125 cached, 1.00 out, a million."""
    by_hand = (200 * 0.125 + 800 * 0.0125 + 10 * 1.00) / 1e6
    assert dollars("gpt-5-mini", "batch", 1000, 800, 10) == pytest.approx(by_hand)


def test_a_long_request_is_priced_by_its_own_tier() -> None:
    """gpt-5.4 beyond 272,000 input tokens costs double for all of them; many small ones do not."""
    assert dollars("gpt-5.4", "live", 300_000, 0, 0) == pytest.approx(300_000 * 5.00 / 1e6)
    assert 500 * dollars("gpt-5.4", "live", 1000, 0, 0) == pytest.approx(500_000 * 2.50 / 1e6)


def test_b64_an_unknown_model_has_no_price() -> None:
    """Nothing is known of it, and nothing is not zero."""
    assert (
        cost("openai", "foo-1", "batch", NOW, input_tokens=5, cached_tokens=0, output_tokens=1)
        is None
    )


def test_a_missing_usage_has_no_price() -> None:
    """An answer without token counts costs an unknown sum."""
    assert (
        cost("openai", "gpt-4o", "batch", NOW, input_tokens=None, cached_tokens=0, output_tokens=1)
        is None
    )


@freeze_time("2026-01-01")
def test_the_price_goes_by_the_time_of_the_request_not_by_today() -> None:
    """Batch prices are known from 2026-10-14 on, whatever the machine's clock says."""
    assert dollars("gpt-4o", "batch", 1000, 0, 0) == pytest.approx(0.00125)


def test_an_offline_judge_costs_nothing() -> None:
    """Programs are free, whatever they say of tokens."""
    assert (
        cost(
            "offline",
            "rules",
            "batch",
            NOW,
            input_tokens=None,
            cached_tokens=None,
            output_tokens=None,
        )
        == 0.0
    )
