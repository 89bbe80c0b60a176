"""The options of the text check: `must`, `must_not` (regular expressions), `min_words`, `max_words`."""

from __future__ import annotations

import re
from collections.abc import Mapping

from reflect_lab.core.errors import WrongUse
from reflect_lab.documents.suggest import did_you_mean, shown

KEYS = ("must", "must_not", "min_words", "max_words")


def read_text_options(options: Mapping[str, object], where: str) -> dict[str, object]:
    """The options, checked: patterns are lists of valid expressions, word counts are whole numbers from 0.

    A single pattern may stand without a list. Raises WrongUse.
    """
    read: dict[str, object] = {}
    for key, value in options.items():
        if key not in KEYS:
            raise WrongUse(f"{where}: unknown option {shown(key)}; {did_you_mean(key, KEYS)}")
        read[key] = _patterns(value, f"{where}: {key}") if key.startswith("must") else _words(value, f"{where}: {key}")
    if not read:
        raise WrongUse(f"{where}: it needs at least one of {', '.join(KEYS)}")
    low, high = read.get("min_words"), read.get("max_words")
    if isinstance(low, int) and isinstance(high, int) and low > high:
        raise WrongUse(f"{where}: min_words {low} is more than max_words {high}")
    return read


def _patterns(value: object, where: str) -> list[str]:
    patterns = [value] if isinstance(value, str) else value
    if not isinstance(patterns, list) or not patterns:
        raise WrongUse(f"{where} must be a list of regular expressions, not {shown(value)}")
    for pattern in patterns:
        if not isinstance(pattern, str) or not pattern:
            raise WrongUse(f"{where}: {shown(pattern)} is no regular expression; write it in quotes")
        try:
            re.compile(pattern)
        except (re.error, OverflowError, RecursionError) as error:
            raise WrongUse(f"{where}: {shown(pattern)} is not a valid regular expression: {error}") from None
    return patterns


def _words(value: object, where: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise WrongUse(f"{where} must be a whole number of words, not {shown(value)}")
    return value
