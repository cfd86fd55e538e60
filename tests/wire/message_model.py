"""The model behind the Messages API: the answers are those of the other vendor's model."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import Any

from tests.wire import answers, messages
from tests.wire.answers import Answer
from tests.wire.anthropic_errors import inner
from tests.wire.clock import Clock
from tests.wire.exchange import Refused
from tests.wire.faults import LineFault, Strikes
from tests.wire.ledger import Ledger
from tests.wire.message_cache import CacheUse, MessageCache
from tests.wire.message_params import refuse_params, refuse_sampling
from tests.wire.model import NOT_ASKED, Reply, bend
from tests.wire.vocabulary import recount

#: Billed beside the text where an answer begins with thinking.
THOUGHT_TOKENS = 12


class MessageModel:
    """Answers and bills one body; a failed reply has the inner error for its body."""

    def __init__(self, clock: Clock, ledger: Ledger, strikes: Strikes) -> None:
        self._clock = clock
        self._ledger = ledger
        self._strikes = strikes
        self._cache = MessageCache()

    def reply(self, params: dict[str, Any], version: str, custom_id: str | None = None) -> Reply:
        """Answer ``params``; a request without a custom id is a live call."""
        text = answers.canonical(params)
        rule = self._strikes.line(custom_id or "", str(params.get("model")), text)
        if rule is not None and rule.kind in NOT_ASKED:
            return Reply(504, inner(504, "The request to the model timed out."), rule)
        if rule is not None and rule.kind == "http_error":
            return Reply(rule.status, inner(rule.status, rule.message, rule.value), rule)
        try:
            self._refuse(params, version, batch=custom_id is not None)
        except Refused as refusal:
            return Reply(refusal.status, inner(refusal.status, str(refusal)), rule)
        sha256 = hashlib.sha256(text).hexdigest()
        given = self._sample(params, sha256)
        if rule is not None:
            given = _bent(given, rule)
        self._ledger.answered_bodies[sha256] += 1
        if custom_id is not None:
            self._ledger.answered_custom_ids[custom_id] += 1
        self._ledger.bill(given.usage)
        tier = "standard" if custom_id is None else "batch"
        return Reply(200, messages.message(params, given, sha256[:24], tier, rule), rule)

    def _sample(self, params: dict[str, Any], sha256: str) -> Answer:
        faults = self._strikes.faults
        salt = self._ledger.answered_bodies[sha256] if faults.vary_repeats else 0
        used = self._cache.use(params, self._clock.now()) if faults.prefix_cache else CacheUse()
        given = answers.answer(params, salt=salt, cached=used.read)
        written = {"written_5m": used.written_5m, "written_1h": used.written_1h}
        given = replace(given, usage=replace(given.usage, **written))
        return recount(params, given, faults.vocabulary) if faults.vocabulary else given

    def _refuse(self, params: dict[str, Any], version: str, *, batch: bool) -> None:
        faults = self._strikes.faults
        if faults.sampling_refused != "never":
            refuse_sampling(params, version)
        refuse_params(params, batch=batch)
        if params["model"] in faults.unknown_models:
            raise Refused(404, f"model: {params['model']}")


def _bent(given: Answer, rule: LineFault) -> Answer:
    usage = given.usage
    if rule.kind == "thinking":
        total = usage.completion + THOUGHT_TOKENS
        return replace(given, usage=replace(usage, completion=total, reasoning=THOUGHT_TOKENS))
    return bend(given, rule)
