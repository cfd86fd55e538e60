"""Files into the input tables: every one is read and checked before any is stored."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path

from cache.importers import read
from cache.inputs import Imported, write
from cache.records import Annotation, Trajectory
from cache.store import Store

_SAMPLE = Path(__file__).parent / "sample"

#: The trajectories that come with the package, and their labels.
SAMPLE = (_SAMPLE / "library.json", _SAMPLE / "labels.jsonl")


def collect(
    store: Store,
    paths: Sequence[Path],
    *,
    now: datetime,
    form: str | None = None,
    dataset: str | None = None,
    progress: Callable[[], None] = lambda: None,
) -> Imported:
    """Import ``paths`` in one transaction; ``progress`` is called once a path.

    Raises ``InputError`` or ``UsageError`` naming the file and the place in it; nothing is
    imported then.
    """
    items: list[tuple[str, Trajectory | Annotation]] = []
    for path in paths:
        items += [(path.name, item) for item in read(path, form=form, dataset=dataset)]
        progress()
    return write(store, items, dataset=dataset, now=now)
