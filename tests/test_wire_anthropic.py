"""The loopback provider as Anthropic's own SDK sees it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Any

import anthropic
import httpx2
import pytest
from anthropic import Anthropic
from anthropic.types import Message
from anthropic.types.messages import MessageBatch, MessageBatchIndividualResponse
from openai import OpenAI

from tests.wire import message_schemas
from tests.wire.answers import answer, prompt_tokens
from tests.wire.service import CallFault, Faults, LineFault, Remote, Service, Settings

INSTANT = Settings(validating=0, in_progress=0, finalizing=0, cancelling=0)
OLD_VERSION = {"anthropic-version": "2023-06-01"}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "redundant": {"type": "boolean"},
        "steps": {"type": "array", "items": {"type": "integer"}},
    },
    "required": ["redundant", "steps"],
    "additionalProperties": False,
}

Start = Callable[..., tuple[Service, Anthropic]]


@pytest.fixture
def start() -> Iterator[Start]:
    """Start services that end with the test; none of them may have crashed by then."""
    with ExitStack() as stack:
        started: list[Service] = []

        def run(
            faults: Faults | None = None, settings: Settings = INSTANT, **more: Any
        ) -> tuple[Service, Anthropic]:
            service = stack.enter_context(Service(faults, settings))
            started.append(service)
            return service, stack.enter_context(client_of(service, **more))

        yield run
        assert [service.log()["crashes"] for service in started] == [[] for _ in started]


def client_of(service: Service, key: str = "k1", retries: int = 0, **more: Any) -> Anthropic:
    url = service.anthropic_url
    return Anthropic(api_key=key, base_url=url, max_retries=retries, timeout=10, **more)


def params(text: str = "judge", **more: Any) -> dict[str, Any]:
    asked = [{"role": "user", "content": text}]
    return {"model": "claude-1", "max_tokens": 500, "messages": asked, **more}


def asking(schema: Any, **more: Any) -> dict[str, Any]:
    return params(output_config={"format": {"type": "json_schema", "schema": schema}}, **more)


def request(custom_id: str, **more: Any) -> Any:
    return {"custom_id": custom_id, "params": params(custom_id, **more)}


def requests(count: int) -> list[Any]:
    return [request(f"q{number}") for number in range(count)]


def ask(client: Anthropic, wanted: Any, **more: Any) -> Message:
    """Make a live call."""
    said: Message = client.messages.create(**wanted, **more)
    return said


def submit(client: Anthropic, wanted: Any) -> MessageBatch:
    return client.messages.batches.create(requests=wanted)


def run_batch(client: Anthropic, wanted: Any) -> MessageBatch:
    return client.messages.batches.retrieve(submit(client, wanted).id)


def raw(client: Anthropic, batch: MessageBatch) -> bytes:
    """Return the results as they are on the wire."""
    headers = {"Authorization": f"Bearer {client.api_key}"}
    return httpx2.get(str(batch.results_url), headers=headers).content


def records(client: Anthropic, batch: MessageBatch) -> list[dict[str, Any]]:
    return [json.loads(part) for part in raw(client, batch).split(b"\n") if part.strip()]


def result(client: Anthropic, **more: Any) -> dict[str, Any]:
    """Run a batch of one and return its only result."""
    (record,) = records(client, run_batch(client, [request("q0", **more)]))
    found: dict[str, Any] = record["result"]
    return found


def counts(batch: MessageBatch) -> dict[str, int]:
    """Return the counts that are not zero."""
    found: dict[str, int] = json.loads(batch.request_counts.to_json())
    return {name: number for name, number in found.items() if number}


def text_of(message: Message) -> str:
    return "".join(block.text for block in message.content if block.type == "text")


def test_a_batch_shows_no_progress_until_it_has_ended(start: Start) -> None:
    """Counts stand still, and times are exact to the microsecond, until everything is there."""
    service, client = start(settings=replace(INSTANT, in_progress=100))
    service.stop_clock()
    now = datetime.fromtimestamp(service.now(), UTC)
    made = submit(client, requests(4))
    assert made.id.startswith("msgbatch_")
    assert (made.type, made.processing_status, made.results_url) == (
        "message_batch",
        "in_progress",
        None,
    )
    assert abs(made.created_at - now) < timedelta(milliseconds=1)
    assert made.expires_at - made.created_at == timedelta(hours=24)
    service.advance(99)
    assert counts(client.messages.batches.retrieve(made.id)) == {"processing": 4}
    with pytest.raises(anthropic.AnthropicError, match="results_url"):
        client.messages.batches.results(made.id)
    service.advance(500)
    done = client.messages.batches.retrieve(made.id)
    assert (done.processing_status, counts(done)) == ("ended", {"succeeded": 4})
    assert done.ended_at == made.created_at + timedelta(seconds=100)
    assert (done.cancel_initiated_at, done.archived_at) == (None, None)
    assert str(done.results_url).startswith(service.anthropic_url + "/v1/messages/batches/")
    url = f"{service.base_url}/messages/batches/{made.id}"
    plain = httpx2.get(url, headers={"x-api-key": "k1"}).json()
    for name in ("created_at", "expires_at", "ended_at"):
        assert datetime.strptime(plain[name], "%Y-%m-%dT%H:%M:%S.%fZ")
        assert len(plain[name]) == 27


def test_results_are_shuffled_complete_and_deterministic(start: Start) -> None:
    """Every request is answered once, in another order, as its params determine."""
    service, client = start()
    batch = run_batch(client, requests(20))
    found = list(client.messages.batches.results(batch.id))
    ids = [one.custom_id for one in found]
    assert sorted(ids) == sorted(f"q{number}" for number in range(20))
    assert ids != [f"q{number}" for number in range(20)]
    for one in found:
        assert one.result.type == "succeeded"
        message = one.result.message
        wanted = answer(params(one.custom_id))
        assert text_of(message) == wanted.text
        assert (message.stop_reason, message.usage.service_tier) == ("end_turn", "batch")
        usage = message.usage
        assert (usage.input_tokens, usage.output_tokens) == (
            wanted.usage.prompt,
            wanted.usage.completion,
        )
        assert (usage.cache_creation_input_tokens, usage.cache_read_input_tokens) == (0, 0)
    log: Any = service.log()
    (create,) = log["creates"]
    assert (create["vendor"], create["lines"], create["model"]) == ("anthropic", 20, "claude-1")
    for book in ("custom_ids", "bodies", "answered_custom_ids", "answered_bodies"):
        assert list(log[book].values()) == [1] * 20


def test_structured_answers_hold_to_their_schema(start: Start) -> None:
    """A schema in output_config is obeyed, live and in a batch, and without one there is JSON."""
    _, client = start()
    wanted = asking(SCHEMA)
    wanted["messages"] = [{"role": "user", "content": "task\n3, 5, 8"}]
    live = ask(client, wanted)
    value = json.loads(text_of(live))
    assert set(value) == {"redundant", "steps"}
    assert set(value["steps"]) <= {3, 5, 8}
    (record,) = records(client, run_batch(client, [{"custom_id": "a", "params": wanted}]))
    assert record["result"]["message"]["content"][0]["text"] == text_of(live)
    assert json.loads(text_of(ask(client, params())))["reason"]


def test_live_messages_are_answered_and_billed(start: Start) -> None:
    """A live call has the answer of the batch, at the standard tier, and counts in the book."""
    service, client = start()
    asked = params("hello " * 10, system="be brief")
    said = ask(client, asked)
    assert text_of(said) == answer(asked).text
    assert (said.stop_reason, said.usage.service_tier) == ("end_turn", "standard")
    assert said.usage.input_tokens == prompt_tokens(asked)
    del asked["max_tokens"]
    assert client.messages.count_tokens(**asked).input_tokens == said.usage.input_tokens
    log = service.log()
    assert log["message_calls"] == 1
    assert (log["tokens"]["prompt"], log["tokens"]["completion"]) == (
        said.usage.input_tokens,
        said.usage.output_tokens,
    )
    cut = ask(client, params(max_tokens=2))
    assert (cut.stop_reason, cut.usage.output_tokens) == ("max_tokens", 2)
    with pytest.raises(anthropic.BadRequestError):
        ask(client, params(max_tokens=0))


@pytest.mark.parametrize(
    "wanted",
    [
        [],
        [request("a"), request("a")],
        [request("")],
        [request("a" * 65)],
        [request("a b")],
        [request("ä")],
        [{"params": params()}],
        [{"custom_id": "a"}],
        requests(6),
    ],
)
def test_creation_refuses_impossible_orders(start: Start, wanted: Any) -> None:
    """Ids that are bad or come twice, no requests and too many are refused at once."""
    service, client = start(settings=replace(INSTANT, message_max_requests=5))
    with pytest.raises(anthropic.BadRequestError) as caught:
        submit(client, wanted)
    assert caught.value.type == "invalid_request_error"
    assert service.log()["creates"] == []


def test_a_large_body_is_too_large(start: Start) -> None:
    """More bytes than the limit is 413, whatever they say."""
    _, client = start(settings=replace(INSTANT, message_max_bytes=2000))
    with pytest.raises(anthropic.APIStatusError) as caught:
        submit(client, requests(50))
    body: Any = caught.value.body
    assert (caught.value.status_code, body["error"]["type"]) == (413, "request_too_large")
    assert (Settings().message_max_requests, Settings().message_max_bytes) == (100_000, 256_000_000)


def test_errors_have_the_shape_and_the_headers_of_the_vendor(start: Start) -> None:
    """An error names its type and its request, in the body and in a header; so does an answer."""
    service, client = start()
    with pytest.raises(anthropic.NotFoundError) as caught:
        client.messages.batches.retrieve("msgbatch_0")
    body: Any = caught.value.body
    assert set(body) == {"type", "error", "request_id"}
    assert (body["type"], body["error"]["type"]) == ("error", "not_found_error")
    assert body["request_id"] == caught.value.request_id
    service.advance(1_000_000)
    good = client.messages.batches.with_raw_response.list()
    assert good.headers["request-id"].startswith("req_")
    assert "x-request-id" not in good.headers
    assert abs(parsedate_to_datetime(good.headers["date"]).timestamp() - service.now()) < 2
    with pytest.raises(anthropic.NotFoundError) as caught:
        client.get("/v1/nothing", cast_to=object)
    assert caught.value.type == "not_found_error"


def test_keys_come_in_two_headers_and_open_only_their_own(start: Start) -> None:
    """Bearer and x-api-key both open the door; with scoping on, other keys' batches are 404."""
    service, client = start(Faults(scope_to_key=True))
    made = submit(client, requests(1))
    url = f"{service.base_url}/messages/batches/{made.id}"
    for headers in ({"x-api-key": "k1"}, {"Authorization": "Bearer k1"}):
        assert httpx2.get(url, headers=headers).json()["id"] == made.id
    assert httpx2.get(url, headers={"x-api-key": "k2"}).status_code == 404
    assert httpx2.get(url).json()["error"]["type"] == "authentication_error"
    with client_of(service, "k2") as other:
        assert list(other.messages.batches.list()) == []
    service.set_faults(Faults(only_key="k2"))
    with pytest.raises(anthropic.AuthenticationError):
        client.messages.batches.retrieve(made.id)


