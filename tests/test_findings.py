"""Answers that name steps with kind and evidence, read strictly and ranked."""

from __future__ import annotations

import json
from typing import Any

import pytest

from prompts.answers import FINDINGS, SCHEMAS, Unreadable, schema_name, verdicts
from prompts.findings import Finding, read_findings

PAIR = (4, 5)
WHOLE = {"step": [4, 5], "evidence": [2, 3], "kind": "duplicated", "confidence": 0.5}


def text(*entries: Any) -> str:
    return json.dumps({"findings": entries})


def one(form: str = "findings", **changed: Any) -> Finding:
    (found,) = read_findings(form, text(WHOLE | changed), [PAIR])
    return found


@pytest.mark.parametrize("form", FINDINGS)
def test_a_whole_finding_is_read(form: str) -> None:
    """Step, kind, evidence and confidence, in every form that asks for them."""
    assert one(form) == Finding(1, PAIR, "duplicated", (2, 3), 0.5, True)
    fenced = f"Here:\n```json\n{text(WHOLE)}\n```"
    assert read_findings(form, fenced, [PAIR]) == [one(form)]


@pytest.mark.parametrize(
    ("said", "kind"),
    [("Abnormal", "abnormal"), (" EXPLORATORY\n", "exploratory"), ("other", None), (3, None)],
)
def test_kinds_in_any_case(said: object, kind: str | None) -> None:
    """A kind is one of four words, however it is capitalised."""
    assert one(kind=said).kind == kind


@pytest.mark.parametrize(
    ("said", "evidence"),
    [
        ([2], (2,)),
        ([2, 3], (2, 3)),
        ([-1], (-1,)),
        ([8, 9, 2, 3], (2, 3, 8, 9)),
        ([3, 2], (3, 2)),
        *[(wrong, None) for wrong in ([], [-2], [-1, 2], [2, 3, 4], [2, 3, 2, 3], [2, 3, 9, 8])],
        *[(wrong, None) for wrong in (2, "2", None, ["2"], [2.0], [True], {"a": 1})],
    ],
)
def test_evidence(said: object, evidence: tuple[int, ...] | None) -> None:
    """One message, a pair, ascending pairs in any order, or [-1]; nothing else."""
    assert one(evidence=said).evidence == evidence


@pytest.mark.parametrize("said", [[4], [4, 5, 6], [-1, 5], ["4", 5], None, 4, [True, 5], [4.0, 5]])
def test_a_step_is_a_pair(said: object) -> None:
    """Call and result, both whole numbers; anything else names no step."""
    assert one(step=said).step is None


@pytest.mark.parametrize("said", [-0.1, 1.1, "0.5", None, True, [], 10**400])
def test_a_confidence_is_from_0_to_1(said: object) -> None:
    """What is none cannot be ranked, so it can never be the first mention of a step."""
    found = one(confidence=said)
    assert (found.confidence, found.is_first) == (None, False)


def test_the_order_of_a_list() -> None:
    """By confidence, equal ones as written, those without one ahead; no entry is lost."""
    said = [0.2, 0.9, "x", 0.9, None, 0]
    entries = [WHOLE | {"confidence": c, "step": [n, n + 1]} for n, c in enumerate(said)]
    found = read_findings("findings", text(*entries, "no entry"), [])
    assert [one.step and one.step[0] for one in found] == [2, 4, None, 1, 3, 0, 5]
    assert [one.slot for one in found] == [1, 2, 3, 4, 5, 6, 7]


def test_the_first_mention() -> None:
    """Of entries about one step the surest is first, even if its kind or evidence is none."""
    entries = (WHOLE, WHOLE | {"confidence": 0.9, "kind": "?"}, WHOLE | {"confidence": None})
    found = read_findings("findings", text(*entries), [PAIR])
    assert [(one.kind, one.is_first) for one in found] == [
        ("duplicated", False),
        (None, True),
        ("duplicated", False),
    ]
    (said,) = verdicts(found, (1,), [PAIR])
    assert (said.is_redundant, said.kind, said.rank) == (True, None, 2)


def test_a_list_is_a_verdict_on_every_step() -> None:
    """Named is redundant, with or without a confidence; not named is necessary."""
    found = read_findings("findings", text(WHOLE | {"confidence": 2}), [(2, 3), PAIR])
    assert [one.is_redundant for one in verdicts(found, (1, 2), [(2, 3), PAIR])] == [False, True]
    assert read_findings("findings", text(), []) == []


@pytest.mark.parametrize("form", ["kind", "evidence"])
@pytest.mark.parametrize(
    ("entries", "words"),
    [
        ((), "0 findings"),
        ((WHOLE, WHOLE), "2 findings"),
        ((WHOLE | {"step": [2, 3]},), "not the step asked about"),
        (("text",), "not the step asked about"),
        ((WHOLE | {"kind": "dull"},), "kind is none of"),
    ],
)
def test_one_finding_about_the_step_asked_about(
    form: str, entries: tuple[Any, ...], words: str
) -> None:
    """None, two, another step, no kind: no answer."""
    with pytest.raises(Unreadable, match=words):
        read_findings(form, text(*entries), [PAIR])


def test_what_is_asked_must_be_there() -> None:
    """Evidence of no form is no answer to where the evidence is; the kind can be read."""
    with pytest.raises(Unreadable, match="evidence"):
        one("evidence", evidence=[1, 2, 3])
    assert one("kind", evidence=[1, 2, 3], confidence=None).kind == "duplicated"


@pytest.mark.parametrize("form", FINDINGS)
@pytest.mark.parametrize("said", ["", "[]", "{}", '{"findings": null}', '{"findings": {}}', "no"])
def test_no_list_is_unreadable(form: str, said: str) -> None:
    """There is no default answer."""
    with pytest.raises(Unreadable):
        read_findings(form, said, [PAIR])


def test_one_schema_has_one_name() -> None:
    """The three forms send the very same schema: it is part of what providers cache."""
    assert {json.dumps(SCHEMAS[form]) for form in FINDINGS} == {json.dumps(SCHEMAS["kind"])}
    assert {schema_name(form) for form in FINDINGS} == {"findings"}
    assert schema_name("verdict") == "verdict"
