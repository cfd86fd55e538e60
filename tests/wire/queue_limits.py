"""The queue's limits: enqueued prompt tokens per model, and how many requests a batch may hold.

The same refusal comes in two shapes in the wild: an HTTP error on creation, or a batch that fails
after it was accepted.
"""

from __future__ import annotations

from collections.abc import Sequence

from tests.wire.batch import Batch
from tests.wire.exchange import Refused
from tests.wire.faults import Faults
from tests.wire.input_file import InputFile, Problem

_QUOTA = "You exceeded your current quota, please check your plan and billing details."

#: What a batch of too many requests is told, by the HTTP status. No number is named.
TOO_MANY = {
    "413": "Request Entity Too Large",
    "400": "The batch holds too many requests.",
    "429": "Too many requests in this batch; please send smaller batches.",
    "failed": "The batch holds too many requests.",
}


class QueueLimits:
    """The limits against the batches that are not over."""

    def __init__(self, faults: Faults, active: Sequence[Batch]) -> None:
        self._faults = faults
        self._active = active

    def refuse(self, source: InputFile) -> None:
        """Refuse a creation where the faults say that limits act at once."""
        most = self._faults.quota_over_lines
        if most and len(source.lines) > most:
            raise Refused(429, _QUOTA, kind="insufficient_quota", code="insufficient_quota")
        refuse_many(len(source.lines), self._faults)
        shape = self._faults.token_limit_shape
        text = self._text(source, self._active)
        if text is not None and shape != "failed":
            raise Refused(int(shape), text, kind="tokens", code="token_limit_exceeded")

    def problems(self, batch: Batch) -> tuple[Problem, ...]:
        """Return why a valid batch fails all the same when its validation ends."""
        model = batch.source.model
        if model is not None and model in self._faults.unknown_models:
            text = f"The model `{model}` does not exist or cannot be used in a batch."
            return (Problem("model_not_found", text, None, "body.model"),)
        most = self._faults.most_lines
        if most and self._faults.most_lines_shape == "failed" and len(batch.source.lines) > most:
            return (Problem("too_many_tasks", TOO_MANY["failed"]),)
        if self._faults.token_limit_shape == "failed":
            running = [other for other in self._active if other.status != "validating"]
            refusal = self._text(batch.source, running)
            if refusal is not None:
                return (Problem("token_limit_exceeded", refusal),)
        return ()

    def _text(self, source: InputFile, others: Sequence[Batch]) -> str | None:
        """Return the refusal if ``source`` does not fit beside ``others``."""
        limit = (self._faults.token_limits or {}).get(str(source.model))
        if limit is None:
            return None
        queued = sum(o.source.prompt_tokens for o in others if o.source.model == source.model)
        if queued + source.prompt_tokens <= limit:
            return None
        return (
            f"Enqueued token limit reached for {source.model} in organization org-loopback. "
            f"Limit: {limit:,} enqueued tokens. "
            "Please try again once some in_progress batches have been completed."
        )


def refuse_many(lines: int, faults: Faults) -> None:
    """Refuse the creation of a batch with more lines than the faults allow."""
    shape = faults.most_lines_shape
    if faults.most_lines and lines > faults.most_lines and shape != "failed":
        raise Refused(int(shape), TOO_MANY[shape])
