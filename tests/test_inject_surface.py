"""What an inserted step looks like: a simple learner cannot tell it from the agent's own."""

from __future__ import annotations

import json
import math
import random
import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner

from batcher.injection.corpus import looks_like_a_read
from cache.store import Store
from cli import main
from tests.injected import Checker, Row
from tests.test_importers_shared import SHARED

Features = dict[str, float]
#: The run, what a step looks like, and whether it was inserted.
Example = tuple[str, Features, int]

real = pytest.mark.skipif(not (SHARED / "tau2").is_dir(), reason="real runs are not here")


def surface(call: Row, answers: Sequence[Row], step: Row) -> Features:
    """What can be seen of a call without knowing what it is good for."""
    calls = json.loads(call["tool_calls"])
    here = next(
        n for n, answer in enumerate(answers) if answer["message_index"] == step["result_index"]
    )
    call_id = calls[here]["id"]
    arguments = step["arguments"]
    found: Features = {
        "content": min(len(call["content"]), 400) / 100,
        "silent": float(not call["content"]),
        "parallel": min(len(calls), 6) / 3,
        "place": here / 3,
        "odd": call["message_index"] % 2,
        "id length": len(call_id) / 10,
        "id digits": sum(c.isdigit() for c in call_id) / max(1, len(call_id)) * 5,
        "id upper": sum(c.isupper() for c in call_id) / max(1, len(call_id)) * 5,
        "id hex": float(re.fullmatch(r"(call_)?[0-9a-f-]+", call_id) is not None),
        "id kept": float(answers[here]["tool_call_id"] == call_id),
        "sorted": float([*json.loads(arguments)] == sorted(json.loads(arguments))),
        "blanks": float(" " in arguments),
        "arguments": min(len(arguments), 200) / 100,
        "ascii": float((call["content"] + arguments).isascii()),
        f"starts {re.match(r'[A-Za-z]*[_-]?', call_id)[0]}": 1.0,  # type: ignore[index]
    }
    if not step["is_error"]:
        # That a failure looks like one is no giveaway.
        found["result"] = min(len(step["result"]), 3000) / 1000
        found["result ascii"] = float(step["result"].isascii())
        found[f"result opens {step['result'][:1]}"] = 1.0
    for word in {*re.findall(r"[a-z']+", call["content"].lower())}:
        found[f"says {word}"] = 1.0
    return found


def trained(examples: Sequence[tuple[Features, int]]) -> dict[str, float]:
    """Logistic regression by stochastic gradient descent, a little regularised."""
    luck = random.Random(1)
    weights: dict[str, float] = defaultdict(float)
    for round_ in range(30):
        for features, truth in luck.sample(list(examples), len(examples)):
            error = truth - chance(weights, features)
            rate = 0.1 / (1 + round_ / 5)
            for name, value in [*features.items(), ("", 1.0)]:
                weights[name] += rate * (error * value - 0.003 * weights[name])
    return weights


def chance(weights: dict[str, float], features: Features) -> float:
    total = weights.get("", 0.0) + sum(weights.get(k, 0.0) * v for k, v in features.items())
    return 1 / (1 + math.exp(-max(-30.0, min(30.0, total))))


def area(scores: Sequence[tuple[float, int]]) -> float:
    """The area under the ROC curve; ties count half."""
    ones = [score for score, truth in scores if truth]
    zeros = [score for score, truth in scores if not truth]
    wins = sum((one > zero) + (one == zero) / 2 for one in ones for zero in zeros)
    return wins / (len(ones) * len(zeros))


def examples(path: Path, seed: int) -> list[Example]:
    """Every look-up of an injected data set: its run, its surface, whether it was inserted.

    Original calls that write or failed are left out: what is inserted never writes.
    """
    done = CliRunner().invoke(main, ["--db", str(path), "inject", "--into", "m", f"--seed={seed}"])
    assert done.exit_code == 0, done.output
    checker = Checker(Store(path), "m")
    found: list[Example] = []
    for name in checker.made:
        messages = checker.messages[name]
        fresh = checker.original_is_kept(name)
        for step in checker.steps[name]:
            at = step["call_index"]
            is_new = at in fresh
            if not step["judged"] or step["result_index"] is None:
                continue
            if is_new or (looks_like_a_read(step["tool"]) and not step["is_error"]):
                many = len(json.loads(messages[at]["tool_calls"]))
                found.append(
                    (
                        name,
                        surface(messages[at], messages[at + 1 : at + 1 + many], step),
                        int(is_new),
                    )
                )
    return found


def auc(found: Sequence[Example]) -> float:
    """Five-fold, whole runs held out."""
    fold = {name: n % 5 for n, name in enumerate(dict.fromkeys(name for name, _, _ in found))}
    scores: list[tuple[float, int]] = []
    for held in range(5):
        weights = trained([(f, truth) for name, f, truth in found if fold[name] != held])
        scores += [(chance(weights, f), truth) for name, f, truth in found if fold[name] == held]
    return area(scores)


def of_calls(found: Sequence[Example]) -> float:
    """The learner sees calls of every kind, and no results: a failure must look like one."""
    return auc(
        [
            (name, {k: v for k, v in features.items() if not k.startswith("result")}, truth)
            for name, features, truth in found
        ]
    )


def of_steps(found: Sequence[Example]) -> float:
    """The learner sees calls and results of the kinds that do not fail."""
    return auc([example for example in found if "result" in example[1]])


def test_the_learner_finds_what_published_steps_give_away(tmp_path: Path) -> None:
    """With ids such as published insertions have it is nearly always right."""
    found = examples(tmp_path / "n.duckdb", 1)
    marked = [
        (name, {**features, "id digits": 3.8 if truth else features["id digits"]}, truth)
        for name, features, truth in found
    ]

    assert of_calls(marked) > 0.9


def test_inserted_steps_of_the_sample_look_like_the_agent_s_own(tmp_path: Path) -> None:
    """Over three seeds, the learner is hardly better than a coin (measured: 0.49 and 0.47)."""
    found = [examples(tmp_path / f"{seed}.duckdb", seed) for seed in (1, 2, 3)]

    assert sum(map(of_calls, found)) / 3 < 0.6
    assert sum(map(of_steps, found)) / 3 < 0.65


@real
def test_inserted_steps_of_real_runs_look_like_the_agent_s_own(tmp_path: Path) -> None:
    """The same on real runs of several agents in three domains (measured: 0.56 and 0.57)."""
    path = tmp_path / "n.duckdb"
    files = [str(file) for file in sorted((SHARED / "tau2").glob("*.json"))]
    assert CliRunner().invoke(main, ["--db", str(path), "import", *files]).exit_code == 0

    found = examples(path, 1)

    assert Counter(truth for _, _, truth in found)[1] > 250
    assert of_calls(found) < 0.68
    assert of_steps(found) < 0.68
