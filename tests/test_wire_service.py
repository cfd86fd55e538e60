"""The loopback provider, driven by the official SDK as the product drives it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from typing import Any, Literal

import httpx2
import openai
import pytest
from openai import OpenAI
from openai.types import Batch

from tests.wire.answers import answer
from tests.wire.service import CallFault, Faults, LineFault, Service, Settings, spawn

ENDPOINT: Literal["/v1/chat/completions"] = "/v1/chat/completions"
INSTANT = Settings(validating=0, in_progress=0, finalizing=0, cancelling=0)
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "reason": {"type": "string"},
        "redundant": {"type": "boolean"},
        "kind": {"enum": ["duplicated", "incorrect"]},
        "steps": {"type": "array", "items": {"type": "integer"}},
    },
    "required": ["reason", "redundant", "kind", "steps"],
    "additionalProperties": False,
}

Start = Callable[..., tuple[Service, OpenAI]]


@pytest.fixture
def start(monkeypatch: pytest.MonkeyPatch) -> Iterator[Start]:
    """Start services that end with the test; each comes with a client of the real SDK."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with ExitStack() as stack:

        def run(
            faults: Faults | None = None, settings: Settings = INSTANT, retries: int = 0
        ) -> tuple[Service, OpenAI]:
            service = stack.enter_context(Service(faults, settings))
            return service, stack.enter_context(client_of(service.base_url, retries=retries))

        yield run


def client_of(base_url: str, key: str = "k1", retries: int = 0) -> OpenAI:
    return OpenAI(api_key=key, base_url=base_url, max_retries=retries, timeout=10)


def body(text: str = "judge", **more: Any) -> dict[str, Any]:
    return {"model": "m1", "messages": [{"role": "user", "content": text}], **more}


def line(custom_id: str, /, **changes: Any) -> dict[str, Any]:
    made = {"custom_id": custom_id, "method": "POST", "url": ENDPOINT, "body": body(custom_id)}
    made.update(changes)
    return {name: value for name, value in made.items() if value is not None}


def jsonl(*values: object) -> bytes:
    return b"".join(json.dumps(value).encode() + b"\n" for value in values)


def lines(count: int) -> bytes:
    return jsonl(*(line(f"q{number}") for number in range(count)))


def submit(client: OpenAI, data: bytes, **more: Any) -> Batch:
    file = client.files.create(file=("in.jsonl", data), purpose="batch")
    return client.batches.create(
        input_file_id=file.id, endpoint=ENDPOINT, completion_window="24h", **more
    )


def run_batch(client: OpenAI, data: bytes) -> Batch:
    return client.batches.retrieve(submit(client, data).id)


def raw(client: OpenAI, file_id: str | None) -> bytes:
    return client.files.content(file_id).content if file_id else b""


def records(client: OpenAI, file_id: str | None) -> list[dict[str, Any]]:
    return [json.loads(part) for part in raw(client, file_id).split(b"\n") if part.strip()]


def content(record: dict[str, Any]) -> Any:
    return record["response"]["body"]["choices"][0]["message"]["content"]


def one(client: OpenAI) -> dict[str, Any]:
    """Run a batch of one and return its only line, from whichever file."""
    batch = run_batch(client, lines(1))
    (record,) = [*records(client, batch.output_file_id), *records(client, batch.error_file_id)]
    return record


def test_batch_passes_through_every_state_with_its_stamp(start: Start) -> None:
    """A batch walks all states in order, and each stamp is the second its state was entered."""
    slow = Settings(validating=10, in_progress=20, finalizing=30)
    service, client = start(settings=slow)
    service.stop_clock()
    began = int(service.now())
    made = submit(client, lines(4), metadata={"run": "r1"})
    assert (made.status, made.in_progress_at, made.model) == ("validating", None, None)
    assert made.request_counts is not None
    assert made.request_counts.total == 0
    assert made.metadata == {"run": "r1"}
    assert (made.created_at, made.expires_at) == (began, began + 86_400)

    service.advance(10 + 10)
    running = client.batches.retrieve(made.id)
    assert (running.status, running.in_progress_at, running.model) == (
        "in_progress",
        began + 10,
        "m1",
    )
    assert running.request_counts is not None
    assert (running.request_counts.total, running.request_counts.completed) == (4, 2)

    service.advance(10)
    assert client.batches.retrieve(made.id).status == "finalizing"
    service.advance(1000)
    done = client.batches.retrieve(made.id)
    assert (done.status, done.finalizing_at, done.completed_at) == (
        "completed",
        began + 30,
        began + 60,
    )
    assert done.error_file_id is None
    assert done.usage is not None
    assert done.usage.total_tokens == sum(
        record["response"]["body"]["usage"]["total_tokens"]
        for record in records(client, done.output_file_id)
    )


