"""Answers as the result files of the later public release, for its own evaluator to score.

One file a task of one run: ``LABELS/RUN/RUN_TASK.json``, an object of ``metadata`` and ``results``.
A run is a judge, with or without the ground truth, and a repeat. LABELS is ``release`` for the two
subsets that the release scores together, and another label set's name otherwise.
"""

from __future__ import annotations

import json
import re
import shutil
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import sql
from cache.errors import InputError, UsageError
from cache.hashing import digest
from cache.store import Connection, Store

#: answer form: what the release calls the task
TASKS = {"kind": "classify", "evidence": "retrieve", "findings": "detect"}

#: label set: what the release calls the subset
SUBSETS = {"human": "human_annotation", "automated": "automated_annotation"}

_QUERIES = sql.read("queries")


class _Setting(NamedTuple):
    """Whose answers a file holds, to what."""

    answer: str
    strategy: str
    strategy_digest: str
    gold: bool
    judge: str
    repeat: int

    @property
    def run(self) -> str:
        """What all tasks of a run have in common, as a part of file names."""
        repeat = f"_repeat{self.repeat}" if self.repeat else ""
        return f"{_safe(self.judge)}{'_gold' if self.gold else ''}{repeat}"


class _Unit(NamedTuple):
    """One result with what the evaluator groups it by."""

    label_set: str
    trajectory_id: str
    result: dict[str, object]


def write(store: Store, folder: Path) -> list[Path]:
    """Write all result files into ``folder`` and return their paths.

    None takes its place before all are written, so that a full disk leaves what was there.
    Raises ``UsageError`` where none of the release's tasks was asked, and ``InputError`` where the
    folder cannot be written.
    """
    with store.reading() as con:
        files = _files(_units(con))
    if not files:
        raise UsageError(
            "nothing to export: no labelled trajectory was asked with one of the strategies "
            "classify, retrieve and detect"
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".needless-", dir=folder) as name:
            staged = Path(name)
            for path, text in files.items():
                (staged / path).parent.mkdir(parents=True, exist_ok=True)
                (staged / path).write_text(text, "utf-8")
            for path in files:
                (folder / path).parent.mkdir(parents=True, exist_ok=True)
                shutil.move(staged / path, folder / path)
    except OSError as error:
        raise InputError(f"{folder}: cannot be written: {error.strerror}") from error
    return [folder / path for path in files]


def _files(units: Mapping[tuple[str, _Setting], Sequence[_Unit]]) -> dict[Path, str]:
    """Return the text of each file; what would have one name gets a digest into it."""
    wanted: dict[Path, list[tuple[str, _Setting]]] = defaultdict(list)
    for labels, setting in sorted(units):
        name = f"{setting.run}_{TASKS[setting.answer]}.json"
        wanted[Path(_safe(labels), setting.run, name)].append((labels, setting))
    files: dict[Path, str] = {}
    for path, several in wanted.items():
        for key in several:
            mark = f"_{digest(repr(key))}" if len(several) > 1 else ""
            text = json.dumps(_payload(key[1], units[key]), ensure_ascii=False, indent=1)
            files[path.with_name(f"{path.stem}{mark}.json")] = f"{text}\n"
    return files


def _payload(setting: _Setting, units: Sequence[_Unit]) -> dict[str, object]:
    trajectories: dict[str, set[str]] = defaultdict(set)
    for unit in units:
        trajectories[_subset(unit.label_set)].add(unit.trajectory_id)
    return {
        "metadata": {
            "task": TASKS[setting.answer],
            "model": setting.judge,
            "prompt_version": f"{setting.strategy}@{setting.strategy_digest}",
            "dataset_scope": {
                "datasets": sorted(trajectories),
                "trajectories": {name: len(ids) for name, ids in sorted(trajectories.items())},
            },
            "domain": "all",
            "requested_units": len(units),
            "run_config": {"gold": setting.gold, "repeat": setting.repeat},
        },
        "results": [unit.result for unit in units],
    }


def _units(con: Connection) -> dict[tuple[str, _Setting], list[_Unit]]:
    found: dict[tuple[str, _Setting], list[_Unit]] = defaultdict(list)
    for setting, unit in (*_cases(con), *_lists(con)):
        labels = "release" if unit.label_set in SUBSETS else unit.label_set
        found[labels, setting].append(unit)
    return found


def _cases(con: Connection) -> Iterator[tuple[_Setting, _Unit]]:
    for row in con.execute(_QUERIES["release_cases"]).fetchall():
        setting, where, said = _Setting(*row[:6]), row[6:10], row[10:]
        step, kind, evidence, said_kind, said_evidence, is_answered, state = said
        result = _result(where, is_answered, state, step)
        result |= _triple(step, kind, evidence)
        result["predicted_type"] = _type(said_kind)
        if setting.answer == "evidence":
            result["predicted_evidence_idx"] = said_evidence
        yield setting, _Unit(where[0], where[1], result)


def _lists(con: Connection) -> Iterator[tuple[_Setting, _Unit]]:
    for row in con.execute(_QUERIES["release_lists"]).fetchall():
        setting, where, (gold, said, state) = _Setting(*row[:6]), row[6:10], row[10:]
        result = _result(where, said is not None, state, None)
        result["gold"] = [_triple(one["step"], one["kind"], one["evidence"]) for one in gold]
        result["predictions"] = None if said is None else [_entry(one) for one in said]
        yield setting, _Unit(where[0], where[1], result)


def _entry(finding: Mapping[str, object]) -> dict[str, object]:
    triple = _triple(finding["step"], finding["kind"], finding["evidence"])
    named = finding["step"] is not None and finding["confidence"] is not None
    return triple | {
        "confidence": finding["confidence"],
        "rank": finding["slot"],
        "valid": finding["is_first"] and None not in triple.values(),
        "duplicate": named and not finding["is_first"],
    }


def _result(
    where: tuple[str, str, str, str], is_answered: bool, state: str | None, step: object
) -> dict[str, object]:
    label_set, trajectory_id, domain, task_id = where
    subset = _subset(label_set)
    unread = not is_answered and state == "unparseable"
    cut = not is_answered and state == "truncated"
    return {
        "identity": f"{subset}:{trajectory_id}" + (f"::{step}" if step else ""),
        "trajectory_id": trajectory_id,
        "dataset_id": subset,
        "domain": domain,
        "task_id": task_id,
        "error": None if is_answered or unread or cut else state or "no answer",
        "unjudgeable": cut,
        "format_failed": unread,
    }


def _triple(step: object, kind: object, evidence: object) -> dict[str, object]:
    return {
        "redundant_step_idx": step,
        "redundant_step_type": _type(kind),
        "evidence_step_idx": evidence,
    }


def _type(kind: object) -> str | None:
    return f"{str(kind).capitalize()} Step" if kind else None


def _subset(label_set: str) -> str:
    return SUBSETS.get(label_set, label_set)


def _safe(name: str) -> str:
    """Return a name that is one on every file system."""
    return re.sub(r"[^A-Za-z0-9._-]+", "_", name).strip("._") or "unnamed"
