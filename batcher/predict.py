"""Answers into readings and predictions: derived, so a parser's fault costs nothing to mend."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import sql
from cache.bulk import load
from cache.store import Connection, Store, cursor
from prompts.answers import FINDINGS, Unreadable, Verdict, read, verdicts
from prompts.findings import Pair, read_findings

_QUERIES = sql.read("queries")

#: Rows taken from the database at a time.
_ROWS = 5_000


def predict(store: Store, *, anew: bool = False) -> int:
    """Read every unread answer and predict what can be predicted; return the new predictions.

    ``anew`` throws all readings, predictions and findings away first, and makes them again. What
    an answer finds about a step that was named to it is no prediction, and not counted.
    """
    # Rows are written while they are still being read, so reading has a cursor of its own; it sees
    # what is committed, hence one transaction for the readings and one for what rests on them.
    if anew:
        with store.writing() as con:
            con.execute("delete from readings")
            con.execute("delete from predictions")
            con.execute("delete from findings")
            con.execute("delete from recheck_verdicts")
    with store.writing() as con, cursor(con) as rows:
        load(con, "readings", _readings(rows))
    with store.writing() as con, cursor(con) as rows:
        added = load(con, "predictions", _predictions(rows))
        added += load(con, "predictions", _ranked(rows))
        load(con, "findings", _findings(rows))
    with store.writing() as con, cursor(con) as rows:
        load(con, "recheck_verdicts", _recheck_verdicts(rows))
    return added


def _readings(con: Connection) -> Iterator[dict[str, object]]:
    con.execute(_QUERIES["unread"])
    while rows := con.fetchmany(_ROWS):
        for batch_id, custom_id, answer, positions, n_shown, pairs, text in rows:
            state, detail = "ok", None
            try:
                if answer in FINDINGS:
                    read_findings(answer, text, _pairs(pairs))
                else:
                    read(answer, text, tuple(positions), n_shown)
            except Unreadable as error:
                state, detail = "unparseable", str(error)
            yield {
                "batch_id": batch_id,
                "custom_id": custom_id,
                "state": state,
                "detail": detail,
            }


def _predictions(con: Connection) -> Iterator[dict[str, object]]:
    con.execute(_QUERIES["unpredicted"])
    while rows := con.fetchmany(_ROWS):
        for *who, answer, n_shown, targets, positions, text in rows:
            said = read(answer, text, tuple(positions), n_shown)
            yield from _verdicts(who, targets, said)


def _recheck_verdicts(con: Connection) -> Iterator[dict[str, object]]:
    con.execute(_QUERIES["unpredicted_rechecks"])
    while rows := con.fetchmany(_ROWS):
        for number, prompt_hash, *who, answer, n_shown, targets, positions, first, again in rows:
            both = (read(answer, text, tuple(positions), n_shown) for text in (first, again))
            for step_index, earlier, later in zip(targets, *both, strict=True):
                yield {
                    "round": number,
                    "prompt_hash": prompt_hash,
                    **_setting(who),
                    "step_index": step_index,
                    "first_redundant": earlier.is_redundant,
                    "again_redundant": later.is_redundant,
                }


class _Found(NamedTuple):
    """A request whose findings are not stored yet; ``who`` is trajectory, setting and repeat."""

    who: tuple[object, ...]
    answer: str
    evidence: list[int] | None
    targets: list[int]
    positions: list[int]
    pairs: list[Pair]
    text: str


def _unfound(con: Connection) -> Iterator[_Found]:
    con.execute(_QUERIES["unfound"])
    while rows := con.fetchmany(_ROWS):
        for *who, answer, evidence, targets, positions, pairs, text in rows:
            yield _Found(tuple(who), answer, evidence, targets, positions, _pairs(pairs), text)


def _ranked(con: Connection) -> Iterator[dict[str, object]]:
    """A ranked list is a verdict on every step asked about, like any other."""
    for found in _unfound(con):
        if found.answer == "findings":
            named = read_findings(found.answer, found.text, found.pairs)
            said = verdicts(named, tuple(found.positions), found.pairs)
            yield from _verdicts(found.who, found.targets, said)


def _findings(con: Connection) -> Iterator[dict[str, object]]:
    for found in _unfound(con):
        steps = dict(zip(found.pairs, found.targets, strict=True))
        asked = None if found.answer == "findings" else found.targets[0]
        for finding in read_findings(found.answer, found.text, found.pairs):
            yield {
                **_setting(found.who),
                "answer": found.answer,
                "target": asked,
                "shown": found.evidence,
                "slot": finding.slot,
                "step": finding.step,
                "step_index": steps.get(finding.step) if finding.step else None,
                "kind": finding.kind,
                "evidence": finding.evidence,
                "confidence": finding.confidence,
                "is_first": finding.is_first,
            }


def _verdicts(
    who: Sequence[object], targets: Sequence[int], said: Sequence[Verdict]
) -> Iterator[dict[str, object]]:
    for step_index, verdict in zip(targets, said, strict=True):
        yield {
            **_setting(who),
            "step_index": step_index,
            "is_redundant": verdict.is_redundant,
            "kind": verdict.kind,
            "evidence": verdict.evidence,
            "confidence": verdict.confidence,
            "rank": verdict.rank,
        }


_SETTING = ("trajectory_id", "strategy", "strategy_digest", "gold", "judge", "repeat")


def _setting(who: Sequence[object]) -> dict[str, object]:
    return dict(zip(_SETTING, who, strict=True))


def _pairs(rows: list[list[int]]) -> list[Pair]:
    return [(call, result) for call, result in rows]
