"""The nearest right word, for messages about a wrong one."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

_SHOWN = 12
"""Options that a message lists at most."""


def nearest(word: str, options: Iterable[str], *, cutoff: float = 0.6) -> str | None:
    """The option that `word` was most likely meant to be, or None. `cutoff` in 0..1: 1 asks for equality."""
    by_folded = {option.casefold(): option for option in options}
    found = get_close_matches(word[:100].casefold(), by_folded, n=1, cutoff=cutoff)
    return by_folded[found[0]] if found else None


def did_you_mean(word: str, options: Iterable[str]) -> str:
    """The end of a message about `word`: the nearest option, else all of them."""
    known = list(options)
    near = nearest(word, known)
    if near is not None:
        return f"did you mean {near!r}?"
    if not known:
        return "there is none here"
    return f"known are {', '.join(known[:_SHOWN])}" + (", …" if len(known) > _SHOWN else "")


def shown(value: object, limit: int = 60) -> str:
    """A user's value as one short line for a message."""
    text = repr(value)
    return text if len(text) <= limit else f"{text[: limit - 1]}…"
