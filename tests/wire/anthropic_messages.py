"""Live messages and the counting of tokens."""

from __future__ import annotations

from tests.wire import answers
from tests.wire.anthropic_errors import failure
from tests.wire.exchange import Refused, Request, Response, Route, json_response, route
from tests.wire.ledger import Ledger
from tests.wire.message_model import MessageModel


class AnthropicMessages:
    """The synchronous endpoints; the caller holds the service's lock."""

    def __init__(self, ledger: Ledger, model: MessageModel) -> None:
        self._ledger = ledger
        self._model = model

    def routes(self) -> list[Route]:
        """Return the routes of this part."""
        return [
            route("messages.create", "POST", "/v1/messages", self._create),
            route("messages.count_tokens", "POST", "/v1/messages/count_tokens", self._count),
        ]

    def _create(self, request: Request) -> Response:
        params = request.json()
        self._ledger.bodies[answers.fingerprint(params)] += 1
        reply = self._model.reply(params, request.headers.get("anthropic-version", ""))
        if reply.status != 200:
            return failure(reply.status, reply.body["message"], reply.body["type"])
        return json_response(reply.body)

    def _count(self, request: Request) -> Response:
        params = request.json()
        for name in ("model", "messages"):
            if not params.get(name):
                raise Refused(400, f"{name}: Field required")
        return json_response({"input_tokens": answers.prompt_tokens(params)})
