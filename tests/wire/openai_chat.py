"""Live chat completions and the list of models."""

from __future__ import annotations

from tests.wire import answers
from tests.wire.exchange import Refused, Request, Response, Route, json_response, route
from tests.wire.ledger import Ledger
from tests.wire.model import Model
from tests.wire.settings import Settings


class OpenAIChat:
    """The synchronous endpoints; the caller holds the service's lock."""

    def __init__(self, ledger: Ledger, settings: Settings, model: Model) -> None:
        self._ledger = ledger
        self._settings = settings
        self._model = model

    def routes(self) -> list[Route]:
        """Return the routes of this part."""
        return [
            route("chat.create", "POST", "/v1/chat/completions", self._create),
            route("models.list", "GET", "/v1/models", self._list),
        ]

    def _create(self, request: Request) -> Response:
        body = request.json()
        self._ledger.bodies[answers.fingerprint(body)] += 1
        reply = self._model.reply(body)
        if reply.status == 0:
            raise Refused(504, "The request to the model timed out.", code="request_timeout")
        return json_response(reply.body, reply.status)

    def _list(self, request: Request) -> Response:
        made = {"object": "model", "created": 1_700_000_000, "owned_by": "loopback"}
        data = [{"id": name, **made} for name in self._settings.models]
        return json_response({"object": "list", "data": data})
