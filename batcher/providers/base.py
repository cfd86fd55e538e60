"""What every provider is: three verbs and its limits.

A provider module offers two things. ``build(judge)`` is pure: how the judge's request bodies are
made, and where they go. ``connect(base_url, key)`` returns a ``Provider``, which may import an SDK.

Batch services work between ``submit`` and ``fetch``. Where there is no batch service the work is
done *in* ``fetch``, which is only ever handed prompts that are still unanswered; so a killed live
run goes on with the rest, by the same code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from cache.errors import OverLimit
from prompts.render import Chat


@dataclass(frozen=True, slots=True)
class Limits:
    """What one batch may hold: lines, bytes of the finished file, bytes of one line alone.

    ``tokens`` is what may wait at once, where a provider's refusal taught it. From
    ``probe_from`` lines on, settings that were never tried are tried with one line first.
    ``open_batches`` may be under way at a provider at once.
    """

    requests: int
    bytes: int
    line_bytes: int
    tokens: int | None = None
    probe_from: int = 5_000
    open_batches: int = 100


#: OpenAI allows 50,000 lines and 200 MB a file. Half of that keeps a batch's results small in
#: memory, and nothing on the way objects to the size.
BATCH_LIMITS = Limits(requests=25_000, bytes=90_000_000, line_bytes=90_000_000)


@dataclass(frozen=True, slots=True)
class Builder:
    """How one judge's prompts are made: where they go, and a chat as the body that is sent.

    ``body`` returns canonical JSON in UTF-8; equal chats give equal bytes.
    """

    base_url: str
    endpoint: str
    body: Callable[[Chat], bytes]


@dataclass(frozen=True, slots=True)
class Prompt:
    """One line of a batch; ``body`` is canonical JSON in UTF-8."""

    custom_id: str
    prompt_hash: str
    body: bytes


@dataclass(frozen=True, slots=True)
class Batch:
    """Prompts sent together. ``token`` is ours and names the batch at the provider."""

    batch_id: str
    provider: str
    base_url: str
    endpoint: str
    model: str
    mode: str
    token: str
    n_prompts: int
    created_at: datetime
    remote_id: str | None = None


@dataclass(frozen=True, slots=True)
class Poll:
    """A batch as the provider sees it now. ``detail`` is kept as JSON with the event.

    ``over`` is the limit that a batch failed by, if that is why: its prompts are due again, and no
    attempt is used up.
    """

    status: str
    is_terminal: bool
    detail: dict[str, object] = field(default_factory=dict)
    problem: str = ""
    over: OverLimit | None = None


@dataclass(frozen=True, slots=True)
class Reply:
    """One result line. ``custom_id`` is None where the line names none.

    ``outcome`` is one of ok, truncated, refused, empty, error, expired, cancelled, malformed.
    Token counts are None where the provider gave none; ``input_tokens`` includes those read from
    a prompt cache and those written into one, for five minutes or for an hour.
    """

    custom_id: str | None
    outcome: str
    raw: str
    text: str | None = None
    finish_reason: str | None = None
    model: str | None = None
    error: str | None = None
    is_transient: bool = False
    input_tokens: int | None = None
    cached_tokens: int | None = None
    write_5m_tokens: int | None = None
    write_1h_tokens: int | None = None
    output_tokens: int | None = None
    reasoning_tokens: int | None = None


class Provider(Protocol):
    """A place that answers prompts."""

    limits: Limits
    #: Replies come one by one as they are paid for, and must be stored as they come.
    answers_live: bool
    #: A batch of unknown fate can be told from any other; where not, only one may be in doubt.
    tags_batches: bool

    @property
    def key_fingerprint(self) -> str:
        """A short digest of the key in use, to tell keys apart without storing one."""
        ...

    def submit(self, batch: Batch, prompts: Iterable[Prompt]) -> str:
        """Send the prompts and return the provider's id of the batch.

        Raises ``Refused`` or ``OverLimit`` when surely nothing was created, ``InDoubt`` when
        something may be.
        """
        ...

    def find(self, batch: Batch, known: frozenset[str]) -> str | None:
        """Return the remote id of a batch whose creation is in doubt, or None if it is not there.

        ``known`` are remote ids that surely belong to other batches. Raises ``Unreachable`` when
        the provider cannot say.
        """
        ...

    def poll(self, remote_id: str) -> Poll:
        """Return the batch's state; raises ``NotVisible`` or ``Unreachable``."""
        ...

    def fetch(self, remote_id: str, pending: Iterable[Prompt]) -> Iterator[Reply | None]:
        """Yield the results of an ended batch, in any order; may be called again.

        None says that the next reply takes its time: what has come should be stored. Only live and
        offline providers read ``pending``. Raises ``Unreachable`` when the results could not be had
        whole: nothing has been yielded then by a batch service.
        """
        ...

    def cancel(self, remote_id: str) -> None:
        """Ask the provider to stop a batch; an ended one is left as it is."""
        ...

    def clean(self, remote_id: str) -> None:
        """Delete what a stored batch left at the provider, as far as that is possible."""
        ...


class Unbatched:
    """The verbs of a place that works inside ``fetch``: nothing is ever sent before, or left."""

    answers_live = True
    tags_batches = True

    def submit(self, batch: Batch, prompts: Iterable[Prompt]) -> str:
        """Nothing to send yet: the token is the id."""
        return batch.token

    def find(self, batch: Batch, known: frozenset[str]) -> str | None:
        """Nothing can be in doubt."""
        return batch.token

    def poll(self, remote_id: str) -> Poll:
        """Always ready to be fetched."""
        return Poll("completed", is_terminal=True)

    def cancel(self, remote_id: str) -> None:
        """Nothing runs elsewhere."""

    def clean(self, remote_id: str) -> None:
        """Nothing is left elsewhere."""


#: What connects to a provider: its name, base URL and mode.
Connect = Callable[[str, str, str], Provider]
