"""The sample that ships in the package, checked as plain JSON: no product code is imported."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

SAMPLE = Path(__file__).resolve().parents[1] / "cache" / "sample"
KINDS = ("abnormal", "duplicated", "incorrect", "exploratory")

LIBRARY: dict[str, Any] = json.loads((SAMPLE / "library.json").read_text(encoding="utf-8"))
LABELS: list[dict[str, Any]] = [
    json.loads(line) for line in (SAMPLE / "labels.jsonl").read_text(encoding="utf-8").splitlines()
]
SIMULATIONS: dict[str, dict[str, Any]] = {s["id"]: s for s in LIBRARY["simulations"]}


@dataclass(frozen=True)
class Pair:
    """One call and its result."""

    call: int
    result: int
    who: str
    tool: str
    arguments: str
    content: str
    error: bool

    @property
    def request(self) -> tuple[str, str]:
        """What was asked, comparable between calls."""
        return self.tool, self.arguments


def pairs(simulation: dict[str, Any]) -> list[Pair]:
    """The n-th tool message after a message with n calls answers its n-th call."""
    messages = simulation["messages"]
    found = []
    for at, message in enumerate(messages):
        for nth, call in enumerate(message.get("tool_calls") or [], start=1):
            answer = messages[at + nth]
            assert answer["role"] == "tool", (simulation["id"], at + nth)
            assert answer["id"] == call["id"], (simulation["id"], at + nth)
            assert answer["requestor"] == call["requestor"] == message["role"]
            arguments = json.dumps(call["arguments"], sort_keys=True)
            text = answer["content"]
            who = message["role"]
            found.append(Pair(at, at + nth, who, call["name"], arguments, text, answer["error"]))
    return found


def succeeded(simulation: dict[str, Any]) -> bool:
    """Whether the run got the full reward."""
    return bool(simulation["reward_info"]["reward"] == 1.0)


def chunks(evidence: list[int]) -> list[tuple[int, int]]:
    """Flat evidence as (call, result) pairs."""
    return list(zip(evidence[::2], evidence[1::2], strict=True))


ALL = {name: pairs(simulation) for name, simulation in SIMULATIONS.items()}
BY_INDEX = {(name, p.call, p.result): p for name, found in ALL.items() for p in found}
#: (trajectory id, label) of every labelled step.
MARKS = [(line["trajectory_id"], step) for line in LABELS for step in line["steps"]]


def marked(name: str, step: dict[str, Any]) -> Pair:
    """The pair that a label names."""
    return BY_INDEX[name, step["call"], step["result"]]


@pytest.mark.parametrize("name", ["library.json", "labels.jsonl"])
def test_files_are_canonical_utf8(name: str) -> None:
    """A reader's diff shows changes of content only: one way to write the JSON, one newline."""
    raw = (SAMPLE / name).read_bytes()
    if name == "library.json":
        text = json.dumps(LIBRARY, ensure_ascii=False, indent=1) + "\n"
    else:
        lines = (json.dumps(x, ensure_ascii=False, separators=(",", ":")) for x in LABELS)
        text = "".join(f"{line}\n" for line in lines)
    assert raw == text.encode("utf-8")


def test_library_is_small() -> None:
    """The sample does not make the wheel heavy."""
    assert (SAMPLE / "library.json").stat().st_size < 120_000


def test_shape_is_tau2() -> None:
    """An importer of τ²-bench results meets the fields that it relies on."""
    assert list(LIBRARY) == ["timestamp", "info", "tasks", "simulations"]
    assert LIBRARY["info"]["environment_info"]["domain_name"] == "library"
    assert LIBRARY["info"]["environment_info"]["policy"].strip()
    assert LIBRARY["info"]["agent_info"] == {"llm": "invented"}
    for task in LIBRARY["tasks"]:
        assert set(task) == {"id", "description", "user_scenario", "evaluation_criteria"}
        assert task["description"]["purpose"]
        instructions = task["user_scenario"]["instructions"]
        assert set(instructions) == {
            "domain",
            "reason_for_call",
            "known_info",
            "task_instructions",
        }
        for action in task["evaluation_criteria"]["actions"]:
            assert set(action) == {
                "action_id",
                "requestor",
                "name",
                "arguments",
                "info",
                "compare_args",
            }
    for simulation in SIMULATIONS.values():
        assert simulation["trial"] == 0
        assert simulation["termination_reason"] == "user_stop"
        messages = simulation["messages"]
        assert 8 <= len(messages) <= 26
        assert [m["role"] for m in messages[:2]] == ["assistant", "user"]
        assert messages[-1]["role"] == "user"
        assert messages[-1]["content"].endswith("###STOP###")
        for message in messages:
            assert isinstance(message["content"], str)
            assert bool(message["content"]) != bool(message.get("tool_calls"))


