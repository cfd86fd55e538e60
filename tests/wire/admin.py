"""The test's side of the service: ``/admin/...``, without a key and without faults."""

from __future__ import annotations

from typing import Any

from tests.wire.exchange import Refused, Request, Response, json_response
from tests.wire.faults import Faults
from tests.wire.gateway import Gateway


def answer(gateway: Gateway, request: Request) -> Response:
    """Return the answer to an admin request."""
    with gateway.lock:
        try:
            gateway.settle()
            made = _act(gateway, request.path.removeprefix("/admin/"), request)
            gateway.settle()
        except Refused as refusal:
            return refusal.response()
        except (KeyError, TypeError, ValueError) as error:
            return Refused(400, f"{type(error).__name__}: {error}").response()
        return json_response(made)


def _act(gateway: Gateway, name: str, request: Request) -> Any:
    body = request.json()
    match request.method, name:
        case "GET", "log":
            return gateway.ledger.log(gateway.strikes.struck)
        case "GET", "clock":
            return {"now": gateway.clock.now()}
        case "POST", "advance":
            gateway.clock.advance(float(body["seconds"]))
        case "POST", "stop_clock":
            gateway.clock.stop()
        case "POST", "start_clock":
            gateway.clock.start()
        case "POST", "hold":
            for queue in gateway.queues(body.get("batch_id", "*")):
                queue.hold(body.get("batch_id", "*"), body.get("status"), body.get("done"))
        case "POST", "release":
            for queue in gateway.queues(body.get("batch_id", "*")):
                queue.release(body.get("batch_id", "*"))
        case "POST", "expire":
            for queue in gateway.queues(body["batch_id"]):
                queue.expire(body["batch_id"], body.get("done"))
        case "POST", "faults":
            gateway.strikes.reset(Faults.parse(body))
        case "POST", "reset":
            gateway.strikes.reset(Faults())
            gateway.reset()
        case _:
            raise Refused(404, f"No such admin call: {request.method} {name}")
    return {"now": gateway.clock.now()}
