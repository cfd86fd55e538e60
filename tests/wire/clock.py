"""The provider's clock: wall time that a test can push forward or stop."""

from __future__ import annotations

import time
from collections.abc import Callable


class Clock:
    """Unix seconds, plus what was added by ``advance``.

    The base is bound when the class is made, so a test that freezes its own time does not freeze
    the provider's.
    """

    def __init__(self, base: Callable[[], float] = time.time) -> None:
        self._base = base
        self._offset = 0.0
        self._stopped_at: float | None = None

    def now(self) -> float:
        """Return the provider's time."""
        running = self._base() if self._stopped_at is None else self._stopped_at
        return running + self._offset

    def advance(self, seconds: float) -> None:
        """Move time forward; a stopped clock moves too."""
        self._offset += seconds

    def stop(self) -> None:
        """Let time pass only through ``advance``."""
        if self._stopped_at is None:
            self._stopped_at = self._base()

    def start(self) -> None:
        """Let time pass again, from where it stopped."""
        if self._stopped_at is not None:
            self._offset -= self._base() - self._stopped_at
            self._stopped_at = None
