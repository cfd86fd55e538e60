"""Metric views as tables: any of them as it is, and the layout of the paper's Table 2.

No number is computed here; the views do that. This module reads, turns and names.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import replace
from typing import NamedTuple

import sql
from batcher.table import FORMS, Table, render
from cache.errors import UsageError
from cache.store import Connection

__all__ = ["FORMS", "Table", "metric", "metrics", "render", "table2"]

#: What the rows of one block have in common, in views of what judges said.
_SETTING = ("label_set", "strategy", "strategy_digest", "gold", "judge", "repeat")
#: The same in views of two settings.
_PAIR = ("label_set", "setting_a")
#: Columns of fractions, by a word of their name.
_SHARE = re.compile(r"(^|_)(score|coverage|precision|recall|f1|accuracy|agreement|share|rate)(_|$)")
#: The paper's order; others follow by name.
_DOMAINS = {"airline": "Airline", "retail": "Retail", "telecom": "Telecom"}
#: Scores of questions that are no verdict on every step.
_TASKS = ("kind_accuracy", "evidence_accuracy", "precision_at_k")
_STRATEGIES = ("one_to_one", "window_to_one", "all_to_all")


class _Setting(NamedTuple):
    """Who was asked, how, and against which labels."""

    label_set: str
    judge: str
    strategy: str
    strategy_digest: str
    gold: bool

    def order(self) -> tuple[str, str, int, str, str, bool]:
        return (
            self.label_set,
            self.judge,
            rank(self.strategy),
            self.strategy,
            self.strategy_digest,
            self.gold,
        )


def rank(strategy: str) -> int:
    """Return the place of a strategy in the paper's order; others come last."""
    return _STRATEGIES.index(strategy) if strategy in _STRATEGIES else len(_STRATEGIES)


def metrics() -> dict[str, str]:
    """Return ``{name: the first sentence of its description}`` of every metric."""
    return {name: _first_sentence(text) for name, text in sql.read("metrics").items()}


def metric(con: Connection, name: str) -> Table:
    """Return the metric view ``name`` with all its rows, in the order of their values.

    Raises ``UsageError`` for a name that is none.
    """
    known = metrics()
    if name not in known:
        raise UsageError(f"no such metric: {name}; there are {', '.join(known)}")
    result = con.execute(f"select * from {name} order by all")
    columns = tuple(str(column[0]) for column in result.description or ())
    shares = share_columns(columns)
    return Table(
        title=f"{name}: {known[name]}",
        columns=columns,
        rows=tuple(result.fetchall()),
        notes=("Scores and other fractions are in percent.",) if shares else (),
        shares=shares,
        headings=_SETTING if "judge" in columns else _PAIR if "setting_a" in columns else (),
    )


def share_columns(columns: tuple[str, ...]) -> frozenset[str]:
    """Return which of ``columns`` hold fractions, and are shown to readers in percent."""
    return frozenset(name for name in columns if _SHARE.search(name))


def headline(con: Connection) -> Table:
    """Return what a user wants to see first: the scores, or the verdicts where nothing is labelled.

    Trajectories that nobody annotated have no scores; what judges said of them is no less real.
    """
    scores = table2(con)
    tasks = {name: metric(con, name) for name in _TASKS}
    scored = {name: table for name, table in tasks.items() if table.rows}
    notes = (f"Also scored: see `needless report` with {', '.join(scored)}.",) if scored else ()
    if scores.rows:
        return with_baselines(con, replace(scores, notes=(*scores.notes, *notes)))
    if scored:
        first = next(iter(scored.values()))
        return replace(first, notes=(*first.notes, *notes)) if len(scored) > 1 else first
    said = metric(con, "verdicts")
    note = "No trajectory that was asked about is labelled, so there is nothing to score against."
    return replace(said, notes=(note, *said.notes)) if said.rows else scores


