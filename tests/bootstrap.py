"""The bootstrap in plain Python, to hold the views against; only the dice are the database's."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction

import pytest

from cache.store import Connection
from tests.test_metrics import (
    WINDOW,
    Row,
    World,
    grouped,
)

RESAMPLES = 1000
OTHER = ("window_to_one", "aaa", False, "offline:x")

#: Sums over the repeats of one trajectory, and how many there are.
Part = tuple[Fraction, int]


class Draws:
    """Which trajectories each resample of a domain takes: only the dice are the database's."""

    def __init__(self, con: Connection) -> None:
        self._con = con
        self._known: dict[tuple[str, int], list[list[int]]] = {}

    def of(self, domain: str, n: int) -> list[list[int]]:
        if (domain, n) not in self._known:
            rows = self._con.execute(
                "select list(hash(hash(1, $1, r, k)) % $2 order by k) "
                "from range($3) a(r), range($2) b(k) group by r order by r",
                [domain, n, RESAMPLES],
            ).fetchall()
            self._known[domain, n] = [row[0] for row in rows]
        return self._known[domain, n]

    def resampled(self, domain: str, parts: Sequence[Part]) -> list[float | None]:
        """Return the mean of each resample; None where nothing in it counts."""
        sums, counts = [float(total) for total, _ in parts], [n for _, n in parts]
        means: list[float | None] = []
        for places in self.of(domain, len(parts)):
            n = sum(counts[at] for at in places)
            means.append(math.fsum(sums[at] for at in places) / n if n else None)
        return means


def bounds(means: Sequence[float | None]) -> tuple[float | None, float | None]:
    """Return the 2.5 % and 97.5 % quantiles, interpolated; None counts for nothing."""
    known = sorted(value for value in means if value is not None)
    if not known:
        return None, None

    def at(share: float) -> float:
        position = share * (len(known) - 1)
        below = math.floor(position)
        above = min(below + 1, len(known) - 1)
        return known[below] + (position - below) * (known[above] - known[below])

    return at(0.025), at(0.975)


def interval(
    draws: Draws, domains: Mapping[str, Sequence[Part]]
) -> tuple[float | None, float | None]:
    """Return the interval of the mean of domains, or None where one has too few trajectories."""
    if any(sum(n > 0 for _, n in parts) < 2 for parts in domains.values()):
        return None, None
    each = [draws.resampled(domain, parts) for domain, parts in sorted(domains.items())]
    averages: list[float | None] = []
    for values in zip(*each, strict=True):
        known = [value for value in values if value is not None]
        averages.append(math.fsum(known) / len(each) if len(known) == len(each) else None)
    return bounds(averages)


def parts_of(rows: Sequence[Row], name: str, wanted: str) -> list[Part]:
    """Return one part a trajectory, by its id: of the rows that are ``wanted`` and have a value."""
    by_run = sorted(grouped(rows, ("trajectory_id",)).items())
    found = []
    for _, repeats in by_run:
        some = [row[name] for row in repeats if row[wanted] and row[name] is not None]
        found.append((sum(map(Fraction, some), Fraction(0)), len(some)))
    return found


def close(got: float | None, wanted: float | Fraction | None) -> bool:
    if got is None or wanted is None:
        return got is wanted
    return got == pytest.approx(float(wanted), rel=1e-9, abs=1e-12)


def many(n: int, n_steps: int = 6) -> World:
    """Return ``n`` runs in two domains, judged by two judges that are often right."""
    world = World()
    for at in range(n):
        labels = {step for step in range(1, n_steps + 1) if (at * 7 + step * 5) % 11 < 3}
        world.run(f"t{at:03}", n_steps, {"v1": labels}, "retail" if at % 3 else "airline")
        for who, setting in enumerate((WINDOW, OTHER)):
            said = [
                ((at * 13 + step * 17 + who * 5) % 7 < 2) != (step in labels)
                for step in range(1, n_steps + 1)
            ]
            world.ask(f"t{at:03}", said, setting)
    return world