def test_listing_pages_newest_first_in_both_directions(start: Start) -> None:
    """The SDK's paging sees every batch once, the newest first, and can go back."""
    _, client = start()
    made = [submit(client, requests(1)).id for _ in range(5)][::-1]
    page = client.messages.batches.list(limit=2)
    assert (page.has_more, page.first_id, page.last_id) == (True, made[0], made[1])
    assert [batch.id for batch in client.messages.batches.list(limit=2)] == made
    back = client.messages.batches.list(before_id=made[3], limit=2)
    assert ([batch.id for batch in back.data], back.has_more) == (made[1:3], True)
    assert not client.messages.batches.list(after_id=made[3]).has_more
    assert client.messages.batches.list(after_id=made[4]).data == []
    wrong: list[dict[str, Any]] = [{"limit": 0}, {"limit": 1001}, {"after_id": "msgbatch_0"}]
    for bad in wrong:
        with pytest.raises(anthropic.BadRequestError):
            client.messages.batches.list(**bad)


def test_cancel_delivers_what_was_done(start: Start) -> None:
    """A cancelled batch ends like any other; only its results tell, and some may have finished."""
    service, client = start(settings=replace(INSTANT, cancelling=5))
    service.hold(done=3)
    made = submit(client, requests(10))
    canceling = client.messages.batches.cancel(made.id)
    assert (canceling.processing_status, counts(canceling)) == ("canceling", {"processing": 10})
    assert canceling.cancel_initiated_at is not None
    service.advance(6)
    batch = client.messages.batches.retrieve(made.id)
    assert batch.processing_status == "ended"
    assert counts(batch) == {"succeeded": 3, "canceled": 7}
    kinds = [record["result"] for record in records(client, batch)]
    assert kinds.count({"type": "canceled"}) == 7
    with pytest.raises(anthropic.BadRequestError):
        client.messages.batches.cancel(made.id)
    service.set_faults(Faults(cancel_terminal=409))
    with pytest.raises(anthropic.ConflictError):
        client.messages.batches.cancel(made.id)
    service.set_faults(Faults(cancel_terminal=200, cancel_finishes=True))
    assert client.messages.batches.cancel(made.id).processing_status == "ended"
    late = client.messages.batches.cancel(submit(client, requests(3)).id)
    service.advance(6)
    assert counts(client.messages.batches.retrieve(late.id)) == {"succeeded": 3}
    assert service.log()["cancelled"] == [made.id, late.id]