def test_ids_are_unique() -> None:
    """Calls, runs, tasks and actions can be named without doubt, also across trajectories."""
    calls = [
        call["id"]
        for simulation in SIMULATIONS.values()
        for message in simulation["messages"]
        for call in message.get("tool_calls", [])
    ]
    assert all(re.fullmatch(r"call_[0-9a-f]{24}", i) for i in calls)
    tasks = [task["id"] for task in LIBRARY["tasks"]]
    actions = [
        action["action_id"]
        for task in LIBRARY["tasks"]
        for action in task["evaluation_criteria"]["actions"]
    ]
    runs = [simulation["id"] for simulation in LIBRARY["simulations"]]
    for ids in (calls, tasks, actions, runs):
        assert max(Counter(ids).values()) == 1
    assert {s["task_id"] for s in SIMULATIONS.values()} == set(tasks)


def test_every_result_has_a_call() -> None:
    """No tool message is an orphan: calls and results pair one to one."""
    for name, simulation in SIMULATIONS.items():
        results = [i for i, m in enumerate(simulation["messages"]) if m["role"] == "tool"]
        assert results == [p.result for p in ALL[name]], name


def test_every_success_has_one_annotation_line() -> None:
    """Clean is said, not left out: each success has a line, the failure has none."""
    annotated = [line["trajectory_id"] for line in LABELS]
    assert annotated == [name for name, s in SIMULATIONS.items() if succeeded(s)]
    assert all(line["label_set"] == "sample" for line in LABELS)
    assert all(line["annotator"] == "authors" for line in LABELS)


def test_enough_of_everything() -> None:
    """Each filter, kind and special case of the product has something to act on."""
    assert len(SIMULATIONS) == 16
    assert sum(succeeded(s) for s in SIMULATIONS.values()) == 15
    assert sum(not line["steps"] for line in LABELS) >= 2
    kinds = Counter(step["kind"] for _, step in MARKS)
    assert set(kinds) == set(KINDS)
    assert min(kinds.values()) >= 4
    assert kinds.total() >= 24
    turns = {name: Counter((p.who, p.call) for p in found).values() for name, found in ALL.items()}
    assert sum(max(sizes) >= 2 for sizes in turns.values()) >= 2
    assert sum(any(p.who == "user" for p in found) for found in ALL.values()) == 1
    texts = [m["content"] for s in SIMULATIONS.values() for m in s["messages"]]
    assert any("é" in text and "“" in text for text in texts)
    users = [
        m["content"] for s in SIMULATIONS.values() for m in s["messages"] if m["role"] == "user"
    ]
    assert sum('{"redundant": false}' in text for text in users) == 1


def test_labels_name_a_call_of_the_assistant_and_its_own_result() -> None:
    """No label is off by one, on a user's call, or on another parallel call's result."""
    for name, step in MARKS:
        assert list(step) == ["call", "result", "kind", "evidence", "confidence", "synthetic"]
        assert (name, step["call"], step["result"]) in BY_INDEX
        assert marked(name, step).who == "assistant"
        assert step["confidence"] == "certain"
        assert isinstance(step["synthetic"], bool)
    for line in LABELS:
        order = [(step["call"], step["result"]) for step in line["steps"]]
        assert order == sorted(set(order))


def test_evidence_is_in_range_and_elsewhere() -> None:
    """Evidence points at other messages of the run, as pairs, one message, or -1."""
    for name, step in MARKS:
        evidence = step["evidence"]
        assert evidence, name
        if evidence == [-1]:
            continue
        assert not {step["call"], step["result"]} & set(evidence)
        assert all(0 <= i < len(SIMULATIONS[name]["messages"]) for i in evidence)
        if len(evidence) > 1:
            assert all((name, *chunk) in BY_INDEX for chunk in chunks(evidence))
    assert any(len(step["evidence"]) == 4 for _, step in MARKS)


