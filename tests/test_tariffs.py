"""A price list of one's own: it goes before the catalogue, by day, and says what is wrong in it."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from batcher.prices import Prices
from cache.errors import InputError
from tests.running import needless

OLD, NEW = datetime(2026, 6, 30, 23, 59, tzinfo=UTC), datetime(2026, 7, 1, tzinfo=UTC)

#: Two dates: first with half the price in batches, then with prices of their own there.
LIST = """
[["openai:gpt-4o"]]
from = 2026-01-01
input = 4.00
cached = 1.00
output = 16.00
batch = 0.5

[["openai:gpt-4o"]]
from = 2026-07-01
input = 3
output = 12
batch = { input = 1.20, output = 5.00, cached = 0.30 }

["house-"]
input = 0.10
output = 0.20
write_5m = 0.125
"""


@pytest.fixture
def prices(tmp_path: Path) -> Prices:
    return Prices.read(listed(tmp_path, LIST))


def listed(folder: Path, text: str) -> Path:
    path = folder / "prices.toml"
    path.write_text(text, "utf-8")
    return path


def usd(prices: Prices, mode: str, at: datetime, model: str = "gpt-4o-2024-08-06") -> float:
    """The dollars for a thousand answers: 10,000 tokens in of which 8,000 cached, 1,000 out."""
    found = prices.cost(
        "openai", model, mode, at, input_tokens=10_000, cached_tokens=8_000, output_tokens=1_000
    )
    assert found is not None
    return found * 1000


def test_a_bill_by_two_dates_and_a_part_for_batches(prices: Prices) -> None:
    """Each request is billed by the prices of its own day, which begins in UTC."""
    # Live 2 x 4 + 8 x 1 + 16 = 32, in a batch half of it.
    assert usd(prices, "live", OLD) == pytest.approx(32.00)
    assert usd(prices, "batch", OLD) == pytest.approx(16.00)
    # From July on: live 10 x 3 + 12, since no cached price is given; 2 x 1.20 + 8 x 0.30 + 5.
    assert usd(prices, "live", NEW) == pytest.approx(42.00)
    assert usd(prices, "batch", NEW) == pytest.approx(9.80)


def test_before_its_first_day_a_list_says_nothing(prices: Prices) -> None:
    """In December 2025 the catalogue's gpt-4o holds: 2 x 2.50 + 8 x 1.25 + 10."""
    assert usd(prices, "live", datetime(2025, 12, 31, tzinfo=UTC)) == pytest.approx(25.00)


def test_what_is_not_given_costs_what_a_plainer_token_does(prices: Prices) -> None:
    """No cached price: that of fresh input; an hour's write: that of five minutes; no batch: 1."""
    for mode in ("live", "batch"):
        rates = prices.rates("openai", "house-7b", mode, NEW)
        assert rates is not None
        assert (rates.cached, rates.write_5m, rates.write_1h) == (0.10, 0.125, 0.125)
        assert rates.source == f"prices.toml: house-{', batch' if mode == 'batch' else ''}"


def test_the_longest_name_that_fits_wins_and_a_provider_before_none(tmp_path: Path) -> None:
    """A family has one price, and a member of it may have another."""
    text = "".join(
        f'["{name}"]\ninput = {n}\noutput = 0\n'
        for n, name in enumerate(("m", "m-large", "deepseek:m", "openai:m-l", "ft:m"), 1)
    )
    prices = Prices.read(listed(tmp_path, text))

    def fresh(provider: str, model: str) -> float:
        rates = prices.rates(provider, model, "live", NEW)
        assert rates is not None
        return rates.input

    assert fresh("anthropic", "m-small") == 1
    assert fresh("anthropic", "m-large-2") == 2
    assert fresh("deepseek", "m-large") == 3
    assert fresh("openai", "m-large") == 4
    assert fresh("openai", "m-small") == 1
    assert fresh("openai", "ft:m-large:me") == 5


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('["m"]\ninput = 1', r"prices\.toml: \[m\]: no output"),
        ('["m"]\ninput = -1\noutput = 1', r"\[m\]: input = -1 is no price"),
        ('["m"]\ninput = nan\noutput = 1', r"\[m\]: input = nan is no price"),
        ('["m"]\ninput = "1"\noutput = 1', r"\[m\]: input = '1' is not a number"),
        ('["m"]\ninput = 1\noutput = 1\nbatch = -0.5', r"\[m\]: batch = -0.5 is no price"),
        ('["m"]\ninput = 1\noutput = 1\nbatch = { input = 1 }', r"\[m\]: batch: no output"),
        (
            '["m"]\ninput = 1\noutput = 1\nbatch = { input = 1, output = 1, read = 1 }',
            r"unknown key 'batch\.read'",
        ),
        ('["m"]\ninput = 1\noutput = 1\nprompt = 1', r"\[m\]: unknown key 'prompt'; it takes"),
        ("[gpt-5.4]\ninput = 1\noutput = 1", r"unknown key '4'.*dot in it needs quotes"),
        ('["m"]\nfrom = "2026"\ninput = 1\noutput = 1', r"from = '2026' is no date"),
        ('["m"]\nfrom = 2026-01-01T00:00:00\ninput = 1\noutput = 1', r"is no date"),
        (2 * '[["m"]]\ninput = 1\noutput = 1\n', r"\[m\]: two entries begin on the same day"),
        ("m = 1", r"\[m\]: 1 is no table of prices"),
        ("m = ", r"prices\.toml: not readable as TOML"),
    ],
)
def test_a_list_with_a_fault_is_refused_with_its_place(
    tmp_path: Path, text: str, said: str
) -> None:
    """Nothing is priced by half a list: the message names the file, the entry and the key."""
    with pytest.raises(InputError, match=said):
        Prices.read(listed(tmp_path, text))


def test_a_list_that_is_named_must_be_there(tmp_path: Path) -> None:
    """Only the one that nobody named may be missing."""
    with pytest.raises(InputError, match=r"none\.toml: cannot be read"):
        Prices.read(tmp_path / "none.toml")


def test_the_command_line_reads_the_list_that_is_named_or_lies_here(
    db: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By flag, by environment, or as prices.toml of the current directory."""
    path = listed(tmp_path, '["foo-"]\ninput = 1000\noutput = 0\n')
    chosen = ("plan", "--judge", "openai:foo-1", "--limit", "1", "--format", "csv")

    assert "unpriced" in needless(db, *chosen).stdout
    assert "unpriced" not in needless(db, "--prices", str(path), *chosen).stdout
    monkeypatch.setenv("NEEDLESS_PRICES", str(path))
    assert "unpriced" not in needless(db, *chosen).stdout
    monkeypatch.delenv("NEEDLESS_PRICES")
    monkeypatch.chdir(tmp_path)
    assert "unpriced" not in needless(db, *chosen).stdout
    path.write_text("foo = 1", "utf-8")
    refused = needless(db, *chosen)
    assert refused.exit_code == 1
    assert "prices.toml: [foo]: 1 is no table of prices" in refused.stderr
