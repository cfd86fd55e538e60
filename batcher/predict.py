"""Answers into readings and predictions: derived, so a parser's fault costs nothing to mend."""

from __future__ import annotations

from collections.abc import Iterator

import sql
from cache.bulk import load
from cache.store import Connection, Store, cursor
from prompts.answers import Unreadable, Verdict, read

_QUERIES = sql.read("queries")

#: Rows taken from the database at a time.
_ROWS = 5_000


def predict(store: Store, *, anew: bool = False) -> int:
    """Read every unread answer and predict what can be predicted; return the new predictions.

    ``anew`` throws all readings and predictions away first, and makes them again.
    """
    # Rows are written while they are still being read, so reading has a cursor of its own; it sees
    # what is committed, hence one transaction for each table.
    if anew:
        with store.writing() as con:
            con.execute("delete from readings")
            con.execute("delete from predictions")
            con.execute("delete from recheck_verdicts")
    with store.writing() as con, cursor(con) as rows:
        load(con, "readings", _readings(rows))
    with store.writing() as con, cursor(con) as rows:
        made = load(con, "predictions", _predictions(rows))
    with store.writing() as con, cursor(con) as rows:
        load(con, "recheck_verdicts", _recheck_verdicts(rows))
    return made


def _readings(con: Connection) -> Iterator[dict[str, object]]:
    con.execute(_QUERIES["unread"])
    while rows := con.fetchmany(_ROWS):
        for batch_id, custom_id, answer, positions, n_shown, text in rows:
            state, detail = "ok", None
            try:
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
        for trajectory_id, strategy, digest, gold, judge, repeat, *question, text in rows:
            answer, n_shown, targets, positions = question
            for step_index, verdict in zip(
                targets, read(answer, text, tuple(positions), n_shown), strict=True
            ):
                yield {
                    "trajectory_id": trajectory_id,
                    "step_index": step_index,
                    "strategy": strategy,
                    "strategy_digest": digest,
                    "gold": gold,
                    "judge": judge,
                    "repeat": repeat,
                    **_columns(verdict),
                }


def _recheck_verdicts(con: Connection) -> Iterator[dict[str, object]]:
    con.execute(_QUERIES["unpredicted_rechecks"])
    while rows := con.fetchmany(_ROWS):
        for number, prompt_hash, *who, answer, n_shown, targets, positions, first, again in rows:
            trajectory_id, strategy, digest, gold, judge, repeat = who
            both = (read(answer, text, tuple(positions), n_shown) for text in (first, again))
            for step_index, earlier, later in zip(targets, *both, strict=True):
                yield {
                    "round": number,
                    "prompt_hash": prompt_hash,
                    "trajectory_id": trajectory_id,
                    "step_index": step_index,
                    "strategy": strategy,
                    "strategy_digest": digest,
                    "gold": gold,
                    "judge": judge,
                    "repeat": repeat,
                    "first_redundant": earlier.is_redundant,
                    "again_redundant": later.is_redundant,
                }


def _columns(verdict: Verdict) -> dict[str, object]:
    return {
        "is_redundant": verdict.is_redundant,
        "kind": verdict.kind,
        "evidence": verdict.evidence,
        "confidence": verdict.confidence,
        "rank": verdict.rank,
    }
