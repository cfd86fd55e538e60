"""How the provider behaves when nothing is wrong: durations and documented limits."""

from __future__ import annotations

from dataclasses import dataclass

from tests.wire.plain import from_plain


@dataclass(frozen=True, slots=True)
class Settings:
    """Durations are seconds in each state; limits are the provider's documented ones."""

    validating: float = 0.05
    in_progress: float = 0.05
    finalizing: float = 0.05
    cancelling: float = 0.05
    window: float = 86_400.0
    file_life: float = 2_592_000.0
    max_requests: int = 50_000
    max_bytes: int = 200_000_000
    max_upload_bytes: int = 512_000_000
    message_max_requests: int = 100_000
    message_max_bytes: int = 256_000_000
    message_result_life: float = 2_505_600.0
    models: tuple[str, ...] = ("gpt-4o-mini", "gpt-4.1-mini", "gpt-5-mini")

    @classmethod
    def parse(cls, value: object) -> Settings:
        """Read the settings from decoded JSON; an unknown name is a ``ValueError``."""
        return from_plain(value, cls)

    def seconds_in(self, status: str) -> float:
        """Return how long a batch stays in a state that is not terminal."""
        return {
            "validating": self.validating,
            "in_progress": self.in_progress,
            "finalizing": self.finalizing,
            "cancelling": self.cancelling,
        }[status]
