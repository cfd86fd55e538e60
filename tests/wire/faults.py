"""What can go wrong, as values: all off by default.

Two kinds of rule say where they strike, from which matching call or line on (``first``, counted
from 1), and how often (``times``; 0 is for ever). The rest are switches of the whole service.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from tests.wire.plain import from_plain

CallKind = Literal[
    "status",  # answer with an HTTP status and do nothing
    "drop",  # close the connection without doing anything
    "drop_after",  # do it, then close the connection without an answer
    "delay",  # wait, then do it
    "delay_after",  # do it, then wait before the answer
    "html",  # HTTP 200 with a web page
    "truncated_json",  # a complete HTTP answer whose JSON is cut
    "cut_length",  # fewer bytes than Content-Length says
    "cut_close",  # no length; the closed connection ends the body too early
    "cut_chunked",  # chunked, without the last chunk
    "small_chunks",  # everything arrives, seven bytes at a time
    "wrapped",  # the object inside {"job": ...}
    "unknown_status",  # ``value`` in place of the status
    "upper_status",  # COMPLETED
    "counts_null",  # no request counts
    "backwards",  # a state the batch has left already
]
LineKind = Literal[
    "http_error",  # ``status`` and ``code`` in response.body.error, error null; or errored
    "request_timeout",  # response null, error code request_timeout; or errored
    "no_response_key",  # an error line without the key ``response``, or ``result``
    "status_zero",  # status code 0, empty body, error null
    "body_null",  # status code 200 without a body; succeeded without a message
    "string_body",  # the body, or the message, is a string that holds JSON
    "refusal",
    "length",  # the answer is cut half way
    "empty_choices",  # or an empty content list
    "thinking",  # a message whose text comes after a thinking block
    "stop_reason",  # a message with ``value`` (pause_turn) for its stop_reason
    "unknown_result",  # a result of the type ``value`` (postponed) and nothing else
    "content_null",
    "content_filter",  # nothing said, no refusal text either
    "no_usage",
    "line_separator",  # U+2028 and U+0085 inside the content
    "fenced",  # the JSON inside a Markdown fence
    "text",  # ``value`` is the content
    "duplicate_same",  # the line twice
    "duplicate_other",  # a second line with another answer
    "missing",  # no line at all
    "unknown_id",  # one more line, with an id nobody sent
    "corrupt",  # half a line
]


@dataclass(frozen=True, slots=True)
class CallFault:
    """A fault of one HTTP route, such as ``batches.create`` (``*`` is every route).

    ``pattern`` is a regular expression sought in the path, the body and, for a new batch,
    ``model=<its model>`` on a line of its own.
    """

    route: str
    kind: CallKind
    first: int = 1
    times: int = 1
    pattern: str = ""
    status: int = 500
    code: str | None = None
    message: str = "The server had an error while processing your request."
    retry_after: str | None = None
    seconds: float = 0.0
    value: str = ""


@dataclass(frozen=True, slots=True)
class LineFault:
    """A fault of single requests: lines of a batch, and live calls where that makes sense.

    Three regular expressions choose: the custom id, the model, and the canonical body.
    ``in_output`` puts a failed line into the output file instead of the error file. For a message,
    the type of an ``http_error`` follows from ``status`` unless ``value`` names another.
    """

    kind: LineKind
    custom_id: str = ""
    model: str = ""
    body: str = ""
    first: int = 1
    times: int = 0
    status: int = 400
    code: str | None = "invalid_prompt"
    message: str = "Invalid request."
    value: str = ""
    in_output: bool = False


@dataclass(frozen=True, slots=True)
class Faults:
    """Everything that is wrong with the service.

    ``quota_over_lines`` and ``most_lines`` limit the requests of a batch; the refusal does not say
    how many there may be. ``stuck_finalizing`` is a message batch that stays in progress.
    ``params_refused`` says when a message batch is told of bad params, and ``sampling_refused``
    when of sampling parameters, which the API version 2026-10-21 is without; in a live call any of
    it is refused at once.
    ``single_error_nesting`` leaves out the outer of the two errors of an errored result.
    ``results_base`` replaces scheme and host of results_url; "" makes it relative. ``vocabulary``
    bills by a vocabulary of tiktoken's, such as o200k_base, instead of four characters a token.
    """

    calls: tuple[CallFault, ...] = ()
    lines: tuple[LineFault, ...] = ()
    only_key: str | None = None
    scope_to_key: bool = False
    no_batch_api: bool = False
    clean_error_file: Literal["null", "empty_string", "empty_file"] = "null"
    cancel_terminal: Literal[400, 409, 200] = 400
    cancel_finishes: bool = False
    crlf: bool = False
    trailing_blank_line: bool = False
    list_lag: float = 0.0
    content_lag: float = 0.0
    stuck_finalizing: bool = False
    token_limits: dict[str, int] | None = None
    token_limit_shape: Literal["failed", "429", "400"] = "failed"
    quota_over_lines: int = 0
    most_lines: int = 0
    most_lines_shape: Literal["413", "400", "429", "failed"] = "400"
    unknown_models: tuple[str, ...] = ()
    prefix_cache: bool = False
    vary_repeats: bool = False
    params_refused: Literal["per_line", "at_create"] = "per_line"
    sampling_refused: Literal["per_line", "at_create", "never"] = "per_line"
    single_error_nesting: bool = False
    results_base: str | None = None
    vocabulary: str = ""

    @classmethod
    def parse(cls, value: object) -> Faults:
        """Read the faults from decoded JSON; an unknown name is a ``ValueError``."""
        return from_plain(value, cls)


class Strikes:
    """Counts the calls and lines that match each rule, and says which rules strike now."""

    def __init__(self, faults: Faults) -> None:
        self.struck: dict[str, int] = {}
        self.reset(faults)

    def reset(self, faults: Faults) -> None:
        """Put other faults in force and start counting again."""
        self.faults = faults
        self._seen: dict[tuple[str, int], int] = {}
        self.struck.clear()

    def call(self, route: str, subject: str) -> list[CallFault]:
        """Return the rules that strike this call."""
        return [
            rule
            for number, rule in enumerate(self.faults.calls)
            if rule.route in (route, "*")
            and re.search(rule.pattern, subject, re.MULTILINE)
            and self._turn(("call", number), rule)
        ]

    def line(self, custom_id: str, model: str, body: bytes) -> LineFault | None:
        """Return the first rule that strikes this request; ``body`` is canonical JSON."""
        for number, rule in enumerate(self.faults.lines):
            if (
                re.search(rule.custom_id, custom_id)
                and re.search(rule.model, model)
                and re.search(rule.body, body.decode())
                and self._turn(("line", number), rule)
            ):
                return rule
        return None

    def _turn(self, key: tuple[str, int], rule: CallFault | LineFault) -> bool:
        nth = self._seen[key] = self._seen.get(key, 0) + 1
        if nth < rule.first or (rule.times and nth >= rule.first + rule.times):
            return False
        self.struck[rule.kind] = self.struck.get(rule.kind, 0) + 1
        return True
