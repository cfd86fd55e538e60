"""How a live run ends before its end: killed, stopped by hand, or out of time."""

from __future__ import annotations

import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from batcher.providers.base import Prompt
from batcher.providers.live import Live
from tests.conftest import Serve
from tests.running import Desk, needless, program, running, until
from tests.vendors import LIVE, struck
from tests.wire.service import Faults

ASK = ("run", "--judge", LIVE, "--limit", "4", "--poll", "0.05", "--strategy", "one_to_one")
CHAT = "chat.create"


@pytest.mark.slow
def test_b56_a_killed_live_run_goes_on_with_the_rest(serve: Serve, db: Path) -> None:
    """What was stored before the kill is not asked again; in the end each prompt has one answer."""
    service = serve(struck(CHAT, "delay", times=0, seconds=0.5))
    desk = Desk(db)
    stored: list[str] = []
    with running(db, *ASK):
        until(lambda: service.log()["chat_calls"] > 4)
        until(lambda: desk.one("select count(*) from responses") > 0)
    stored += [
        row[0]
        for row in desk.rows("select body from responses join prompt_bodies using (prompt_hash)")
    ]
    assert 0 < len(stored) < desk.one("select count(*) from prompts")
    service.set_faults(Faults())
    called = service.log()["chat_calls"]
    assert needless(db, "resume").exit_code == 0
    prompts = desk.one("select count(*) from prompts")
    assert service.log()["chat_calls"] - called == prompts - len(stored)
    assert desk.one("select count(*) from responses") == prompts
    assert desk.one("select count(distinct prompt_hash) from responses") == prompts
    assert desk.attempts() == {1}


def test_ctrl_c_brings_home_what_is_in_flight(serve: Serve, db: Path) -> None:
    """Interrupted: nothing new is asked, every call made is stored, exit 3; resume does the rest.

    A call that was paid for is never made twice.
    """
    service = serve(struck(CHAT, "delay_after", times=0, seconds=0.4))
    with program(db, *ASK) as process:
        until(lambda: service.log()["chat_calls"] >= 6)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=20)
    assert (process.returncode, "needless resume" in said) == (3, True)
    assert "Traceback" not in said
    desk = Desk(db)
    calls = service.log()["chat_calls"]
    assert desk.outcomes() == {"ok": calls}
    assert desk.one("select count(*) from predictions") >= calls
    prompts = desk.one("select count(*) from prompts")
    assert calls < prompts
    service.set_faults(Faults())
    assert needless(db, "resume").exit_code == 0
    assert service.log()["chat_calls"] == prompts
    assert set(service.log()["answered_bodies"].values()) == {1}


@contextmanager
def endless() -> Iterator[str]:
    """A server that keeps every call alive with blank lines and never answers."""
    over = threading.Event()

    def serve() -> None:
        while not over.is_set():
            with suppress(OSError):
                talk(listening.accept()[0])

    def talk(connection: socket.socket) -> None:
        with connection:
            connection.recv(1 << 16)
            head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
            connection.sendall(head + b"Transfer-Encoding: chunked\r\n\r\n")
            while not over.wait(0.02):
                connection.sendall(b"1\r\n\n\r\n")

    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(0.1)
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/v1"
        over.set()
        thread.join(5)


@pytest.mark.usefixtures("own_environment")
def test_a_call_that_never_ends_is_cut_by_the_wall_clock() -> None:
    """Blank lines reset every read time-out, not the deadline; the error says possibly billed."""
    body = b'{"messages":[{"content":"x","role":"user"}],"model":"m"}'
    with endless() as url:
        began = time.monotonic()
        live = Live(url, "k1", deadline=0.3)
        (found,) = [one for one in live.fetch("token", [Prompt("a", "h", body)]) if one]
        took = time.monotonic() - began
    assert (found.outcome, found.is_transient) == ("error", True)
    assert "possibly billed" in (found.error or "")
    assert 0.3 <= took < 30


def test_a_second_ctrl_c_ends_the_program_at_once(serve: Serve, db: Path) -> None:
    """Whoever presses it twice does not wait for calls that may take a quarter of an hour."""
    service = serve(struck("chat.create", "delay", times=0, seconds=30))
    with program(db, "run", "--judge", LIVE, "--limit", "1", "--poll", "0.05") as process:
        try:
            until(lambda: service.log()["chat_calls"] >= 4)
            # Two that come in one breath are one to a busy process: press until it is noticed.
            for _ in range(20):
                process.send_signal(signal.SIGINT)
                with suppress(subprocess.TimeoutExpired):
                    process.wait(timeout=0.7)
                    break
            assert process.returncode in (3, -signal.SIGINT)
        finally:
            process.kill()


def test_b09_cancelling_a_live_batch_asks_nothing_more(serve: Serve, desk: Desk) -> None:
    """A live run that stopped half way and is cancelled keeps what it had and pays for no more."""
    service = serve(struck("chat.create", "status", first=3, times=0, status=402))
    assert desk.run(LIVE).code == 1
    service.set_faults(Faults())
    calls = service.log()["chat_calls"]
    standing = desk.cancel(desk.one("select batch_id from batches"))
    assert (service.log()["chat_calls"], standing.open) == (calls, 0)
    assert desk.states() == {"answered": 2, "due": 8}