def test_expiry_by_hand_and_by_the_clock(start: Start) -> None:
    """An expired batch is ended too, with its finished answers and a line for each of the rest."""
    service, client = start()
    service.hold()
    first, second = submit(client, requests(10)), submit(client, requests(10))
    service.expire(first.id, done=6)
    service.advance(86_400)
    for made, done in ((first, 6), (second, 5)):
        batch = client.messages.batches.retrieve(made.id)
        assert (batch.processing_status, counts(batch)) == (
            "ended",
            {"succeeded": done, "expired": 10 - done},
        )
        kinds = [one.result.type for one in client.messages.batches.results(made.id)]
        assert (kinds.count("succeeded"), kinds.count("expired")) == (done, 10 - done)
    with pytest.raises(ValueError, match="ended"):
        service.expire(first.id)
    assert sum(service.log()["answered_custom_ids"].values()) == 11


def test_a_hold_keeps_batches_of_both_vendors(start: Start) -> None:
    """Hold and release act on everything for ``*`` and else on the batch they name."""
    service, client = start()
    made = submit(client, requests(2))
    service.hold()
    held, other = submit(client, requests(2)), submit(client, requests(2))
    asked: dict[str, Any] = {"messages": [{"role": "user", "content": "a"}], "model": "m"}
    line = {"custom_id": "a", "method": "POST", "url": "/v1/chat/completions", "body": asked}
    with OpenAI(api_key="k1", base_url=service.base_url, max_retries=0) as openai:
        file = openai.files.create(file=("a.jsonl", json.dumps(line).encode()), purpose="batch")
        third = openai.batches.create(
            input_file_id=file.id, endpoint="/v1/chat/completions", completion_window="24h"
        )
        service.release(held.id)
        seen = {batch.id: batch.processing_status for batch in client.messages.batches.list()}
        assert seen == {made.id: "ended", held.id: "ended", other.id: "in_progress"}
        assert openai.batches.retrieve(third.id).status == "in_progress"
        service.release()
        assert openai.batches.retrieve(third.id).status == "completed"
    assert client.messages.batches.retrieve(other.id).processing_status == "ended"
    vendors = [create["vendor"] for create in service.log()["creates"]]
    assert vendors == ["anthropic"] * 3 + ["openai"]


