"""Files a user has become values, and a file that cannot is refused by file and place."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cache.errors import InputError, NeedlessError, UsageError
from cache.hashing import canonical
from cache.importers import FORMATS, IMPORTERS, Document, open_document, read
from cache.records import Annotation, Mark, Trajectory

SECRET = "sk-planted-0123456789"

Json = dict[str, object]


def call(name: str = "look", call_id: str = "c", **arguments: object) -> Json:
    return {"id": call_id, "name": name, "arguments": arguments, "requestor": "assistant"}


def asks(*calls: Json, content: str | None = None, role: str = "assistant") -> Json:
    return {"role": role, "content": content, "tool_calls": list(calls)}


def says(role: str, content: str) -> Json:
    return {"role": role, "content": content, "tool_calls": None}


def result(content: str = "{}", **more: object) -> Json:
    return {"role": "tool", "id": "c", "content": content, "requestor": "assistant", **more}


def messages() -> list[Json]:
    return [
        says("assistant", "Hi!"),
        says("user", "Where is my bag?"),
        asks(call(bag=1)),
        result("here", error=False),
        asks(call(bag=1)),
        result("here", error=False),
        says("assistant", "It is here."),
    ]


def simulation(name: str | None = "run-1", **more: object) -> Json:
    made: Json = {"task_id": "7", "trial": 0, "reward_info": {"reward": 1.0}}
    return made | ({"id": name} if name is not None else {}) | {"messages": messages()} | more


def task(**more: object) -> Json:
    told = {"domain": "airline", "reason_for_call": "Find my bag.", "task_instructions": "Be kind."}
    action = {"name": "look", "arguments": {"bag": 1}, "requestor": "user", "compare_args": []}
    made: Json = {
        "id": "7",
        "description": {"purpose": "A lost bag."},
        "user_scenario": {"instructions": told},
        "ticket": None,
        "evaluation_criteria": {"actions": [action]},
    }
    return made | more


def results(*simulations: Json, **more: object) -> Json:
    made: Json = {
        "info": {
            "environment_info": {"domain_name": "airline", "policy": "Be careful."},
            "agent_info": {"llm": "openai/gpt-4.1", "llm_args": {"temperature": 0}},
        },
        "tasks": [task()],
        "simulations": list(simulations) or [simulation()],
    }
    return made | more


def write(path: Path, value: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


def runs(path: Path, *, form: str | None = None, dataset: str | None = None) -> list[Trajectory]:
    return [v for v in read(path, form=form, dataset=dataset) if isinstance(v, Trajectory)]


def notes(path: Path, *, form: str | None = None) -> list[Annotation]:
    return [v for v in read(path, form=form, dataset=None) if isinstance(v, Annotation)]


def refusal(path: Path, *, form: str | None = None) -> str:
    with pytest.raises(InputError) as caught:
        list(read(path, form=form, dataset=None))
    return str(caught.value)


class TestTau2:
    def test_a_run_keeps_what_it_was(self, tmp_path: Path) -> None:
        """A results file gives the run, its task and its verdict."""
        (run,) = runs(write(tmp_path / "mine.json", results()))

        assert (run.trajectory_id, run.dataset, run.domain) == ("run-1", "mine", "airline")
        assert (run.task_id, run.trial, run.agent_model) == ("7", 0, "openai/gpt-4.1")
        assert (run.success, run.reward, run.policy) == (True, 1.0, "Be careful.")
        assert run.objective == "Find my bag.\nBe kind."
        assert run.gold_actions == (
            '[{"arguments":{"bag":1},"compare_args":[],"name":"look","requestor":"user"}]'
        )
        assert [m.index for m in run.messages] == list(range(7))
        assert run.messages[2].content == ""
        assert run.messages[2].tool_calls[0].arguments == '{"bag":1}'
        assert [(s.call_index, s.result_index) for s in run.steps if s.judged] == [(2, 3), (4, 5)]

    def test_the_dataset_can_be_given(self, tmp_path: Path) -> None:
        """The caller's name for the data set wins over the file's."""
        (run,) = runs(write(tmp_path / "mine.json", results()), dataset="theirs")

        assert run.dataset == "theirs"

    def test_nothing_but_the_named_fields_leaves_the_file(self, tmp_path: Path) -> None:
        """A key recorded anywhere in a file reaches no value."""
        value = results()
        planted = {"api_key": SECRET, "headers": [SECRET]}
        value["info"] = {
            "git_commit": SECRET,
            "environment_info": {"domain_name": "airline", "tool_defs": SECRET},
            "agent_info": {"llm": f"model?key={SECRET}", "llm_args": planted},
            "user_info": {"llm": SECRET, "llm_args": planted},
        }
        said = [dict(m, raw_data=planted, usage=planted, turn_idx=99) for m in messages()]
        said[2]["tool_calls"] = [call(bag=1) | {"raw_data": planted}]
        value["simulations"] = [
            simulation(messages=said, info=planted, provider_session_id=SECRET, review=SECRET)
        ]
        value["llm_args"] = planted
        (run,) = runs(write(tmp_path / "mine.json", value))

        assert SECRET not in repr(run)
        assert run.agent_model is None

    def test_several_trials_of_a_task_are_several_runs(self, tmp_path: Path) -> None:
        """Trials share a task and keep ids of their own."""
        value = results(simulation("a", trial=0), simulation("b", trial=1))
        first, second = runs(write(tmp_path / "mine.json", value))

        assert first.task_id == second.task_id
        assert (first.trajectory_id, second.trajectory_id) == ("a", "b")

    def test_a_number_is_a_task_id(self, tmp_path: Path) -> None:
        """Task ids written as numbers find their task."""
        value = results(simulation(task_id=7), tasks=[task(id=7)])
        (run,) = runs(write(tmp_path / "mine.json", value))

        assert run.task_id == "7"
        assert run.gold_actions != "[]"

    def test_a_run_without_an_id_gets_a_stable_one(self, tmp_path: Path) -> None:
        """The made id depends on the run's own content, not on file, order or unread fields."""
        bare = simulation(None)
        noisy = dict(bare, messages=[dict(m, turn_idx=3) for m in messages()], seed=5)
        other = simulation(None, trial=1, messages=messages()[:3])
        (first,) = runs(write(tmp_path / "a.json", results(bare)))
        _, again = runs(write(tmp_path / "b.json", results(other, noisy)))

        assert first.trajectory_id == again.trajectory_id
        assert first.trajectory_id.startswith("airline:7:0:")
        assert len(first.trajectory_id.split(":")[-1]) == 12

    def test_a_made_id_says_what_is_missing(self, tmp_path: Path) -> None:
        """Without task and trial the made id has dashes there."""
        (run,) = runs(
            write(tmp_path / "a.json", [{"reward_info": None, "messages": messages(), "id": ""}])
        )

        assert run.trajectory_id.startswith("unknown:-:-:")
        assert (run.task_id, run.success, run.reward) == ("", None, None)

    def test_a_repeated_id_is_refused(self, tmp_path: Path) -> None:
        """Two runs with one id are refused, and both are named."""
        path = write(tmp_path / "mine.json", results(simulation("a"), simulation("a")))

        assert "$.simulations[0]" in refusal(path)
        assert "$.simulations[1]" in refusal(path)

    def test_a_repeated_task_id_is_refused(self, tmp_path: Path) -> None:
        """One id for two different tasks is refused; the same task twice is not."""
        twice = write(tmp_path / "a.json", results(tasks=[task(), task()]))
        other = write(tmp_path / "b.json", results(tasks=[task(), task(ticket="Other.")]))

        assert len(runs(twice)) == 1
        assert "$.tasks[1].id" in refusal(other)

    @pytest.mark.parametrize(
        ("reward_info", "success"),
        [({"reward": 1.0}, True), ({"reward": 0.5}, False), ({"reward": None}, None), (None, None)],
    )
    def test_success_is_full_reward(
        self, tmp_path: Path, reward_info: object, success: bool | None
    ) -> None:
        """Only a reward of 1 is a success, and no verdict is neither."""
        value = results(simulation(reward_info=reward_info))
        (run,) = runs(write(tmp_path / "mine.json", value))

        assert run.success is success

    @pytest.mark.parametrize(
        ("criteria", "expected"), [({"actions": None}, "[]"), ({"actions": []}, "[]"), (None, None)]
    )
    def test_no_reference_path_is_not_an_empty_one(
        self, tmp_path: Path, criteria: object, expected: str | None
    ) -> None:
        """An empty reference path differs from a task that records none."""
        value = results(tasks=[task(evaluation_criteria=criteria)])
        (run,) = runs(write(tmp_path / "mine.json", value))

        assert run.gold_actions == expected

    def test_a_run_without_its_task_has_no_reference_path(self, tmp_path: Path) -> None:
        """Where the task is not in the file, the user's first words are the objective."""
        (run,) = runs(write(tmp_path / "mine.json", results(tasks=[])))

        assert run.gold_actions is None
        assert run.objective == "Where is my bag?"

    @pytest.mark.parametrize(
        ("more", "expected"),
        [
            ({"ticket": "T"}, "Find my bag.\nBe kind."),
            ({"user_scenario": {"instructions": "Just text."}}, "Just text."),
            ({"user_scenario": {"instructions": {"reason_for_call": "Only."}}}, "Only."),
            ({"user_scenario": None}, "A lost bag."),
            ({"user_scenario": None, "description": "Old text."}, "Old text."),
            ({"user_scenario": None, "description": None}, "Where is my bag?"),
        ],
    )
    def test_the_objective_is_the_best_there_is(
        self, tmp_path: Path, more: Json, expected: str
    ) -> None:
        """Instructions, then the purpose, then the first request."""
        (run,) = runs(write(tmp_path / "mine.json", results(tasks=[task(**more)])))

        assert run.objective == expected

    def test_an_agent_alone_is_told_its_ticket(self, tmp_path: Path) -> None:
        """A run that begins with a call works on the ticket."""
        value = results(simulation(messages=messages()[2:4]), tasks=[task(ticket="Fix it.")])
        (run,) = runs(write(tmp_path / "mine.json", value))

        assert run.objective == "Fix it."

    def test_the_policy_of_the_run_comes_first(self, tmp_path: Path) -> None:
        """A policy repeated in the run wins over that of the file."""
        (run,) = runs(write(tmp_path / "mine.json", results(simulation(policy="Mine."))))

        assert run.policy == "Mine."

    @pytest.mark.parametrize(
        ("more", "expected"),
        [
            ({}, "airline"),
            ({"info": None, "domain": "retail"}, "retail"),
            ({"info": None}, "airline"),
            ({"info": None, "tasks": None}, "unknown"),
        ],
    )
    def test_the_domain_is_found(self, tmp_path: Path, more: Json, expected: str) -> None:
        """The file's own word for the domain, then the task's, else unknown."""
        (run,) = runs(write(tmp_path / "mine.json", results(**more)))

        assert run.domain == expected

    @pytest.mark.parametrize(
        ("content", "more", "failed"),
        [
            ("Error: no such bag", {}, True),
            ("Error: no such bag", {"error": None}, True),
            ("Error: no such bag", {"error": False}, False),
            ("lost", {"error": True}, True),
            ("An Error", {}, False),
        ],
    )
    def test_an_error_is_the_flag_or_else_the_text(
        self, tmp_path: Path, content: str, more: Json, failed: bool
    ) -> None:
        """The text is asked only where no flag was recorded."""
        said = [asks(call()), result(content, **more)]
        (run,) = runs(write(tmp_path / "mine.json", results(simulation(messages=said))))

        assert run.messages[1].is_error is failed
        assert run.steps[0].is_error is failed

    def test_a_bare_tool_message_answers_the_assistant(self, tmp_path: Path) -> None:
        """A result without id, requestor and content still answers a call."""
        said = [asks(call()), {"role": "tool"}]
        (run,) = runs(write(tmp_path / "mine.json", results(simulation(messages=said))))

        assert (run.messages[1].requestor, run.messages[1].tool_call_id) == ("assistant", "")
        assert run.steps[0].result == ""

    def test_the_users_calls_stay_the_users(self, tmp_path: Path) -> None:
        """A call of the user is context, and its result is not the assistant's."""
        said = [asks(call(), role="user"), result(requestor="user"), asks(call()), result("mine")]
        (run,) = runs(write(tmp_path / "mine.json", results(simulation(messages=said))))

        assert [(s.player, s.judged, s.result) for s in run.steps] == [
            ("user", False, "{}"),
            ("assistant", True, "mine"),
        ]

    @pytest.mark.parametrize(
        ("arguments", "expected"),
        [
            ({"b": 1, "a": "é"}, '{"a":"é","b":1}'),
            ('{"b": 1, "a": 2}', '{"a":2,"b":1}'),
            ("not json", '"not json"'),
            (None, "{}"),
        ],
    )
    def test_arguments_are_canonical(
        self, tmp_path: Path, arguments: object, expected: str
    ) -> None:
        """Equal arguments are equal text, also where a provider wrote them as a string."""
        said = [asks({"name": "look", "arguments": arguments}), result()]
        (run,) = runs(write(tmp_path / "mine.json", results(simulation(messages=said))))

        assert run.messages[0].tool_calls[0].arguments == expected

    def test_half_a_surrogate_pair_is_replaced(self, tmp_path: Path) -> None:
        """Text that no encoding can hold is mended; whole pairs and backslashes are kept."""
        text = 'a\ud800b \udc00 😀 \\ud800 "\ud83d'
        inner: Json = {"name": "look", "arguments": '{"q": "\\ud800"}'}
        said = [says("user", text), asks(call(q=text)), result(text), asks(inner), result()]
        (run,) = runs(write(tmp_path / "mine.json", results(simulation(messages=said))))
        mended = 'a\ufffdb \ufffd 😀 \\ud800 "\ufffd'

        assert run.messages[0].content == mended
        assert run.messages[1].tool_calls[0].arguments == canonical({"q": mended})
        assert run.messages[3].tool_calls[0].arguments == '{"q":"\ufffd"}'
        assert run.messages[2].content == mended

    def test_a_run_may_be_empty(self, tmp_path: Path) -> None:
        """A run that broke before its first message is a run."""
        value = results(simulation(messages=[], reward_info=None))
        (run,) = runs(write(tmp_path / "mine.json", value))

        assert (run.messages, run.steps, run.success) == ((), (), None)

    def test_bare_simulations_are_read(self, tmp_path: Path) -> None:
        """A list, a file and a folder of simulations without tasks are all runs."""
        listed = write(tmp_path / "list.json", [simulation("a"), simulation("b")])
        one = write(tmp_path / "folder" / "task_0_trial_0.json", simulation("a"))
        write(tmp_path / "folder" / "task_0_trial_1.json", simulation("b"))

        assert [r.trajectory_id for r in runs(listed)] == ["a", "b"]
        assert [r.trajectory_id for r in runs(one)] == ["a"]
        assert [(r.trajectory_id, r.dataset) for r in runs(one.parent)] == [
            ("a", "folder"),
            ("b", "folder"),
        ]

    def test_the_folder_layout_is_read(self, tmp_path: Path) -> None:
        """The index says which files are runs, whether the folder or the index is named."""
        index = {"simulation_index": [{"id": "b"}, {"id": "a"}], "simulations": None}
        path = write(tmp_path / "mine" / "results.json", results() | index)
        write(tmp_path / "mine" / "simulations" / "a.json", simulation("a"))
        write(tmp_path / "mine" / "simulations" / "b.json", simulation("b"))
        got = runs(path.parent)

        assert [(r.trajectory_id, r.dataset) for r in got] == [("b", "mine"), ("a", "mine")]
        assert got == runs(path)
        assert got[0].gold_actions

    def test_an_index_that_does_not_fit_its_files_is_refused(self, tmp_path: Path) -> None:
        """Missing and surplus simulation files are named, and so is one with another id."""
        index = {"simulation_index": [{"id": "a"}, {"id": "b"}], "simulations": None}
        path = write(tmp_path / "mine" / "results.json", results() | index)
        write(tmp_path / "mine" / "simulations" / "a.json", simulation("a"))
        write(tmp_path / "mine" / "simulations" / "c.json", simulation("c"))

        assert "missing b, surplus c" in refusal(path)

        (tmp_path / "mine" / "simulations" / "c.json").unlink()
        write(tmp_path / "mine" / "simulations" / "b.json", simulation("z"))

        assert "expected 'b', got 'z'" in refusal(path)

    def test_a_template_is_refused(self, tmp_path: Path) -> None:
        """A documented example with placeholders is no data."""
        said = [{"role": "<string>", "content": "<string>"}]
        path = write(tmp_path / "mine.json", results(simulation(messages=said)))

        assert "$.simulations[0].messages[0].role: " in refusal(path)
        assert "'<string>'" in refusal(path)

    @pytest.mark.parametrize(
        ("said", "place"),
        [
            ([{"role": "user", "content": [{"type": "text"}]}], "messages[0].content: expected a"),
            ([{"role": 5}], "messages[0].role: expected a string, got an integer"),
            ([{"content": "x"}], "messages[0]: object missing required field `role`"),
            ([asks({"arguments": {}})], "messages[0].tool_calls[0]: object missing"),
            ([asks({"name": "x", "arguments": 5})], "messages[0].tool_calls[0].arguments: "),
            ([result(requestor="nobody")], "messages[0].requestor: "),
            (None, "messages: expected a list, got null"),
        ],
    )
    def test_a_wrong_field_is_named(self, tmp_path: Path, said: object, place: str) -> None:
        """The error names the file and the path to the field."""
        path = write(tmp_path / "mine.json", results(simulation(messages=said)))

        assert refusal(path).startswith(f"{path}: $.simulations[0].{place}")

    def test_missing_messages_are_named(self, tmp_path: Path) -> None:
        """A run without messages is refused, not taken for an empty one."""
        path = write(tmp_path / "mine.json", results({"id": "a", "task_id": "7"}))

        assert "$.simulations[0]: object missing required field `messages`" in refusal(path)


