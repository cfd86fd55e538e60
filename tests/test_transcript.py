"""Prompts that show all messages by index, in parts that others share."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from cache.records import Case
from prompts.strategy import load
from tests.test_prompts import GOOD, HOSTILE, chats, run


def test_shared_parts_stand_before_the_rest(tmp_path: Path) -> None:
    """Parts of their own, in their order; what they include belongs to the strategy's digest."""
    (tmp_path / "more").mkdir()
    part = tmp_path / "more" / "part.j2"
    part.write_text("Rules: {{ policy }}")
    shared = "shared = ['{% include \"more/part.j2\" %}', '{{ transcript }}']\n"
    (tmp_path / "mine.toml").write_text(GOOD + shared)
    (tmp_path / "plain.toml").write_text(GOOD)
    before = load(tmp_path)
    (chat,) = chats(run(1), before["mine"])
    assert chat.shared[0] == "Rules: |"
    assert chat.shared[1].startswith("[0] user says\n| hello x\n[1] agent says\n| now 0 x\n")
    assert chat.parts == (f"{chat.shared[0]}\n\n", f"{chat.shared[1]}\n\n", "u")
    part.write_text("Other rules: {{ policy }}")
    after = load(tmp_path)
    assert after["mine"].digest != before["mine"].digest
    assert after["plain"].digest == before["plain"].digest


def test_a_transcript_names_calls_and_results() -> None:
    """Every message under its index; a call names its result and a result its call."""
    (chat,) = chats(run(1, calls_at_once=2), load()["detect"])
    shown = chat.shared[1]
    for line in (
        "[1] agent calls, answered in [2]",
        "[1] agent calls, answered in [3]",
        "[2] result of call in [1]",
        "[3] result of call in [1]",
        "[4] agent says",
    ):
        assert f"\n{line}\n" in shown
    assert chat.user.splitlines()[-1] == "Which of these steps are redundant: [1, 2], [1, 3]?"


@pytest.mark.parametrize("name", ["classify", "retrieve", "detect"])
def test_a_hostile_transcript_stays_quoted(name: str) -> None:
    """What is recorded adds no line of its own to the shared parts either."""

    def frame(text: str) -> list[list[str]]:
        trajectory = replace(run(2, text), policy=text, cases=(Case(1, (3, 4)),))
        return [
            [line for line in "".join(chat.parts).splitlines() if not line.startswith("|")]
            for chat in chats(trajectory, load()[name], gold=True)
        ]

    assert frame(HOSTILE) == frame("harmless")
    assert frame("harmless")
