"""Two prompts held side by side: which fields of their identity differ, and where texts part."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest

from batcher.difference import Difference, Sent, compare, distance, fields, parting
from batcher.judge import parse
from batcher.providers import builder
from cache.hashing import Identity, canonical_bytes
from prompts.render import Chat
from prompts.scopes import Excerpt

CHAT = Chat("You judge steps.", "Step one: search.", "verdict", Excerpt((), ()), None)


def sent(judge: str = "openai:gpt-4o", chat: Chat = CHAT, repeat: int = 0) -> Sent:
    """What a judge would be sent."""
    who = parse(judge)
    make = builder(who)
    return Sent(who.provider, make.base_url, make.endpoint, repeat, make.body(chat))


def prompt_hash(one: Sent) -> str:
    where = Identity(provider=one.provider, base_url=one.base_url, endpoint=one.endpoint)
    return where.prompt_hash(one.body, one.repeat)


#: Prompts that differ from the plain one, and the fields in which they do.
OTHERS: dict[str, tuple[Sent, list[str]]] = {
    "temperature": (sent("openai:gpt-4o?temperature=0"), ["temperature"]),
    "cap": (sent("openai:gpt-4o?max_tokens=9"), ["max_completion_tokens"]),
    "model": (sent("openai:gpt-4o-mini"), ["model"]),
    "form": (sent("openai:gpt-4o?response_format=json_object"), ["response format"]),
    "no form": (sent("openai:gpt-4o?response_format=text"), ["response format"]),
    "base URL": (sent("openai:gpt-4o?base_url=http://127.0.0.1:1/v1"), ["base_url"]),
    "repeat": (sent(repeat=2), ["repeat"]),
    "system": (sent(chat=replace(CHAT, system="You judge.")), ["system text"]),
    "user": (sent(chat=replace(CHAT, user="Step one: seek.")), ["user text"]),
    "answer": (sent(chat=replace(CHAT, answer="positions")), ["response format"]),
    "two": (sent("openai:gpt-4o-mini?seed=1"), ["model", "seed"]),
}


@pytest.mark.parametrize("name", OTHERS)
def test_each_field_of_the_identity_is_named(name: str) -> None:
    """Whatever makes it another prompt is told, and nothing else; the order plays no part."""
    other, expected = OTHERS[name]
    assert sorted(one.field for one in compare(sent(), other)) == expected
    assert sorted(one.field for one in compare(other, sent())) == expected
    assert distance(compare(sent(), other)) > distance(())


def test_nothing_differs_exactly_where_the_hash_is_the_same() -> None:
    """Prompts without a difference are one prompt, and those with one are two."""
    every = [sent(), *(other for other, _ in OTHERS.values()), sent("openai:gpt-4o?mode=live")]
    for one, other in itertools.product(every, repeat=2):
        assert (compare(one, other) == ()) == (prompt_hash(one) == prompt_hash(other))


def test_a_parameter_that_one_side_lacks_is_none() -> None:
    """Temperature 0 against none at all, not against some default."""
    (found,) = compare(sent("openai:gpt-4o?temperature=0"), sent())
    assert found == Difference("temperature", "0.0", "none")
    (found,) = compare(sent(), sent("openai:gpt-4o?temperature=0"))
    assert found == Difference("temperature", "none", "0.0")


def test_another_vendor_has_the_same_texts() -> None:
    """A system text is one wherever the body has it; the place and the parameters differ."""
    found = [one.field for one in compare(sent(), sent("anthropic:claude-haiku-4-5"))]
    assert not {"system text", "user text"} & {*found}
    assert {"provider", "base_url", "endpoint", "model", "max_tokens"} <= {*found}


def test_an_offline_judge_s_parameters_are_fields() -> None:
    """Its body is no chat, and its seed is a parameter all the same."""
    (found,) = compare(sent("offline:random?seed=1"), sent("offline:random?seed=2"))
    assert found == Difference("seed", "1", "2")


def test_text_is_shown_where_it_parts() -> None:
    """The offset counts the characters in common; some of them stand before the difference."""
    head = "x" * 500 + "the agent "
    at, ours, theirs = parting(head + "searched again, and so on", head + "gave up")
    assert (at, ours) == (510, "…xxxxxxthe agent searched again, and so o…")
    assert theirs == "…xxxxxxthe agent gave up"


@pytest.mark.parametrize(
    ("one", "other", "at"), [("", "a", 0), ("a", "", 0), ("ab", "a", 1), ("äö", "äü", 1)]
)
def test_texts_part_at_their_ends_too(one: str, other: str, at: int) -> None:
    """One may be the head of the other; characters are counted, not bytes."""
    found, ours, theirs = parting(one, other)
    assert found == at
    assert ours != theirs


def test_a_body_may_hold_what_no_judge_here_sends() -> None:
    """Blocks of content, and nested parameters, are read as well."""
    content = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    body = {"model": "m", "messages": [{"role": "user", "content": content}], "t": {"type": "on"}}
    found = fields(Sent("p", "u", "e", 0, canonical_bytes(body)))
    assert found["user text"] == "ab"
    assert found["t"] == '{"type":"on"}'


def test_the_place_weighs_more_than_anything_else() -> None:
    """A prompt of the same model with other words is nearer than the same words to another."""
    words = replace(CHAT, system="Other.", user="Words.", answer="positions")
    assert distance(compare(sent(), sent(chat=words))) < distance(
        compare(sent(), sent("openai:gpt-4o-mini"))
    )