def record(**more: object) -> Json:
    made: Json = {
        "task_id": "7",
        "redundant_step_idx": [[4, 5]],
        "redundant_step_type": ["Duplicated Step"],
        "evidence_step_idx": [[2, 3]],
        "reason": [""],
        "confidence": ["certain"],
    }
    return made | more


def trace(**more: object) -> Json:
    return {"task_id": "7", "messages": messages(), "policy": "Be careful."} | more


def release(root: Path, records: object, *traces: Json, subset: str = "human_annotation") -> Path:
    folder = root / "bench" / subset / "airline"
    value = {"tasks": [task()], "simulations": list(traces) or [trace()]}
    write(folder / "final_traces.json", value)
    write(folder / "annotation.json", records)
    return root / "bench"


class TestRelease:
    def test_traces_and_their_labels_are_read(self, tmp_path: Path) -> None:
        """Each trace is a successful run, and its labels are marks with their evidence."""
        run, note = read(release(tmp_path, [record()]), form=None, dataset=None)

        assert isinstance(run, Trajectory)
        assert isinstance(note, Annotation)
        assert (run.trajectory_id, run.dataset) == ("release:human:airline:7", "bench")
        assert (run.domain, run.success, run.reward) == ("airline", True, None)
        assert (run.policy, run.objective) == ("Be careful.", "Find my bag.\nBe kind.")
        assert (note.label_set, note.annotator) == ("human", "human")
        assert note.trajectory_id == run.trajectory_id
        assert note.marks == (Mark((4, 5), "duplicated", (2, 3), "certain"),)
        assert note.where.endswith("annotation.json: $[0]")

    @pytest.mark.parametrize(
        "inner",
        [
            "human_annotation",
            "human_annotation/airline",
            "human_annotation/airline/final_traces.json",
        ],
    )
    def test_a_part_of_the_release_is_the_same_data(self, tmp_path: Path, inner: str) -> None:
        """A folder or file inside the release gives the same values as the whole."""
        root = release(tmp_path, [record()])
        whole = list(read(root, form=None, dataset=None))
        part = list(read(root / inner, form=None, dataset=None))

        assert part == whole

    def test_a_task_number_names_the_run(self, tmp_path: Path) -> None:
        """Where the annotation numbers the task, the id is short."""
        (run,) = runs(release(tmp_path, [record(task_number="T001")]))

        assert run.trajectory_id == "release:human:airline:T001"

    def test_models_labels_join_by_trajectory(self, tmp_path: Path) -> None:
        """Several traces of one task are told apart, and the labelling model is kept."""
        traces = [trace(trajectory_id="m:airline:0"), trace(trajectory_id="m:airline:1")]
        told = record(trajectory_id="m:airline:1", label_source="model-b", confidence=["1"])
        root = release(tmp_path, [told], *traces, subset="automated_annotation")
        (note,) = notes(root)

        assert [r.trajectory_id for r in runs(root)] == ["m:airline:0", "m:airline:1"]
        assert (note.label_set, note.annotator) == ("automated", "model-b")
        assert (note.trajectory_id, note.marks[0].confidence) == ("m:airline:1", "1")

    def test_a_trace_without_labels_is_not_clean(self, tmp_path: Path) -> None:
        """No annotation is unknown; an annotation without steps is clean."""
        traces = [trace(), trace(task_id="8")]
        empty: Json = {name: [] for name in record() if name != "task_id"}
        root = release(tmp_path, [record(**empty)], *traces)
        (note,) = notes(root)

        assert len(runs(root)) == 2
        assert note.marks == ()

    @pytest.mark.parametrize(
        ("reason", "subset", "synthetic"),
        [
            ("人工合成", "human_annotation", True),
            ("人工合成: 12, 13", "human_annotation", True),
            ("不是人工合成", "human_annotation", False),
            ("人工合成", "automated_annotation", False),
        ],
    )
    def test_the_word_for_synthetic_is_known(
        self, tmp_path: Path, reason: str, subset: str, synthetic: bool
    ) -> None:
        """A reason that starts with the annotators' word marks an inserted step."""
        names = {"trajectory_id": "m:airline:0"}
        told = record(reason=[reason], label_source="model-b", **names)
        (note,) = notes(release(tmp_path, [told], trace(**names), subset=subset))

        assert note.marks[0].is_synthetic is synthetic

    @pytest.mark.parametrize("evidence", [[2, 3], [1, 2, 3, 5], [1], [3], [-1], [3, 5]])
    def test_every_form_of_evidence_is_read(self, tmp_path: Path, evidence: list[int]) -> None:
        """A pair, several pairs, one message, the fixed policy; models pair two results."""
        (note,) = notes(release(tmp_path, [record(evidence_step_idx=[evidence])]))

        assert note.marks[0].evidence == tuple(evidence)

    @pytest.mark.parametrize(
        "evidence", [[], [99], [2, 99], [3, 2], [2, 3, 4], [-1, 2], [-2], [2, 3, 2, 3], [2, 2]]
    )
    def test_other_evidence_is_refused(self, tmp_path: Path, evidence: list[int]) -> None:
        """Evidence out of range, out of order or incomplete is refused by its place."""
        path = release(tmp_path, [record(evidence_step_idx=[evidence])])

        assert "annotation.json: $[0].evidence_step_idx[0]: " in refusal(path)

    @pytest.mark.parametrize(
        ("step", "fault"),
        [
            ([4], "expected a pair"),
            ([4, 99], "is not a pair of the 7 messages"),
            ([5, 4], "is not a pair"),
            ([-1, 3], "is not a pair"),
            ([0, 3], "message 0 is not a tool call of the assistant"),
            ([3, 5], "message 3 is not a tool call of the assistant"),
            ([4, 6], "message 6 does not answer the call in message 4"),
            ([2, 5], "message 5 does not answer the call in message 2"),
        ],
    )
    def test_a_step_is_a_call_and_its_result(
        self, tmp_path: Path, step: list[int], fault: str
    ) -> None:
        """A labelled step that is not a call of the assistant and its answer is refused."""
        message = refusal(release(tmp_path, [record(redundant_step_idx=[step])]))

        assert "$[0].redundant_step_idx[0]: " in message
        assert fault in message

    def test_the_users_call_is_no_step(self, tmp_path: Path) -> None:
        """A label on a call of the user is refused."""
        said = [asks(call(), role="user"), result(requestor="user"), asks(call()), result()]
        told = record(redundant_step_idx=[[0, 1]])

        assert "message 0 is not" in refusal(release(tmp_path, [told], trace(messages=said)))

    def test_any_result_of_parallel_calls_is_a_step(self, tmp_path: Path) -> None:
        """Each of several calls in one message has a result of its own."""
        said = [asks(call(a=1), call(a=2)), result("1"), result("2"), asks(call(a=2)), result("2")]
        told = record(redundant_step_idx=[[0, 2]], evidence_step_idx=[[3, 4]])
        (note,) = notes(release(tmp_path, [told], trace(messages=said)))

        assert note.marks[0].indices == (0, 2)

    @pytest.mark.parametrize(
        ("records", "fault"),
        [
            ([record(reason=[])], "lists of unequal length: redundant_step_idx 1"),
            ([record(redundant_step_type=["Odd Step"])], "unknown type 'Odd Step'"),
            ([record(), record()], "'7' is already annotated by"),
            ([record(task_id="8")], "annotates '8', which"),
            ([record(task_id=None)], "$[0].task_id: missing"),
            ([{"task_id": "7"}], "$[0]: object missing required field"),
            ({"7": record()}, "$: expected a list, got an object"),
        ],
    )
    def test_labels_that_do_not_fit_are_refused(
        self, tmp_path: Path, records: object, fault: str
    ) -> None:
        """The file and the record are named."""
        message = refusal(release(tmp_path, records))

        assert "annotation.json: $" in message
        assert fault in message

    def test_a_step_is_marked_once(self, tmp_path: Path) -> None:
        """A step labelled twice in one record is refused."""
        twice = {
            name: [*value, *value] for name, value in record().items() if isinstance(value, list)
        }

        assert "[4, 5] is marked twice" in refusal(release(tmp_path, [record(**twice)]))

    def test_a_join_must_be_clear(self, tmp_path: Path) -> None:
        """Two traces of one task, or a trace without identity, cannot be joined."""
        assert "is already the identity of" in refusal(
            release(tmp_path, [record()], trace(), trace())
        )
        told = record(trajectory_id="m:airline:0", label_source="model-b")
        root = release(tmp_path / "b", [told], trace(), subset="automated_annotation")
        assert "$.simulations[0].trajectory_id: missing" in refusal(root)

    def test_the_labelling_model_is_needed(self, tmp_path: Path) -> None:
        """A model's labels without the model's name are refused."""
        names = {"trajectory_id": "m:airline:0"}
        root = release(tmp_path, [record(**names)], trace(**names), subset="automated_annotation")

        assert "$[0].label_source: missing" in refusal(root)

    def test_the_task_must_agree(self, tmp_path: Path) -> None:
        """An annotation of another task than its trace is refused."""
        told = record(trajectory_id="m:airline:0", label_source="model-b", task_id="9")
        root = release(
            tmp_path, [told], trace(trajectory_id="m:airline:0"), subset="automated_annotation"
        )

        assert "$[0].task_id: '9'" in refusal(root)

    def test_a_run_number_used_twice_is_refused(self, tmp_path: Path) -> None:
        """Two tasks with one number would be one run."""
        told = [record(task_number="T1"), record(task_id="8", task_number="T1")]
        message = refusal(release(tmp_path, told, trace(), trace(task_id="8")))

        assert "'release:human:airline:T1' is already that of" in message

    def test_labels_without_traces_are_refused(self, tmp_path: Path) -> None:
        """A domain with one of its two files is refused by the other's name."""
        root = release(tmp_path, [record()])
        (root / "human_annotation" / "airline" / "final_traces.json").unlink()

        assert refusal(root).endswith("final_traces.json: no such file or folder")


