"""The later release's scores: what the views say is what its evaluator makes of the export."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from batcher import release_layout
from batcher.expand import expand
from batcher.predict import predict
from batcher.session import select
from cache.bulk import load
from cache.inputs import write
from cache.records import KINDS, Annotation, Mark, Message, ToolCall, Trajectory
from cache.steps import split_steps
from cache.store import Store
from tests.release_evaluator import Row, evaluate, precision

TASKS = {"classify": "kind_accuracy", "retrieve": "evidence_accuracy", "detect": "precision_at_k"}
LABELS = {"human": "human_annotation", "automated": "automated_annotation", "mine": "mine"}
STRICT = {
    "classify": ("accuracy_strict",),
    "retrieve": ("accuracy_strict",),
    "detect": tuple(f"precision_{n}_strict" for n in ("at_1", "at_5", "at_10", "mean")),
}
NOW = datetime(2026, 1, 1, tzinfo=UTC)
N_STEPS = 4
#: The judged steps of every trajectory; message 9 is the user's, 10 its result.
PAIRS = [[1, 2], [3, 4], [5, 6], [7, 8]]
EVIDENCE = [[-1], [0], [1, 2], [3, 4], [9, 10], [1, 2, 3, 4], [7, 8, 1, 2]]


def trajectory(name: str, domain: str) -> Trajectory:
    messages = [Message(0, "user", f"please {name}")]
    for n in range(N_STEPS):
        messages.append(Message(len(messages), "assistant", "", (ToolCall("t", f'{{"n":{n}}}'),)))
        messages.append(Message(len(messages), "tool", f"got {n}", requestor="assistant"))
    messages.append(Message(len(messages), "user", "", (ToolCall("look", "{}"),)))
    messages.append(Message(len(messages), "tool", "seen", requestor="user"))
    steps = split_steps(messages)
    return Trajectory(name, "d", domain, name, tuple(messages), steps, success=True)


@pytest.fixture(scope="module")
def unlabelled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database with three trajectories in two domains."""
    store = Store(tmp_path_factory.mktemp("release") / "unlabelled.duckdb")
    runs = {"a": "airline", "b": "airline", "c": "retail"}
    items = (("x", trajectory(name, domain)) for name, domain in runs.items())
    write(store, items, dataset="d", now=NOW)
    return store.path


marks = st.dictionaries(
    st.sampled_from(range(N_STEPS)),
    st.tuples(st.sampled_from(KINDS), st.sampled_from(EVIDENCE), st.booleans()),
    max_size=N_STEPS,
)
labels = st.dictionaries(
    st.tuples(st.sampled_from(list(LABELS)), st.sampled_from("abc")), marks, min_size=1
)
entries = st.fixed_dictionaries(
    {
        "step": st.sampled_from([*PAIRS, [9, 10], [2, 1], [1], [], None, ["1", 2], [True, 2]]),
        "evidence": st.sampled_from(
            [*EVIDENCE, [3, 4, 1, 2], [2, 1], [1, 2, 1, 2], [1, 2, 3], [-2], [], "x", None]
        ),
        "kind": st.sampled_from([*KINDS, "Duplicated", " EXPLORATORY ", "other", None, 3]),
    },
    optional={"confidence": st.sampled_from([0, 0.5, 0.5, 0.9, 1, 1.0, -0.1, 2, True, "1", None])},
)
lists = st.lists(st.one_of(entries, st.sampled_from([3, None, "text"])), max_size=12)
other_texts = st.sampled_from(["", "no", '{"findings": 3}', "[]", '{"findings": [NaN]}', "{}"])


def noted(drawn: dict[tuple[str, str], Any]) -> Iterator[tuple[str, Annotation]]:
    for (label_set, name), marked in drawn.items():
        found = tuple(
            Mark((PAIRS[at][0], PAIRS[at][1]), kind, tuple(evidence), None, synthetic)
            for at, (kind, evidence, synthetic) in marked.items()
        )
        yield "x", Annotation(label_set, "a", found, "x", trajectory_id=name)


