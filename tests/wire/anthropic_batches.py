"""The Message Batches half of the Anthropic protocol: creation, the status machine, results."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tests.wire import answers
from tests.wire.batch import Hold
from tests.wire.clock import Clock
from tests.wire.exchange import Refused, Request, Response, Route, json_response, route
from tests.wire.faults import Strikes
from tests.wire.ledger import Create, Ledger
from tests.wire.message_batch import MessageBatch
from tests.wire.message_model import MessageModel
from tests.wire.message_order import read_order
from tests.wire.message_results import compute, leave
from tests.wire.result_files import file_bytes
from tests.wire.settings import Settings

_PATH = "/v1/messages/batches"
#: The states of the other vendor's batches that are called otherwise here.
_STATES = {"cancelling": "canceling"}


class AnthropicBatches:
    """All message batches, oldest first; the caller holds the service's lock."""

    prefix = "msgbatch_"

    def __init__(
        self,
        clock: Clock,
        ledger: Ledger,
        strikes: Strikes,
        settings: Settings,
        model: MessageModel,
    ) -> None:
        self._clock = clock
        self._ledger = ledger
        self._strikes = strikes
        self._settings = settings
        self._model = model
        self._batches: dict[str, MessageBatch] = {}
        self._active: dict[str, MessageBatch] = {}
        self._hold_all: Hold | None = None

    def routes(self) -> list[Route]:
        """Return the routes of this half."""
        one = _PATH + "/{}"
        return [
            route("messages.batches.create", "POST", _PATH, self._create),
            route("messages.batches.list", "GET", _PATH, self._list),
            route("messages.batches.retrieve", "GET", one, self._retrieve),
            route("messages.batches.delete", "DELETE", one, self._delete),
            route("messages.batches.cancel", "POST", one + "/cancel", self._cancel),
            route("messages.batches.results", "GET", one + "/results", self._results),
        ]

    def settle(self) -> None:
        """Make every move that is due, in the order of time."""
        stuck = self._strikes.faults.stuck_finalizing
        moves = [
            (step[0], batch.id, step[1])
            for batch in self._active.values()
            if (step := batch.next_step(self._settings, stuck=stuck)) is not None
        ]
        for at, batch_id, why in sorted(moves):
            if at <= self._clock.now():
                self._end(self._active[batch_id], why, at)

    def hold(self, batch_id: str, status: str | None, done: int | None) -> None:
        """Keep one batch, or all and all to come (``*``), in a state."""
        state = None if status is None else _STATES.get(status, status)
        if batch_id == "*":
            self._hold_all = Hold(state or "in_progress", done)
            for batch in self._active.values():
                batch.hold = self._hold_all
        else:
            batch = self._find(batch_id)
            batch.hold = Hold(state or batch.status, done)

    def release(self, batch_id: str) -> None:
        """Let held batches go on from now."""
        if batch_id == "*":
            self._hold_all = None
        for batch in list(self._active.values()) if batch_id == "*" else [self._find(batch_id)]:
            batch.hold = None
            batch.not_before = self._clock.now()

    def expire(self, batch_id: str, done: int | None) -> None:
        """End the window of a batch now, with ``done`` requests finished."""
        batch = self._find(batch_id)
        if batch.over:
            raise Refused(400, "The batch has ended already.")
        if done is not None:
            batch.stopped_at = done
        self._end(batch, "expired", self._clock.now())

    def _find(self, batch_id: str, key: str | None = None) -> MessageBatch:
        batch = self._batches.get(batch_id)
        hidden = self._strikes.faults.scope_to_key and key is not None
        if batch is None or (hidden and batch.key != key):
            raise Refused(404, f"Message Batch {batch_id} not found.")
        return batch

    def _create(self, request: Request) -> Response:
        order = read_order(request, self._strikes.faults, self._settings)
        now = self._clock.now()
        batch = MessageBatch(
            id=self.prefix + secrets.token_hex(12),
            key=request.key,
            host=f"http://{request.headers.get('host', '127.0.0.1')}",
            order=order,
            created=now,
            expires=now + self._settings.window,
            entered=now,
            hold=self._hold_all,
        )
        self._batches[batch.id] = self._active[batch.id] = batch
        self._record(batch, request.retry_count)
        return self._show(batch)

    def _record(self, batch: MessageBatch, retry_count: int) -> None:
        for request in batch.order.requests:
            self._ledger.custom_ids[request.custom_id] += 1
            self._ledger.bodies[answers.fingerprint(request.params)] += 1
        self._ledger.creates.append(
            Create(
                vendor="anthropic",
                batch_id=batch.id,
                input_file_id="",
                retry_count=retry_count,
                metadata=None,
                model=batch.order.model,
                lines=len(batch.order.requests),
                sha256=batch.order.sha256,
                at=batch.created,
            )
        )

    def _list(self, request: Request) -> Response:
        now = self._clock.now()
        faults = self._strikes.faults
        seen = [
            self._plain(batch)
            for batch in reversed(self._batches.values())
            if batch.created + faults.list_lag <= now
            and (batch.key == request.key or not faults.scope_to_key)
        ]
        return json_response(page(seen, request.query))

    def _retrieve(self, request: Request) -> Response:
        return self._show(self._find(request.args[0], request.key))

    def _cancel(self, request: Request) -> Response:
        batch = self._find(request.args[0], request.key)
        now = self._clock.now()
        answer = self._strikes.faults.cancel_terminal
        if batch.over and answer != 200:
            raise Refused(answer, "The batch has ended and cannot be canceled.")
        if batch.status == "in_progress":
            batch.stopped_at = batch.done_by(now, self._settings)
            if self._strikes.faults.cancel_finishes:
                batch.stopped_at = len(batch.order.requests)
            batch.status = "canceling"
            batch.entered = batch.cancel_initiated = now
            self._ledger.cancelled.append(batch.id)
        return self._show(batch)

    def _delete(self, request: Request) -> Response:
        batch = self._find(request.args[0], request.key)
        if not batch.over:
            raise Refused(400, f"Message Batch {batch.id} has not ended; cancel it first.")
        del self._batches[batch.id]
        self._ledger.deleted.append(batch.id)
        return json_response({"id": batch.id, "type": "message_batch_deleted"})

    def _results(self, request: Request) -> Response:
        batch = self._find(request.args[0], request.key)
        now = self._clock.now()
        lag = self._strikes.faults.content_lag
        early = batch.ended is None or now < batch.ended + lag
        if early or batch.archived(now, self._settings) is not None:
            raise Refused(404, f"Message Batch {batch.id} has no results.")
        return Response(200, batch.data, content_type="application/x-jsonl")

    def _plain(self, batch: MessageBatch) -> dict[str, Any]:
        base = self._strikes.faults.results_base
        return batch.plain(self._clock.now(), self._settings, base)

    def _show(self, batch: MessageBatch) -> Response:
        return json_response(self._plain(batch))

    def _end(self, batch: MessageBatch, why: str, at: float) -> None:
        """Run what is to run, name the rest, and let go of the requests."""
        faults = self._strikes.faults
        requests = batch.shuffled()
        done = len(requests) if why == "done" else batch.done_by(at, self._settings)
        results = compute(requests[:done], batch.order.version, self._model, faults)
        leave(results, requests[done:], why)
        batch.status = "ended"
        batch.ended = at
        batch.counts = results.counts()
        batch.data = file_bytes(results.lines, faults)
        batch.order = replace(batch.order, requests=())
        del self._active[batch.id]


def page(items: list[dict[str, Any]], query: Mapping[str, str]) -> dict[str, Any]:
    """Return one page of ``items``, on either side of a batch or from the newest on."""
    text = query.get("limit", "20")
    if not text.isdecimal() or not 1 <= int(text) <= 1000:
        raise Refused(400, "limit: Input should be between 1 and 1000")
    limit, start, stop = int(text), 0, len(items)
    if "after_id" in query:
        start = _place(items, query["after_id"]) + 1
    if "before_id" in query:
        stop = _place(items, query["before_id"])
        start = max(start, stop - limit)
    data = items[start:stop][:limit]
    more = start > 0 if "before_id" in query else start + len(data) < stop
    return {
        "data": data,
        "has_more": more,
        "first_id": data[0]["id"] if data else None,
        "last_id": data[-1]["id"] if data else None,
    }


def _place(items: list[dict[str, Any]], batch_id: str) -> int:
    for number, item in enumerate(items):
        if item["id"] == batch_id:
            return number
    raise Refused(400, f"No Message Batch {batch_id} to page from.")
