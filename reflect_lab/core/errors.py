"""The one error tree.

ReflectLabError
├── WrongUse         the user's input can't be used: what, where, what to do (command line: exit 2)
│   └── NoModel      no model is configured anywhere; the message is the screen that helps
├── ModelFailed      a model call failed for good; `kind` is one of `ErrorKind`
├── Unaffordable     the budget has no room for another attempt of a call; the loop ends with `budget`
└── StoreError       traces can't be read or written
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reflect_lab.core.run import ErrorKind, Shortage


class ReflectLabError(Exception):
    """Base of every error that this package raises on purpose. Its text is one clear message for the user."""


class WrongUse(ReflectLabError):
    """Bad input. The message says what is wrong, where, and what to do."""


class NoModel(WrongUse):
    """No model was named and none is configured."""


class ModelFailed(ReflectLabError):
    """A logical model call failed for good, after our own retries. Its attempts were reported as ledger rows."""

    def __init__(self, kind: ErrorKind, message: str) -> None:
        super().__init__(message)
        self.kind: ErrorKind = kind


class Unaffordable(ReflectLabError):
    """The budget has no room for another attempt of a call. Those before it were reported as ledger rows."""

    def __init__(self, shortage: Shortage) -> None:
        super().__init__(shortage.message)
        self.shortage = shortage


class StoreError(ReflectLabError):
    """Traces can't be read or written; the message names the file and what to do next."""