def line(**more: object) -> Json:
    made: Json = {
        "label_set": "mine",
        "trajectory_id": "run-1",
        "annotator": "a",
        "steps": [
            {
                "call": 4,
                "result": 5,
                "kind": "duplicated",
                "evidence": [2, 3],
                "confidence": "certain",
                "synthetic": True,
            }
        ],
    }
    return made | more


def lines(path: Path, *values: object) -> Path:
    path.write_text("".join(f"{json.dumps(value)}\n" for value in values), encoding="utf-8")
    return path


class TestLabels:
    def test_a_label_set_is_read(self, tmp_path: Path) -> None:
        """Each line is an annotation, and an empty one says clean."""
        path = lines(tmp_path / "mine.jsonl", line(), line(trajectory_id="run-2", steps=[]))
        first, second = notes(path)

        assert (first.label_set, first.annotator, first.trajectory_id) == ("mine", "a", "run-1")
        assert first.marks == (Mark((4, 5), "duplicated", (2, 3), "certain", True),)
        assert first.where == f"{path}:1"
        assert (second.trajectory_id, second.marks) == ("run-2", ())

    def test_a_single_line_is_a_label_set(self, tmp_path: Path) -> None:
        """A set of one line is recognised although the file is one JSON object."""
        assert len(notes(lines(tmp_path / "mine.jsonl", line()))) == 1

    def test_a_task_may_stand_for_a_run(self, tmp_path: Path) -> None:
        """A task id is kept where there is no trajectory id."""
        path = lines(tmp_path / "mine.jsonl", line(trajectory_id=None, task_id=7))
        (note,) = notes(path)

        assert (note.trajectory_id, note.task_id) == (None, "7")

    def test_a_step_may_be_one_message(self, tmp_path: Path) -> None:
        """A step needs nothing but its message."""
        (note,) = notes(lines(tmp_path / "mine.jsonl", line(steps=[{"call": 4}])))

        assert note.marks == (Mark((4,)),)

    def test_empty_lines_and_line_separators_are_harmless(self, tmp_path: Path) -> None:
        """Only a line feed ends a line."""
        path = tmp_path / "mine.jsonl"
        text = json.dumps(line(annotator="a\u2028b"), ensure_ascii=False)
        path.write_text(f"\n{text}\r\n\n{json.dumps(line())}", encoding="utf-8")

        assert [note.annotator for note in notes(path)] == ["a\u2028b", "a"]
        assert notes(path)[1].where.endswith(":4")

    @pytest.mark.parametrize(
        ("value", "fault"),
        [
            ([1], "$: expected an object, got a list"),
            (line(label_set=""), "$.label_set: "),
            (line(annotator=" "), "$.annotator: "),
            (line(annotator=None), "$.annotator: expected a string, got null"),
            (line(trajectory_id=None), "$: expected a trajectory_id or a task_id"),
            (line(steps=None), "$.steps: "),
            (line(stpes=[]), "$: object contains unknown field `stpes`"),
            (line(steps=[{"result": 5}]), "$.steps[0]: object missing required field `call`"),
            (line(steps=[{"call": -1}]), "$.steps[0].call: "),
            (line(steps=[{"call": True}]), "$.steps[0].call: expected an integer"),
            (line(steps=[{"call": 4, "result": 4}]), "$.steps[0].result: "),
            (line(steps=[{"call": 4, "kind": "odd"}]), "$.steps[0].kind: expected one of abn"),
            (line(steps=[{"call": 4, "evidence": [1, 2, 3]}]), "$.steps[0].evidence: "),
            (line(steps=[{"call": 4, "evidence": "2"}]), "$.steps[0].evidence: "),
            (line(steps=[{"call": 4, "evidance": []}]), "$.steps[0]: object contains unknown"),
            (line(steps=[{"call": 4, "synthetic": 1}]), "$.steps[0].synthetic: "),
            (line(steps=[{"call": 4}, {"call": 4}]), "$.steps[1]: [4] is marked twice"),
        ],
    )
    def test_a_wrong_line_is_named(self, tmp_path: Path, value: object, fault: str) -> None:
        """The error names file, line and field."""
        path = lines(tmp_path / "mine.jsonl", line(trajectory_id="fine"), value)

        assert refusal(path).startswith(f"{path}:2: {fault}")

    def test_a_broken_line_is_named(self, tmp_path: Path) -> None:
        """Broken JSON is named by its line and byte."""
        path = lines(tmp_path / "mine.jsonl", line())
        path.write_text(path.read_text(encoding="utf-8") + '{"label_set": ]}\n', encoding="utf-8")

        assert refusal(path).startswith(f"{path}:2: broken JSON at byte 14: ")

    def test_a_trajectory_is_labelled_once(self, tmp_path: Path) -> None:
        """One annotator has one opinion in a set; two annotators have two."""
        fine = lines(tmp_path / "a.jsonl", line(), line(annotator="b"), line(label_set="other"))
        twice = lines(tmp_path / "b.jsonl", line(), line())

        assert len(notes(fine)) == 3
        assert refusal(twice).startswith(f"{twice}:2: ")
        assert "line 1" in refusal(twice)


