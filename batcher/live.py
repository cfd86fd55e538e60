"""Many calls at once, as many as a server bears: for servers that have no batch API.

The number of calls in flight grows by one for every round of successes and is halved by every
refusal for load (additive increase, multiplicative decrease). Prompts are taken one by one, and
each answer is handed on as it comes, so that it can be stored before the next.
"""

from __future__ import annotations

import random
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import contextmanager
from dataclasses import dataclass

from batcher.providers.base import Prompt, Reply
from cache.errors import Refused

#: Calls in flight at most, and at the start.
MOST = 32
FIRST = 4

#: How often one prompt is sent back for load before it counts as failed.
PATIENCE = 8

#: Seconds that calls in flight are given after Ctrl-C: they are paid for either way.
DRAIN = 60.0


class Busy(Exception):
    """The server has too much to do; ask again, not before ``retry_after`` seconds if given."""

    def __init__(self, reason: str, retry_after: float | None = None) -> None:
        super().__init__(reason)
        self.retry_after = retry_after


@dataclass(slots=True)
class _Load:
    """How much the server bears, as far as we know."""

    limit: float = FIRST
    not_before: float = 0.0
    halved_at: float = float("-inf")
    pause: float = 0.5

    def went_well(self) -> None:
        self.limit = min(float(MOST), self.limit + 1 / self.limit)
        self.pause = 0.5

    def too_much(self, retry_after: float | None, began: float, now: float) -> None:
        # Refusals of calls that were under way already are the same piece of news.
        if began > self.halved_at:
            self.limit = max(1.0, self.limit / 2)
            self.halved_at = now
            self.not_before = now + (retry_after or self.pause * random.uniform(0.75, 1.0))
            self.pause = min(self.pause * 2, 30.0)


def answer_all(
    prompts: Iterable[Prompt],
    call: Callable[[Prompt], Reply],
    *,
    clock: Callable[[], float] = time.monotonic,
    drain: float = DRAIN,
) -> Iterator[Reply | None]:
    """Yield a reply a prompt, as they come, and None where the next one takes its time.

    ``call`` runs in threads and raises ``Busy`` to be asked again. When it raises ``Refused``
    (no credit, a wrong key), or on Ctrl-C, nothing new is taken, what is in flight is waited for
    and yielded, and then the error is raised.
    """
    source = iter(prompts)
    again: list[tuple[Prompt, int]] = []
    active: dict[Future[Reply], tuple[Prompt, int, float]] = {}
    load = _Load()
    stop: BaseException | None = None
    deadline = float("inf")
    with _interrupts() as interrupted:
        while True:
            if interrupted.is_set() and stop is None:
                stop, deadline = KeyboardInterrupt(), clock() + drain
            while stop is None and len(active) < int(load.limit) and clock() >= load.not_before:
                following = again.pop() if again else next(((p, 0) for p in source), None)
                if following is None:
                    break
                active[_started(call, following[0])] = (*following, clock())
            if not active and (stop or not again):
                break
            if clock() >= deadline:
                break
            if not active:
                time.sleep(0.05)
                continue
            done = wait(active, timeout=0.2, return_when=FIRST_COMPLETED).done
            if not done:
                yield None
            for future in done:
                prompt, sent_back, began = active.pop(future)
                try:
                    yield future.result()
                    load.went_well()
                except Busy as busy:
                    load.too_much(busy.retry_after, began, clock())
                    if sent_back + 1 < PATIENCE:
                        again.append((prompt, sent_back + 1))
                    else:
                        yield _gave_up(prompt, busy)
                except Refused as refused:
                    stop, deadline = stop or refused, min(deadline, clock() + drain)
    if stop is not None:
        raise stop


def _started(call: Callable[[Prompt], Reply], prompt: Prompt) -> Future[Reply]:
    """Begin a call in a thread that does not keep the program from ending."""
    future: Future[Reply] = Future()

    def work() -> None:
        try:
            future.set_result(call(prompt))
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=work, name="needless-live", daemon=True).start()
    return future


def _gave_up(prompt: Prompt, busy: Busy) -> Reply:
    return Reply(
        prompt.custom_id,
        "error",
        raw="",
        error=f"sent back {PATIENCE} times for load: {busy}",
        is_transient=True,
    )


@contextmanager
def _interrupts() -> Iterator[threading.Event]:
    """Turn the first Ctrl-C into an event; a second one ends the program at once."""
    event = threading.Event()
    before = signal.getsignal(signal.SIGINT)
    # In the background of a shell, or under nohup, Ctrl-C is not meant for this process.
    if threading.current_thread() is not threading.main_thread() or before is signal.SIG_IGN:
        yield event
        return

    def note(number: int, frame: object) -> None:
        event.set()
        signal.signal(signal.SIGINT, before)

    signal.signal(signal.SIGINT, note)
    try:
        yield event
    finally:
        signal.signal(signal.SIGINT, before)