def test_output_is_shuffled_complete_and_deterministic(start: Start) -> None:
    """Every request is answered once, in another order, with the answer its body determines."""
    service, client = start()
    batch = run_batch(client, lines(20))
    found = records(client, batch.output_file_id)
    ids = [record["custom_id"] for record in found]
    assert sorted(ids) == sorted(f"q{number}" for number in range(20))
    assert ids != [f"q{number}" for number in range(20)]
    assert all(content(record) == answer(body(record["custom_id"])).text for record in found)
    info = client.files.retrieve(str(batch.output_file_id))
    assert info.bytes == len(raw(client, info.id))
    assert set(service.log()["custom_ids"].values()) == {1}


def test_schema_answers_hold_to_schema_and_candidates() -> None:
    """A schema answer has the asked shape, and its integers come from the last line."""
    wanted = {"type": "json_schema", "json_schema": {"name": "v", "schema": SCHEMA}}
    seen: set[int] = set()
    for number in range(20):
        text = answer(body(f"task {number}\n3, 5, 8, 13", response_format=wanted)).text
        value = json.loads(str(text))
        assert set(value) == set(SCHEMA["properties"])
        assert isinstance(value["redundant"], bool)
        assert value["kind"] in ("duplicated", "incorrect")
        seen.update(value["steps"])
    assert seen == {3, 5, 8, 13}


@pytest.mark.parametrize(
    ("data", "code", "number"),
    [
        (jsonl(line("a")) + b"{oops\n", "invalid_json_line", 2),
        (jsonl(line("a")) + b"\n", "invalid_json_line", 2),
        (b"\xef\xbb\xbf" + jsonl(line("a")), "invalid_json_line", 1),
        (jsonl([1]), "invalid_json_line", 1),
        (jsonl(line("a", custom_id=None)), "missing_required_parameter", 1),
        (jsonl(line("a", method=None)), "missing_required_parameter", 1),
        (jsonl(line("a", url=None)), "missing_required_parameter", 1),
        (jsonl(line("a", body=None)), "missing_required_parameter", 1),
        (jsonl(line("a"), line("a")), "duplicate_custom_id", 2),
        (jsonl(line("a", url="/v1/responses")), "url_mismatch", 1),
        (jsonl(line("a"), line("b", body=body() | {"model": "m2"})), "model_mismatch", 2),
        (b"", "empty_file", None),
        (lines(6), "too_many_tasks", None),
        (jsonl(line("a", body=body("x" * 3000))), "file_too_large", None),
    ],
)
def test_bad_input_fails_after_creation(
    start: Start, data: bytes, code: str, number: int | None
) -> None:
    """The upload and the creation succeed; validation names the problem and its line."""
    limits = replace(INSTANT, max_requests=5, max_bytes=2000)
    service, client = start(settings=limits)
    made = submit(client, data)
    assert (made.status, made.errors) == ("validating", None)
    failed = client.batches.retrieve(made.id)
    assert failed.status == "failed"
    assert failed.failed_at is not None
    assert failed.errors is not None
    assert failed.errors.data is not None
    assert (failed.errors.data[0].code, failed.errors.data[0].line) == (code, number)
    assert service.log()["tokens"]["prompt"] == 0


def test_files_can_be_listed_deleted_and_expire(start: Start) -> None:
    """A file is visible until it is deleted or its time is over; only .jsonl is taken."""
    service, client = start()
    first = client.files.create(file=("a.jsonl", b"x"), purpose="batch")
    second = client.files.create(file=("b.jsonl", b"y"), purpose="batch")
    assert [file.id for file in client.files.list()] == [second.id, first.id]
    assert client.files.delete(first.id).deleted
    with pytest.raises(openai.NotFoundError):
        client.files.retrieve(first.id)
    service.advance(2_592_000)
    with pytest.raises(openai.NotFoundError):
        client.files.content(second.id)
    with pytest.raises(openai.BadRequestError):
        client.files.create(file=("a.txt", b"x"), purpose="batch")
    assert (service.log()["uploads"], service.log()["deletes"]) == (2, 1)


