"""Every error a user can meet, as one tree.

NeedlessError                exit 1
├── UsageError               exit 2   the command line names something that does not exist
├── InputError               exit 1   a file the user gave cannot be read as asked
├── StoreError               exit 1   the database file cannot be used
│   ├── StoreLocked                   another process holds it
│   ├── StoreTooNew                   a newer program wrote it
│   └── StoreBroken                   its content is damaged, or it never was a database
├── ProviderError            exit 1   a provider refused, or answered what cannot be used
│   ├── MissingKey                    no API key in the environment
│   ├── Refused                       a definite no: nothing was created
│   ├── OverLimit                     too much at once, for a batch or a queue: nothing was created
│   ├── InDoubt                       no clear answer: something may have been created
│   ├── NotVisible                    the provider does not know the batch under this key
│   ├── NotOurs                       a batch that was taken for ours holds other requests
│   └── Unreachable                   a passing fault: nothing changed, ask again later
├── Unfinished               exit 3   work is still open at a provider
└── Unanswered               exit 4   finished, but some prompts have no answer

A message says what failed, which one, and what to do next.
"""

from __future__ import annotations


class NeedlessError(Exception):
    """Anything the program can explain to its user."""

    exit_code = 1


class UsageError(NeedlessError):
    """The command line names something that does not exist or does not fit."""

    exit_code = 2


class InputError(NeedlessError):
    """A file the user gave cannot be read as what it was said to be."""


class StoreError(NeedlessError):
    """The database file cannot be used."""


class StoreLocked(StoreError):
    """Another process holds the database file."""


class StoreTooNew(StoreError):
    """The database was written by a newer program."""


class StoreBroken(StoreError):
    """The database file is damaged, or is none; `needless doctor --repair` may help."""


class ProviderError(NeedlessError):
    """A provider refused a call, or its answer cannot be used.

    ``retry_after``: it wants to be left alone for so many seconds, if it said so.
    """

    def __init__(self, message: str, *, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class MissingKey(ProviderError):
    """The environment holds no API key for the provider."""


class Refused(ProviderError):
    """The provider said no, and so nothing was created."""


class OverLimit(ProviderError):
    """A batch was too much: with what waits at the provider already, or by itself.

    ``what`` passed a limit: waiting ``tokens``, waiting lines (``queue``), ``lines`` or ``bytes``
    of one batch, or a ``quota``, of which nobody can say whether it means size or money.
    ``stated`` is the limit, where the refusal names it. Nothing was created.
    """

    def __init__(
        self,
        message: str,
        *,
        what: str,
        stated: int | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message, retry_after=retry_after)
        self.what = what
        self.stated = stated


class InDoubt(ProviderError):
    """The provider gave no clear answer: a batch may exist there."""


class NotVisible(ProviderError):
    """The provider does not know this batch under this key."""


class NotOurs(ProviderError):
    """A batch that was taken for ours by its time and size holds other requests."""


class Unreachable(ProviderError):
    """A passing fault: nothing changed there or here."""


class Unfinished(NeedlessError):
    """Work is still open at a provider."""

    exit_code = 3


class Unanswered(NeedlessError):
    """Everything ended, and some prompts have no answer."""

    exit_code = 4
