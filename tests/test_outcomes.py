"""What a response means for its prompt: served, due again or given up, and whether it counts."""

from __future__ import annotations

import ast
import json
import shutil
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import sql
from batcher import chat, lines, messages
from cache.bulk import load
from tests.running import JUDGE, ROOT, Desk

START = datetime(2026, 11, 1, tzinfo=UTC)

#: state, may pass, what becomes of the prompt, whether it is an attempt
TABLE = [
    ("ok", False, "answered", 1),
    ("unparseable", False, "given up", 1),
    ("truncated", False, "given up", 1),
    ("refused", False, "given up", 1),
    ("empty", False, "due", 1),
    ("error", False, "given up", 1),
    ("error", True, "due", 1),
    ("missing", False, "due", 1),
    ("malformed", False, "due", 1),
    ("expired", False, "due", 0),
    ("cancelled", False, "due", 0),
]


@pytest.fixture(scope="module")
def prompted(tmp_path_factory: pytest.TempPathFactory, sample: Path) -> Path:
    """A database with some prompts, all due."""
    desk = Desk(Path(shutil.copy(sample, tmp_path_factory.mktemp("prompted") / "n.duckdb")))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENAI_API_KEY", "k1")
        desk.ask(JUDGE, limit=4)
    return desk.store.path


@pytest.fixture
def asked(tmp_path: Path, prompted: Path) -> Desk:
    """A copy of it, whose answers are written by hand."""
    return Desk(Path(shutil.copy(prompted, tmp_path / "n.duckdb")))


def answered(desk: Desk, histories: Sequence[Sequence[tuple[str, bool]]]) -> list[tuple[str, int]]:
    """Give each of the first prompts its history of responses; return (state, attempts) of each.

    Round after round is a batch of its own; ``unparseable`` is an ok text that no parser could
    read.
    """
    found = desk.rows(
        "select replace(prompt_hash::varchar, '-', '') from prompts "
        f"order by 1 limit {len(histories)}"
    )
    hashes = [row[0] for row in found]
    rounds = max(map(len, histories))
    with desk.store.writing() as con:
        for number in range(rounds):
            at = START + timedelta(hours=number)
            batch_id = f"batch{number}"
            con.execute(
                "insert into batches values ($1, 'openai', 'u', 'e', 'm', 'batch', $1, 'remote', "
                "1, 1, 1, '', '', $2)",
                [batch_id, at],
            )
            con.execute(
                "insert into batch_events (batch_id, status, \"at\") values ($1, 'ingested', $2)",
                [batch_id, at],
            )
            some = [
                (one, history[number])
                for one, history in zip(hashes, histories, strict=True)
                if number < len(history)
            ]
            load(
                con,
                "batch_prompts",
                [
                    {
                        "batch_id": batch_id,
                        "custom_id": one,
                        "prompt_hash": one,
                        "attempt": number + 1,
                    }
                    for one, _ in some
                ],
            )
            load(
                con,
                "responses",
                [
                    {
                        "batch_id": batch_id,
                        "custom_id": one,
                        "prompt_hash": one,
                        "outcome": "ok" if state == "unparseable" else state,
                        "text": "x",
                        "is_transient": passing,
                        "received_at": at,
                    }
                    for one, (state, passing) in some
                ],
            )
            load(
                con,
                "readings",
                [
                    {"batch_id": batch_id, "custom_id": one, "state": state}
                    for one, (state, _) in some
                    if state in ("ok", "unparseable")
                ],
            )
    return [
        desk.rows(f"select state, attempts from prompt_states where prompt_hash = '{one}'::uuid")[0]
        for one in hashes
    ]


def test_each_state_means_what_the_table_says(asked: Desk) -> None:
    """One response each: who is served, who is asked again, whom it costs an attempt."""
    expected = [(state, attempts) for _, _, state, attempts in TABLE]
    assert answered(asked, [[(state, passing)] for state, passing, _, _ in TABLE]) == expected
    rules = asked.rows("select state, transient, next, counts, serves from outcome_rules")
    becomes = {"serve": "answered", "retry": "due", "give_up": "given up", "more_room": "given up"}
    assert sorted((*row[:2], becomes[row[2]], int(row[3])) for row in rows(rules)) == sorted(TABLE)
    assert all(row[4] == (row[2] == "serve") for row in rules)


def rows(found: list[tuple[object, ...]]) -> list[tuple[str, bool, str, int]]:
    return [(str(one[0]), bool(one[1]), str(one[2]), bool(one[3])) for one in found]


