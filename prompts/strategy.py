"""A strategy: what a judge is shown and how it must answer, read from a ``.toml`` file."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, replace
from pathlib import Path

from cache.errors import InputError, UsageError
from cache.hashing import canonical, digest
from prompts.answers import SCHEMAS
from prompts.scopes import SCOPES

_HERE = Path(__file__).parent

#: Strategies asked for when the user names none.
DEFAULT = ("one_to_one", "window_to_one", "all_to_all")

#: Part of every strategy's digest: raise it when rendering changes what a prompt says.
RENDERING = 1


#: Answer forms that fit only some scopes: findings are stored by the step or list asked about.
_FITS = {
    "kind": ("case", "labelled_step"),
    "evidence": ("labelled_step",),
    "findings": ("trajectory",),
}


@dataclass(frozen=True, slots=True)
class Strategy:
    """``system``, ``shared`` and ``user`` are Jinja templates; ``k`` counts ``k_unit``s.

    ``shared`` are parts of the user's message that stand before ``user``, in the order of how many
    prompts have them in common: first those of a domain, then those of a trajectory.

    ``digest`` changes whenever what is asked changes: templates, shared rubric, scope or answer
    form. ``folders`` are where included templates are looked for, in order.
    """

    name: str
    scope: str
    answer: str
    system: str
    user: str
    k: int = 0
    k_unit: str = "step"
    summary: str = ""
    digest: str = ""
    folders: tuple[Path, ...] = ()
    shared: tuple[str, ...] = ()


def load(folder: Path | None = None) -> dict[str, Strategy]:
    """Return ``{name: strategy}``: the built-in ones, overlaid with those of ``folder``.

    Raises ``InputError`` naming the file and the key for a strategy that cannot be used.
    """
    if folder is not None and not folder.is_dir():
        raise InputError(f"{folder}: not a folder; --prompts takes a folder of .toml files")
    folders = (folder, _HERE) if folder else (_HERE,)
    found: dict[str, Strategy] = {}
    for place in reversed(folders):
        for path in sorted(place.glob("*.toml")):
            found[path.stem] = _read(path, folders)
    return found


def choose(found: dict[str, Strategy], names: tuple[str, ...]) -> list[Strategy]:
    """Return the strategies called ``names`` (the paper's three when empty), each once."""
    unknown = [name for name in names if name not in found]
    if unknown:
        raise UsageError(
            f"no strategy is called {unknown[0]!r}; there are: {', '.join(sorted(found))}"
        )
    return [found[name] for name in dict.fromkeys(names or DEFAULT)]


def _read(path: Path, folders: tuple[Path, ...]) -> Strategy:
    try:
        fields = tomllib.loads(path.read_text("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: not readable as TOML: {error}") from error
    kinds = {"scope": str, "answer": str, "system": str, "user": str}
    optional = {"k": int, "k_unit": str, "summary": str, "shared": list}
    words = {str: "text", int: "a whole number", list: "a list of texts"}
    for key in fields:
        if key not in kinds | optional:
            raise InputError(f"{path}: unknown key {key!r}; known: {', '.join(kinds | optional)}")
    for key, kind in (kinds | optional).items():
        if key in kinds and key not in fields:
            raise InputError(f"{path}: the key {key!r} is missing")
        if key in fields and type(fields[key]) is not kind:
            raise InputError(f"{path}: {key} must be {words[kind]}")
    shared = fields.get("shared", [])
    if not all(isinstance(part, str) for part in shared):
        raise InputError(f"{path}: shared must be {words[list]}")
    for key, known in {"scope": tuple(SCOPES), "answer": tuple(SCHEMAS)}.items():
        if fields[key] not in known:
            raise InputError(f"{path}: {key} = {fields[key]!r}; known: {', '.join(known)}")
    fitting = _FITS.get(fields["answer"], tuple(SCOPES))
    if fields["scope"] not in fitting:
        raise InputError(
            f"{path}: answer = {fields['answer']!r} goes with scope {' or '.join(fitting)}, "
            f"not with {fields['scope']!r}"
        )
    if fields.get("k_unit", "step") not in ("step", "message") or fields.get("k", 0) < 0:
        raise InputError(f"{path}: k must be 0 or more, and k_unit 'step' or 'message'")
    strategy = Strategy(name=path.stem, folders=folders, **{**fields, "shared": tuple(shared)})
    text = canonical(
        {
            "fields": {key: fields[key] for key in fields if key != "summary"},
            "includes": _includes(folders, "**/*.j2" if shared else "*.j2"),
            "rendering": RENDERING,
            "schema": SCHEMAS[strategy.answer],
        }
    )
    return replace(strategy, digest=digest(text))


def _includes(folders: tuple[Path, ...], pattern: str) -> dict[str, str]:
    """Return what may be included; templates in subfolders are for strategies with shared parts."""
    texts: dict[str, str] = {}
    for folder in reversed(folders):
        texts |= {
            path.relative_to(folder).as_posix(): path.read_text("utf-8")
            for path in folder.glob(pattern)
        }
    return texts
