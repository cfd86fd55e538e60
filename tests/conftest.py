"""What every test has: an environment without the user's keys, and providers that end with it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path

import pytest

from cache.collect import SAMPLE, collect
from cache.store import Store
from tests.running import INSTANT, Desk
from tests.wire.service import Faults, Service, Settings

Serve = Callable[..., Service]


@pytest.fixture(autouse=True)
def own_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide the user's keys, addresses and settings from the program."""
    for name in os.environ:
        if name.startswith(("NEEDLESS_", "OPENAI_", "ANTHROPIC_", "DEEPSEEK_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Iterator[Serve]:
    """Start providers; the newest is the one that the environment names.

    A crash of the provider itself fails the test.
    """
    with ExitStack() as stack:
        started: list[Service] = []

        def start(faults: Faults | None = None, settings: Settings = INSTANT) -> Service:
            service = stack.enter_context(Service(faults, settings))
            monkeypatch.setenv("OPENAI_BASE_URL", service.base_url)
            monkeypatch.setenv("OPENAI_API_KEY", "k1")
            started.append(service)
            return service

        yield start
        assert [service.log()["crashes"] for service in started] == [[] for _ in started]


@pytest.fixture(scope="session")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database with the bundled sample and nothing else, to be copied."""
    store = Store(tmp_path_factory.mktemp("sample") / "sample.duckdb")
    collect(store, SAMPLE, dataset="sample", now=datetime.now(UTC))
    return store.path


@pytest.fixture
def db(tmp_path: Path, sample: Path) -> Path:
    """A database of the test's own that holds the bundled sample."""
    return Path(shutil.copy(sample, tmp_path / "n.duckdb"))


@pytest.fixture
def desk(db: Path) -> Desk:
    """The same, with somebody to ask."""
    return Desk(db)