def test_listing_pages_newest_first(start: Start) -> None:
    """The SDK's own paging sees every batch once, the newest first."""
    _, client = start()
    made = [submit(client, lines(1)).id for _ in range(5)]
    page = client.batches.list(limit=2)
    assert page.has_more
    assert [batch.id for batch in client.batches.list(limit=2)] == made[::-1]


@pytest.mark.parametrize("missing", ["input_file_id", "endpoint", "completion_window"])
def test_creation_refuses_a_missing_field(start: Start, missing: str) -> None:
    """A creation without a required field is refused at once and named."""
    _, client = start()
    order = {"input_file_id": "f", "endpoint": ENDPOINT, "completion_window": "24h"}
    del order[missing]
    with pytest.raises(openai.BadRequestError) as caught:
        client.post("/batches", body=order, cast_to=Batch)
    assert (caught.value.code, caught.value.param) == ("missing_required_parameter", missing)


def test_creation_refuses_other_impossible_orders(start: Start) -> None:
    """An unknown file, a large note and a large upload are refused at once, with their status."""
    service, client = start(settings=replace(INSTANT, max_upload_bytes=5000))
    for metadata in ({"a": "x" * 513}, {"x" * 65: "a"}, {str(n): "a" for n in range(17)}):
        with pytest.raises(openai.BadRequestError):
            submit(client, lines(1), metadata=metadata)
    with pytest.raises(openai.NotFoundError):
        client.batches.create(input_file_id="file-0", endpoint=ENDPOINT, completion_window="24h")
    with pytest.raises(openai.APIStatusError) as caught:
        submit(client, lines(100))
    assert caught.value.status_code == 413
    assert service.log()["creates"] == []


def test_result_files_live_as_long_as_the_order_says(start: Start) -> None:
    """The life of an output file counts from its own creation."""
    service, client = start()
    life: Any = {"anchor": "created_at", "seconds": 3600}
    batch = client.batches.retrieve(submit(client, lines(1), output_expires_after=life).id)
    service.advance(3590)
    assert raw(client, batch.output_file_id)
    service.advance(20)
    with pytest.raises(openai.NotFoundError):
        raw(client, batch.output_file_id)


def test_cancel_delivers_what_was_done(start: Start) -> None:
    """A cancelled batch keeps its finished answers; the rest are error lines."""
    service, client = start(settings=replace(INSTANT, cancelling=5))
    service.hold(done=3)
    made = submit(client, lines(10))
    assert client.batches.cancel(made.id).status == "cancelling"
    service.advance(6)
    batch = client.batches.retrieve(made.id)
    assert batch.status == "cancelled"
    assert len(records(client, batch.output_file_id)) == 3
    rest = records(client, batch.error_file_id)
    assert [record["error"]["code"] for record in rest] == ["batch_cancelled"] * 7
    with pytest.raises(openai.BadRequestError):
        client.batches.cancel(made.id)
    service.set_faults(Faults(cancel_terminal=200))
    assert client.batches.cancel(made.id).status == "cancelled"
    service.set_faults(Faults(cancel_terminal=409))
    with pytest.raises(openai.ConflictError):
        client.batches.cancel(made.id)
    assert service.log()["cancelled"] == [made.id]


def test_expiry_by_hand_and_by_the_clock(start: Start) -> None:
    """An expired batch delivers what was done and says of the rest that its time was over."""
    service, client = start()
    service.hold()
    first, second = submit(client, lines(10)), submit(client, lines(10))
    service.expire(first.id, done=6)
    service.advance(86_400)
    for made, done in ((first, 6), (second, 5)):
        batch = client.batches.retrieve(made.id)
        assert batch.status == "expired"
        assert batch.request_counts is not None
        assert batch.request_counts.completed == done
        assert len(records(client, batch.output_file_id)) == done
        rest = records(client, batch.error_file_id)
        assert {record["error"]["code"] for record in rest} == {"batch_expired"}
        assert {record["response"] for record in rest} == {None}
    assert sum(service.log()["answered_custom_ids"].values()) == 11


def test_release_lets_a_held_batch_finish(start: Start) -> None:
    """A held batch stays where it is, and finishes once it is released."""
    service, client = start()
    service.hold(status="finalizing")
    made = submit(client, lines(2))
    assert client.batches.retrieve(made.id).status == "finalizing"
    service.advance(1000)
    assert client.batches.retrieve(made.id).status == "finalizing"
    service.release()
    done = client.batches.retrieve(made.id)
    assert done.status == "completed"
    assert done.completed_at is not None
    assert done.completed_at >= made.created_at + 1000


