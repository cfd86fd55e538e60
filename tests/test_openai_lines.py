"""Single lines of a batch that are not what they should be: each is kept, named, and paid once."""

from __future__ import annotations

from dataclasses import replace

from tests.conftest import Serve
from tests.running import Desk
from tests.wire.service import Faults, LineFault


def each(*lines: LineFault) -> Faults:
    """Of the lines worked on, the first is struck by the first rule, the second by the second …"""
    return Faults(lines=tuple(replace(line, times=1) for line in lines))


def test_b32_a_line_without_an_answer_is_asked_again(serve: Serve, desk: Desk) -> None:
    """A fault that may pass is stored as what it was; its prompt alone is sent a second time."""
    service = serve(
        each(
            LineFault("request_timeout"),
            LineFault("no_response_key"),
            LineFault("status_zero"),
            LineFault("empty_choices"),
            LineFault("content_null"),
            LineFault("missing"),
            LineFault("http_error", status=408, code=None),
            LineFault("http_error", status=503, code=None),
            LineFault("http_error", status=429, code="rate_limit_exceeded"),
        )
    )
    assert desk.run().code == 0
    assert desk.outcomes() == {"ok": 10, "error": 6, "empty": 2, "missing": 1}
    assert [one["lines"] for one in service.log()["creates"]] == [10, 9]
    assert desk.states() == {"answered": 10}
    assert desk.one("select count(*) from predictions") == 10


def test_b49_an_answer_that_is_none_is_never_served(serve: Serve, desk: Desk) -> None:
    """A refusal and a cut answer are kept with their price; the cut one is asked once more."""
    service = serve(each(LineFault("refusal"), LineFault("content_filter"), LineFault("length")))
    ended = desk.run()
    assert ended.code == 4
    assert ended.message.startswith("2 of 10 prompts have no answer")
    assert desk.outcomes() == {"ok": 8, "refused": 2, "truncated": 1}
    assert desk.one("select count(*) from predictions") == 8
    assert desk.one("select count(*) from answers where cost_usd > 0") == 11
    assert [one["lines"] for one in service.log()["creates"]] == [10, 1]


def test_an_odd_line_that_holds_its_answer_is_read(serve: Serve, desk: Desk) -> None:
    """A body as text, odd line breaks, fences, the same line twice: the answer counts, once."""
    service = serve(
        each(
            LineFault("string_body"),
            LineFault("line_separator"),
            LineFault("fenced"),
            LineFault("duplicate_same"),
            LineFault("no_usage"),
        )
    )
    assert desk.run().code == 0
    assert len(service.log()["struck"]) == 5
    assert desk.outcomes() == {"ok": 10}
    assert len(service.log()["creates"]) == 1
    assert desk.one("select count(*) from predictions") == 10
    # Where the provider gives no usage, tokens and cost are not known, which is not 0.
    assert desk.one("select count(*) from responses where cost_usd is null") == 1
    assert desk.one("select count(*) from responses where input_tokens = 0") == 0


def test_b39_separators_inside_a_text_are_text(serve: Serve, desk: Desk) -> None:
    """U+2028 and U+0085 stay in the text they were in, and split no line."""
    serve(Faults(lines=(LineFault("line_separator"),)))
    desk.run()
    assert desk.one("select count(*) from responses where contains(text, chr(8232))") == 10
    assert desk.one("select count(*) from responses where contains(text, chr(133))") == 10


def test_b29_a_batch_whose_lines_all_failed_is_no_success(serve: Serve, desk: Desk) -> None:
    """Completed, no output file, every line in the error file: the reason is stored for each."""
    service = serve(Faults(lines=(LineFault("http_error", message="bad param"),)))
    ended = desk.run()
    assert ended.code == 4
    assert "10 of 10" in ended.message
    assert desk.outcomes() == {"error": 10}
    assert desk.rows("select distinct error from responses") == [("400 invalid_prompt: bad param",)]
    assert service.log()["tokens"]["prompt"] == 0


def test_b33_a_failure_in_the_output_file_is_a_failure(serve: Serve, desk: Desk) -> None:
    """The status of a line decides, not the file it stands in."""
    serve(Faults(lines=(LineFault("http_error", in_output=True, times=3),)))
    assert desk.run().code == 4
    assert desk.outcomes() == {"ok": 7, "error": 3}


def test_b34_both_files_are_read(serve: Serve, desk: Desk) -> None:
    """Seven answers and three errors are ten outcomes."""
    serve(Faults(lines=(LineFault("http_error", times=3),)))
    desk.run()
    assert desk.outcomes() == {"ok": 7, "error": 3}
    assert desk.rows("select reason from quarantine") == []


