"""Plain SQL, one statement of meaning a file; this module only finds the files."""

from __future__ import annotations

from pathlib import Path

_HERE = Path(__file__).parent


def read(folder: str) -> dict[str, str]:
    """Return ``{file name without .sql: text}`` of one folder, in the order of the names."""
    return {path.stem: path.read_text("utf-8") for path in sorted((_HERE / folder).glob("*.sql"))}