def test_live_calls_get_the_answer_of_the_batch(start: Start) -> None:
    """The same body has the same answer live, with its tokens in the book."""
    service, client = start()
    said = client.chat.completions.create(**body("hello"))
    assert said.choices[0].message.content == answer(body("hello")).text
    assert said.usage is not None
    tokens = service.log()["tokens"]
    assert (tokens["prompt"], tokens["completion"]) == (
        said.usage.prompt_tokens,
        said.usage.completion_tokens,
    )
    assert service.log()["chat_calls"] == 1
    cut = client.chat.completions.create(**body("hello", max_completion_tokens=2))
    assert cut.choices[0].finish_reason == "length"
    assert [model.object for model in client.models.list()] == ["model"] * 3


def test_prefix_cache_and_repeats_are_switches(start: Start) -> None:
    """Cached tokens and changing repeats appear only when they are switched on."""
    service, client = start()
    long = body("step " * 2000)

    def ask() -> tuple[str | None, int]:
        said = client.chat.completions.create(**long)
        assert said.usage is not None
        assert said.usage.prompt_tokens_details is not None
        return said.choices[0].message.content, said.usage.prompt_tokens_details.cached_tokens or 0

    assert ask() == ask()
    service.set_faults(Faults(prefix_cache=True, vary_repeats=True))
    (first, before), (second, after) = ask(), ask()
    assert first != second
    assert (before, after) == (0, 2432)


def test_keys_open_only_their_own_objects(start: Start) -> None:
    """No key or a wrong key is 401; with scoping on, another key's objects are 404."""
    service, client = start(Faults(scope_to_key=True))
    made = submit(client, lines(1))
    with client_of(service.base_url, "k2") as other:
        with pytest.raises(openai.NotFoundError):
            other.batches.retrieve(made.id)
        with pytest.raises(openai.NotFoundError):
            other.files.retrieve(made.input_file_id)
        assert list(other.batches.list()) == []
        service.set_faults(Faults(only_key="k2"))
        assert other.batches.retrieve(made.id).id == made.id
    with pytest.raises(openai.AuthenticationError):
        client.batches.retrieve(made.id)
    root = service.base_url
    assert httpx2.get(f"{root}/models").status_code == 401
    assert httpx2.get(f"{root}/models", headers={"x-api-key": "k2"}).status_code == 200


def test_sdk_retry_after_a_lost_answer_makes_two_batches(start: Start) -> None:
    """An accepted creation whose answer is lost is counted, and so is the SDK's second try."""
    rule = CallFault("batches.create", "drop_after")
    service, client = start(Faults(calls=(rule,)), retries=1)
    submit(client, lines(1))
    log = service.log()
    assert [create["retry_count"] for create in log["creates"]] == [0, 1]
    assert log["custom_ids"] == {"q0": 2}
    assert (log["calls"]["batches.create"], log["retries"]) == (2, {"batches.create": 1})


def test_status_rules_strike_the_calls_they_name(start: Start) -> None:
    """A rule strikes from its first call on, as often as it says, where its pattern matches."""
    late = CallFault("batches.list", "status", first=2, times=2, status=429, retry_after="7")
    model = CallFault("batches.create", "status", times=0, pattern="^model=m1$", status=404)
    drop = CallFault("models.list", "drop")
    service, client = start(Faults(calls=(late, model, drop)))
    client.batches.list()
    for _ in range(2):
        with pytest.raises(openai.RateLimitError) as caught:
            client.batches.list()
        assert caught.value.response.headers["retry-after"] == "7"
        assert str(caught.value.request_id).startswith("req_")
    client.batches.list()
    with pytest.raises(openai.NotFoundError):
        submit(client, lines(1))
    submit(client, jsonl(line("a", body=body() | {"model": "m2"})))
    with pytest.raises(openai.APIConnectionError):
        client.models.list()
    assert service.log()["struck"] == {"status": 3, "drop": 1}


def test_object_rules_change_what_a_poll_sees(start: Start) -> None:
    """Odd answers to a poll arrive as the SDK lets them through."""
    service, client = start()
    made = submit(client, lines(1))

    def poll(kind: Any, **more: Any) -> Any:
        service.set_faults(Faults(calls=(CallFault("batches.retrieve", kind, **more),)))
        return client.batches.retrieve(made.id)

    assert "<html>" in str(poll("html"))
    with pytest.raises(json.JSONDecodeError):
        poll("truncated_json")
    assert poll("wrapped").id is None
    assert poll("unknown_status", value="paused").status == "paused"
    assert poll("upper_status").status == "COMPLETED"
    assert poll("counts_null").request_counts is None
    assert poll("backwards").status == "in_progress"
    assert poll("delay", seconds=0.01).status == "completed"
    assert client.batches.retrieve(made.id).status == "completed"


