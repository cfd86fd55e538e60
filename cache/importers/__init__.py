"""From files a user has to values: recognise the format of a path and read it.

A new format is one file beside this one and one line in ``IMPORTERS``.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from cache.errors import InputError, UsageError
from cache.importers import labels, labels_v1, release, tau2
from cache.importers.base import Document, Importer, decode, json_files, read_bytes
from cache.records import Annotation, Trajectory

__all__ = ["FORMATS", "IMPORTERS", "Document", "Importer", "open_document", "read"]

# The first that recognises a path reads it: the release goes ahead of tau2, whose results files
# its traces resemble.
IMPORTERS: dict[str, Importer] = {
    "release": release,
    "tau2": tau2,
    "labels": labels,
    "labels_v1": labels_v1,
}

#: The names a user may give for a format.
FORMATS = tuple(sorted(IMPORTERS))

_WANTED = (
    "a τ²-bench results file, a folder of simulations or of results.json with simulations/, "
    "a RedundancyBench release folder (human_annotation/ or automated_annotation/), "
    "a label set in JSON Lines, or a list of message-index labels"
)


def read(path: Path, *, form: str | None, dataset: str | None) -> Iterator[Trajectory | Annotation]:
    """Return what ``path`` holds, one value at a time.

    ``form`` names a format and overrules what the content looks like. ``dataset`` overrules the
    name taken from the path. Raises ``UsageError`` for an unknown format and ``InputError`` for a
    path that cannot be read; the iterator may raise ``InputError`` too, after it has yielded, so
    store what it yields in one transaction.
    """
    if form is not None and form not in IMPORTERS:
        raise UsageError(f"unknown format {form!r}; known formats: {', '.join(FORMATS)}")
    document = open_document(path)
    if form is not None:
        return IMPORTERS[form].read(path, document, dataset)
    for importer in IMPORTERS.values():
        if importer.recognises(path, document):
            return importer.read(path, document, dataset)
    if document.fault and document.shape != "lines":
        raise InputError(document.fault)
    raise InputError(f"{path}: {_seen(document)}; looked for {_WANTED}")


def open_document(path: Path) -> Document:
    """Look at the outermost keys of ``path``; raises ``InputError`` if it cannot be opened."""
    if path.is_dir():
        try:
            inner = open_document(json_files(path)[0])
        except IndexError:
            return Document("folder")
        except InputError as error:
            return Document("folder", fault=str(error))
        return Document("folder", inner.keys, fault=inner.fault)
    data = read_bytes(path)
    try:
        if data.lstrip()[:1] == b"[":
            entries = decode(data, list[msgspec.Raw], str(path))
            return Document("list", _keys(bytes(entries[0])) if entries else frozenset(), data)
        return Document("object", frozenset(decode(data, dict[str, msgspec.Raw], str(path))), data)
    except InputError as error:
        keys = _keys(data.lstrip().partition(b"\n")[0])
        return Document("lines" if keys else "other", keys, data, str(error))


def _keys(data: bytes) -> frozenset[str]:
    try:
        return frozenset(decode(data, dict[str, msgspec.Raw], ""))
    except InputError:
        return frozenset()


def _seen(document: Document) -> str:
    keys = ", ".join(sorted(document.keys)[:8])
    if document.shape == "folder":
        hint = " as a whole (name the files in it)" if keys else ""
        return f"nothing to import in this folder{hint}"
    kind = "these JSON lines" if document.shape == "lines" else f"this JSON {document.shape}"
    return f"nothing recognised in {kind}" + (f" with {keys}" if keys else "")