def test_b42_three_attempts_are_the_most(asked: Desk) -> None:
    """The third failure is the last one; what never ran is no failure, however often."""
    passing, expired = ("error", True), ("expired", False)
    assert answered(
        asked,
        [
            [passing] * 2,
            [passing] * 3,
            [("empty", False), ("missing", False), ("malformed", False)],
            [expired, ("cancelled", False), expired, expired],
            [expired, passing, expired, passing, expired],
            [expired, passing, expired, passing, expired, passing],
        ],
    ) == [("due", 2), ("given up", 3), ("given up", 3), ("due", 0), ("due", 2), ("given up", 3)]


def test_b74_an_answer_serves_for_ever_and_the_newest_of_the_rest_decides(asked: Desk) -> None:
    """A later failure takes no answer away; a later answer ends the asking, whatever came first."""
    passing, good = ("error", True), ("ok", False)
    assert answered(
        asked,
        [
            [good, passing],
            [passing, passing, good],
            [("refused", False), good],
            [passing, ("refused", False)],
            [("unparseable", False), passing],
            [("unparseable", False), ("expired", False)],
        ],
    ) == [
        ("answered", 2),
        ("answered", 3),
        ("answered", 2),
        ("given up", 2),
        ("due", 2),
        ("due", 1),
    ]


def test_what_an_open_batch_carries_is_in_flight(asked: Desk) -> None:
    """A prompt that is spoken for is not due; an answer that is there already still serves."""
    answered(asked, [[("error", True)], [("ok", False)]])
    with asked.store.writing() as con:
        con.execute(
            "insert into batch_events (batch_id, status, \"at\") values ('batch0', 'parked', $1)",
            [START],
        )
    assert asked.states()["in flight"] == 1
    assert asked.states()["answered"] == 1


def _line(**fields: object) -> bytes:
    return json.dumps(fields).encode()


STATUSES = (0, 400, 401, 404, 408, 409, 413, 422, 425, 429, 500, 503, 529)
CODES = ("batch_expired", "batch_cancelled", "request_timeout", "server_error", "other", "")
BODIES: tuple[object, ...] = (None, {}, "no", "{}")
KINDS = ("canceled", "expired", "succeeded", "postponed", None)
ERRORS = ("invalid_request_error", "overloaded_error", "api_error", "rate_limit_error", "new")

#: Lines in every shape that the two vendors know, but for answers.
OPENAI_LINES = [
    *(_line(response={"status_code": one, "body": {"error": {"code": "c"}}}) for one in STATUSES),
    *(_line(response=None, error={"code": code}) for code in CODES),
    *(_line(response={"status_code": 200, "body": body}) for body in BODIES),
    *(_line(), b"no JSON"),
]
RESULTS = [
    *(_line(result={"type": kind}) for kind in KINDS),
    *(_line(result={"type": "errored", "error": {"error": {"type": name}}}) for name in ERRORS),
    *(_line(), b"no JSON"),
]
FINISHES = ("stop", "length", "content_filter", "tool_calls", None)
STOPS = ("end_turn", "max_tokens", "refusal", "pause_turn", "model_context_window_exceeded", None)


def test_every_outcome_of_a_provider_has_a_row(asked: Desk) -> None:
    """Whatever a line says, there is a rule for it: none falls out of the counts."""
    replies = [lines.read_line(line) for line in OPENAI_LINES]
    replies += [messages.read_line(line) for line in RESULTS]
    for text in ("x", "", None):
        for finish in FINISHES:
            choice = {"finish_reason": finish, "message": {"content": text}}
            replies.append(chat.reply("a", {"choices": [choice]}, ""))
        for stop in STOPS:
            message = {"content": [{"type": "text", "text": text or ""}], "stop_reason": stop}
            result = {"type": "succeeded", "message": message}
            replies.append(messages.read_line(_line(result=result)))
    seen = {(reply.outcome, reply.is_transient) for reply in replies}
    ruled = set(asked.rows("select state, transient from outcome_rules"))
    assert seen <= ruled
    assert ruled - seen == {("unparseable", False), ("missing", False)}


def test_no_module_names_an_outcome_without_a_row() -> None:
    """Every outcome written as a word in a Reply is one that the rules know."""
    known = {state for state, *_ in TABLE}
    found: set[str] = set()
    for path in (ROOT / "batcher").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Reply":
                second = node.args[1] if len(node.args) > 1 else None
                if isinstance(second, ast.Constant):
                    found.add(str(second.value))
    assert found
    assert found <= known
    assert "outcome_rules" in sql.read("views")
    assert Path(ROOT, "sql", "views", "outcome_rules.sql").is_file()
