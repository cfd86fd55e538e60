"""Checks injected runs from their stored rows; shares no code with what injects them."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from typing import Any

from cache.store import Store

Row = dict[str, Any]

#: Tools of the data that tests use which surely change nothing.
READS = re.compile(r"(get|find|search|list|calculate|check)_|calculate$")


def rows(store: Store, statement: str) -> list[Row]:
    columns, found = store.query(statement)
    return [dict(zip(columns, row, strict=True)) for row in found]


def plain(arguments: str) -> Any:
    """Arguments as values; blanks in a sum and the kind of a number mean nothing."""
    value = json.loads(arguments)
    return {
        key: re.sub(r"\s", "", one)
        if isinstance(one, str) and re.search(r"\d\s*[+*/]", one)
        else one
        for key, one in value.items()
    }


class Checker:
    """The rows of one injected data set, and of the runs it was made from."""

    def __init__(self, store: Store, name: str) -> None:
        self.name = name
        self.runs = {
            row["trajectory_id"]: row for row in rows(store, "from trajectories order by rowid")
        }
        self.made = [key for key, row in self.runs.items() if row["dataset"] == name]
        self.messages: dict[str, list[Row]] = defaultdict(list)
        for row in rows(store, "from messages order by trajectory_id, message_index"):
            self.messages[row["trajectory_id"]].append(row)
        self.steps: dict[str, list[Row]] = defaultdict(list)
        for row in rows(store, "from steps order by trajectory_id, step_index"):
            self.steps[row["trajectory_id"]].append(row)
        self.labels = rows(store, f"from labels where label_set = '{name}'")
        self.annotated = {
            row["trajectory_id"]
            for row in rows(store, f"from annotations where label_set = '{name}'")
        }

    def check(self) -> Counter[str]:
        """Check everything; return how many synthetic labels there are by kind."""
        assert {*self.made} == self.annotated
        inserted = {name: self.original_is_kept(name) for name in self.made}
        counts: Counter[str] = Counter()
        for label in self.labels:
            name = label["trajectory_id"]
            step = self.steps[name][label["step_index"]]
            here = (step["call_index"], step["result_index"])
            if not label["is_synthetic"] or here[0] not in inserted[name]:
                continue
            assert step["judged"]
            assert READS.match(step["tool"]), step["tool"]
            (proof,) = (
                other
                for other in self.steps[name]
                if [other["call_index"], other["result_index"]] == label["evidence"]
            )
            assert proof["call_index"] not in inserted[name]
            getattr(self, f"_{label['kind']}")(name, step, proof)
            counts[label["kind"]] += 1
        calls = sum(
            step["call_index"] in inserted[name] for name in self.made for step in self.steps[name]
        )
        assert calls == counts.total(), "every inserted step has a label"
        return counts

    def original_is_kept(self, name: str) -> set[int]:
        """All messages of the original in order, but for their index; return what is new."""
        old = self.runs[name.removesuffix(f"@{self.name}")]
        new = self.runs[name]
        for field in ("domain", "task_id", "trial", "agent_model", "objective", "policy"):
            assert new[field] == old[field]
        for field in ("gold_actions", "success", "reward"):
            assert new[field] == old[field]
        assert [m["message_index"] for m in self.messages[name]] == [*range(new["n_messages"])]
        waiting = [self._bare(m) for m in self.messages[old["trajectory_id"]]]
        taken = {call["id"] for m in waiting for call in json.loads(m["tool_calls"] or "[]")}
        fresh: set[int] = set()
        for at, message in enumerate(self.messages[name]):
            if waiting and self._bare(message) == waiting[0]:
                waiting.pop(0)
                continue
            fresh.add(at)
            calls = json.loads(message["tool_calls"] or "[]")
            if message["role"] == "assistant":
                assert calls
                answers = self.messages[name][at + 1 : at + 1 + len(calls)]
                assert [a["tool_call_id"] for a in answers] == [c["id"] for c in calls]
                assert {a["role"] for a in answers} == {"tool"}
                for call in calls:
                    assert call["id"] not in taken
                    taken.add(call["id"])
            else:
                assert message["role"] == "tool"
        assert not waiting
        return fresh

    @staticmethod
    def _bare(message: Row) -> Row:
        return {
            key: value
            for key, value in message.items()
            if key not in ("trajectory_id", "message_index")
        }

    def _duplicated(self, name: str, step: Row, proof: Row) -> None:
        assert proof["result_index"] < step["call_index"]
        assert proof["tool"] == step["tool"]
        assert plain(proof["arguments"]) == plain(step["arguments"])
        assert proof["result"] == step["result"]
        assert not step["is_error"]
        for other in self.steps[name]:
            if proof["call_index"] < other["call_index"] < step["call_index"] and other["tool"]:
                assert READS.match(other["tool"]), other["tool"]

    def _abnormal(self, name: str, step: Row, proof: Row) -> None:
        assert step["result_index"] < proof["call_index"]
        assert step["is_error"]
        assert not proof["is_error"]
        assert (step["tool"], step["arguments"]) == (proof["tool"], proof["arguments"])
        assert step["result"] != proof["result"]

    def _exploratory(self, name: str, step: Row, proof: Row) -> None:
        assert step["result_index"] < proof["call_index"]
        assert step["tool"] == proof["tool"]
        self._off_the_task(name, step)

    def _incorrect(self, name: str, step: Row, proof: Row) -> None:
        assert proof["result_index"] < step["call_index"]
        self._off_the_task(name, step)

    def _off_the_task(self, name: str, step: Row) -> None:
        """What is looked at is named by an earlier result, and used by nobody else."""
        assert not step["is_error"]
        others = [other for other in self.steps[name] if other is not step and other["tool"]]
        assert not any(
            plain(other["arguments"]) == plain(step["arguments"]) and other["tool"] == step["tool"]
            for other in others
        )
        acted = [other["arguments"] for other in others if not READS.match(other["tool"])]
        gold = self.runs[name]["gold_actions"] or ""
        values = [str(one) for one in json.loads(step["arguments"]).values()]
        own = [
            value
            for value in values
            if not re.match(r"\d{4}-\d\d", value)
            and not any(re.search(rf"(?<!\w){re.escape(value)}(?!\w)", t) for t in [*acted, gold])
        ]
        assert own, "something in it is of no use to the task"
        earlier = [
            m["content"]
            for m in self.messages[name][: step["call_index"]]
            if m["role"] == "tool" and m["requestor"] == "assistant"
        ]
        for value in own:
            assert any(value in text for text in earlier), value