def answer(store: Store, texts: dict[str, tuple[str, str | None]]) -> None:
    """Store a response (outcome, text) for each prompt hash, and read it."""
    rows: list[Row] = [
        {"batch_id": "b", "custom_id": f"c{n}", "prompt_hash": name, "outcome": outcome}
        | {"text": text, "is_transient": False, "received_at": NOW.isoformat()}
        for n, (name, (outcome, text)) in enumerate(texts.items())
    ]
    sent = [{k: r[k] for k in ("batch_id", "custom_id", "prompt_hash")} for r in rows]
    with store.writing() as con:
        load(con, "batch_prompts", [row | {"attempt": 1} for row in sent])
        load(con, "responses", rows)
    predict(store)


def rows_of(store: Store, statement: str) -> list[tuple[Any, ...]]:
    return store.query(statement)[1]


def ask(store: Store) -> list[tuple[str, str, list[int], str]]:
    """Ask all three tasks; return (task, trajectory, messages of the first target, hash)."""
    selection = select(tuple(TASKS), ("openai:gpt-4o",), None)
    expand(store, selection, now=lambda: NOW)
    return rows_of(
        store,
        "select strategy, trajectory_id, [call_index, result_index], prompt_hash::varchar "
        "from requests join steps using (trajectory_id) where step_index = targets[1] order by all",
    )


def agree(store: Store, folder: Path) -> int:
    """Compare every strict score of the views with the evaluator's; return how many there are."""
    scored: dict[tuple[str, str, str], list[float]] = {}
    for path in release_layout.write(store, folder):
        payload = json.loads(path.read_text("utf-8"))
        task = payload["metadata"]["task"]
        for (subset, domain), found in evaluate(payload).items():
            scored[task, subset, domain] = [float(value) for value in found]
    compared = 0
    for task, view in TASKS.items():
        columns = ", ".join(STRICT[task])
        only = "" if task == "detect" else "where origin = 'all'"
        statement = f"select label_set, domain, {columns} from {view} {only}"
        for label_set, domain, *said in rows_of(store, statement):
            subset = LABELS.get(label_set, "all")
            assert said == scored[task, subset, domain], (view, label_set, domain)
            compared += len(said)
    return compared


