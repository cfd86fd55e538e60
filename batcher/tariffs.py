"""The user's own price list, ``prices.toml``: dated prices by the beginning of a model's name."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path

from batcher.rates import Rates, complete
from cache.errors import InputError

#: Where the list is looked for when none is named.
DEFAULT = Path("prices.toml")

_PRICES = ("input", "output", "cached", "write_5m", "write_1h")


@dataclass(frozen=True, slots=True)
class Tariff:
    """Prices of models whose names begin alike, from a day (UTC) on; None is from ever.

    ``name`` is the beginning of a model's name, or of ``provider:model``.
    """

    name: str
    since: date | None
    live: Rates
    batch: Rates


def tariffs(path: Path | None) -> tuple[Tariff, ...]:
    """Return what a price list says; without a path that of ``prices.toml``, if there is one.

    Raises ``InputError`` that names the file and the entry.
    """
    if path is None and not DEFAULT.is_file():
        return ()
    where = path or DEFAULT
    try:
        found = tomllib.loads(where.read_text("utf-8"))
    except OSError as error:
        raise InputError(f"{where}: cannot be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{where}: not readable as TOML: {error}") from error
    made: list[Tariff] = []
    for name, entries in found.items():
        listed = entries if isinstance(entries, list) else [entries]
        mine = [_tariff(f"{where}: [{name}]", name, entry, where.name) for entry in listed]
        if len({one.since for one in mine}) < len(mine):
            raise InputError(f"{where}: [{name}]: two entries begin on the same day; keep one")
        made += mine
    return tuple(made)


def find(listed: Sequence[Tariff], provider: str, model: str, day: date) -> Tariff | None:
    """Return the tariff of a model on a day: the longest name that fits, and its newest entry.

    A name with the provider goes before one without. Before the first day of an entry it is not
    there.
    """

    def is_provider_s(one: Tariff) -> bool:  # a model's own name may hold a colon as well
        return one.name.startswith(f"{provider}:") and f"{provider}:{model}".startswith(one.name)

    fitting = [
        one
        for one in listed
        if (one.since is None or one.since <= day)
        and (model.startswith(one.name) or is_provider_s(one))
    ]
    return max(
        fitting,
        key=lambda one: (is_provider_s(one), len(one.name), one.since or date.min),
        default=None,
    )


def _tariff(where: str, name: str, entry: object, file: str) -> Tariff:
    if not isinstance(entry, Mapping):
        raise InputError(f"{where}: {entry!r} is no table of prices")
    for key in entry:
        if key not in (*_PRICES, "from", "batch"):
            raise InputError(
                f"{where}: unknown key {key!r}; it takes from, {', '.join(_PRICES)} and batch "
                "(a model's name with a dot in it needs quotes)"
            )
    since = entry.get("from")
    if since is not None and (not isinstance(since, date) or isinstance(since, datetime)):
        raise InputError(f"{where}: from = {since!r} is no date; write it like 2026-01-31")
    source = f"{file}: {name}{f' from {since}' if since else ''}"
    live = _rates(where, entry, source)
    return Tariff(name, since, live, _batch(where, entry.get("batch", 1), live))


def _batch(where: str, given: object, live: Rates) -> Rates:
    """Return the prices in batches: a part of each live price, or prices of their own."""
    source = f"{live.source}, batch"
    if isinstance(given, Mapping):
        for key in given:
            if key not in _PRICES:
                known = ", ".join(_PRICES)
                raise InputError(f"{where}: unknown key 'batch.{key}'; batch takes {known}")
        return _rates(f"{where}: batch", given, source)
    part = _number(where, "batch", given)
    return Rates(
        live.input * part,
        live.cached * part,
        live.write_5m * part,
        live.write_1h * part,
        live.output * part,
        source,
    )


def _rates(where: str, entry: Mapping[str, object], source: str) -> Rates:
    given = {key: _number(where, key, entry[key]) for key in _PRICES if key in entry}
    for key in ("input", "output"):
        if key not in given:
            raise InputError(f"{where}: no {key}; give it in dollars per million tokens")
    return complete(
        source,
        given["input"],
        given["output"],
        cached=given.get("cached"),
        write_5m=given.get("write_5m"),
        write_1h=given.get("write_1h"),
    )


def _number(where: str, key: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InputError(f"{where}: {key} = {value!r} is not a number")
    if not math.isfinite(value) or value < 0:
        raise InputError(f"{where}: {key} = {value} is no price; it is 0 or more")
    return float(value)
