"""The Batch half of the OpenAI protocol: creation, the status machine, results."""

from __future__ import annotations

from dataclasses import replace

import msgspec

from tests.wire.batch import Batch, Hold, Order
from tests.wire.clock import Clock
from tests.wire.exchange import Refused, Request, Response, Route, json_response, route
from tests.wire.faults import Strikes
from tests.wire.input_file import InputFile, inspect
from tests.wire.ledger import Create, Ledger
from tests.wire.model import Model
from tests.wire.openai_files import OpenAIFiles, page
from tests.wire.orders import read_order
from tests.wire.queue_limits import QueueLimits
from tests.wire.result_files import Results, compute, file_bytes, leave
from tests.wire.settings import Settings


class OpenAIBatches:
    """All batches, oldest first; the caller holds the service's lock."""

    def __init__(
        self,
        clock: Clock,
        ledger: Ledger,
        strikes: Strikes,
        settings: Settings,
        files: OpenAIFiles,
        model: Model,
    ) -> None:
        self._clock = clock
        self._ledger = ledger
        self._strikes = strikes
        self._settings = settings
        self._files = files
        self._model = model
        self._batches: dict[str, Batch] = {}
        self._active: dict[str, Batch] = {}
        self._hold_all: Hold | None = None

    def routes(self) -> list[Route]:
        """Return the routes of this half."""
        return [
            route("batches.create", "POST", "/v1/batches", self._create),
            route("batches.list", "GET", "/v1/batches", self._list),
            route("batches.retrieve", "GET", "/v1/batches/{}", self._retrieve),
            route("batches.cancel", "POST", "/v1/batches/{}/cancel", self._cancel),
        ]

    def settle(self) -> None:
        """Make every move that is due, in the order of time, whichever batch it belongs to."""
        stuck = self._strikes.faults.stuck_finalizing
        while True:
            moves = [
                (step[0], batch.order.id, step[1])
                for batch in self._active.values()
                if (step := batch.next_step(self._settings, stuck=stuck)) is not None
            ]
            if not moves or min(moves)[0] > self._clock.now():
                return
            at, batch_id, status = min(moves)
            self._move(self._active[batch_id], status, at)

    def model_of_file(self, file_id: object) -> str | None:
        """Return the model on the first line of a file, so that a fault can choose by it."""
        try:
            file = self._files.find(str(file_id))
            model = msgspec.json.decode(file.data.partition(b"\n")[0])["body"]["model"]
        except (Refused, msgspec.DecodeError, KeyError, TypeError):
            return None
        return str(model)

    def hold(self, batch_id: str, status: str | None, done: int | None) -> None:
        """Keep one batch, or all and all to come (``*``), in a state."""
        if batch_id == "*":
            self._hold_all = Hold(status or "in_progress", done)
            for batch in self._active.values():
                batch.hold = self._hold_all
        else:
            batch = self._find(batch_id)
            batch.hold = Hold(status or batch.status, done)

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
            raise Refused(400, f"The batch is {batch.status} already.")
        batch.stopped_at = done if batch.results is None else None
        self._move(batch, "expired", self._clock.now())

    def _find(self, batch_id: str, key: str | None = None) -> Batch:
        batch = self._batches.get(batch_id)
        hidden = self._strikes.faults.scope_to_key and key is not None
        if batch is None or (hidden and batch.order.key != key):
            raise Refused(404, f"No batch found with id '{batch_id}'.", param="batch_id")
        return batch

    def _create(self, request: Request) -> Response:
        now = self._clock.now()
        order = read_order(request, now, self._settings)
        file = self._files.get(order.input_file_id, request.key)
        if file.purpose != "batch":
            raise Refused(400, "The file's purpose must be 'batch'.", param="input_file_id")
        source = inspect(file.data, order.endpoint, self._settings)
        self._limits().refuse(source)
        batch = Batch(order, source, entered=now, hold=self._hold_all)
        self._batches[order.id] = self._active[order.id] = batch
        self._record(order, source, request.retry_count)
        return self._show(batch)

    def _record(self, order: Order, source: InputFile, retry_count: int) -> None:
        for line in source.lines:
            self._ledger.custom_ids[line.custom_id] += 1
            self._ledger.bodies[line.body_sha256] += 1
        self._ledger.creates.append(
            Create(
                vendor="openai",
                batch_id=order.id,
                input_file_id=order.input_file_id,
                retry_count=retry_count,
                metadata=order.metadata,
                model=source.model,
                lines=len(source.lines),
                sha256=source.sha256,
                at=order.created,
            )
        )

    def _list(self, request: Request) -> Response:
        now = self._clock.now()
        faults = self._strikes.faults
        seen = [
            batch.plain(now, self._settings)
            for batch in reversed(self._batches.values())
            if batch.order.created + faults.list_lag <= now
            and (batch.order.key == request.key or not faults.scope_to_key)
        ]
        return json_response(page(seen, request, most=100, default=20))

    def _retrieve(self, request: Request) -> Response:
        return self._show(self._find(request.args[0], request.key))

    def _cancel(self, request: Request) -> Response:
        batch = self._find(request.args[0], request.key)
        now = self._clock.now()
        answer = self._strikes.faults.cancel_terminal
        if batch.over and answer != 200:
            raise Refused(answer, f"Cannot cancel a batch with status '{batch.status}'.")
        if not batch.over and batch.status != "cancelling":
            batch.stopped_at = batch.done_by(now, self._settings)
            if self._strikes.faults.cancel_finishes:
                batch.stopped_at = len(batch.source.lines)
            batch.enter("cancelling", now)
            self._ledger.cancelled.append(batch.order.id)
        return self._show(batch)

    def _show(self, batch: Batch) -> Response:
        return json_response(batch.plain(self._clock.now(), self._settings))

    def _limits(self) -> QueueLimits:
        return QueueLimits(self._strikes.faults, list(self._active.values()))

    def _move(self, batch: Batch, status: str, at: float) -> None:
        if status == "in_progress":
            problems = batch.source.problems or self._limits().problems(batch)
            if problems:
                batch.errors = [problem.plain() for problem in problems]
                status = "failed"
        elif status == "finalizing":
            batch.results = compute(batch.source, batch.shuffled(), self._model)
        elif status in ("expired", "cancelled"):
            self._stop(batch, status, at)
        batch.enter(status, at)
        if batch.over:
            del self._active[batch.order.id]
            self._publish(batch, at)
            batch.source = replace(batch.source, data=b"")

    def _stop(self, batch: Batch, status: str, at: float) -> None:
        """Compute what ran before the batch was stopped, and name the rest."""
        if batch.results is not None:
            return
        done = batch.done_by(at, self._settings)
        lines = batch.shuffled()
        batch.results = compute(batch.source, lines[:done], self._model)
        leave(batch.results, lines[done:], f"batch_{status}")

    def _publish(self, batch: Batch, at: float) -> None:
        """Write the result files of a batch that is over."""
        results = batch.results
        if results is None:
            return
        faults = self._strikes.faults
        if results.output:
            batch.output_file_id = self._store(batch, "output", results, at)
        if results.errors or faults.clean_error_file == "empty_file":
            batch.error_file_id = self._store(batch, "error", results, at)
        elif faults.clean_error_file == "empty_string":
            batch.error_file_id = ""
        results.output.clear()
        results.errors.clear()

    def _store(self, batch: Batch, which: str, results: Results, at: float) -> str:
        lines = results.output if which == "output" else results.errors
        data = file_bytes(lines, self._strikes.faults) if lines else b""
        name = f"{batch.order.id}_{which}.jsonl"
        return self._files.add_result(batch.order.key, name, data, at, batch.order.output_life)