def test_results_go_away_29_days_after_the_creation(start: Start) -> None:
    """An archived batch can still be seen, without its results."""
    service, client = start()
    service.hold()
    made = submit(client, requests(2))
    service.advance(80_000)
    service.release()
    batch = client.messages.batches.retrieve(made.id)
    service.advance(29 * 86_400 - 80_000 - 100)
    assert raw(client, batch)
    service.advance(100)
    gone = client.messages.batches.retrieve(made.id)
    assert gone.results_url is None
    assert gone.archived_at == made.created_at + timedelta(days=29)
    assert gone.request_counts.succeeded == 2
    assert httpx2.get(str(batch.results_url), headers={"x-api-key": "k1"}).status_code == 404


def test_only_an_ended_batch_can_be_deleted(start: Start) -> None:
    """Deleting is refused while a batch runs, and final afterwards."""
    service, client = start()
    service.hold()
    made = submit(client, requests(1))
    with pytest.raises(anthropic.BadRequestError):
        client.messages.batches.delete(made.id)
    service.release()
    assert client.messages.batches.delete(made.id).type == "message_batch_deleted"
    with pytest.raises(anthropic.NotFoundError):
        client.messages.batches.retrieve(made.id)
    assert service.log()["deleted"] == [made.id]


@pytest.mark.parametrize(
    "bad",
    [
        {"max_tokens": None},
        {"max_tokens": 0},
        {"model": None},
        {"messages": []},
        {"messages": [{"role": "tool", "content": "a"}]},
        {"stream": True},
        {"speed": "fast"},
        {"response_format": {"type": "json_object"}},
        {"output_config": {"format": {"type": "json_object"}}},
        {"output_config": {"format": {"type": "json_schema", "schema": {"type": "object"}}}},
    ],
)
def test_bad_params_fail_line_by_line_or_at_once(start: Start, bad: dict[str, Any]) -> None:
    """Params are checked when their request runs, or at the creation if the switch says so."""
    service, client = start()
    wanted = [request("good"), request("bad", **bad)]
    found = {one["custom_id"]: one for one in records(client, run_batch(client, wanted))}
    assert found["good"]["result"]["type"] == "succeeded"
    outer = found["bad"]["result"]["error"]
    assert (outer["type"], outer["error"]["type"]) == ("error", "invalid_request_error")
    assert service.log()["answered_custom_ids"] == {"good": 1}
    service.set_faults(Faults(params_refused="at_create"))
    with pytest.raises(anthropic.BadRequestError, match=r"requests\.1\.params"):
        submit(client, wanted)