def test_evidence_points_the_way_of_its_kind() -> None:
    """Abnormal and exploratory look ahead; duplicated and incorrect look back."""
    for name, step in MARKS:
        if step["kind"] in ("abnormal", "exploratory"):
            assert min(step["evidence"]) > step["result"], name
        else:
            assert max(step["evidence"]) < step["call"], name
        if step["kind"] != "incorrect":
            assert len(step["evidence"]) % 2 == 0, name


def test_exact_repeats_are_exactly_those_labelled_so() -> None:
    """Same tool, arguments and result as before in a success: always labelled duplicated."""
    exact = set()
    for line in LABELS:
        name = line["trajectory_id"]
        labels = {(step["call"], step["result"]): step for step in line["steps"]}
        seen: dict[tuple[str, str, str], Pair] = {}
        for pair in ALL[name]:
            if pair.who != "assistant":
                continue
            key = (*pair.request, pair.content)
            if key in seen:
                first = seen[key]
                label = labels.get((pair.call, pair.result))
                assert label is not None, (name, pair.call)
                assert label["kind"] == "duplicated"
                assert label["evidence"] == [first.call, first.result]
                exact.add((name, pair.call, pair.result))
            seen.setdefault(key, pair)
    assert len(exact) >= 3


def test_duplicates_across_tools_bring_nothing_new() -> None:
    """A duplicate through another tool holds no value that its evidence did not show."""

    def values(data: Any) -> set[str]:
        if isinstance(data, dict):
            return {f"{k}={v}" for k, v in data.items() if not isinstance(v, list)}.union(
                *(values(v) for v in data.values())
            )
        if isinstance(data, list):
            return set().union(*(values(v) for v in data))
        return set()

    across = 0
    for name, step in MARKS:
        if step["kind"] != "duplicated":
            continue
        mine = marked(name, step)
        earlier = [BY_INDEX[name, c, r] for c, r in chunks(step["evidence"])]
        if all(p.tool == mine.tool for p in earlier):
            assert (mine.request, mine.content) == (earlier[0].request, earlier[0].content)
            continue
        across += 1
        known = set().union(*(values(json.loads(p.content)) for p in earlier))
        assert values(json.loads(mine.content)) <= known, name
    assert across >= 2


def test_abnormal_steps_fail_and_their_evidence_is_the_retry() -> None:
    """An abnormal step has an error, and an equal later call that worked is its evidence."""
    for name, step in MARKS:
        if step["kind"] != "abnormal":
            continue
        failed = marked(name, step)
        [(call, result)] = chunks(step["evidence"])
        retry = BY_INDEX[name, call, result]
        assert failed.error
        assert not retry.error
        assert failed.request == retry.request


def test_every_error_in_a_success_is_labelled() -> None:
    """A failed call did nothing: abnormal if it was repeated, else incorrect."""
    labelled = {(name, s["call"], s["result"]): s["kind"] for name, s in MARKS}
    for line in LABELS:
        name = line["trajectory_id"]
        for pair in ALL[name]:
            if pair.error:
                assert labelled[name, pair.call, pair.result] in ("abnormal", "incorrect")


def test_rereads_after_a_write_are_not_labelled() -> None:
    """Some calls repeat an earlier one with a new result; those are needed and unlabelled."""
    labelled = {(name, s["call"], s["result"]) for name, s in MARKS}
    rereads = 0
    for line in LABELS:
        name = line["trajectory_id"]
        results: dict[tuple[str, str], str] = {}
        for pair in ALL[name]:
            if pair.who != "assistant" or pair.error:
                continue
            if results.get(pair.request, pair.content) != pair.content:
                rereads += 1
                assert (name, pair.call, pair.result) not in labelled
            results[pair.request] = pair.content
    assert rereads >= 3


def test_readme_counts_are_those_of_the_labels() -> None:
    """The README beside the data tells the truth about it."""
    readme = (SAMPLE / "README.md").read_text(encoding="utf-8")
    told = {kind: int(n) for kind, n in re.findall(r"^\| (\w+) \| (\d+) \|", readme, re.M)}
    assert told == Counter(step["kind"] for _, step in MARKS)
    annotated = [p for line in LABELS for p in ALL[line["trajectory_id"]]]
    calls = sum(p.who == "assistant" for p in annotated)
    synthetic = sum(step["synthetic"] for _, step in MARKS)
    assert (
        f"{len(MARKS)} of the {calls} assistant calls in successes are labelled, {synthetic} of"
        in readme
    )
