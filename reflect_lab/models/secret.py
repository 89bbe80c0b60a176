"""Keys that must appear nowhere: a value that does not print itself, and the redaction of texts from outside."""

from __future__ import annotations

from collections.abc import Iterable

SHORTEST = 6
"""Shorter values are placeholders (`none`, `x`); replacing them would tear ordinary words apart."""


class Secret:
    """A key. Its text, its repr and a traceback's view of it never hold the value."""

    __slots__ = ("_name", "_value")

    def __init__(self, value: str, name: str = "api_key") -> None:
        self._value = value
        self._name = name

    @property
    def name(self) -> str:
        return self._name

    def reveal(self) -> str:
        """The value itself; hand it on, never keep it in a variable."""
        return self._value

    def redact(self, text: str) -> str:
        """`text` with every occurrence of the value replaced by a marker."""
        if len(self._value) < SHORTEST:
            return text
        return text.replace(self._value, str(self))

    def __repr__(self) -> str:
        return f"[redacted:{self._name}]"

    __str__ = __repr__


def redact(text: str, secrets: Iterable[Secret]) -> str:
    """`text` without any of the known keys. Used on every message that came from a server or a library."""
    for secret in secrets:
        text = secret.redact(text)
    return text
