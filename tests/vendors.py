"""The service as Anthropic and as DeepSeek, too; and trajectories made up for one test."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

import pytest

from cache.inputs import write
from cache.records import Trajectory
from cache.store import Store
from tests.conftest import Serve
from tests.running import INSTANT
from tests.wire.service import CallFault, Faults, LineFault, Service, Settings

CLAUDE = "anthropic:claude-haiku-4-5"
LIVE = "openai:gpt-4o-mini?mode=live"
DEEPSEEK = "deepseek:deepseek-flash"

#: The cheapest run there is: one prompt.
ONE: dict[str, Any] = {"strategies": ("all_to_all",), "limit": 1}


def for_all(serve: Serve, patch: pytest.MonkeyPatch) -> Serve:
    """The same, and the environment names its services to the judges of every vendor."""

    def start(faults: Faults | None = None, settings: Settings = INSTANT) -> Service:
        service = serve(faults, settings)
        patch.setenv("ANTHROPIC_BASE_URL", service.anthropic_url)
        patch.setenv("DEEPSEEK_BASE_URL", service.base_url)
        for vendor in ("ANTHROPIC", "DEEPSEEK"):
            patch.setenv(f"{vendor}_API_KEY", "k1")
        return service

    return start


def struck(route: str, kind: str, **how: Any) -> Faults:
    """One rule for one route of the service."""
    return Faults(calls=(call(route, kind, **how),))


def call(route: str, kind: str, **how: Any) -> CallFault:
    """A rule for one route; a misspelt kind is refused when the service is told."""
    found: Any = kind
    return CallFault(route, found, **how)


def in_turn(*kinds: str, **more: Any) -> Faults:
    """Of the lines worked on, the first is struck by the first kind, the second by the second …"""
    lines: list[LineFault] = []
    for kind in kinds:
        found: Any = kind
        lines.append(LineFault(found, times=1))
    return Faults(lines=tuple(lines), **more)


def store_all(store: Store, trajectories: Iterable[Trajectory]) -> None:
    """Import made-up trajectories."""
    write(store, [("made up", one) for one in trajectories], dataset=None, now=datetime.now(UTC))
