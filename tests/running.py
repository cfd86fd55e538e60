"""Starting the program: inside this process, as a process of its own, or below its command line."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from threading import Thread
from typing import Any

from click.testing import CliRunner, Result

import batcher.cancel as cancelling
from batcher import session
from batcher.ledger import Scope
from batcher.prices import Prices
from batcher.providers import connect
from batcher.providers.base import Limits, Provider
from batcher.resume import Pace, Standing, advance
from cache.errors import NeedlessError
from cache.store import Store
from cli import main
from tests.wire.service import Settings

ROOT = Path(__file__).resolve().parents[1]

#: A provider that is as fast as its clients.
INSTANT = Settings(validating=0, in_progress=0, finalizing=0, cancelling=0)

JUDGE = "openai:gpt-4o-mini"

#: More lines than any run here needs; a run that says more goes round in circles.
MOST_LINES = 60


#: Seconds that a test does not sleep through.
LONG = 0.5


class Endless(AssertionError):
    """The run did not come to an end."""


@dataclass(frozen=True)
class Ended:
    """How a run ended: the exit code and the sentence a user would see."""

    code: int
    message: str
    standing: Standing


class Desk:
    """One database file and whoever is asked; what is said to the user is kept in ``said``.

    ``doubt`` and ``grace`` are nothing, since the provider here never needs to be waited for. A
    long sleep takes no time: the clock is put forward.
    """

    def __init__(
        self,
        path: Path,
        *,
        limits: Limits | None = None,
        doubt: timedelta = timedelta(0),
        grace: timedelta = timedelta(0),
    ) -> None:
        self.store = Store(path)
        self.said: list[str] = []
        self.prices = Prices()
        self.naps: list[float] = []
        self._late = timedelta(0)
        self._limits = limits
        self._made: dict[tuple[str, ...], Provider] = {}
        self.pace = Pace(
            now=lambda: datetime.now(UTC) + self._late,
            sleep=self._sleep,
            first=0.005,
            longest=0.02,
            doubt=doubt,
            grace=grace,
        )

    def say(self, text: str) -> None:
        self.said.append(text)
        if len(self.said) > MOST_LINES:
            raise Endless("\n".join(self.said[-8:]))

    def _sleep(self, seconds: float) -> None:
        self.naps.append(seconds)
        if len(self.naps) > MOST_LINES:
            raise Endless("\n".join(self.said[-8:]))
        if seconds > LONG:
            self._late += timedelta(seconds=seconds)
        else:
            time.sleep(seconds)

    def _connect(self, *where: str) -> Provider:
        """Connect once to each provider, as a process does, with the limits of this desk."""
        if where not in self._made:
            made = self._made[where] = connect(*where)
            if self._limits and where[0] != "offline":
                made.limits = self._limits
        return self._made[where]

    def ask(
        self,
        *judges: str,
        strategies: tuple[str, ...] = ("window_to_one",),
        limit: int | None = 2,
        prompts: Path | None = None,
        **chosen: Any,
    ) -> Scope:
        """Store the requests of a selection of the sample; by default those of ten prompts."""
        made = session.select(
            strategies=strategies,
            judges=judges or (JUDGE,),
            prompts=prompts,
            limit=limit,
            successes_only=chosen.pop("successes_only", True),
            **chosen,
        )
        scope = session.ask(
            self.store,
            [made],
            self.pace,
            self.say,
            progress=lambda done, total: None,
            agree=lambda question: True,
        )
        assert scope is not None
        return scope

    def advance(self, scope: Scope | None = None, **how: bool) -> Ended:
        """Move a scope on, everything by default, and say how that ended."""
        scope = scope or Scope()
        standing = advance(
            self.store, scope, self._connect, self.pace, self.say, prices=self.prices, **how
        )
        try:
            session.conclude(self.store, scope, standing)
        except NeedlessError as error:
            return Ended(error.exit_code, str(error), standing)
        return Ended(0, "", standing)

    def send(self, *judges: str, **chosen: Any) -> list[str]:
        """Ask and leave; return our ids of the batches, oldest first."""
        self.advance(self.ask(*judges, **chosen), collect=False)
        return [row[0] for row in self.rows("select batch_id from batches order by created_at, 1")]

    def run(self, *judges: str, **chosen: Any) -> Ended:
        """Ask, wait and store, from the beginning to the end."""
        return self.advance(self.ask(*judges, **chosen))

    def cancel(self, *names: str, wait: bool = True) -> Standing:
        return cancelling.cancel(self.store, names, self._connect, self.pace, self.say, wait=wait)

    def rows(self, statement: str) -> list[tuple[Any, ...]]:
        return self.store.query(statement)[1]

    def one(self, statement: str) -> Any:
        """Return the only value of the only row."""
        ((value,),) = self.rows(statement)
        return value

    def states(self) -> dict[str, int]:
        """How many prompts are in each state."""
        return dict(self.rows("select state, count(*) from prompt_states group by 1"))

    def outcomes(self) -> dict[str, int]:
        """How many responses are in each state."""
        return dict(self.rows("select state, count(*) from answers group by 1"))

    def attempts(self) -> set[int]:
        """Which attempts the lines sent were."""
        return {row[0] for row in self.rows("select distinct attempt from batch_prompts")}


def needless(db: Path | None, *arguments: str, columns: int = 100) -> Result:
    """Run the command line in this process; ``stdout``, ``stderr`` and ``exit_code`` are apart."""
    named = ["--db", str(db)] if db else []
    result = CliRunner(env={"COLUMNS": str(columns)}).invoke(main, [*named, *arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def program(db: Path, *arguments: str, cwd: Path = ROOT) -> subprocess.Popen[str]:
    """Start the command line as a process of its own, with pipes for what it writes."""
    return subprocess.Popen(
        [sys.executable, str(ROOT / "cli.py"), "--db", str(db), *arguments],
        cwd=cwd,
        env=dict(os.environ, PYTHONUNBUFFERED="1"),
        # Tests that run in the background of a shell would hand on that Ctrl-C is ignored.
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def report(db: Path) -> str:
    """Return the scores as CSV."""
    return needless(db, "report", "--format", "csv").stdout


@contextmanager
def running(db: Path, *arguments: str) -> Iterator[list[str]]:
    """Run the program and kill it at the end, if it lives; yields what it says, as it says it."""
    said: list[str] = []

    def listen() -> None:
        assert process.stderr is not None
        said.extend(line for line in process.stderr)

    with program(db, *arguments) as process:
        ears = Thread(target=listen, daemon=True)
        ears.start()
        try:
            yield said
        finally:
            process.send_signal(signal.SIGKILL)
            process.wait()
            ears.join(10)


def until(is_time: Callable[[], bool], seconds: float = 20.0) -> None:
    """Wait until something is so."""
    end = time.monotonic() + seconds
    while not is_time():
        assert time.monotonic() < end, "the moment to kill never came"
        time.sleep(0.005)