def with_baselines(con: Connection, scores: Table) -> Table:
    """Return ``scores``, a table like Table 2, with what judges that look at nothing would score.

    They stand below the judges of each label set, so that no score stands alone.
    """
    found: dict[str, dict[str, dict[str, tuple[object, ...]]]] = {}
    for label_set, baseline, domain, *values in con.execute(
        "select label_set, baseline, domain, trajectory_score, step_score, n_trajectories "
        "from baselines order by label_set, rate desc, baseline"
    ).fetchall():
        by_baseline = found.setdefault(label_set, {})
        by_baseline.setdefault(baseline, {})[domain] = tuple(values)
    names = {shown: name for name, shown in _DOMAINS.items()}
    domains = [names.get(shown, shown) for shown in scores.columns[4:-3]]
    rows: list[tuple[object, ...]] = []
    for label_set in dict.fromkeys(row[0] for row in scores.rows):
        rows += [row for row in scores.rows if row[0] == label_set]
        for baseline, by_domain in found.get(str(label_set), {}).items():
            for at, level in enumerate(("Traj-level", "Step-level")):
                cells = [by_domain.get(name, (None,) * 3) for name in (*domains, "all")]
                n = by_domain["all"][2]
                who = (label_set, "baseline", baseline, level)
                rows.append((*who, *(cell[at] for cell in cells), n, n))
    note = (
        "Baselines look at nothing: expected scores of saying the same, or of a coin, on every "
        "step of the trajectories that were asked about (see the metric baselines)."
    )
    return replace(scores, rows=tuple(rows), notes=(*scores.notes, note))


def view(con: Connection, name: str, title: str) -> Table:
    """Return a view that is no metric, as it is."""
    result = con.execute(f"from {name}")
    columns = tuple(str(column[0]) for column in result.description or ())
    return Table(title, columns, tuple(result.fetchall()))


def table2(con: Connection) -> Table:
    """Return the paper's Table 2 for what is in the database, one block a label set and judge.

    Judges are stacked and not put side by side, so that any number of them fits a line. ``scored``
    is how many trajectories a number rests on, ``asked`` how many it should.
    """
    averages = con.execute(
        "select label_set, judge, strategy, strategy_digest, gold, trajectory_score, step_score, "
        "n_decided, n_scored, n_expected from score_averages"
    ).fetchall()
    by_domain = {
        (_Setting(*row[:5]), str(row[5])): (row[6], row[7])
        for row in con.execute(
            "select label_set, judge, strategy, strategy_digest, gold, domain, trajectory_score, "
            "step_score from scores"
        ).fetchall()
    }
    domains = _ordered({domain for _, domain in by_domain})
    versions: dict[str, set[str]] = defaultdict(set)
    for row in averages:
        versions[row[2]].add(row[3])
    rows: list[tuple[object, ...]] = []
    for row in sorted(averages, key=lambda row: _Setting(*row[:5]).order()):
        setting = _Setting(*row[:5])
        trajectory_average, step_average, n_decided, n_scored, n_expected = row[5:]
        name = _named(setting, several=len(versions[setting.strategy]) > 1)
        per_domain = [by_domain.get((setting, domain), (None, None)) for domain in domains]
        for level, at, average, n in (
            ("Traj-level", 0, trajectory_average, n_decided),
            ("Step-level", 1, step_average, n_scored),
        ):
            scores = [pair[at] for pair in per_domain]
            who = (setting.label_set, setting.judge, name, level)
            rows.append((*who, *scores, average, n, n_expected))
    labels = tuple(_DOMAINS.get(domain, domain) for domain in domains)
    return Table(
        title="Redundant trajectories and steps found, in percent",
        columns=("label_set", "judge", "strategy", "level", *labels, "Avg.", "scored", "asked"),
        rows=tuple(rows),
        notes=(
            "Avg. is the unweighted mean of the domains; there is none while a domain has no "
            "score. Each number rests on the scored of the asked trajectories; the others have "
            "no readable answer yet (see the metric coverage).",
        )
        if rows
        else ("No labelled trajectory has been asked about yet.",),
        shares=frozenset((*labels, "Avg.")),
        headings=("label_set", "judge"),
    )


def _named(setting: _Setting, *, several: bool) -> str:
    version = f"@{setting.strategy_digest}" if several else ""
    return f"{setting.strategy}{version}{' +gold' if setting.gold else ''}"


def _ordered(domains: set[str]) -> list[str]:
    return [name for name in _DOMAINS if name in domains] + sorted(domains - _DOMAINS.keys())


def _first_sentence(text: str) -> str:
    """Return the first sentence of the comment that opens ``text``."""
    lines: list[str] = []
    for line in text.splitlines():
        if not line.startswith("--"):
            break
        lines.append(line.removeprefix("--").strip())
    return re.split(r"(?<=\.)\s", " ".join(lines), maxsplit=1)[0]
