"""From a request to an answer: the key, the faults, then the route.

A vendor adds its routes to ``Gateway.routes``; nothing else here knows a protocol but the shape of
an error.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import replace

from tests.wire import anthropic_errors
from tests.wire.anthropic_batches import AnthropicBatches
from tests.wire.anthropic_messages import AnthropicMessages
from tests.wire.clock import Clock
from tests.wire.distortion import distort, web_page
from tests.wire.exchange import Refused, Request, Response, Route, Vendor
from tests.wire.faults import CallFault, Faults, Strikes
from tests.wire.ledger import Ledger
from tests.wire.message_model import MessageModel
from tests.wire.message_order import models_in
from tests.wire.model import Model
from tests.wire.openai_batches import OpenAIBatches
from tests.wire.openai_chat import OpenAIChat
from tests.wire.openai_files import OpenAIFiles
from tests.wire.settings import Settings

#: Routes whose fault patterns can choose by the models in the body.
_WITH_MODELS = ("messages.batches.create", "messages.create")
#: As much of a body as fault patterns look at.
_SUBJECT = 65_536


class Gateway:
    """The whole provider without its sockets; one lock guards everything but waiting."""

    def __init__(self, faults: Faults, settings: Settings) -> None:
        self.lock = threading.RLock()
        self.clock = Clock()
        self.settings = settings
        self.strikes = Strikes(faults)
        self._closing = threading.Event()
        self.reset()

    def reset(self) -> None:
        """Forget every object and the book; clock, settings and faults stay."""
        self.ledger = Ledger()
        model = Model(self.clock, self.ledger, self.strikes)
        files = OpenAIFiles(self.clock, self.ledger, self.strikes, self.settings)
        self.batches = OpenAIBatches(
            self.clock, self.ledger, self.strikes, self.settings, files, model
        )
        chat = OpenAIChat(self.ledger, self.settings, model)
        message_model = MessageModel(self.clock, self.ledger, self.strikes)
        self.message_batches = AnthropicBatches(
            self.clock, self.ledger, self.strikes, self.settings, message_model
        )
        messages = AnthropicMessages(self.ledger, message_model)
        parts = (files, self.batches, chat, self.message_batches, messages)
        self.routes: list[Route] = [route for part in parts for route in part.routes()]

    def settle(self) -> None:
        """Make every move of every batch that is due."""
        self.batches.settle()
        self.message_batches.settle()

    def queues(self, batch_id: str) -> list[OpenAIBatches | AnthropicBatches]:
        """Return who keeps a batch; all of them for ``*``."""
        if batch_id == "*":
            return [self.batches, self.message_batches]
        mine = batch_id.startswith(self.message_batches.prefix)
        return [self.message_batches if mine else self.batches]

    def close(self) -> None:
        """End every delay, so that no thread outlives the service."""
        self._closing.set()

    def answer(self, request: Request) -> Response:
        """Return the answer to a request of the provider's own API."""
        try:
            return self._answer(request)
        except Refused as refusal:
            return anthropic_errors.refused(refusal, request.vendor)

    def _answer(self, request: Request) -> Response:
        with self.lock:
            found, request = self._find(request)
            self.ledger.call(found.name, request.retry_count)
            request = replace(request, key=self._key(request))
            if self.strikes.faults.no_batch_api and "batches." in found.name:
                raise Refused(404, f"Unknown request URL: {request.method} {request.path}")
            rules = self.strikes.call(found.name, self._subject(found, request))
        self._wait(rules, "delay")
        for rule in rules:
            if rule.kind == "status":
                return _status(rule, request.vendor)
            if rule.kind == "drop":
                return Response(0, b"", delivery="drop")
            if rule.kind == "html":
                return web_page()
        with self.lock:
            self.settle()
            response = found.act(request)
        self._wait(rules, "delay_after")
        return distort(response, rules)

    def _find(self, request: Request) -> tuple[Route, Request]:
        paths = [(route, route.path.fullmatch(request.path)) for route in self.routes]
        known = [(route, match) for route, match in paths if match is not None]
        for route, match in known:
            if route.method == request.method:
                return route, replace(request, args=match.groups())
        status = 405 if known else 404
        raise Refused(status, f"Unknown request URL: {request.method} {request.path}")

    def _key(self, request: Request) -> str:
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        key = token.strip() if scheme.lower() == "bearer" else ""
        key = key or request.headers.get("x-api-key", "")
        only = self.strikes.faults.only_key
        if not key or only not in (None, key):
            text = "Incorrect API key provided." if key else "You did not provide an API key."
            raise Refused(401, text, code="invalid_api_key")
        return key

    def _subject(self, found: Route, request: Request) -> str:
        """The text in which fault patterns are sought."""
        text = f"{request.path}\n{request.body[:_SUBJECT].decode('utf-8', 'replace')}"
        if found.name == "batches.create" and self.strikes.faults.calls:
            text += f"\nmodel={self.batches.model_of_file(request.json().get('input_file_id'))}"
        elif found.name in _WITH_MODELS and self.strikes.faults.calls:
            text += "".join(f"\nmodel={name}" for name in models_in(request.body))
        return text

    def _wait(self, rules: Sequence[CallFault], kind: str) -> None:
        for rule in rules:
            if rule.kind == kind:
                self._closing.wait(rule.seconds)


def _status(rule: CallFault, vendor: Vendor) -> Response:
    headers = {} if rule.retry_after is None else {"Retry-After": rule.retry_after}
    if vendor == "anthropic":
        return anthropic_errors.failure(rule.status, rule.message, rule.code or "", headers)
    kind = "server_error" if rule.status >= 500 else "invalid_request_error"
    return Refused(rule.status, rule.message, kind=kind, code=rule.code, headers=headers).response()
