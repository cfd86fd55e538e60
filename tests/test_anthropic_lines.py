"""Single results of a message batch: each is kept, named, and paid for once."""

from __future__ import annotations

from dataclasses import replace

import pytest

from batcher.messages import read_line
from tests.conftest import Serve
from tests.running import Desk
from tests.vendors import CLAUDE, ONE, for_all, in_turn
from tests.wire.service import Faults, LineFault


@pytest.fixture(name="serve")
def for_claude(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> Serve:
    return for_all(serve, monkeypatch)


def errored(status: int, value: str = "") -> LineFault:
    return LineFault("http_error", status=status, value=value, times=1, message="as it is")


def test_b42_an_error_is_asked_again_only_where_it_may_pass(serve: Serve, desk: Desk) -> None:
    """Overload, time-out, rate limit and the server's own fault: again. A bad request: never."""
    service = serve(
        Faults(
            lines=(
                errored(529),
                errored(504),
                errored(429),
                errored(500),
                errored(400),
                errored(413),
                errored(403),
                errored(402),
            )
        )
    )
    ended = desk.run(CLAUDE)
    assert (ended.code, ended.message.startswith("4 of 10 prompts have no answer")) == (4, True)
    assert [one["lines"] for one in service.log()["creates"]] == [10, 4]
    assert desk.outcomes() == {"ok": 6, "error": 8}
    assert desk.states() == {"answered": 6, "given up": 4}
    found = {row[0] for row in desk.rows("select error from answers where state = 'error'")}
    assert {"overloaded_error: as it is", "invalid_request_error: as it is"} < found
    assert desk.run(CLAUDE).code == 4
    assert len(service.log()["creates"]) == 2


def test_an_error_may_be_nested_once(serve: Serve, desk: Desk) -> None:
    """Where a server leaves out the outer of two errors, type and reason are read all the same."""
    service = serve(
        Faults(lines=(errored(529), errored(400)), single_error_nesting=True),
    )
    assert desk.run(CLAUDE).code == 4
    assert [one["lines"] for one in service.log()["creates"]] == [10, 1]
    assert sorted(desk.rows("select error, transient from answers where state = 'error'")) == [
        ("invalid_request_error: as it is", False),
        ("overloaded_error: as it is", True),
    ]


def test_b49_an_answer_that_is_none_is_never_served(serve: Serve, desk: Desk) -> None:
    """Refused, cut short or of a type unknown: kept with its cost, and no prediction."""
    service = serve(in_turn("refusal", "length", "unknown_result", "no_usage"))
    ended = desk.run(CLAUDE)
    assert (ended.code, ended.message.startswith("2 of 10 prompts have no answer")) == (4, True)
    assert desk.outcomes() == {"ok": 8, "refused": 1, "truncated": 1, "error": 1}
    assert desk.one("select count(*) from predictions") == 8
    assert "postponed" in desk.one("select error from answers where state = 'error'")
    # Two without usage: no usage, no price; that is not 0.
    assert desk.rows("select state from answers where cost_usd is null order by 1") == [
        ("error",),
        ("ok",),
    ]
    assert desk.one("select count(*) from answers where cost_usd = 0") == 0
    reasons = desk.rows("select finish_reason from answers where state not in ('ok', 'error')")
    assert sorted(reasons) == [("max_tokens",), ("refusal",)]
    assert [one["lines"] for one in service.log()["creates"]] == [10, 1]


def test_an_odd_line_that_holds_its_answer_is_read(serve: Serve, desk: Desk) -> None:
    """Thinking before the text, odd separators, a fence, the line twice: read once, paid once."""
    service = serve(
        in_turn(
            "thinking",
            "line_separator",
            "fenced",
            "duplicate_same",
            "stop_reason",
            crlf=True,
            trailing_blank_line=True,
        )
    )
    assert desk.run(CLAUDE).code == 0
    assert len(service.log()["struck"]) == 5
    assert desk.outcomes() == {"ok": 10}
    assert len(service.log()["creates"]) == 1
    assert desk.one("select count(*) from responses where contains(text, 'Comparing')") == 0
    assert desk.one("select count(*) from responses where contains(text, chr(8232))") == 1
    assert desk.one("select count(*) from quarantine") == 0
    billed = service.log()["tokens"]["completion"]
    assert desk.one("select sum(output_tokens)::bigint from responses") == billed


def test_b38_what_cannot_be_tied_to_its_prompt_is_asked_again(serve: Serve, desk: Desk) -> None:
    """A line that is missing, empty, in two versions or broken costs one more attempt, no more.

    What nobody asked for is kept apart, and so are both of two different lines.
    """
    service = serve(in_turn("missing", "empty_choices", "duplicate_other", "unknown_id", "corrupt"))
    assert desk.run(CLAUDE).code == 0
    assert [one["lines"] for one in service.log()["creates"]] == [10, 4]
    assert desk.outcomes() == {"ok": 10, "missing": 3, "empty": 1}
    assert desk.rows("select reason, count(*) from quarantine group by 1 order by 1") == [
        ("no custom_id", 1),
        ("one custom_id, different lines", 2),
        ("unknown custom_id", 1),
    ]
    assert desk.states() == {"answered": 10}
    assert desk.attempts() == {1, 2}


def test_b65_the_input_includes_what_was_read_from_and_written_to_a_cache() -> None:
    """Input is fresh + read + written; cached is what was read. Nothing is guessed."""
    line = (
        b'{"custom_id":"a","result":{"type":"succeeded","message":{"model":"m","content":'
        b'[{"type":"text","text":"x"}],"stop_reason":"end_turn","usage":{"input_tokens":10,'
        b'"cache_read_input_tokens":100,"cache_creation_input_tokens":1000,"output_tokens":7}}}}'
    )
    found = read_line(line)
    assert (found.input_tokens, found.cached_tokens, found.output_tokens) == (1110, 100, 7)
    bare = read_line(line.replace(b'"input_tokens":10,', b""))
    assert (bare.input_tokens, bare.cached_tokens, bare.output_tokens) == (None, None, 7)
    none = read_line(line.replace(b'"cache_read_input_tokens":100,', b""))
    assert (none.input_tokens, none.cached_tokens) == (1010, 0)


def test_a_line_of_any_shape_is_a_reply() -> None:
    """Whatever JSON a line is, or none: it is read as an outcome, and never believed by chance."""
    shapes = [
        *(
            b"",
            b"null",
            b"[]",
            b"7",
            b'"text"',
            b"{}",
            b"[" * 50_000,
            b"\xff\xfe",
            b'{"custom_id":1}',
        ),
        *(b'{"result":null}', b'{"result":[]}', b'{"result":{"type":["succeeded"]}}'),
        *(b'{"result":{"type":"succeeded"}}', b'{"result":{"type":"errored","error":"no"}}'),
        b'{"result":{"type":"errored","error":{"error":"no"}}}',
        b'{"result":{"type":"succeeded","message":{"content":null,"usage":[]}}}',
    ]
    found = [read_line(shape) for shape in shapes]
    assert {one.outcome for one in found} == {"malformed", "error", "empty"}
    assert all(one.text is None and one.custom_id is None for one in found)
    assert replace(found[-1], raw="").error is None


def test_a_result_that_holds_nothing_is_asked_again(serve: Serve, desk: Desk) -> None:
    """A line without a result, or a success without a message, is a fault that may pass."""
    service = serve(in_turn("no_response_key", "body_null"))
    assert desk.run(CLAUDE).code == 0
    assert [one["lines"] for one in service.log()["creates"]] == [10, 2]


def test_a_corrupt_last_line_of_whole_results_costs_one_answer(serve: Serve, desk: Desk) -> None:
    """Results that came whole and end in half a line are not downloaded for ever."""
    serve(in_turn("corrupt"))
    assert desk.run(CLAUDE, **ONE).code == 0
    assert desk.outcomes() == {"ok": 1, "missing": 1}
