"""Injected steps: exact labels, runs otherwise untouched, the same seed the same bytes."""

from __future__ import annotations

import json
import random
import re
import uuid
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from batcher.injection import OFFERS, inject, rates_of
from batcher.injection.callids import CallIds
from batcher.injection.corpus import learnt, looks_like_a_read
from batcher.injection.duplicated import equivalent
from batcher.injection.wording import language
from cache.errors import UsageError
from cache.records import KINDS, Mark, Message, ToolCall, Trajectory
from cache.steps import split_steps
from cache.store import Store
from cli import main
from tests.injected import Checker
from tests.test_importers_shared import SHARED

#: Far more than there are places for.
UUID4 = r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"
PLENTY = [f"--rate={kind}=20" for kind in KINDS]
TABLES = ("trajectories", "messages", "steps", "annotations", "labels")

real = pytest.mark.skipif(not (SHARED / "tau2").is_dir(), reason="real runs are not here")


def needless(path: Path, *words: str) -> Result:
    return CliRunner().invoke(main, ["--db", str(path), *words])


def injected(path: Path, *words: str, into: str = "made") -> Store:
    done = needless(path, "inject", "--into", into, *words)
    assert done.exit_code == 0, done.output
    return Store(path)


def everything(store: Store) -> list[object]:
    found: list[object] = []
    for table in TABLES:
        columns, rows = store.query(f"from {table} order by all")
        found.append([row[: -1 if columns[-1] == "imported_at" else None] for row in rows])
    return found


@pytest.mark.parametrize("seed", range(5))
def test_every_label_of_the_sample_is_exact(tmp_path: Path, seed: int) -> None:
    """Each kind is what its name says, with the right evidence, at any seed."""
    store = injected(tmp_path / "n.duckdb", f"--seed={seed}", *PLENTY)

    counts = Checker(store, "made").check()

    assert {*counts} == {*KINDS}


@real
def test_every_label_of_real_runs_is_exact(tmp_path: Path) -> None:
    """The same of real runs, as many steps as fit."""
    path = tmp_path / "n.duckdb"
    files = [str(file) for file in sorted((SHARED / "tau2").glob("*.json"))]
    assert needless(path, "import", *files).exit_code == 0
    store = injected(path, *PLENTY)

    counts = Checker(store, "made").check()

    assert min(counts[kind] for kind in KINDS) >= 50


def test_the_same_seed_gives_the_same_bytes(tmp_path: Path) -> None:
    """Two databases, one seed: equal rows. Another seed: other steps."""
    one, two, three = (
        everything(injected(tmp_path / f"{n}.duckdb", f"--seed={seed}"))
        for n, seed in enumerate((7, 7, 8))
    )

    assert one == two
    assert one != three


def test_injecting_twice_changes_nothing(tmp_path: Path) -> None:
    """The second time says what was there already; nothing is added."""
    path = tmp_path / "n.duckdb"
    before = everything(injected(path))

    done = needless(path, "inject", "--into", "made")

    assert "15 were there already" in done.stderr
    assert everything(Store(path)) == before


@pytest.mark.parametrize(
    "other", [["--seed=2"], ["--rate=abnormal=1"], ["--limit=3"], ["--domain=library"]]
)
def test_a_name_is_not_used_for_something_else(tmp_path: Path, other: list[str]) -> None:
    """Other parameters need another name, and the error says which ones it was made with."""
    path = tmp_path / "n.duckdb"
    before = everything(injected(path))

    done = needless(path, "inject", "--into", "made", *other)

    assert done.exit_code == 2
    assert '"seed":1' in done.stderr
    assert "choose another name" in done.stderr
    assert everything(Store(path)) == before


def test_imported_names_are_not_taken_over(tmp_path: Path) -> None:
    """Neither an imported data set nor an imported label set grows by injection."""
    path = tmp_path / "n.duckdb"
    injected(path)

    sets = Store(path).query("select distinct label_set from labels where label_set <> 'made'")[1]
    for name in ("sample", *(str(row[0]) for row in sets)):
        done = needless(path, "inject", "--into", name)
        assert done.exit_code == 2
        assert "imported" in done.stderr


@pytest.mark.parametrize("wrong", ["odd=1", "abnormal", "abnormal=-1", "abnormal=nan", "=1"])
def test_a_wrong_rate_is_refused(wrong: str) -> None:
    """The message shows what a rate looks like."""
    with pytest.raises(UsageError, match=r"duplicated=1\.5"):
        rates_of([wrong])


def test_rates_choose_kinds(tmp_path: Path) -> None:
    """A rate of nothing gives no step of that kind; selection flags choose runs."""
    nothing = [f"--rate={kind}=0" for kind in KINDS if kind != "duplicated"]
    store = injected(tmp_path / "n.duckdb", "--limit=4", "--dataset=sample", *nothing)

    marked = "label_set = 'made' and confidence = 'certain' and is_synthetic"
    found = store.query(f"select distinct kind from labels where {marked}")[1]
    assert store.query("select count(*) from trajectories where dataset = 'made'")[1] == [(4,)]
    assert ("duplicated",) in found


def test_labels_that_a_run_had_are_kept(tmp_path: Path) -> None:
    """An annotator's labels move along with their messages, kind and origin unchanged."""
    store = injected(tmp_path / "n.duckdb", *PLENTY)
    old = store.query(
        "select trajectory_id, kind, tool, arguments, result from labels "
        "join steps using (trajectory_id, step_index) where label_set <> 'made'"
    )[1]
    new = store.query(
        "select split_part(trajectory_id, '@', 1), kind, tool, arguments, result from labels "
        "join steps using (trajectory_id, step_index) where label_set = 'made'"
    )[1]

    assert len(old) == 28
    assert not Counter(old) - Counter(new)


