"""One line of the event log: JSON that loses nothing.

Lone surrogates and NUL travel as JSON escapes. What JSON has no word for is wrapped: a number that is not finite is
`{"$float": "nan"}`, a text over 4 kB is `{"$content": SHA256}` after a `content` line that holds it once per file. A
key of the user's own that starts with `$` gets one more.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from typing import Any

from reflect_lab.core.task import text_sha256

VERSION = 1
"""Version of the line format, in each line's `v`."""

LARGE_BYTES = 4096
"""Texts over this many UTF-8 bytes are stored once per file."""


class MissingContent(LookupError):
    """A reference to a text that no `content` line before it holds."""


def encode(value: Any, keep: Callable[[str, str], None]) -> Any:
    """Plain values with non-finite numbers wrapped and large texts replaced; `keep(sha256, text)` takes the texts."""
    if isinstance(value, str):
        if not _is_large(value):
            return value
        sha256 = text_sha256(value)
        keep(sha256, value)
        return {"$content": sha256}
    if isinstance(value, float) and not math.isfinite(value):
        return {"$float": repr(value)}
    if isinstance(value, Mapping):
        return {("$" + key if key.startswith("$") else key): encode(item, keep) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [encode(item, keep) for item in value]
    return value


def decode(value: Any, contents: Mapping[str, str]) -> Any:
    """The plain values again. Raises MissingContent where a reference leads nowhere."""
    if isinstance(value, dict):
        if len(value) == 1:
            if isinstance(sha256 := value.get("$content"), str):
                if sha256 not in contents:
                    raise MissingContent(sha256)
                return contents[sha256]
            if isinstance(number := value.get("$float"), str):
                return float(number)
        return {(key[1:] if key.startswith("$$") else key): decode(item, contents) for key, item in value.items()}
    if isinstance(value, list):
        return [decode(item, contents) for item in value]
    return value


def dumps(line: Mapping[str, Any]) -> bytes:
    """The line as ASCII JSON with its newline."""
    return json.dumps(line, ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode("ascii") + b"\n"


def _is_large(text: str) -> bool:
    if len(text) <= LARGE_BYTES // 4:
        return False
    return len(text) > LARGE_BYTES or len(text.encode("utf-8", "surrogatepass")) > LARGE_BYTES
