"""The model behind the service: answers one body, live or in a batch, and bills for it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from tests.wire import answers
from tests.wire.answers import Answer
from tests.wire.clock import Clock
from tests.wire.exchange import Refused
from tests.wire.faults import LineFault, Strikes
from tests.wire.ledger import Ledger
from tests.wire.prefixes import PrefixCache
from tests.wire.vocabulary import recount

#: Raw in the wire bytes: both end a line for Python's splitlines, neither does for JSON.
SEPARATORS = "\u2028\x85"
#: Rules that fail a request before the model is asked.
NOT_ASKED = ("request_timeout", "no_response_key", "status_zero")


@dataclass(frozen=True, slots=True)
class Reply:
    """What one request got: an HTTP status with a body, and the rule that bent it.

    The status is 0 where the model was not asked.
    """

    status: int
    body: Any
    rule: LineFault | None = None


class Model:
    """Keeps what answers depend on besides the body: caches, repeats and faults."""

    def __init__(self, clock: Clock, ledger: Ledger, strikes: Strikes) -> None:
        self._clock = clock
        self._ledger = ledger
        self._strikes = strikes
        self._prefixes = PrefixCache()

    def reply(self, body: dict[str, Any], custom_id: str = "") -> Reply:
        """Answer ``body``; only answered requests are billed."""
        text = answers.canonical(body)
        rule = self._strikes.line(custom_id, str(body.get("model")), text)
        if rule is not None and rule.kind in NOT_ASKED:
            return Reply(0, {}, rule)
        try:
            self._refuse(body, rule)
        except Refused as refusal:
            return Reply(refusal.status, {"error": refusal.error}, rule)
        sha256 = hashlib.sha256(text).hexdigest()
        given = self._sample(body, sha256)
        if rule is not None:
            given = bend(given, rule)
        self._ledger.answered_bodies[sha256] += 1
        if custom_id:
            self._ledger.answered_custom_ids[custom_id] += 1
        self._ledger.bill(given.usage)
        made = answers.completion(body, given, sha256[:29], self._clock.now())
        if rule is not None and rule.kind == "empty_choices":
            made["choices"] = []
        if rule is not None and rule.kind == "no_usage":
            made["usage"] = None
        return Reply(200, made, rule)

    def _sample(self, body: dict[str, Any], sha256: str) -> Answer:
        faults = self._strikes.faults
        salt = cached = 0
        if faults.vary_repeats:
            salt = self._ledger.answered_bodies[sha256]
        if faults.prefix_cache:
            prompt = answers.prompt_text(body)
            cached = self._prefixes.cached(str(body.get("model")), prompt)
        given = answers.answer(body, salt=salt, cached=cached)
        return recount(body, given, faults.vocabulary) if faults.vocabulary else given

    def _refuse(self, body: dict[str, Any], rule: LineFault | None) -> None:
        if rule is not None and rule.kind == "http_error":
            raise Refused(rule.status, rule.message, code=rule.code)
        for name in ("model", "messages"):
            if not body.get(name):
                text = f"Missing required parameter: '{name}'."
                raise Refused(400, text, param=name, code="missing_required_parameter")
        if body["model"] in self._strikes.faults.unknown_models:
            text = f"The model `{body['model']}` does not exist or you do not have access to it."
            raise Refused(404, text, param="model", code="model_not_found")
        if body.get("stream"):
            raise Refused(400, "stream is not supported here.", param="stream")


def bend(given: Answer, rule: LineFault) -> Answer:
    """Return the answer as the rule wants it."""
    text = given.text or ""
    match rule.kind:
        case "refusal":
            refusal = rule.value or "I'm sorry, I can't help with that."
            return replace(given, text=None, refusal=refusal)
        case "length":
            return replace(given, text=text[: len(text) // 2], finish_reason="length")
        case "content_null":
            return replace(given, text=None)
        case "content_filter":
            return replace(given, text=None, finish_reason="content_filter")
        case "line_separator":
            return replace(given, text=_with_separators(text))
        case "fenced":
            return replace(given, text=f"```json\n{text}\n```")
        case "text":
            return replace(given, text=rule.value)
        case _:
            return given


def _with_separators(text: str) -> str:
    """Put the separators into the first free text of a JSON answer, so that it stays valid."""
    value = msgspec.json.decode(text)
    if isinstance(value, dict):
        for name, part in value.items():
            if isinstance(part, str) and " " in part:
                value[name] = part.replace(" ", SEPARATORS, 1)
                return msgspec.json.encode(value).decode()
    return text + SEPARATORS
