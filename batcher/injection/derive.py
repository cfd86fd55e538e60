"""The answer to a look-up that nobody made, from a real answer of the same tool.

Another entity's answer is the template. The arguments' names are exchanged throughout; what the
list tells of the candidate is taken from there; what belongs to the owner (the record that holds
the list) is the owner's; and the text is written the way the tool writes JSON.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping

from batcher.injection.base import document
from batcher.injection.corpus import Corpus
from cache.records import Step, Trajectory


def derived(
    run: Trajectory,
    corpus: Corpus,
    luck: random.Random,
    hit: Step,
    arguments: str,
    source: Step,
    entry: object,
) -> str | None:
    """Return a plausible result, or None where no template fits.

    ``entry`` is what the list in ``source`` holds of the candidate: its name, or a record, or
    None for a table of names.
    """
    found, owner = document(hit.result), document(source.result)
    if not isinstance(found, dict):
        return None
    if not isinstance(entry, str | dict) or (isinstance(entry, dict) and found.keys() - entry):
        # The list says what sort of thing this is, and another's details would not fit.
        return None
    told = "\n".join(message.content for message in run.messages)
    fitting = sorted(
        (their_arguments, text)
        for their_arguments, text in {*corpus.samples[hit.tool or ""]}
        if their_arguments not in (hit.arguments, arguments)
        and text not in told
        and isinstance(theirs := document(text), dict)
        and theirs.keys() == found.keys()
    )
    if not fitting:
        return None
    their_arguments, text = luck.choice(fitting)
    wanted: dict[str, object] = json.loads(arguments)
    names = _exchange(json.loads(their_arguments), wanted)
    value = _renamed(document(text), names)
    assert isinstance(value, dict)
    owners = {text for _, text in _leaves(owner)}
    for key in value:
        if isinstance(entry, dict) and key in entry:
            value[key] = entry[key]
        elif key in wanted and isinstance(value[key], str):
            value[key] = wanted[key]
        elif isinstance(owner, dict) and _is_owners(key, owner.get(key), value[key]):
            value[key] = owner[key]
        else:
            value[key] = _owned(value[key], found[key], owners)
    style = _style(text)
    made = style.encode(value) if style else None
    return None if made == hit.result else made


def _exchange(theirs: Mapping[str, object], ours: Mapping[str, object]) -> dict[str, str]:
    return {
        old: new
        for key, old in theirs.items()
        if isinstance(old, str) and isinstance(new := ours.get(key), str)
    }


def _renamed(value: object, names: Mapping[str, str]) -> object:
    if isinstance(value, dict):
        return {names.get(key, key): _renamed(one, names) for key, one in value.items()}
    if isinstance(value, list):
        return [_renamed(one, names) for one in value]
    return names.get(value, value) if isinstance(value, str) else value


def _is_owners(key: str, theirs: object, value: object) -> bool:
    """Whether a field means the same in both records: an id, or something like an address."""
    same = type(theirs) is type(value) and theirs is not None
    return same and (_is_id(key) or isinstance(value, dict))


def _owned(value: object, found: object, owners: set[str]) -> object:
    """Give a part of the template what the hit shows to be the owner's.

    Ids one by one; anything else (the people of a booking) as a whole.
    """
    ours = [(key, text) for key, text in _leaves(found) if len(text) >= 4 and text in owners]
    if any(not _is_id(key) for key, _ in ours):
        return found
    ids = {key: text for key, text in reversed(ours)}
    return _with_ids(value, ids)


def _with_ids(value: object, ids: Mapping[str, str], key: str = "") -> object:
    if isinstance(value, dict):
        return {name: _with_ids(one, ids, name) for name, one in value.items()}
    if isinstance(value, list):
        return [_with_ids(one, ids, key) for one in value]
    return ids.get(key, value) if isinstance(value, str) else value


def _is_id(key: str) -> bool:
    return key.lower().endswith("id")


def _leaves(value: object, key: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for name, one in value.items():
            yield from _leaves(one, name)
    elif isinstance(value, list):
        for one in value:
            yield from _leaves(one, key)
    elif isinstance(value, str):
        yield key, value


def _style(text: str) -> json.JSONEncoder | None:
    """Return how a tool writes JSON: what gives the template's own text back, byte for byte."""
    value = document(text)
    for ascii_only in (False, True):
        for separators in ((", ", ": "), (",", ":")):
            style = json.JSONEncoder(ensure_ascii=ascii_only, separators=separators)
            if style.encode(value) == text:
                return style
    return None
