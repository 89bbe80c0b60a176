"""Mends text that is JSON but for a slip that has one reading: what it says is not touched."""

from __future__ import annotations

import json
import re

# A string (one that never closes takes the rest, so that it is read once), or a comma before a closing bracket.
_STRING_OR_COMMA = re.compile(r'"(?:[^"\\]|\\.)*(?:"|\\?\Z)|,(?=\s*[}\]])', re.DOTALL)
_FENCE = re.compile(r"(`{3,})[A-Za-z0-9]*[ \t]*\n(.*)\n\1", re.DOTALL)
MAX_LENGTH = 1_000_000
"""Characters of a text that is mended; beyond it the model revises."""


def mended(text: str) -> str | None:
    """The text without a byte order mark, one outer code fence and commas before a closing bracket, where it is JSON
    then; None where it is not, or where it was JSON before. Nothing within a string is touched."""
    if len(text) > MAX_LENGTH or _is_json(text):
        return None
    bare = _STRING_OR_COMMA.sub(lambda match: match[0] if match[0][0] == '"' else "", unwrapped(text))
    return bare if _is_json(bare) else None


def unwrapped(text: str) -> str:
    """The text without the white space, the byte order mark and the one code fence around it."""
    bare = text.strip().removeprefix("\ufeff").strip()
    fence = _FENCE.fullmatch(bare)
    return bare if fence is None else fence[2]


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True