def test_sampling_parameters_are_gone_from_the_newest_version(start: Start) -> None:
    """They fail each line, or the creation, or nothing; an older version still has them."""
    service, client = start()
    assert result(client, temperature=1)["error"]["error"]["type"] == "invalid_request_error"
    with pytest.raises(anthropic.BadRequestError):
        ask(client, params(), extra_body={"top_p": 1})
    with client_of(service, default_headers=OLD_VERSION) as old:
        assert result(old, temperature=0)["type"] == "succeeded"
    service.set_faults(Faults(sampling_refused="at_create"))
    with pytest.raises(anthropic.BadRequestError, match="temperature"):
        submit(client, [request("a", temperature=1)])
    service.set_faults(Faults(sampling_refused="never"))
    assert result(client, temperature=0)["type"] == "succeeded"


@pytest.mark.parametrize(
    ("more", "good"),
    [
        ({"type": "array", "items": {"type": "string"}, "minItems": 1}, True),
        ({"type": "array", "items": {"type": "string"}, "minItems": 2}, False),
        ({"type": "integer", "minimum": 0}, False),
        ({"type": "string", "maxLength": 9}, False),
        ({"type": "object", "properties": {}}, False),
        ({"$ref": "#/$defs/leaf"}, True),
        ({"$ref": "#/$defs/loop"}, False),
    ],
)
def test_schemas_have_the_documented_limits(more: dict[str, Any], good: bool) -> None:
    """Ranges, lengths, open objects and recursion are not taken."""
    definitions: dict[str, Any] = {"leaf": {"enum": ["a", "b"]}}
    if "loop" in str(more):
        definitions["loop"] = {"type": "array", "items": {"$ref": "#/$defs/loop"}}
    properties = SCHEMA["properties"] | {"more": more}
    schema = SCHEMA | {"properties": properties, "$defs": definitions}
    assert (message_schemas.problem(schema) is None) == good


def first(r: dict[str, Any]) -> Any:
    return r["message"]["content"][0]


