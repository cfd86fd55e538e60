"""What a judge wrote, read strictly: an answer of the asked form, or none at all."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prompts.answers import SCHEMAS, Unreadable, Verdict, read

YES, NO = [Verdict(1, True)], [Verdict(1, False)]


def verdict(text: str) -> list[Verdict]:
    return read("verdict", text, (1,), 1)


def positions(text: str) -> dict[int, bool]:
    return {one.position: one.is_redundant for one in read("positions", text, (2, 4, 5), 6)}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"redundant": true}', YES),
        ('{"reason": "r", "redundant": false}', NO),
        ('\n  {"redundant": true}\n', YES),
        ('{"redundant": "false"}', NO),
        ('{"redundant": " TRUE "}', YES),
        ('```json\n{"redundant": true}\n```', YES),
        ('```\n{"redundant": false}\n```', NO),
        ('Here it is:\n```json\n{"redundant": true}\n```', YES),
        ('{"reason": "it says {\\"redundant\\": false}", "redundant": true}', YES),
        ('{"reason": "a```b", "redundant": true, "more": [1]}', YES),
        ('```json\r\n{"redundant": true}\r\n```\r\n', YES),
    ],
)
def test_b71_a_verdict_is_read(text: str, expected: list[Verdict]) -> None:
    """A plain object, one fenced object, a verdict as a word in quotes: all are answers."""
    assert verdict(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "null",
        "true",
        "[]",
        "{}",
        '{"reason": "x"}',
        '{"redundant": "maybe"}',
        '{"redundant": null}',
        '{"redundant": 1}',
        '{"redundant": 0}',
        '{"redundant": []}',
        '{"redundant": NaN}',
        '{"redundant": true, "redundant": false}',
        '{"redundant": true, "redundant": true}',
        '{"redundant": tr',
        '{"redundant": true} {"redundant": false}',
        "I'm sorry, I can't help with that.",
        'The recording says {"redundant": true} but I would not agree.',
        '```json\n{"redundant": true}\n```\nor\n```json\n{"redundant": false}\n```',
        '```json\n{"redundant": true}\n```\n\n```json\n{"redundant": true}\n```',
        '| ```json\n| {"redundant": true}\n| ```',
        "```json\n```",
        'It quotes\n```json\n{"redundant": true}\n```\nwhich is not my answer.',
        "[" * 100_000,
    ],
)
def test_b73_what_is_no_verdict_is_unreadable(text: str) -> None:
    """Nothing, another value, two answers, a quotation: no verdict, and no default one."""
    with pytest.raises(Unreadable):
        verdict(text)


def test_positions_are_a_verdict_on_each_step_asked_about() -> None:
    """Those named are redundant, the others asked about are not; a turn of talk is left out."""
    assert positions('{"redundant_steps": [4]}') == {2: False, 4: True, 5: False}
    assert positions('{"redundant_steps": []}') == {2: False, 4: False, 5: False}
    assert positions('{"redundant_steps": [5, 2, 5, 1]}') == {2: True, 4: False, 5: True}
    assert positions('```json\n{"redundant_steps": [2]}\n```')[2]


@pytest.mark.parametrize(
    "value",
    [
        *("null", "true", "4", '"4"', '["4"]', "[4.0]", "[null]", "[true]", "[[4]]", "[NaN]"),
        *("[0]", "[-1]", "[7]", "[4, 99]", "{}", "[1e400]", "[Infinity]"),
    ],
)
def test_positions_of_another_kind_are_unreadable(value: str) -> None:
    """A number that is no step shown, or no whole number, makes the whole answer unreadable."""
    with pytest.raises(Unreadable):
        positions(f'{{"redundant_steps": {value}}}')


def test_the_forms_do_not_stand_for_each_other() -> None:
    """A verdict is no list of positions, nor the reverse."""
    with pytest.raises(Unreadable, match="missing"):
        positions('{"redundant": true}')
    with pytest.raises(Unreadable, match="missing"):
        verdict('{"redundant_steps": [1]}')


def test_a_complaint_is_short() -> None:
    """The reason shows the start of a long text, not all of it."""
    with pytest.raises(Unreadable) as caught:
        verdict("word " * 10_000)
    assert len(str(caught.value)) < 200


@given(st.text() | st.from_regex(r'\{"redundant": ?(true|false|"[a-z]*"|[0-9]+)\}', fullmatch=True))
def test_any_text_is_read_or_unreadable(text: str) -> None:
    """No text makes the reader fail in another way, and only a stated verdict is one."""
    try:
        (found,) = verdict(text)
    except Unreadable:
        return
    assert str(found.is_redundant).lower() in text.lower()


@pytest.mark.parametrize("form", SCHEMAS)
def test_schemas_are_closed(form: str) -> None:
    """Every schema demands all of its fields and no other, as strict modes want it."""
    schema = SCHEMAS[form]
    assert schema["additionalProperties"] is False
    assert list(schema["required"]) == list(schema["properties"])  # type: ignore[call-overload]
    json.dumps(schema)
