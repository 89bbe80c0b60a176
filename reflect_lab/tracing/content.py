"""What of a run's words may stand on spans, and in which form."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from reflect_lab.core.task import text_sha256

CAPTURE_VARIABLE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
_ON_SPANS = frozenset({"span_only", "span_and_event"})

Plain = str | bool | int | float
Value = Plain | Sequence[str] | None


def unredacted(text: str) -> str:
    return text


@dataclass(frozen=True)
class Content:
    """The one door through which values reach a span.

    `redact` hides keys. `is_captured` says whether drafts, prompts and issues may stand there in words; without it
    they are hashes, so that spans can be joined with the log but tell nothing.
    """

    redact: Callable[[str], str] = unredacted
    is_captured: bool = False

    @classmethod
    def from_environ(cls, environ: Mapping[str, str], redact: Callable[[str], str] = unredacted) -> Content:
        """Captured where the standard variable says SPAN_ONLY or SPAN_AND_EVENT; anything else means no."""
        return cls(redact, environ.get(CAPTURE_VARIABLE, "").strip().lower() in _ON_SPANS)

    def attributes(self, values: Mapping[str, Value]) -> dict[str, Plain | list[str]]:
        """Attributes that every exporter takes: no None, no number that is not finite, no lone surrogate, no key."""
        cleaned: dict[str, Plain | list[str]] = {}
        for name, value in values.items():
            if isinstance(value, str):
                cleaned[name] = self._text(value)
            elif isinstance(value, (bool, int)) or (isinstance(value, float) and math.isfinite(value)):
                cleaned[name] = value
            elif value is not None and not isinstance(value, float):
                cleaned[name] = [self._text(item) for item in value]
        return cleaned

    def sha256(self, text: str) -> str:
        """The hash of a text as the log holds it (keys hidden)."""
        return text_sha256(self.redact(text))

    def identifier(self, text: str) -> str:
        """An id that a model or a check made: it may quote the draft, so it is a hash unless content is captured."""
        return text if self.is_captured else f"sha256:{self.sha256(text)[:16]}"

    def json(self, value: Any) -> str:
        """Plain values as JSON text. Keys are hidden before: escaping would hide them from the redactor."""
        return json.dumps(self._redacted(value), ensure_ascii=False)

    def _redacted(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.redact(value)
        if isinstance(value, dict):
            return {name: self._redacted(item) for name, item in value.items()}
        return [self._redacted(item) for item in value] if isinstance(value, (list, tuple)) else value

    def _text(self, text: str) -> str:
        return self.redact(text).encode("utf-8", "backslashreplace").decode("utf-8")
