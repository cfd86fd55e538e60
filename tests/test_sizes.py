"""A batch that is too large is refused in many words: what goes out shrinks until it is taken."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from batcher.providers.base import Limits
from batcher.refusals import over_limit
from tests.conftest import Serve
from tests.running import INSTANT, JUDGE, Desk
from tests.vendors import CLAUDE, for_all, struck
from tests.wire.service import Faults, Service

#: Some forty prompts of the sample.
MANY: dict[str, Any] = {"strategies": ("one_to_one", "window_to_one"), "limit": 4}


@pytest.fixture
def start(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> Serve:
    return for_all(serve, monkeypatch)


def check_paid_once(desk: Desk, service: Service) -> None:
    """Every prompt has an answer, at the first attempt, and none was worked on twice."""
    assert set(desk.states()) == {"answered"}
    assert set(service.log()["answered_bodies"].values()) == {1}
    assert desk.attempts() == {1}


@pytest.mark.parametrize(
    ("judge", "faults"),
    [
        (JUDGE, Faults(most_lines=10, most_lines_shape="413")),
        (JUDGE, Faults(most_lines=10, most_lines_shape="400")),
        (JUDGE, Faults(most_lines=10, most_lines_shape="429")),
        (JUDGE, Faults(most_lines=10, most_lines_shape="failed")),
        (JUDGE, Faults(quota_over_lines=10)),
        (CLAUDE, Faults(most_lines=10, most_lines_shape="413")),
        (CLAUDE, Faults(most_lines=10, most_lines_shape="400")),
        (CLAUDE, Faults(most_lines=10, most_lines_shape="429")),
        (CLAUDE, Faults(quota_over_lines=10)),
    ],
)
def test_b15_batches_shrink_until_they_are_taken(
    start: Serve, desk: Desk, judge: str, faults: Faults
) -> None:
    """Whatever a server says of more than ten lines: all is answered once, the limit is known."""
    service = start(faults)
    assert desk.run(judge, **MANY).code == 0
    assert desk.one("select count(*) from prompts") > 40
    check_paid_once(desk, service)
    taken = desk.rows("select n_prompts from batch_states where status = 'ingested'")
    assert max(taken) <= (10,)
    # What a 413 teaches is a number of bytes.
    ((lines, size),) = desk.rows("select line_limit, byte_limit from batch_limits")
    assert (lines is None) == (faults.most_lines_shape == "413")
    assert (size is None) == (lines is not None)
    assert lines is None or 5 <= lines <= 10
    assert desk.naps == [] or max(desk.naps) < 0.5


def test_b15_what_a_refusal_states_is_taken(start: Serve, desk: Desk) -> None:
    """A limit that is named need not be searched for: one refusal, then batches as large."""
    service = start(settings=replace(INSTANT, message_max_requests=20))
    assert desk.run(CLAUDE, **MANY).code == 0
    check_paid_once(desk, service)
    assert sorted(one["lines"] for one in service.log()["creates"])[-2:] == [20, 20]
    assert service.log()["calls"]["messages.batches.create"] == len(service.log()["creates"]) + 1


def test_b15_a_prompt_too_large_by_itself_is_given_up_by_name(start: Serve, desk: Desk) -> None:
    """Uploads over some bytes are 413: what fits is answered, the rest is named, and never again.

    The trajectory as a whole is the large one, its single steps are small.
    """
    service = start(settings=replace(INSTANT, max_upload_bytes=4_000))
    ended = desk.run(strategies=("one_to_one", "all_to_all"), limit=2)
    assert ended.code == 4
    states = desk.states()
    assert set(states) == {"answered", "given up"}
    errors = desk.rows("select error from responses where outcome = 'error'")
    assert len(errors) == states["given up"]
    assert all("not sent: " in error and "more than the" in error for (error,) in errors)
    assert set(service.log()["answered_bodies"].values()) == {1}
    uploads = service.log()["calls"]["files.create"]
    assert desk.run(strategies=("one_to_one", "all_to_all"), limit=2).code == 4
    assert service.log()["calls"]["files.create"] == uploads


@pytest.mark.parametrize(("judge", "route"), [
    (JUDGE, "batches.create"),
    (CLAUDE, "messages.batches.create"),
])  # fmt: skip
def test_b15_too_many_calls_shrink_nothing(
    start: Serve, desk: Desk, judge: str, route: str
) -> None:
    """A limit on the rate is waited out, in batches as large as before, and teaches no size."""
    text = "Rate limit reached for requests. Limit: 3 batches per minute."
    service = start(struck(route, "status", times=3, status=429, message=text, retry_after="20"))
    assert desk.run(judge).code == 0
    assert [one["lines"] for one in service.log()["creates"]] == [10]
    assert desk.rows("select * from batch_limits") == []
    assert sum(nap >= 19 for nap in desk.naps) == 3


def test_b15_a_queue_that_is_full_of_lines_is_waited_for(start: Serve, db: Path) -> None:
    """Refused beside others that wait, a batch goes out when they have ended, not in pieces."""
    text = "Too many enqueued requests. Please wait for other batches to end."
    service = start(struck("batches.create", "status", first=2, status=429, message=text))
    desk = Desk(db, limits=Limits(requests=4, bytes=10**7, line_bytes=10**7))
    service.hold("*")
    scope = desk.ask()
    desk.advance(scope, wait=False)
    service.release("*")
    assert desk.advance(scope).code == 0
    check_paid_once(desk, service)
    assert sorted(one["lines"] for one in service.log()["creates"]) == [2, 4, 4]
    assert desk.rows("select token_limit, waiting_lines from queue_limits") == [(None, 0)]
    assert desk.one("select line_limit from queue_limits") in (4, 5, 6)
    assert desk.rows("select * from batch_limits") == []


@pytest.mark.parametrize(
    ("status", "code", "text", "what", "stated"),
    [
        (413, None, "Payload Too Large", "bytes", None),
        (400, None, "The file is larger than the maximum size of 200 MB.", "bytes", 200_000_000),
        (None, "too_many_tasks", "50,001 tasks; the limit is 50,000.", "lines", 50_000),
        (400, None, "requests: at most 10 requests are allowed, 40 given", "lines", 10),
        (429, None, "Too many enqueued requests. Limit: 1,000 requests.", "queue", 1_000),
        (429, "insufficient_quota", "You exceeded your current quota.", "quota", None),
        (
            None,
            "token_limit_exceeded",
            "Enqueued token limit reached for gpt-4o in org-1. Limit: 9,000 enqueued tokens.",
            "tokens",
            9_000,
        ),
    ],
)
def test_b15_what_refusals_mean(
    status: int | None, code: str | None, text: str, what: str, stated: int | None
) -> None:
    """Each kind of refusal for size is told from the others, and its number is read."""
    found = over_limit(status, code, text)
    assert found is not None
    assert (found.what, found.stated) == (what, stated)


@pytest.mark.parametrize(
    ("status", "text"),
    [
        (429, "Too Many Requests"),
        (429, "Number of requests exceeds 50 requests per minute for this batch endpoint"),
        (429, "Rate limit reached for requests"),
        (400, "max_tokens: 100000 is more than the maximum of 8192"),
        (404, "The batch is too large to be found"),
        (500, "Too many requests in this batch"),
    ],
)
def test_b15_what_is_no_matter_of_size(status: int, text: str) -> None:
    """Too many calls, a bad parameter, a missing page and a crash teach no limit."""
    assert over_limit(status, None, text) is None
