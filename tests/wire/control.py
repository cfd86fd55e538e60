"""The test's hand on a running service, in this process or in another one."""

from __future__ import annotations

import http.client
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

from tests.wire.faults import Faults
from tests.wire.ledger import Log
from tests.wire.plain import to_plain

_SCRIPT = Path(__file__).with_name("service.py")


class Control:
    """The admin calls, over HTTP like everything else."""

    base_url: str

    @property
    def anthropic_url(self) -> str:
        """Where an Anthropic client finds the service: its paths bring their own ``/v1``."""
        return self.base_url.removesuffix("/v1")

    def log(self) -> Log:
        """Return the provider's book."""
        return cast("Log", self._call("GET", "log"))

    def now(self) -> float:
        """Return the provider's time."""
        return float(self._call("GET", "clock")["now"])

    def advance(self, seconds: float) -> None:
        """Move the provider's clock forward."""
        self._call("POST", "advance", seconds=seconds)

    def stop_clock(self) -> None:
        """Let time pass only through ``advance``."""
        self._call("POST", "stop_clock")

    def start_clock(self) -> None:
        """Let time pass again."""
        self._call("POST", "start_clock")

    def hold(
        self, batch_id: str = "*", *, status: str | None = None, done: int | None = None
    ) -> None:
        """Keep a batch in a state: the present one, or ``in_progress`` for all (``*``).

        ``done`` is how many requests have run while it is held in progress.
        """
        self._call("POST", "hold", batch_id=batch_id, status=status, done=done)

    def release(self, batch_id: str = "*") -> None:
        """Let a held batch go on."""
        self._call("POST", "release", batch_id=batch_id)

    def expire(self, batch_id: str, *, done: int | None = None) -> None:
        """Expire a batch now, with ``done`` requests finished."""
        self._call("POST", "expire", batch_id=batch_id, done=done)

    def set_faults(self, faults: Faults) -> None:
        """Put other faults in force; their counts start again."""
        self._call("POST", "faults", **to_plain(faults))

    def reset(self) -> None:
        """Forget all objects, the book and the faults."""
        self._call("POST", "reset")

    def _call(self, method: str, name: str, **body: Any) -> dict[str, Any]:
        connection = http.client.HTTPConnection(urlsplit(self.base_url).netloc, timeout=60)
        try:
            connection.request(method, f"/admin/{name}", json.dumps(body), {"Connection": "close"})
            with connection.getresponse() as response:
                text = response.read()
                status = response.status
        finally:
            connection.close()
        value: dict[str, Any] = json.loads(text)
        if status != 200:
            raise ValueError(value["error"]["message"])
        return value


@dataclass(slots=True)
class Remote(Control):
    """A service in another process; ``pid`` is there for tests that kill it."""

    base_url: str
    pid: int


@contextmanager
def spawn(*arguments: str) -> Iterator[Remote]:
    """Run the service as a process of its own and stop it at the end."""
    command = [sys.executable, str(_SCRIPT), "--port", "0", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            line = process.stdout.readline() if process.stdout is not None else ""
            word, _, base_url = line.strip().partition(" ")
            if word != "listening":
                raise RuntimeError(f"the service did not start: {line!r}")
            yield Remote(base_url, process.pid)
        finally:
            process.terminate()