@pytest.mark.parametrize(
    ("rule", "check"),
    [
        (LineFault("refusal"), lambda r: r["message"]["stop_reason"] == "refusal"),
        (LineFault("content_filter"), lambda r: r["message"]["content"] == []),
        (LineFault("length"), lambda r: r["message"]["stop_reason"] == "max_tokens"),
        (LineFault("stop_reason"), lambda r: r["message"]["stop_reason"] == "pause_turn"),
        (LineFault("empty_choices"), lambda r: r["message"]["content"] == []),
        (LineFault("content_null"), lambda r: r["message"]["content"] == []),
        (LineFault("thinking"), lambda r: first(r)["type"] == "thinking"),
        (LineFault("fenced"), lambda r: first(r)["text"].startswith("```json\n")),
        (LineFault("text", value="hello"), lambda r: first(r)["text"] == "hello"),
        (LineFault("no_usage"), lambda r: r["message"]["usage"] is None),
        (LineFault("body_null"), lambda r: r["message"] is None),
        (LineFault("unknown_result"), lambda r: r == {"type": "postponed"}),
        (LineFault("request_timeout"), lambda r: r["error"]["error"]["type"] == "timeout_error"),
    ],
)
def test_line_rules_bend_one_request(
    start: Start, rule: LineFault, check: Callable[[dict[str, Any]], bool]
) -> None:
    """Each line rule makes exactly the result it is named after, as often as it says."""
    _, client = start(Faults(lines=(replace(rule, times=1),)))
    assert check(result(client))
    assert first(result(client))["text"] == answer(params("q0")).text


def test_thinking_comes_before_the_text_and_is_billed(start: Start) -> None:
    """The text stays what it was; the thinking counts among the output tokens."""
    _, client = start(Faults(lines=(LineFault("thinking"),)))
    said = ask(client, params())
    assert [block.type for block in said.content] == ["thinking", "text"]
    assert text_of(said) == answer(params()).text
    assert said.usage.output_tokens == answer(params()).usage.completion + 12


@pytest.mark.parametrize(
    ("status", "value", "kind"),
    [
        (400, "", "invalid_request_error"),
        (529, "", "overloaded_error"),
        (500, "", "api_error"),
        (400, "billing_error", "billing_error"),
    ],
)
def test_errored_results_are_nested_twice_or_once(
    start: Start, status: int, value: str, kind: str
) -> None:
    """The type goes with the status or is given; a live call fails the same way."""
    rules = (LineFault("http_error", status=status, value=value, message="no"),)
    service, client = start(Faults(lines=rules))
    batch = run_batch(client, requests(2))
    assert counts(batch) == {"errored": 2}
    (one, _) = client.messages.batches.results(batch.id)
    assert one.result.type == "errored"
    assert one.result.error.error.type == kind
    with pytest.raises(anthropic.APIStatusError) as caught:
        ask(client, params())
    assert (caught.value.status_code, caught.value.type) == (status, kind)
    service.set_faults(Faults(lines=rules, single_error_nesting=True))
    assert result(client)["error"] == {"type": kind, "message": "no"}
    assert service.log()["tokens"]["prompt"] == 0


@pytest.mark.parametrize(
    ("kind", "ids"),
    [
        ("missing", []),
        ("duplicate_same", ["q0", "q0"]),
        ("duplicate_other", ["q0", "q0"]),
        ("unknown_id", ["nobody-sent-this", "q0"]),
    ],
)
def test_line_rules_change_the_number_of_lines(start: Start, kind: Any, ids: list[str]) -> None:
    """Lines go missing or come twice for the chosen request only, and the counts do not show it."""
    _, client = start(Faults(lines=(LineFault(kind, custom_id="^q0$"),)))
    batch = run_batch(client, requests(3))
    mine = [one for one in records(client, batch) if one["custom_id"] not in ("q1", "q2")]
    assert sorted(one["custom_id"] for one in mine) == ids
    assert (len({first(one["result"])["text"] for one in mine}) == 2) == (kind == "duplicate_other")
    assert counts(batch) == {"succeeded": 3}


def test_an_unknown_result_type_passes_the_sdk_as_a_success(start: Start) -> None:
    """The SDK decodes a type it does not know into the class of a success, without a message."""
    _, client = start(Faults(lines=(LineFault("unknown_result", value="paused"),)))
    batch = run_batch(client, requests(1))
    (one,) = client.messages.batches.results(batch.id)
    assert type(one.result).__name__ == "MessageBatchSucceededResult"
    assert str(one.result.type) == "paused"