@settings(
    max_examples=25,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(drawn=labels, data=st.data())
def test_the_evaluator_says_the_same(
    unlabelled: Path, tmp_path_factory: pytest.TempPathFactory, drawn: Any, data: st.DataObject
) -> None:
    """Any labels, any answers: ties, repeats, invalid entries, no answer; to the last digit."""
    folder = tmp_path_factory.mktemp("random")
    store = Store(Path(shutil.copy(unlabelled, folder / "r.duckdb")))
    write(store, noted(drawn), dataset=None, now=NOW)
    texts: dict[str, tuple[str, str | None]] = {}
    said: dict[str, Any] = {}
    for task, name, pair, prompt_hash in ask(store):
        if data.draw(st.integers(0, 9)) == 0:
            outcomes = [("ok", data.draw(other_texts)), ("truncated", "{"), ("error", None), None]
            drawn_outcome = data.draw(st.sampled_from(outcomes))
            if drawn_outcome:
                texts[prompt_hash] = drawn_outcome
            continue
        found: Any = data.draw(lists if task == "detect" else entries.map(lambda one: [one]))
        if task != "detect" and data.draw(st.integers(0, 3)):
            found[0]["step"] = pair
        texts[prompt_hash] = ("ok", json.dumps({"findings": found}))
        if task == "detect":
            said[name] = found
    answer(store, texts)
    if not any(drawn.values()):
        assert store.query("select 1 from cases")[1] == []
        return
    assert agree(store, folder / "out") > 0
    # The lists once more as they were written, so that ranking is checked without the export.
    statement = (
        "select trajectory_id, label_set, n_listed, hits_at_1, hits_at_5, hits_at_10 "
        "from detections where is_answered"
    )
    for name, label_set, *hits in rows_of(store, statement):
        gold = [entry(PAIRS[at], *mark[:2]) for at, mark in drawn[label_set, name].items()]
        listed = [entry(**one) if isinstance(one, dict) else {} for one in said[name]]
        for k, n in zip((1, 5, 10), hits[1:], strict=True):
            assert precision(gold, listed, k) * min(k, hits[0]) == n


def entry(step: Any, kind: Any, evidence: Any, confidence: Any = None) -> Row:
    """An entry in the release's words; only a kind that is one has a type."""
    word = kind.strip().lower() if isinstance(kind, str) else ""
    return {
        "redundant_step_idx": step,
        "redundant_step_type": word if word in KINDS else None,
        "evidence_step_idx": evidence,
        "confidence": confidence,
    }


def said_of(store: Store, texts: dict[str, Any], marked: Any) -> None:
    """Label trajectory a in the set human, and answer its tasks."""
    write(store, noted({("human", "a"): marked}), dataset=None, now=NOW)
    answer(
        store,
        {
            prompt_hash: ("ok", json.dumps({"findings": texts[task]}))
            for task, name, _, prompt_hash in ask(store)
            if name == "a" and task in texts
        },
    )


GOLD = {"step": [3, 4], "kind": "duplicated", "evidence": [1, 2]}
MARKED = {1: ("duplicated", [1, 2], False)}


@pytest.mark.parametrize(
    ("listed", "wanted"),
    [
        ([GOLD | {"confidence": 0.8}], (1, 1, 1)),
        ([], (0, 0, 0)),
        # a repeat takes a slot; the first by confidence counts, whatever comes first in the text
        ([GOLD | {"confidence": 0.8}, GOLD | {"confidence": 0.9}], (1, 1 / 2, 1 / 2)),
        ([GOLD | {"confidence": 0.8}, GOLD | {"confidence": 0.9, "kind": "incorrect"}], (0, 0, 0)),
        # equal confidences stay in the order of the text
        ([GOLD | {"confidence": 0.8}, GOLD | {"confidence": 0.8, "step": [1, 2]}], (1, 0.5, 0.5)),
        ([GOLD | {"confidence": 0.8, "step": [1, 2]}, GOLD | {"confidence": 0.8}], (0, 0.5, 0.5)),
        # what has no valid confidence comes first and earns nothing
        ([GOLD | {"confidence": 0.8}, GOLD | {"confidence": 7}], (0, 0.5, 0.5)),
        ([GOLD | {"confidence": 0.8}, 3], (0, 0.5, 0.5)),
        # a step that is none, or evidence of no form, is an entry all the same
        ([GOLD | {"confidence": 0.8}, {"step": [0], "confidence": 0.9}], (0, 0.5, 0.5)),
        ([GOLD | {"confidence": 0.8, "evidence": [2]}], (0, 0, 0)),
        ([GOLD | {"confidence": 0.1}] + [{"confidence": 1}] * 10, (0, 0, 0)),
    ],
)
def test_a_ranked_list(
    unlabelled: Path, tmp_path: Path, listed: list[Any], wanted: tuple[float, ...]
) -> None:
    """Each rule of precision at K by itself, for one labelled step."""
    store = Store(Path(shutil.copy(unlabelled, tmp_path / "l.duckdb")))
    said_of(store, {"detect": listed}, MARKED)
    statement = "select precision_at_1, precision_at_5, precision_at_10 from precision_at_k"
    assert rows_of(store, statement) == [wanted, wanted]  # the domain, and all domains
    agree(store, tmp_path / "out")


def test_pairs_of_joint_evidence_in_any_order(unlabelled: Path, tmp_path: Path) -> None:
    """Neither the annotator's order counts nor the judge's; within a pair it does."""
    store = Store(Path(shutil.copy(unlabelled, tmp_path / "j.duckdb")))
    joint = GOLD | {"evidence": [1, 2, 7, 8], "confidence": 1}
    marked = {1: ("duplicated", [7, 8, 1, 2], False), 2: ("duplicated", [1, 2], False)}
    said_of(store, {"retrieve": [joint], "detect": [joint]}, marked)
    statement = "select n_answered, n_correct from evidence_accuracy where domain = 'all'"
    assert set(rows_of(store, statement)) == {(1, 1)}
    found = rows_of(store, "select n_gold, hits_at_1 from detections where hits_at_1 > 0")
    assert found == [(2, 1)]
    agree(store, tmp_path / "out")