def run_of(*messages: Message, gold: str | None = None) -> Trajectory:
    return Trajectory("t", "d", "shop", "1", messages, split_steps(messages), gold_actions=gold)


def called(at: int, tool: str, result: str, **arguments: object) -> tuple[Message, Message]:
    text = json.dumps(arguments, sort_keys=True, separators=(",", ":"))
    call = ToolCall(tool, text, f"call_{at:08x}")
    return (
        Message(at, "assistant", "", (call,)),
        Message(at + 1, "tool", result, (), "assistant", call.call_id),
    )


def test_a_fickle_tool_is_no_read() -> None:
    """What answers differently though nothing was done is not repeated, whatever its name."""
    run = run_of(
        Message(0, "user", "hi"),
        *called(1, "get_time", "10:00"),
        *called(3, "get_time", "10:01"),
        *called(5, "get_name", "x"),
        Message(7, "assistant", "bye"),
    )
    corpus = learnt([run])["shop"]

    assert corpus.is_read("get_name")
    assert not corpus.is_read("get_time")
    found = OFFERS["duplicated"](run, corpus, random.Random(1))
    assert {call.tool for offer in found for call in offer.calls} == {"get_name"}


def test_nothing_is_repeated_across_a_write() -> None:
    """A look after a change is a new look."""
    run = run_of(
        Message(0, "user", "hi"),
        *called(1, "get_order", "open", id="O-1"),
        *called(3, "cancel_order", "done", id="O-1"),
        Message(5, "assistant", "bye"),
    )

    (offer,) = OFFERS["duplicated"](run, learnt([run])["shop"], random.Random(1))

    assert offer.gaps == (3,)


@pytest.mark.parametrize(
    ("tool", "reads"),
    [
        ("get_user", True),
        ("crm.findOrder", True),
        ("getaway_book", False),
        ("send_list", False),
        ("think", False),
        ("calculate", True),
        ("checkout_cart", False),
    ],
)
def test_reads_are_told_by_their_first_word(tool: str, reads: bool) -> None:
    """A verb of looking, whatever the spelling; not a word that only begins like one."""
    assert looks_like_a_read(tool) is reads


def test_a_failure_speaks_the_run_s_language() -> None:
    """A Spanish talk has a Spanish fault, and a Chinese one a Chinese fault."""
    spanish = run_of(Message(0, "user", "Hola, necesito ver la reserva que tengo para los dos"))
    chinese = run_of(Message(0, "user", "你好 我想查询我的订单状态"))

    assert language(spanish) == "es"
    assert language(chinese) == "zh"
    assert language(run_of(Message(0, "user", "Where is the order of mine?"))) == "en"


@pytest.mark.parametrize(
    ("own", "form"),
    [
        ([f"call_{n:024x}" for n in (7**20, 11**20, 5**30)], r"call_[0-9a-f]{24}"),
        ([f"toolu_01{c}" for c in ("aB3dE", "Zz9yX", "q7WeR", "M2nbV")], r"toolu_01[0-9A-Za-z]{5}"),
        (["chatcmpl-tool-9f3a", "chatcmpl-tool-b07c"], r"chatcmpl-tool-[0-9a-f]{4}"),
        (["1001", "2203"], r"\d{4}"),
        ([*"0123456789"], r"\d{2}"),
        (["call_x9"], r"call_[0-9a-z]{2}"),
        (["", ""], r""),
        (["functions.find:0"] * 3, r"functions\.find:0"),
        ([str(uuid.UUID(int=7**n, version=4)) for n in range(15, 45)], UUID4),
    ],
)
def test_new_ids_look_like_the_run_s_own(own: list[str], form: str) -> None:
    """Length, prefix and alphabet are kept; one id for all calls, or none, stays so."""
    messages = [Message(0, "user", "hi")]
    for at, call_id in enumerate(own, start=1):
        messages.append(Message(at, "assistant", "", (ToolCall("get_x", "{}", call_id),)))
    run = run_of(*messages)
    ids = CallIds(run, learnt([run])["shop"], random.Random(1))

    made = [ids.new() for _ in range(20)]

    assert all(re.fullmatch(form, one) for one in made), made
    if len({*own}) > 1 or len(own) == 1:
        assert len({*made} - {*own}) == 20


def test_a_sum_may_be_spaced_in_the_other_way() -> None:
    """Equivalent arguments are equal but for blanks; everything else is left as it is."""
    made = {equivalent('{"expression":"1 + 2.5"}', random.Random(n)) for n in range(20)}

    assert made == {'{"expression":"1 + 2.5"}', '{"expression":"1+2.5"}'}
    assert equivalent('{"zip":"1-2"}', random.Random(1)) == '{"zip":"1-2"}'


def test_injection_is_a_function_of_values() -> None:
    """No database is needed; labels given come back moved, and the original is left alone."""
    run = run_of(
        Message(0, "user", "hi"),
        *called(1, "get_order", "open", id="O-1"),
        Message(3, "assistant", "bye"),
    )
    mark = Mark((1, 2), "incorrect", (-1,))
    rates = {"abnormal": 1.0}

    woven, said = inject(run, learnt([run])["shop"], into="new", seed=3, rates=rates, marks=[mark])

    assert [m.role for m in woven.messages] == ["user", *["assistant", "tool"] * 2, "assistant"]
    assert said.marks[1] == replace(mark, indices=(3, 4))
    assert (said.marks[0].indices, said.marks[0].evidence) == ((1, 2), (3, 4))
    assert woven.messages[2].content.startswith("Error: ")
