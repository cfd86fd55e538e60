"""The way in: ``with Service() as service`` in a test, or this file as a process of its own.

The process prints ``listening http://127.0.0.1:PORT/v1`` once it answers, and runs until it is
terminated. ``--state`` names a file for that address and, at a clean end, the log.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import threading
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any

if __name__ == "__main__":
    # Run as a file, only this folder would be on the path, and the package lies two above.
    sys.path[0] = str(Path(__file__).resolve().parents[2])

from tests.wire.control import Control, Remote, spawn
from tests.wire.faults import CallFault, Faults, LineFault
from tests.wire.gateway import Gateway
from tests.wire.ledger import Log
from tests.wire.server import Server
from tests.wire.settings import Settings

__all__ = ["CallFault", "Faults", "LineFault", "Log", "Remote", "Service", "Settings", "spawn"]


class Service(Control):
    """A provider in a daemon thread; ``base_url`` is known as soon as it exists."""

    def __init__(
        self, faults: Faults | None = None, settings: Settings | None = None, *, port: int = 0
    ) -> None:
        gateway = Gateway(faults or Faults(), settings or Settings())
        self._server = Server(port, gateway)
        self.base_url = self._server.base_url
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
        )

    def __enter__(self) -> Service:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.close()
        self._thread.join()


def main(arguments: list[str] | None = None) -> int:
    """Run the service until SIGTERM or SIGINT."""
    parser = argparse.ArgumentParser(description="A batch provider on the loopback interface.")
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    parser.add_argument("--state", type=Path, help="file for the address, and the log at the end")
    parser.add_argument("--faults", default="{}", help="JSON, or @FILE")
    parser.add_argument("--settings", default="{}", help="JSON, or @FILE")
    options = parser.parse_args(arguments)
    ended = threading.Event()

    def end(number: int, frame: FrameType | None) -> None:
        ended.set()

    signal.signal(signal.SIGTERM, end)
    signal.signal(signal.SIGINT, end)
    faults = Faults.parse(_json(options.faults))
    settings = Settings.parse(_json(options.settings))
    with Service(faults, settings, port=options.port) as service:
        state: dict[str, Any] = {"base_url": service.base_url, "pid": os.getpid()}
        _write(options.state, state)
        print(f"listening {service.base_url}", flush=True)
        ended.wait()
        _write(options.state, {**state, "log": service.log()})
    return 0


def _json(text: str) -> Any:
    return json.loads(Path(text[1:]).read_text("utf-8") if text.startswith("@") else text)


def _write(path: Path | None, state: dict[str, Any]) -> None:
    """Replace the state file in one step, as another process may be reading it."""
    if path is not None:
        fresh = path.with_name(path.name + ".new")
        fresh.write_text(json.dumps(state), "utf-8")
        fresh.replace(path)


if __name__ == "__main__":
    sys.exit(main())
