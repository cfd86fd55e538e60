"""What tokens cost: unit prices in US dollars per million tokens, and the bill of one request."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Tokens:
    """The usage of one request, in tokens.

    ``input`` is all of the input: ``cached`` were read from a prompt cache, ``written_5m`` and
    ``written_1h`` were put into one for that long, and the rest is fresh. ``output`` includes
    reasoning.
    """

    input: int
    output: int
    cached: int = 0
    written_5m: int = 0
    written_1h: int = 0


@dataclass(frozen=True, slots=True)
class Rates:
    """US dollars per million tokens of each kind, and where these prices are from.

    No field is empty: a kind of token that has no price of its own costs what the next plainer one
    does (a one-hour write a five-minute one, a write or a cached token a fresh one).
    """

    input: float
    cached: float
    write_5m: float
    write_1h: float
    output: float
    source: str

    def usd(self, tokens: Tokens) -> float:
        """Return the dollars for one request.

        The order of the terms is that of the columns of ``responses``, so that SQL over these
        columns gives the very same number.
        """
        taken = tokens.cached + tokens.written_5m + tokens.written_1h
        return (
            max(tokens.input - taken, 0) * self.input
            + tokens.cached * self.cached
            + tokens.written_5m * self.write_5m
            + tokens.written_1h * self.write_1h
            + tokens.output * self.output
        ) / 1e6


def complete(
    source: str,
    fresh: float,
    output: float,
    *,
    cached: float | None = None,
    write_5m: float | None = None,
    write_1h: float | None = None,
) -> Rates:
    """Return rates in which every kind of token has a price, by the rule of ``Rates``."""
    short = fresh if write_5m is None else write_5m
    return Rates(
        input=fresh,
        cached=fresh if cached is None else cached,
        write_5m=short,
        write_1h=short if write_1h is None else write_1h,
        output=output,
        source=source,
    )


#: Programs on this machine.
FREE = Rates(0.0, 0.0, 0.0, 0.0, 0.0, "offline")


@dataclass(frozen=True, slots=True)
class Step:
    """The rates of requests with more than ``above`` input tokens, up to the next step."""

    above: int
    rates: Rates


#: All steps of one model at one time, the lowest first; empty where no price is known.
Steps = tuple[Step, ...]


def at_size(steps: Steps, input_tokens: int) -> Rates | None:
    """Return the rates that hold for a whole request of that size."""
    found = None
    for step in steps:
        if found is None or input_tokens > step.above:
            found = step.rates
    return found
