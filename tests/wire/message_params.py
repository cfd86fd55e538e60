"""The check of one Messages body, for a live call or for a request of a batch."""

from __future__ import annotations

from typing import Any

from tests.wire import message_schemas
from tests.wire.exchange import Refused
from tests.wire.message_cache import MOST_MARKS, prefixes

#: The version from which on sampling parameters are refused, even at their defaults.
WITHOUT_SAMPLING = "2026-10-21"
SAMPLING = ("temperature", "top_p", "top_k")
_ROLES = ("user", "assistant", "system")
_KNOWN = (
    *("model", "messages", "max_tokens", "system", "tools", "tool_choice", "thinking"),
    *("output_config", "output_format", "stop_sequences", "metadata", "cache_control", "stream"),
    *("service_tier", "container", "inference_geo", "diagnostics", "mcp_servers", "betas"),
    *("context_management", "compaction", "fallbacks", "billing_policy", "speed"),
)
#: Not in a batch, though fine in a live call.
_NOT_IN_BATCH = (
    *("speed", "store", "previous_thread_event_id", "cache_hint", "context_hint"),
    "fallback_credit_token",
)


def refuse_sampling(params: dict[str, Any], version: str) -> None:
    """Refuse sampling parameters in the versions that are without them."""
    for name in SAMPLING:
        if version >= WITHOUT_SAMPLING and name in params:
            raise Refused(400, f"{name}: This parameter is not supported in this version.")


def refuse_params(params: dict[str, Any], *, batch: bool) -> None:
    """Refuse everything else that a body cannot say."""
    for name in ("model", "max_tokens", "messages"):
        if params.get(name) is None:
            raise Refused(400, f"{name}: Field required")
    most = params["max_tokens"]
    if isinstance(most, bool) or not isinstance(most, int) or most < 1:
        raise Refused(400, "max_tokens: Input should be a whole number of at least 1")
    if params.get("stream"):
        raise Refused(400, "stream: Streaming is not supported here")
    for name in params:
        if (batch and name in _NOT_IN_BATCH) or name not in (*_KNOWN, *_NOT_IN_BATCH, *SAMPLING):
            where = " in a batch" if name in (*_KNOWN, *_NOT_IN_BATCH) else ""
            raise Refused(400, f"{name}: Extra inputs are not permitted{where}")
    _refuse_messages(params["messages"])
    _refuse_format(params)
    if sum(1 for prefix in prefixes(params) if prefix.life) > MOST_MARKS:
        raise Refused(400, f"A maximum of {MOST_MARKS} blocks with cache_control may be provided.")


def _refuse_messages(messages: Any) -> None:
    if not isinstance(messages, list) or not messages:
        raise Refused(400, "messages: at least one message is required")
    for number, message in enumerate(messages):
        if not isinstance(message, dict) or message.get("role") not in _ROLES:
            raise Refused(400, f"messages.{number}.role: Input should be one of {_ROLES}")
        if not message.get("content"):
            raise Refused(400, f"messages.{number}: content must not be empty")


def _refuse_format(params: dict[str, Any]) -> None:
    config = params.get("output_config")
    wanted = config.get("format") if isinstance(config, dict) else None
    if wanted is None:
        return
    if not isinstance(wanted, dict) or wanted.get("type") != "json_schema":
        raise Refused(400, "output_config.format.type: Input should be 'json_schema'")
    text = message_schemas.problem(wanted.get("schema"))
    if text is not None:
        raise Refused(400, f"output_config.format.schema: {text}")
    if params["messages"][-1]["role"] == "assistant":
        raise Refused(400, "A prefilled answer cannot be combined with output_config.format.")
