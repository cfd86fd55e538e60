"""Many calls at once: how many, and what becomes of them when there is a reason to stop."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from itertools import pairwise

import pytest

from batcher.live import FIRST, PATIENCE, Busy, answer_all
from batcher.providers.base import Prompt, Reply
from cache.errors import Refused


def prompts(count: int) -> list[Prompt]:
    return [Prompt(f"id{number}", f"hash{number}", b"{}") for number in range(count)]


def ok(prompt: Prompt) -> Reply:
    return Reply(prompt.custom_id, "ok", raw="", text="x")


class Waves:
    """A server that answers only when all that is asked at once is there, wave by wave.

    ``refuse`` tells, for the number of a wave, whether all of it is sent back for load.
    """

    def __init__(self, refuse: Callable[[int], bool] = lambda wave: False) -> None:
        self.sizes: list[int] = []
        self._refuse = refuse
        self._inside = 0
        self._changed = time.monotonic()
        self._gate = threading.Event()
        self._lock = threading.Condition()

    def call(self, prompt: Prompt) -> Reply:
        with self._lock:
            self._inside += 1
            self._changed = time.monotonic()
            gate, wave = self._gate, len(self.sizes)
        gate.wait(10)
        if self._refuse(wave):
            raise Busy("too much", 0.15)
        return ok(prompt)

    def run(self, count: int) -> list[Reply]:
        """Answer so many prompts and return the replies."""
        over = threading.Event()
        opener = threading.Thread(target=self._open, args=(over,), daemon=True)
        opener.start()
        found = [one for one in answer_all(prompts(count), self.call) if one]
        over.set()
        opener.join(5)
        return found

    def _open(self, over: threading.Event) -> None:
        while not over.wait(0.005):
            with self._lock:
                if self._inside and time.monotonic() - self._changed > 0.12:
                    self.sizes.append(self._inside)
                    self._inside = 0
                    self._gate.set()
                    self._gate = threading.Event()


def test_the_number_in_flight_grows_by_one_a_round() -> None:
    """It begins low, and a round that went well allows about one call more."""
    waves = Waves()
    assert len(waves.run(40)) == 40
    full = waves.sizes[:-1]
    assert full[0] == FIRST
    assert all(0 <= later - earlier <= 1 for earlier, later in pairwise(full))
    assert full[-1] >= FIRST + 2


def test_a_burst_of_refusals_halves_it_once() -> None:
    """All calls of a round are sent back: half as many go out next, and every prompt ends well."""
    waves = Waves(refuse=lambda wave: wave == 5)
    found = waves.run(60)
    assert sorted(one.custom_id or "" for one in found) == sorted(
        one.custom_id for one in prompts(60)
    )
    assert {one.outcome for one in found} == {"ok"}
    struck, after = waves.sizes[5], waves.sizes[6]
    assert struck // 2 <= after <= struck // 2 + 1


def test_a_prompt_that_is_always_sent_back_is_given_back() -> None:
    """Patience ends: the prompt is a passing error that says why, and the others are answered."""
    sent: list[str] = []

    def call(prompt: Prompt) -> Reply:
        sent.append(prompt.custom_id)
        if prompt.custom_id == "id0":
            raise Busy("never", 0.001)
        return ok(prompt)

    found = {one.custom_id: one for one in answer_all(prompts(3), call) if one}
    assert sent.count("id0") == PATIENCE
    assert (found["id0"].outcome, found["id0"].is_transient) == ("error", True)
    assert "never" in (found["id0"].error or "")
    assert {found["id1"].outcome, found["id2"].outcome} == {"ok"}


def test_a_definite_no_takes_nothing_new_and_loses_nothing() -> None:
    """What was in flight is handed on before the refusal is raised; the rest is never taken."""
    taken: list[str] = []
    going = threading.Barrier(FIRST)

    def source() -> Iterator[Prompt]:
        for one in prompts(50):
            taken.append(one.custom_id)
            yield one

    def call(prompt: Prompt) -> Reply:
        going.wait(5)
        if prompt.custom_id == "id0":
            raise Refused("no credit")
        time.sleep(0.1)
        return ok(prompt)

    found: list[Reply] = []
    with pytest.raises(Refused, match="no credit"):
        found.extend(one for one in answer_all(source(), call) if one)
    assert sorted(str(one.custom_id) for one in found) == ["id1", "id2", "id3"]
    assert len(taken) == FIRST


def test_draining_has_an_end() -> None:
    """A call in flight that does not come home holds the refusal up for so long and no longer."""
    release = threading.Event()

    def call(prompt: Prompt) -> Reply:
        if prompt.custom_id == "id0":
            raise Refused("wrong key")
        release.wait(10)
        return ok(prompt)

    began = time.monotonic()
    with pytest.raises(Refused, match="wrong key"):
        list(answer_all(prompts(4), call, drain=0.2))
    took = time.monotonic() - began
    release.set()
    assert 0.2 <= took < 20


def test_prompts_are_taken_when_there_is_room_for_them() -> None:
    """The source is not read ahead: it may be a database with a million prompts."""
    ahead: list[int] = []
    taken = done = 0

    def source() -> Iterator[Prompt]:
        nonlocal taken
        for one in prompts(60):
            taken += 1
            ahead.append(taken - done)
            yield one

    for _ in answer_all(source(), ok):
        done += 1
    assert (done, max(ahead) <= 32) == (60, True)


def test_a_refusal_without_a_time_is_waited_out() -> None:
    """Without Retry-After there is a pause of its own before the next call."""
    times: list[float] = []

    def call(prompt: Prompt) -> Reply:
        times.append(time.monotonic())
        if len(times) == 1:
            raise Busy("slower")
        return ok(prompt)

    assert [one.outcome for one in answer_all(prompts(1), call) if one] == ["ok"]
    assert 0.3 <= times[1] - times[0] < 30
