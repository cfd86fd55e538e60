"""Who answers: ``provider:model?param=value``, read and printed."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import parse_qsl, quote, urlencode

from cache.errors import UsageError

#: Parameters that say how to reach a judge. They are not sent, and so are no part of a prompt.
TRANSPORT = ("base_url", "mode")

MODES = ("batch", "live")

#: Providers that have no batch API.
LIVE_ONLY = ("deepseek",)


#: ``?preset=paper``: the settings of the paper's Table 4, by provider; other parameters go first.
PRESETS: dict[str, dict[str, dict[str, str]]] = {
    "paper": {
        "openai": {"max_tokens": "16384"},
        "deepseek": {
            "max_tokens": "384000",
            "temperature": "1.0",
            "thinking": "enabled",
            "top_p": "1",
        },
    }
}


@dataclass(frozen=True, slots=True)
class Judge:
    """``params`` are sorted by name; their values are still text."""

    provider: str
    model: str
    params: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        """The judge as it is written, with sorted parameters; this is its name in the database."""
        query = urlencode(self.params, quote_via=quote, safe=":/,")
        return f"{self.provider}:{self.model}" + (f"?{query}" if query else "")

    def get(self, name: str, default: str = "") -> str:
        """Return one parameter's text."""
        return dict(self.params).get(name, default)

    @property
    def mode(self) -> str:
        """How its prompts travel: ``batch`` or ``live``."""
        return self.get("mode", "live" if self.provider in LIVE_ONLY else "batch")

    @property
    def sent_params(self) -> dict[str, str]:
        """The parameters that are sent to the model."""
        return {name: value for name, value in self.params if name not in TRANSPORT}


def parse(text: str) -> Judge:
    """Return the judge that ``text`` names; raises ``UsageError`` saying what is wrong with it."""
    head, _, query = text.partition("?")
    provider, colon, model = head.partition(":")
    if not colon or not provider or not model:
        raise UsageError(
            f"judge {text!r} is not of the form provider:model?param=value, such as openai:gpt-4o "
            "or offline:rules"
        )
    if re.search(r"[\s\x00-\x1f]", head):
        raise UsageError(f"judge {text!r} has a blank in its name")
    try:
        pairs = parse_qsl(query, keep_blank_values=True, strict_parsing=bool(query))
    except ValueError as error:
        raise UsageError(f"judge {text!r}: parameters are name=value, joined by &") from error
    names = [name for name, _ in pairs]
    for name in names:
        if names.count(name) > 1:
            raise UsageError(f"judge {text!r} gives {name} twice")
    params = dict(pairs)
    if (preset := params.pop("preset", None)) is not None:
        if provider not in PRESETS.get(preset, {}):
            known = ", ".join(f"{name} ({', '.join(of)})" for name, of in PRESETS.items())
            raise UsageError(f"judge {text!r}: no preset {preset!r} for {provider}; known: {known}")
        params = PRESETS[preset][provider] | params
    judge = Judge(provider, model, tuple(sorted(params.items())))
    if judge.mode not in MODES:
        raise UsageError(f"judge {text!r}: mode is {judge.mode!r}; known: {', '.join(MODES)}")
    if provider in LIVE_ONLY and judge.mode == "batch":
        raise UsageError(f"judge {text!r}: {provider} has no batch API; leave mode out to ask live")
    return judge
