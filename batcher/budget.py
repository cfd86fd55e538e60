"""A cap on what the database may cost, kept by setting money aside before anything is sent.

What a batch may cost at most, as far as one can tell, is written with its lines in the transaction
that claims them, before the provider hears of it. So neither a crash nor a second run can spend it
twice; as answers come in, what they did cost takes its place.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from batcher.pack import Due
from cache.store import Connection, Store


def dollars(amount: float) -> str:
    """Return an amount as words: cents where there are some, else enough digits to see it."""
    return f"${amount:,.2f}" if amount >= 1 else f"${amount:.4f}"


@dataclass(slots=True)
class Budget:
    """What may still be set aside, in US dollars; infinite without a cap."""

    max_usd: float
    spent_usd: float
    reserved_usd: float
    allow_unpriced: bool
    n_unreserved: int
    left_usd: float

    @property
    def is_set(self) -> bool:
        """Whether there is a cap at all."""
        return math.isfinite(self.max_usd)

    @property
    def is_blind(self) -> bool:
        """Whether open batches may cost nobody knows what, so that no cap can be kept.

        That is so for lines put back from the journal, or sent without a price or a cap.
        """
        return self.is_set and self.n_unreserved > 0 and not self.allow_unpriced

    def takes(self, due: Due) -> bool:
        """Tell whether a prompt may be sent as far as prices are known."""
        return not self.is_set or self.allow_unpriced or due.reserved_usd is not None

    def afford(self, shard: Sequence[Due]) -> list[Due]:
        """Return as many prompts of ``shard``, from its start, as can be paid, and reserve that."""
        if not self.is_set:
            return list(shard)
        bought: list[Due] = []
        if self.is_blind:
            return bought
        for due in shard:
            price = due.reserved_usd or 0.0
            if price > self.left_usd:
                break
            self.left_usd -= price
            self.reserved_usd += price
            bought.append(due)
        return bought

    def __str__(self) -> str:
        """The cap and how much of it is gone, as words."""
        return (
            f"of the budget of {dollars(self.max_usd)}, {dollars(self.spent_usd)} is spent and "
            f"{dollars(self.reserved_usd)} is reserved"
        )


def budget(con: Connection) -> Budget:
    """Return the budget in force, from the view ``budget_standing``."""
    row = con.execute(
        "select coalesce(max_usd, 'infinity'), spent_usd, reserved_usd, allow_unpriced, "
        "n_unreserved, coalesce(left_usd, 'infinity') from budget_standing"
    ).fetchone()
    assert row is not None, "the view has one row"
    return Budget(*row)


def set_budget(store: Store, max_usd: float, allow_unpriced: bool, now: datetime) -> None:
    """Put a cap on what the database may cost in all; infinity lifts it."""
    with store.writing() as con:
        con.execute(
            "insert into budgets select $1, $2, $3::timestamptz where not exists (from "
            "budget_standing where max_usd = $1 and allow_unpriced = $2)",
            [max_usd, allow_unpriced, now],
        )
