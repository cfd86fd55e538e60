"""Judges as they are written, and the settings of the paper."""

from __future__ import annotations

import pytest

from batcher.judge import parse
from batcher.providers.base import Limits
from cache.errors import UsageError
from tests.conftest import Serve
from tests.running import Desk


def test_a_judge_is_printed_with_its_parameters_sorted() -> None:
    """However it is written, it has one name."""
    one = parse("openai:gpt-4o?top_p=1&max_tokens=5")
    assert str(one) == str(parse("openai:gpt-4o?max_tokens=5&top_p=1"))
    assert parse(str(one)) == one


def test_the_preset_of_the_paper_is_its_table_4() -> None:
    """DeepSeek thinks, at temperature 1 and with room; the others have a cap and defaults."""
    assert str(parse("deepseek:deepseek-v4-pro?preset=paper")) == (
        "deepseek:deepseek-v4-pro?max_tokens=384000&temperature=1.0&thinking=enabled&top_p=1"
    )
    assert str(parse("openai:gpt-5.4?preset=paper")) == "openai:gpt-5.4?max_tokens=16384"


def test_a_parameter_beside_a_preset_goes_first() -> None:
    """What is written out is what is meant."""
    assert parse("openai:gpt-4o?preset=paper&max_tokens=7").get("max_tokens") == "7"


@pytest.mark.parametrize("text", ["openai:x?preset=none", "offline:rules?preset=paper"])
def test_a_preset_that_does_not_exist_is_refused(text: str) -> None:
    """The message lists those that do."""
    with pytest.raises(UsageError, match="paper"):
        parse(text)


@pytest.mark.parametrize(
    "text", ["", "x", "x:", ":x", "openai:a b", "openai:a?b", "openai:a?b=1&b=2"]
)
def test_what_is_no_judge_is_refused(text: str) -> None:
    """With the form that a judge has, or what is wrong with it."""
    with pytest.raises(UsageError):
        parse(text)


def test_no_more_batches_are_open_than_allowed(serve: Serve, db: object, desk: Desk) -> None:
    """Ten lines in ten batches, two at a time: all are answered, and never are three open."""
    service = serve()
    desk = Desk(
        desk.store.path,
        limits=Limits(requests=1, bytes=10**6, line_bytes=10**6, open_batches=2),
    )
    desk.ask()
    desk.advance(wait=False, collect=False)
    assert len(service.log()["creates"]) == 2
    assert desk.advance().code == 0
    assert len(service.log()["creates"]) == 10