def test_bytes_of_results_can_be_unusual(start: Start) -> None:
    """Separators are safe for the SDK, a blank line kills its decoder, broken lines arrive."""
    separator = LineFault("line_separator")
    service, client = start(Faults(lines=(separator,), crlf=True))
    batch = run_batch(client, requests(2))
    data = raw(client, batch)
    assert data.count("\u2028\x85".encode()) == data.count(b"\r\n") == data.count(b"\n") == 2
    assert len(list(client.messages.batches.results(batch.id))) == 2
    service.set_faults(Faults(trailing_blank_line=True))
    batch = run_batch(client, requests(1))
    assert raw(client, batch).endswith(b"\n\n")
    with pytest.raises(json.JSONDecodeError):
        list(client.messages.batches.results(batch.id))
    service.set_faults(Faults(lines=(LineFault("corrupt"),)))
    with pytest.raises(json.JSONDecodeError):
        json.loads(raw(client, run_batch(client, requests(1))))


def test_downloads_can_be_cut_in_every_way(start: Start) -> None:
    """A cut is an error where the wire shows it, and half the lines where it does not."""
    service, client = start()
    batch = run_batch(client, requests(40))

    def fetch(kind: Any) -> list[MessageBatchIndividualResponse]:
        rule = CallFault("messages.batches.results", kind)
        service.set_faults(Faults(calls=(rule,)))
        return list(client.messages.batches.results(batch.id))

    for kind in ("cut_length", "cut_chunked"):
        with pytest.raises(httpx2.RemoteProtocolError):
            fetch(kind)
    with pytest.raises(json.JSONDecodeError):
        fetch("cut_close")
    assert len(fetch("small_chunks")) == 40
    service.set_faults(Faults(content_lag=3600))
    with pytest.raises(anthropic.NotFoundError):
        client.messages.batches.results(batch.id)


def test_results_can_be_said_to_lie_elsewhere(start: Start) -> None:
    """The address of the results may name another host, or none."""
    service, client = start(Faults(results_base="http://localhost:9"))
    batch = run_batch(client, requests(1))
    assert str(batch.results_url).startswith(f"http://localhost:9/v1/messages/batches/{batch.id}")
    service.set_faults(Faults(results_base=""))
    assert len(list(client.messages.batches.results(batch.id))) == 1


def test_sdk_retry_after_a_lost_answer_makes_two_batches(start: Start) -> None:
    """An accepted creation whose answer is lost is counted, and so is the SDK's second try."""
    rule = CallFault("messages.batches.create", "drop_after")
    service, client = start(Faults(calls=(rule,)), retries=1)
    submit(client, requests(1))
    log = service.log()
    assert [create["retry_count"] for create in log["creates"]] == [0, 1]
    assert log["custom_ids"] == {"q0": 2}
    assert log["retries"] == {"messages.batches.create": 1}


def test_status_rules_strike_the_calls_they_name(start: Start) -> None:
    """A rule strikes any route by its name, with the vendor's error type or the one it gives."""
    rules = (
        CallFault("messages.batches.list", "status", status=429, retry_after="7"),
        CallFault("messages.batches.cancel", "status", status=529),
        CallFault("messages.batches.delete", "status", status=402, code="billing_error"),
        CallFault("messages.batches.create", "status", status=503, pattern="^model=other$"),
        CallFault("messages.create", "drop", pattern="^model=other$"),
    )
    service, client = start(Faults(calls=rules))
    made = submit(client, requests(1))
    batches = client.messages.batches
    with pytest.raises(anthropic.RateLimitError) as caught:
        batches.list()
    assert caught.value.response.headers["retry-after"] == "7"
    assert caught.value.type == "rate_limit_error"
    with pytest.raises(anthropic.APIStatusError) as overloaded:
        batches.cancel(made.id)
    assert (overloaded.value.status_code, overloaded.value.type) == (529, "overloaded_error")
    with pytest.raises(anthropic.APIStatusError) as billing:
        batches.delete(made.id)
    assert billing.value.type == "billing_error"
    with pytest.raises(anthropic.InternalServerError):
        submit(client, [request("a", model="other")])
    assert ask(client, params()).content
    with pytest.raises(anthropic.APIConnectionError):
        ask(client, params() | {"model": "other"})
    assert service.log()["struck"] == {"status": 4, "drop": 1}