def draft(**more: object) -> Json:
    made: Json = {
        "task_id": "0",
        "redundant_step_idx": [2, 3, 5],
        "redundant_step_type": [
            "insert_invalid_tool_call",
            "repetition_action",
            "except_action_graph",
        ],
    }
    return made | more


class TestLabelsV1:
    def test_each_message_is_a_mark(self, tmp_path: Path) -> None:
        """Types become kinds, and inserted ones are synthetic."""
        (note,) = notes(write(tmp_path / "old.json", [draft()]))

        assert (note.label_set, note.annotator) == ("v1", "published")
        assert (note.trajectory_id, note.task_id) == (None, "0")
        assert note.marks == (
            Mark((2,), "abnormal", is_synthetic=True),
            Mark((3,), "duplicated"),
            Mark((5,), None),
        )

    @pytest.mark.parametrize(
        ("value", "fault"),
        [
            ([draft(redundant_step_idx=[2])], "$[0]: 1 redundant_step_idx but 3"),
            ([draft(redundant_step_idx=[2, 2, 3])], "$[0].redundant_step_idx[1]: 2 is an index"),
            ([draft(redundant_step_idx=[-1, 2, 3])], "$[0].redundant_step_idx[0]: -1 is a neg"),
            ([draft(redundant_step_idx=[[4, 5]])], "$[0].redundant_step_idx[0]: expected an int"),
            ([draft(redundant_step_type=["a", "b", "c"])], "$[0].redundant_step_type[0]: unknown"),
            ([draft(), draft()], "$[1].task_id: '0' is already labelled by $[0]"),
        ],
    )
    def test_labels_that_do_not_fit_are_refused(
        self, tmp_path: Path, value: object, fault: str
    ) -> None:
        """The file and the record are named."""
        path = write(tmp_path / "old.json", value)

        assert refusal(path).startswith(f"{path}: {fault}")


