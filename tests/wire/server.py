"""The sockets: HTTP/1.1 with keep-alive on the loopback interface, a thread per connection."""

from __future__ import annotations

import secrets
import socket
import socketserver
import threading
import time
import traceback
from email.utils import formatdate
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, cast
from urllib.parse import parse_qsl, urlsplit

from tests.wire import admin, anthropic_errors
from tests.wire.exchange import Refused, Request, Response, Vendor
from tests.wire.gateway import Gateway

_SMALL = 7
PHRASES: dict[int, str] = {status.value: status.phrase for status in HTTPStatus}


class Handler(BaseHTTPRequestHandler):
    """Reads one request after another from a connection."""

    protocol_version = "HTTP/1.1"
    # Head and body are written apart; without this the second write waits for the client's ACK.
    disable_nagle_algorithm = True

    @property
    def _gateway(self) -> Gateway:
        return cast("Server", self.server).gateway

    def do_GET(self) -> None:
        self._serve()

    def do_POST(self) -> None:
        self._serve()

    def do_DELETE(self) -> None:
        self._serve()

    def log_message(self, format: str, *args: Any) -> None:
        """Write nothing: tests read the ledger."""

    def _serve(self) -> None:
        started = time.perf_counter()
        url = urlsplit(self.path)
        request = Request(
            method=self.command,
            path=url.path,
            query=dict(parse_qsl(url.query)),
            headers={name.lower(): value for name, value in self.headers.items()},
            body=self._body(),
        )
        self._send(self._answer(request), started, request.vendor)

    def _answer(self, request: Request) -> Response:
        gateway = self._gateway
        try:
            if request.path.startswith("/admin/"):
                return admin.answer(gateway, request)
            return gateway.answer(request)
        except Exception:
            # A mistake in the service must fail the test that reads the log, not hide behind
            # the retries of an SDK.
            with gateway.lock:
                gateway.ledger.crashes.append(traceback.format_exc())
            crash = Refused(500, "The loopback service crashed.", code="crash")
            return anthropic_errors.refused(crash, request.vendor)

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
            length = int(self.headers.get("Content-Length", "0"))
            body = self.rfile.read(length)
            if len(body) < length:
                # A client killed while it sent has sent nothing.
                raise ConnectionError("the request ends too early")
            return body
        chunks: list[bytes] = []
        while size := int(self.rfile.readline().split(b";")[0] or b"0", 16):
            chunks.append(self.rfile.read(size))
            self.rfile.readline()
        while self.rfile.readline().strip():
            pass
        return b"".join(chunks)

    def _send(self, response: Response, started: float, vendor: Vendor) -> None:
        how = response.delivery
        if how == "drop":
            self.close_connection = True
            return
        headers = {
            "Date": formatdate(self._gateway.clock.now(), usegmt=True),
            "Content-Type": response.content_type,
            **_headers(vendor, started),
            **response.headers,
        }
        if how in ("cut_chunked", "small_chunks"):
            headers["Transfer-Encoding"] = "chunked"
        elif how != "cut_close":
            headers["Content-Length"] = str(len(response.body))
        if how.startswith("cut"):
            self.close_connection = True
            headers["Connection"] = "close" if how == "cut_close" else "keep-alive"
        phrase = PHRASES.get(response.status, "Unknown")
        head = f"HTTP/1.1 {response.status} {phrase}\r\n"
        head += "".join(f"{name}: {value}\r\n" for name, value in headers.items()) + "\r\n"
        self.wfile.write(head.encode("latin-1"))
        self._write(response.body, how)

    def _write(self, body: bytes, how: str) -> None:
        half = body[: len(body) // 2]
        if how == "cut_chunked":
            self.wfile.write(b"%x\r\n%s\r\n" % (len(half), half))
        elif how == "small_chunks":
            for start in range(0, len(body), _SMALL):
                chunk = body[start : start + _SMALL]
                self.wfile.write(b"%x\r\n%s\r\n" % (len(chunk), chunk))
            self.wfile.write(b"0\r\n\r\n")
        else:
            self.wfile.write(half if how.startswith("cut") else body)


def _headers(vendor: Vendor, started: float) -> dict[str, str]:
    """Return the headers that only this vendor sends."""
    if vendor == "anthropic":
        organization = {"anthropic-organization-id": "org-loopback"}
        return {"request-id": anthropic_errors.new_request_id(), **organization}
    milliseconds = int((time.perf_counter() - started) * 1000)
    return {
        "x-request-id": "req_" + secrets.token_hex(16),
        "openai-processing-ms": str(milliseconds),
        "openai-version": "2020-10-01",
    }


class Server(ThreadingHTTPServer):
    """Remembers its connections, so that closing it leaves neither sockets nor threads."""

    request_queue_size = 256

    def __init__(self, port: int, gateway: Gateway) -> None:
        self.gateway = gateway
        self._connections: dict[socket.socket, threading.Thread] = {}
        self._connections_lock = threading.Lock()
        super().__init__(("127.0.0.1", port), Handler)

    @property
    def base_url(self) -> str:
        """Where an OpenAI client finds the service."""
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    def server_bind(self) -> None:
        """Bind without the name lookup of the base class, which may ask a name server."""
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = "127.0.0.1", int(self.server_address[1])

    def process_request(self, request: Any, client_address: Any) -> None:
        """Serve a connection in a thread of its own."""
        thread = threading.Thread(
            target=self.process_request_thread, args=(request, client_address), daemon=True
        )
        with self._connections_lock:
            self._connections[request] = thread
        thread.start()

    def shutdown_request(self, request: Any) -> None:
        """Forget a connection that has ended."""
        with self._connections_lock:
            self._connections.pop(request, None)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing when a client goes away: that is what some tests do."""

    def close(self) -> None:
        """Stop serving, end open connections and wait for their threads."""
        self.gateway.close()
        self.shutdown()
        with self._connections_lock:
            open_now = dict(self._connections)
        for connection in open_now:
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue  # the client was faster
        for thread in open_now.values():
            thread.join(timeout=5)
        self.server_close()