def test_b42_what_the_provider_always_rejects_is_asked_once(serve: Serve, desk: Desk) -> None:
    """A permanent 400 uses one attempt; the run ends, and a rerun does not ask again."""
    service = serve(Faults(lines=(LineFault("http_error", times=1),)))
    assert desk.run().code == 4
    service.set_faults(Faults(lines=(LineFault("http_error"),)))
    assert desk.run().code == 4
    assert len(service.log()["creates"]) == 1
    assert desk.attempts() == {1}
    assert desk.states() == {"answered": 9, "given up": 1}


def test_b42_a_passing_fault_that_stays_ends_after_three_attempts(serve: Serve, desk: Desk) -> None:
    """A line that fails with a status that may pass is sent three times, by any number of runs."""
    service = serve(Faults(lines=(LineFault("http_error", status=500, code=None),)))
    for _ in range(2):
        assert desk.run(limit=1).code == 4
        assert len(service.log()["creates"]) == 3
        assert desk.attempts() == {1, 2, 3}
        assert desk.states() == {"given up": 5}


def test_b38_a_line_that_never_comes_is_noticed(serve: Serve, desk: Desk) -> None:
    """A line in neither file is called missing, asked three times, and told as unanswered."""
    serve(Faults(lines=(LineFault("missing"),)))
    assert desk.run(strategies=("all_to_all",), limit=1).code == 4
    assert desk.outcomes() == {"missing": 3}
    assert desk.rows("select n_requests, n_answered, n_error from coverage") == [(1, 0, 1)]


def test_b76_an_unreadable_answer_is_no_verdict(serve: Serve, desk: Desk) -> None:
    """Null, prose, a third value, no value: no prediction, counted apart, not asked again."""
    texts = ("null", "I cannot say.", '{"redundant":"maybe"}', "{}")
    service = serve(each(*(LineFault("text", value=text) for text in texts)))
    assert desk.run().code == 4
    assert desk.outcomes() == {"ok": 6, "unparseable": 4}
    assert desk.one("select count(*) from predictions") == 6
    assert len(service.log()["creates"]) == 1
    assert desk.rows("select n_requests, n_answered, n_unparseable from coverage") == [(10, 6, 4)]


def test_b40_an_id_nobody_sent_is_kept_apart(serve: Serve, desk: Desk) -> None:
    """A line with an unknown id is stored as it came, beside the others."""
    service = serve(each(LineFault("unknown_id")))
    assert desk.run().code == 0
    assert desk.rows("select reason, contains(raw, 'nobody-sent-this') from quarantine") == [
        ("unknown custom_id", True)
    ]
    assert len(service.log()["creates"]) == 1


def test_two_different_lines_under_one_id_are_kept_and_neither_is_believed(
    serve: Serve, desk: Desk
) -> None:
    """Neither of two answers to one line counts; both stay readable, the prompt is asked anew."""
    service = serve(each(LineFault("duplicate_other")))
    assert desk.run().code == 0
    assert desk.rows("select reason, count(*) from quarantine group by 1") == [
        ("one custom_id, different lines", 2)
    ]
    assert [one["lines"] for one in service.log()["creates"]] == [10, 1]


def test_a_corrupt_line_costs_one_answer(serve: Serve, desk: Desk) -> None:
    """Half a line inside a file is kept as it came; its prompt is asked again."""
    service = serve(each(LineFault("corrupt")))
    assert desk.run().code == 0
    assert desk.rows("select reason from quarantine") == [("no custom_id",)]
    assert desk.outcomes() == {"ok": 10, "missing": 1}
    assert [one["lines"] for one in service.log()["creates"]] == [10, 1]


def test_a_corrupt_last_line_of_a_whole_file_costs_one_answer(serve: Serve, desk: Desk) -> None:
    """A file as long as announced whose last line is broken is not downloaded for ever."""
    serve(each(LineFault("corrupt")))
    assert desk.run(strategies=("all_to_all",), limit=1).code == 0
    assert desk.outcomes() == {"ok": 1, "missing": 1}


def test_a_status_200_without_a_body_is_asked_again(serve: Serve, desk: Desk) -> None:
    """A line that says 200 and holds nothing is the provider's fault, which may pass."""
    service = serve(each(LineFault("body_null")))
    assert desk.run().code == 0
    assert [one["lines"] for one in service.log()["creates"]] == [10, 1]
