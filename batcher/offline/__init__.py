"""The offline judges by name: one module a family, one dict literal."""

from batcher.offline import baselines, rules
from batcher.offline.base import OfflineJudge, Question

__all__ = ["JUDGES", "OfflineJudge", "Question"]

JUDGES: dict[str, OfflineJudge] = {
    "always_necessary": baselines.Always(redundant=False),
    "always_redundant": baselines.Always(redundant=True),
    "random": baselines.Random(),
    "rules": rules.Rules(),
}
