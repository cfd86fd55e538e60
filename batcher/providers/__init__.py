"""The providers by name; one module each, imported when it is used."""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING, cast

from cache.errors import MissingKey, UsageError

if TYPE_CHECKING:
    from batcher.judge import Judge
    from batcher.providers.base import Builder, Provider

#: provider name: (module, environment variable of its key, what it is)
PROVIDERS = {
    "offline": ("offline", "", "judges that are programs: no key, no network, no cost"),
    "anthropic": ("anthropic", "ANTHROPIC_API_KEY", "Anthropic Message Batches"),
    "deepseek": ("deepseek", "DEEPSEEK_API_KEY", "DeepSeek, which has no batch API: asked live"),
    "openai": ("openai", "OPENAI_API_KEY", "OpenAI Batch, and servers that speak its protocol"),
}


def module_of(provider: str) -> str:
    """Return the module name of a provider; raises ``UsageError`` listing the known ones."""
    if provider not in PROVIDERS:
        raise UsageError(
            f"no provider is called {provider!r}; there are: {', '.join(sorted(PROVIDERS))}"
        )
    return PROVIDERS[provider][0]


def builder(judge: Judge) -> Builder:
    """Return how a judge's prompts are made; raises ``UsageError`` for what it does not take."""
    module = import_module(f"{__name__}.{module_of(judge.provider)}")
    return cast("Builder", module.build(judge))


def connect(provider: str, base_url: str, mode: str) -> Provider:
    """Return a ready provider; raises ``MissingKey`` where the environment holds no key."""
    module = module_of(provider)
    variable = PROVIDERS[provider][1]
    key = os.environ.get(variable, "") if variable else ""
    if variable and not key:
        raise MissingKey(
            f"no API key: set {variable} in the environment (any value does for a local server), "
            "or ask offline judges, which need none: --judge offline:rules"
        )
    # Live calls are the same for every server that speaks chat completions.
    live = mode == "live" and provider != "offline"
    found = import_module(f"{__name__}.{'live' if live else module}")
    return cast("Provider", found.connect(base_url, key))
