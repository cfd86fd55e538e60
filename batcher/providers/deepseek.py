"""DeepSeek: chat completions without a batch API, so its judges are always asked live.

Facts from its API pages of 2026-11: thinking is on unless it is switched off, and then the
temperature is ignored; the output cap is called ``max_tokens``; JSON mode has no schema; cached
input tokens are counted in ``prompt_cache_hit_tokens``.
"""

from __future__ import annotations

import os

from batcher import chat as wire
from batcher.judge import Judge
from batcher.providers.base import Builder

BASE_URL = "https://api.deepseek.com/v1"


def build(judge: Judge) -> Builder:
    """Make its requests; ``?thinking=enabled`` lets the model think, at its price."""
    base_url = judge.get("base_url") or os.environ.get("DEEPSEEK_BASE_URL") or BASE_URL
    dialect = wire.Dialect(
        cap="max_tokens",
        form="json_object",
        switches={"thinking": ("disabled", "enabled")},
        switch=lambda name, value: {name: {"type": value}},
    )
    return Builder(base_url.rstrip("/"), wire.ENDPOINT, wire.bodies(judge, dialect))