def test_object_rules_change_what_a_poll_sees(start: Start) -> None:
    """Odd answers to a poll arrive as the SDK lets them through."""
    service, client = start()
    made = submit(client, requests(3))

    def poll(kind: Any, **more: Any) -> Any:
        rule = CallFault("messages.batches.retrieve", kind, **more)
        service.set_faults(Faults(calls=(rule,)))
        return client.messages.batches.retrieve(made.id)

    assert "<html>" in str(poll("html"))
    with pytest.raises(json.JSONDecodeError):
        poll("truncated_json")
    assert poll("wrapped").id is None
    assert poll("unknown_status", value="paused").processing_status == "paused"
    assert poll("upper_status").processing_status == "ENDED"
    assert poll("counts_null").request_counts is None
    back = poll("backwards")
    assert (back.processing_status, back.results_url) == ("in_progress", None)
    assert counts(back) == {"processing": 3}
    assert poll("delay", seconds=0.01).processing_status == "ended"
    service.set_faults(Faults(calls=(CallFault("messages.batches.list", "upper_status"),)))
    (listed,) = client.messages.batches.list()
    assert str(listed.processing_status) == "ENDED"


def test_switches_of_the_other_vendor_work_here_too(start: Start) -> None:
    """Lags, a batch that never ends, an absent batch API, quotas and unknown models."""
    service, client = start(Faults(list_lag=60, stuck_finalizing=True))
    service.stop_clock()
    made = submit(client, requests(3))
    assert list(client.messages.batches.list()) == []
    service.advance(200_000)
    assert [batch.id for batch in client.messages.batches.list()] == [made.id]
    assert client.messages.batches.retrieve(made.id).processing_status == "in_progress"
    service.set_faults(Faults(no_batch_api=True))
    with pytest.raises(anthropic.NotFoundError):
        client.messages.batches.retrieve(made.id)
    assert ask(client, params()).content
    service.set_faults(Faults(quota_over_lines=2, unknown_models=("claude-1",)))
    with pytest.raises(anthropic.RateLimitError):
        submit(client, requests(3))
    assert result(client)["error"]["error"]["type"] == "not_found_error"


def test_prefix_cache_keeps_what_is_marked_and_long_enough(start: Start) -> None:
    """Writes and reads are counted apart from the input, end with their time, and sum up."""
    service, client = start(Faults(prefix_cache=True))
    service.stop_clock()

    def tokens_of(
        size: int = 1100, model: str = "claude-1", ttl: str = "1h"
    ) -> tuple[int, int, int]:
        mark = {"cache_control": {"type": "ephemeral", "ttl": ttl}}
        system = [{"type": "text", "text": "rule" * size, **mark}]
        said = ask(client, params("x" * 40, system=system) | {"model": model})
        usage = said.usage
        assert usage.cache_creation is not None
        hours = usage.cache_creation.ephemeral_1h_input_tokens
        assert hours == (usage.cache_creation_input_tokens if ttl == "1h" else 0)
        return (
            usage.input_tokens,
            usage.cache_creation_input_tokens or 0,
            usage.cache_read_input_tokens or 0,
        )

    assert tokens_of() == (10, 1100, 0)
    service.advance(3000)
    assert tokens_of() == (10, 0, 1100)
    service.advance(3000)
    assert tokens_of() == (10, 0, 1100)
    service.advance(3601)
    assert tokens_of(ttl="5m") == (10, 1100, 0)
    service.advance(301)
    assert tokens_of(ttl="5m") == (10, 1100, 0)
    assert tokens_of(1000) == (1010, 0, 0)
    assert tokens_of(model="claude-haiku-4-5") == (1110, 0, 0)
    assert tokens_of(4200, model="claude-haiku-4-5") == (10, 4200, 0)
    tokens = service.log()["tokens"]
    assert (tokens["written"], tokens["cached"]) == (3 * 1100 + 4200, 2200)


def test_five_thousand_requests_are_quick(start: Start) -> None:
    """A large batch is answered in the time of a poll."""
    service, client = start()
    batch = run_batch(client, requests(5000))
    assert counts(batch) == {"succeeded": 5000}
    assert raw(client, batch).count(b"\n") == 5000
    assert len(service.log()["answered_custom_ids"]) == 5000


def test_the_address_is_that_of_the_other_vendor_without_its_version() -> None:
    """A service in another process has the same two addresses."""
    remote = Remote("http://127.0.0.1:1/v1", 1)
    assert remote.anthropic_url == "http://127.0.0.1:1"
