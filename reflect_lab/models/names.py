"""Names of models: whether an answer came from the model that was asked for."""

from __future__ import annotations

import re

_DATED = re.compile(r"[-@:](\d{4}-\d{2}-\d{2}|\d{4,8}|latest)$")


def is_same_model(requested: str, answered: str) -> bool:
    """Whether `answered` is `requested`, perhaps with a date (`gpt-4o-2024-08-06`) or its maker before it."""
    return _plain(requested) == _plain(answered)


def _plain(name: str) -> str:
    return _DATED.sub("", name.lower().rpartition("/")[2])