def test_downloads_can_be_cut_in_every_way(start: Start) -> None:
    """A cut is an error where the wire shows it, silent where it does not, and ends in time."""
    service, client = start()
    file_id = str(run_batch(client, lines(50)).output_file_id)
    whole = raw(client, file_id)

    def fetch(kind: Any) -> bytes:
        service.set_faults(Faults(calls=(CallFault("files.content", kind),)))
        with client.files.with_streaming_response.content(file_id) as response:
            return b"".join(response.iter_bytes())

    for kind in ("cut_length", "cut_chunked"):
        with pytest.raises(httpx2.RemoteProtocolError):
            fetch(kind)
    assert fetch("cut_close") == whole[: len(whole) // 2]
    assert fetch("small_chunks") == whole
    assert raw(client, file_id) == whole


@pytest.mark.parametrize(
    ("kind", "check"),
    [
        ("http_error", lambda r: r["error"] is None and r["response"]["status_code"] == 400),
        ("request_timeout", lambda r: r["error"]["code"] == "request_timeout"),
        ("no_response_key", lambda r: "response" not in r),
        ("status_zero", lambda r: r["response"]["status_code"] == 0 and not r["error"]),
        ("body_null", lambda r: r["response"]["body"] is None),
        ("string_body", lambda r: "choices" in json.loads(r["response"]["body"])),
        ("refusal", lambda r: r["response"]["body"]["choices"][0]["message"]["refusal"]),
        ("length", lambda r: r["response"]["body"]["choices"][0]["finish_reason"] == "length"),
        ("empty_choices", lambda r: r["response"]["body"]["choices"] == []),
        ("content_null", lambda r: content(r) is None),
        ("content_filter", lambda r: content(r) is None),
        ("no_usage", lambda r: r["response"]["body"]["usage"] is None),
        ("fenced", lambda r: content(r).startswith("```json\n")),
        ("text", lambda r: content(r) == "hello"),
    ],
)
def test_line_rules_bend_one_request(
    start: Start, kind: Any, check: Callable[[dict[str, Any]], bool]
) -> None:
    """Each line rule makes exactly the line it is named after."""
    service, client = start(Faults(lines=(LineFault(kind, times=1, value="hello"),)))
    assert check(one(client))
    assert content(one(client)) == answer(body("q0")).text
    assert service.log()["crashes"] == []


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
    batch = run_batch(client, lines(3))
    found = records(client, batch.output_file_id)
    mine = [record for record in found if record["custom_id"] not in ("q1", "q2")]
    assert sorted(record["custom_id"] for record in mine) == ids
    assert (len({content(record) for record in mine}) == 2) == (kind == "duplicate_other")
    assert batch.request_counts is not None
    assert batch.request_counts.completed == 3


def test_bytes_of_result_files_can_be_unusual(start: Start) -> None:
    """Separators, line ends, blank lines and broken lines reach the client as raw bytes."""
    rules = (LineFault("line_separator", custom_id="q0"), LineFault("corrupt", custom_id="q1"))
    _, client = start(Faults(lines=rules, crlf=True, trailing_blank_line=True))
    data = raw(client, run_batch(client, lines(2)).output_file_id)
    parts = data.split(b"\r\n")
    assert parts[2:] == [b"", b""]
    (whole,) = [part for part in parts if b'"q0"' in part]
    assert "\u2028\x85".encode() in whole
    assert "\u2028\x85" in json.loads(content(json.loads(whole)))["reason"]
    (broken,) = [part for part in parts[:2] if part != whole]
    with pytest.raises(json.JSONDecodeError):
        json.loads(broken)


def test_all_failed_means_no_output_file(start: Start) -> None:
    """A batch whose every request failed is completed, without an output file and without cost."""
    service, client = start(Faults(lines=(LineFault("http_error"),)))
    batch = run_batch(client, lines(3))
    assert (batch.status, batch.output_file_id) == ("completed", None)
    assert batch.request_counts is not None
    assert batch.request_counts.failed == 3
    assert len(records(client, batch.error_file_id)) == 3
    assert service.log()["tokens"]["prompt"] == 0
    service.set_faults(Faults(lines=(LineFault("http_error", in_output=True),)))
    assert run_batch(client, lines(3)).error_file_id is None


def test_a_clean_batch_has_one_of_three_error_files(start: Start) -> None:
    """The error file of a clean batch is null, an empty string, or a file of no bytes."""
    service, client = start()
    assert run_batch(client, lines(1)).error_file_id is None
    service.set_faults(Faults(clean_error_file="empty_string"))
    assert run_batch(client, lines(1)).error_file_id == ""
    service.set_faults(Faults(clean_error_file="empty_file"))
    file_id = run_batch(client, lines(1)).error_file_id
    assert file_id
    assert raw(client, file_id) == b""


def test_lags_end_with_time(start: Start) -> None:
    """A new batch is missing from the list, and a new file from the store, for a while."""
    service, client = start(Faults(list_lag=60, content_lag=100))
    service.stop_clock()
    batch = run_batch(client, lines(1))
    assert list(client.batches.list()) == []
    with pytest.raises(openai.NotFoundError):
        raw(client, batch.output_file_id)
    service.advance(60)
    assert [seen.id for seen in client.batches.list()] == [batch.id]
    service.advance(40)
    assert raw(client, batch.output_file_id)


def test_stuck_finalizing_and_absent_batch_api(start: Start) -> None:
    """A stuck batch outlives its window; a service without batches answers 404 there only."""
    service, client = start(Faults(stuck_finalizing=True))
    made = submit(client, lines(1))
    service.advance(200_000)
    assert client.batches.retrieve(made.id).status == "finalizing"
    service.set_faults(Faults(no_batch_api=True))
    with pytest.raises(openai.NotFoundError):
        client.batches.retrieve(made.id)
    assert client.chat.completions.create(**body()).choices


def test_token_limit_in_both_shapes(start: Start) -> None:
    """Enqueued tokens are counted per model until a batch is over, refused in either shape."""
    big = jsonl(line("a", body=body("x" * 2400)))
    service, client = start(Faults(token_limits={"m1": 1000}))
    service.hold()
    first, second = submit(client, big), submit(client, big)
    assert client.batches.retrieve(first.id).status == "in_progress"
    refused = client.batches.retrieve(second.id)
    assert refused.status == "failed"
    assert refused.errors is not None
    assert refused.errors.data is not None
    assert refused.errors.data[0].code == "token_limit_exceeded"
    assert "Limit: 1,000 enqueued tokens" in str(refused.errors.data[0].message)
    service.set_faults(Faults(token_limits={"m1": 1000}, token_limit_shape="429"))
    with pytest.raises(openai.RateLimitError):
        submit(client, big)
    service.release()
    assert client.batches.retrieve(submit(client, big).id).status == "completed"
    service.set_faults(Faults(quota_over_lines=2, unknown_models=("m1",)))
    with pytest.raises(openai.RateLimitError):
        submit(client, lines(3))
    assert run_batch(client, lines(1)).status == "failed"


def test_a_misspelt_switch_is_refused() -> None:
    """An unknown fault name is an error, at the top and inside a rule."""
    for value in ({"crfl": True}, {"calls": [{"route": "*", "kind": "drop", "tiems": 1}]}):
        with pytest.raises(ValueError, match="has no"):
            Faults.parse(value)


def test_reset_forgets_everything(start: Start) -> None:
    """After a reset there are no objects, no book and no faults."""
    service, client = start(Faults(no_batch_api=True))
    client.chat.completions.create(**body())
    service.reset()
    assert service.log()["calls"] == {}
    assert list(client.batches.list()) == []


def test_five_thousand_lines_are_quick(start: Start) -> None:
    """A large batch is answered in the time of a poll."""
    service, client = start()
    batch = run_batch(client, lines(5000))
    assert batch.request_counts is not None
    assert batch.request_counts.completed == 5000
    assert raw(client, batch.output_file_id).count(b"\n") == 5000
    assert len(service.log()["answered_bodies"]) == 5000


def test_service_runs_as_a_process(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    """The same service runs on its own, takes its switches, and leaves its book behind."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    state = tmp_path / "state.json"
    faults = json.dumps({"lines": [{"kind": "text", "value": "hi"}]})
    with spawn("--state", str(state), "--faults", faults) as remote:
        assert json.loads(state.read_text()) == {"base_url": remote.base_url, "pid": remote.pid}
        with client_of(remote.base_url) as client:
            said = client.chat.completions.create(**body())
        assert said.choices[0].message.content == "hi"
    assert json.loads(state.read_text())["log"]["chat_calls"] == 1