class TestRecognition:
    def test_an_unknown_format_is_a_usage_error(self, tmp_path: Path) -> None:
        """A format name that does not exist is answered with those that do."""
        with pytest.raises(UsageError, match="labels_v1, release, tau2"):
            read(tmp_path, form="tau3", dataset=None)

        assert set(FORMATS) == set(IMPORTERS)

    def test_a_named_format_overrules(self, tmp_path: Path) -> None:
        """A file that looks like something else is read as it was said to be."""
        path = write(tmp_path / "mine.json", results())

        assert "$: " in refusal(path, form="labels_v1")

    @pytest.mark.parametrize("form", FORMATS)
    def test_an_empty_folder_is_refused(self, tmp_path: Path, form: str) -> None:
        """Nothing to read is an error, never an empty import, whatever it was said to be."""
        message = refusal(tmp_path)

        assert message.startswith(f"{tmp_path}: nothing to import in this folder; looked for ")
        assert str(tmp_path) in refusal(tmp_path, form=form)

    def test_a_folder_of_results_files_is_not_guessed_at(self, tmp_path: Path) -> None:
        """A folder with several data sets asks for its files by name."""
        write(tmp_path / "a.json", results())

        assert "name the files in it" in refusal(tmp_path)

    @pytest.mark.parametrize("form", [None, *FORMATS])
    def test_a_missing_path_is_refused(self, tmp_path: Path, form: str | None) -> None:
        """A path that does not exist is named."""
        path = tmp_path / "gone.json"

        assert refusal(path, form=form) == f"{path}: no such file or folder"

    @pytest.mark.parametrize(
        ("data", "fault"),
        [
            (b"", "the file is empty"),
            (b" \n", "the file is empty"),
            (b"\xef\xbb\xbf", "the file is empty"),
            (b'{\n"simulations": [,]}', "broken JSON at line 2, byte 18: invalid character"),
            (b'{"simulations": [', "broken JSON at byte 17: input data was truncated"),
            (b'{"simulations": []} x', "broken JSON at byte 21: trailing characters"),
            (b'{"simulations": "\xff"}', "$.simulations: "),
            (b'{"domain": "\xff", "simulations": []}', "broken JSON at byte 12: invalid UTF-8"),
            (b"\x7fELF\x00\x01", "broken JSON at byte 0: "),
            (b"\xff\xfe{\x00", "broken JSON at byte 0: "),
            (b"[" * 100_000, "the JSON is nested too deeply"),
            (b"5", "$: expected an object, got an integer"),
        ],
    )
    def test_a_file_that_is_not_json_is_placed(
        self, tmp_path: Path, data: bytes, fault: str
    ) -> None:
        """Broken, empty and binary files are named with the place where they break."""
        path = tmp_path / "mine.json"
        path.write_bytes(data)

        assert refusal(path).startswith(f"{path}: {fault}")

    @pytest.mark.parametrize(
        "value", [{}, [], [5], {"messages": messages()}, [says("user", "Hi")], {"traj": []}]
    )
    def test_other_json_is_not_guessed_at(self, tmp_path: Path, value: object) -> None:
        """JSON of another format is refused with what was looked for."""
        assert "; looked for a τ²-bench results file" in refusal(write(tmp_path / "a.json", value))

    def test_other_lines_are_not_guessed_at(self, tmp_path: Path) -> None:
        """JSON Lines of another format are called so, not broken JSON."""
        path = lines(tmp_path / "chat.jsonl", {"messages": messages()}, {"messages": messages()})

        assert "nothing recognised in these JSON lines with messages; looked for" in refusal(path)

    def test_a_byte_order_mark_is_harmless(self, tmp_path: Path) -> None:
        """Files saved by editors that write a mark are read."""
        path = tmp_path / "mine.json"
        path.write_bytes(b"\xef\xbb\xbf" + json.dumps(results()).encode())

        assert len(runs(path)) == 1

    def test_a_broken_file_in_a_folder_is_named(self, tmp_path: Path) -> None:
        """The file, not the folder, is what the user has to mend."""
        (tmp_path / "a.json").write_bytes(b"{]")

        assert refusal(tmp_path).startswith(f"{tmp_path / 'a.json'}: broken JSON at byte 1")

    def test_what_is_seen_is_small(self, tmp_path: Path) -> None:
        """Recognition looks at keys only."""
        document = open_document(write(tmp_path / "a.json", [simulation()]))

        assert document.shape == "list"
        assert "messages" in document.keys


scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
anything = st.recursive(
    scalars, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=5
)


def outcome(kind: str, document: Document) -> str:
    try:
        for value in IMPORTERS[kind].read(Path("mine.json"), document, None):
            msgspec.json.encode(value)
    except NeedlessError as error:
        return str(error)
    return "mine.json: read"


def places(value: object) -> Iterator[tuple[object, object]]:
    assert isinstance(value, dict | list)
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
        yield value, key
        if isinstance(inner, dict | list):
            yield from places(inner)


@settings(max_examples=200, deadline=None)
@given(data=st.data(), value=anything, kind=st.sampled_from(["tau2", "labels", "labels_v1"]))
def test_only_explained_errors_leave_an_importer(
    data: st.DataObject, value: object, kind: str
) -> None:
    """Whatever stands in one place of a file, it is read or refused with an explanation."""
    whole: object = {"tau2": results(), "labels": line(), "labels_v1": [draft()]}[kind]
    holder, key = data.draw(st.sampled_from(list(places(whole))))
    holder[key] = value  # type: ignore[index]
    document = Document("object", data=json.dumps(whole).encode())

    assert outcome(kind, document).startswith("mine.json:")
