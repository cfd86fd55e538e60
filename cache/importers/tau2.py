"""τ²-bench runs: a results file of either schema generation, or simulations kept one a file.

Met in the wild: ``{info, tasks, simulations}``; ``results.json`` with a ``simulation_index`` and a
folder ``simulations/`` beside it; a folder, a list or a file of bare simulations, which know
nothing of their task. Several trials share a task id, so a run is known by its own id.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from cache.errors import InputError
from cache.hashing import canonical, digest
from cache.importers.base import (
    Document,
    Instructions,
    RawMessage,
    Task,
    by_task_id,
    decode,
    gold_actions_of,
    json_files,
    messages_of,
    objective_of,
    read_bytes,
)
from cache.records import Message, Trajectory
from cache.steps import split_steps

RESULTS = "results.json"


class EnvironmentInfo(msgspec.Struct, frozen=True):
    """The world of a run."""

    domain_name: str | None = None
    policy: str | None = None


class AgentInfo(msgspec.Struct, frozen=True):
    """Who acted; ``llm_args`` may hold keys and is not read."""

    llm: object = None


class Info(msgspec.Struct, frozen=True):
    """How a file was made, as far as it is read."""

    environment_info: EnvironmentInfo | None = None
    agent_info: AgentInfo | None = None


class RewardInfo(msgspec.Struct, frozen=True):
    """The verdict of the benchmark."""

    reward: float | None = None


class Simulation(msgspec.Struct, frozen=True):
    """One run."""

    messages: list[RawMessage]
    id: str | int | None = None
    task_id: str | int | None = None
    trial: int | None = None
    reward_info: RewardInfo | None = None
    policy: str | None = None


class IndexEntry(msgspec.Struct, frozen=True):
    """A run kept in a file of its own."""

    id: str


class Results(msgspec.Struct, frozen=True):
    """A results file; without ``simulations`` they lie in files beside it."""

    simulations: list[Simulation] | None = None
    simulation_index: list[IndexEntry] | None = None
    tasks: list[Task] | None = None
    info: Info | None = None
    domain: str | None = None


def recognises(path: Path, document: Document) -> bool:
    """Whether the path holds runs of τ²-bench."""
    keys = document.keys
    if document.shape == "folder" and (path / RESULTS).is_file():
        return True
    if document.shape == "object" and keys & {"simulations", "simulation_index"}:
        return True
    # A list of chat messages elsewhere is called "messages" too: a run knows more of itself.
    return "messages" in keys and bool(keys & {"reward_info", "task_id", "trial"})


def read(path: Path, document: Document, dataset: str | None) -> Iterator[Trajectory]:
    """Yield the runs of a path; the data set is called like the file or the folder.

    Raises ``InputError`` for JSON that does not fit the schema, an index that does not fit the
    files, two tasks or two runs with one id.
    """
    seen: dict[str, str] = {}
    for where, run in _runs(path, document, dataset):
        if run.trajectory_id in seen:
            earlier = seen[run.trajectory_id]
            raise InputError(f"{where}: the id {run.trajectory_id!r} is already that of {earlier}")
        seen[run.trajectory_id] = where
        yield run


def _runs(path: Path, document: Document, dataset: str | None) -> Iterator[tuple[str, Trajectory]]:
    if document.shape == "folder":
        if (path / RESULTS).is_file():
            inner = path / RESULTS
            yield from _results(inner, read_bytes(inner), dataset or path.resolve().name)
            return
        files = [(str(file), file) for file in json_files(path)]
        if not files:
            raise InputError(f"{path}: neither {RESULTS} nor simulations in this folder")
        yield from _files(files, Results(), {}, dataset or path.resolve().name)
    elif document.shape == "list":
        simulations = decode(document.data, list[Simulation], str(path))
        yield from _listed(f"{path}: $", simulations, Results(), {}, dataset or path.stem)
    elif "messages" in document.keys and "simulations" not in document.keys:
        yield from _files([(str(path), path)], Results(), {}, dataset or path.stem)
    else:
        yield from _results(path, document.data, dataset)


def _results(path: Path, data: bytes, dataset: str | None) -> Iterator[tuple[str, Trajectory]]:
    header = decode(data, Results, str(path))
    tasks = by_task_id(header.tasks, str(path))
    if header.simulations or not header.simulation_index:
        if header.simulations is None:
            raise InputError(f"{path}: $: neither simulations nor a simulation_index")
        place = f"{path}: $.simulations"
        yield from _listed(place, header.simulations, header, tasks, dataset or path.stem)
        return
    folder = path.parent / "simulations"
    wanted = [entry.id for entry in header.simulation_index]
    present = {file.stem: file for file in json_files(folder)}
    missing, surplus = sorted({*wanted} - {*present}), sorted({*present} - {*wanted})
    if missing or surplus:
        raise InputError(
            f"{path}: $.simulation_index does not fit {folder}: "
            f"missing {_some(missing)}, surplus {_some(surplus)}"
        )
    dataset = dataset or path.resolve().parent.name
    files = [(f"{path}: $.simulation_index[{at}]", present[i]) for at, i in enumerate(wanted)]
    for name, (where, run) in zip(wanted, _files(files, header, tasks, dataset), strict=True):
        if run.trajectory_id != name:
            raise InputError(f"{present[name]}: $.id: expected {name!r}, got {run.trajectory_id!r}")
        yield where, run


def _listed(
    place: str,
    simulations: Sequence[Simulation],
    header: Results,
    tasks: Mapping[str, Task],
    dataset: str,
) -> Iterator[tuple[str, Trajectory]]:
    for at, simulation in enumerate(simulations):
        yield f"{place}[{at}]", _trajectory(simulation, header, tasks, dataset)


def _files(
    files: Sequence[tuple[str, Path]], header: Results, tasks: Mapping[str, Task], dataset: str
) -> Iterator[tuple[str, Trajectory]]:
    for where, file in files:
        simulation = decode(read_bytes(file), Simulation, str(file))
        yield where, _trajectory(simulation, header, tasks, dataset)


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(names[:3]) + more if names else "none"


def _trajectory(
    simulation: Simulation, header: Results, tasks: Mapping[str, Task], dataset: str
) -> Trajectory:
    task_id = "" if simulation.task_id is None else str(simulation.task_id)
    task = tasks.get(task_id)
    world = (header.info and header.info.environment_info) or EnvironmentInfo()
    agent = (header.info and header.info.agent_info) or AgentInfo()
    told = task.instructions if task else None
    domain = world.domain_name or header.domain
    if not domain:
        domain = (isinstance(told, Instructions) and told.domain) or "unknown"
    messages = messages_of(simulation.messages)
    reward = simulation.reward_info.reward if simulation.reward_info else None
    return Trajectory(
        trajectory_id=_id(simulation, domain, task_id, messages),
        dataset=dataset,
        domain=domain,
        task_id=task_id,
        messages=messages,
        steps=split_steps(messages),
        trial=simulation.trial,
        agent_model=_model(agent.llm),
        objective=objective_of(task, messages),
        policy=simulation.policy or world.policy or "",
        gold_actions=gold_actions_of(task),
        success=None if reward is None else reward == 1.0,
        reward=reward,
    )


def _id(simulation: Simulation, domain: str, task_id: str, messages: Sequence[Message]) -> str:
    if isinstance(simulation.id, str) and simulation.id:
        return simulation.id
    trial = "-" if simulation.trial is None else simulation.trial
    # The fields are listed so that a new field of Message does not rename every stored run.
    content = [
        [m.role, m.content, [[c.name, c.arguments, c.call_id] for c in m.tool_calls], m.requestor]
        for m in messages
    ]
    return f"{domain}:{task_id or '-'}:{trial}:{digest(canonical(content))}"


def _model(name: object) -> str | None:
    # The place of a model's name may hold an address or a secret in a file made by hand.
    if isinstance(name, str) and re.fullmatch(r"[A-Za-z0-9._:/@-]{1,100}", name):
        return name
    return None
