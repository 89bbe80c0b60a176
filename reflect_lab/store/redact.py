"""Keys never reach a trace: one redactor stands before log, index, spans and view.

It knows keys by value (environment variables with telling names) and by shape (the prefixes that providers use).
What it finds becomes `[redacted:NAME]`. Redacting twice changes nothing more.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import is_dataclass
from functools import cache
from typing import Any, Literal, get_args, get_origin, get_type_hints
from urllib.parse import quote

from reflect_lab.core import run
from reflect_lab.core.events import Event

MIN_LENGTH = 8
"""Shorter values are too likely to be ordinary text."""

_KEY_NAME = re.compile(r"(_KEY|_TOKEN|_SECRET)$|PASSWORD", re.IGNORECASE)
_PLAIN_NAME = re.compile(r"[a-z_]{1,40}")
_SHAPES: tuple[tuple[str, str], ...] = (
    ("private_key", r"-----BEGIN [A-Z ]*PRIVATE KEY-----(?:.|\n)*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)"),
    ("bearer", r"(?i:(?<=bearer ))[A-Za-z0-9._~+/=-]{16,}"),
    ("basic", r"(?i:(?<=authorization: basic ))[A-Za-z0-9+/]{12,}={0,2}"),
    ("openai_key", r"\bsk-(?!\.)[A-Za-z0-9_-]{16,}"),
    ("github_token", r"\b(?:gh[pousr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{30,})"),
    ("huggingface_token", r"\bhf_[A-Za-z0-9]{30,}"),
    ("google_key", r"\bAIza[A-Za-z0-9_-]{30,}"),
    ("aws_key", r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"),
    ("slack_token", r"\bxox[abprs]-[A-Za-z0-9-]{10,}"),
    ("jwt", r"\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}"),
    ("url_password", r"(?<=://)[^/\s:@\"']{1,80}:[^/\s@\"']{3,}(?=@)"),
)
_SHAPE = re.compile("|".join(f"(?P<{name}>{shape})" for name, shape in _SHAPES))


def _words_of(kind: Any, seen: set[Any]) -> Iterator[str]:
    """The words of the core's own vocabulary: what its shapes allow in fields of few words (`Literal`)."""
    if is_dataclass(kind) and kind not in seen:
        seen.add(kind)
        for hint in get_type_hints(kind).values():
            yield from _words_of(hint, seen)
    elif get_origin(kind) is Literal:
        yield from (word for word in get_args(kind) if isinstance(word, str))
    elif not is_dataclass(kind):
        for part in get_args(kind):
            yield from _words_of(part, seen)


@cache
def _own_words() -> frozenset[str]:
    """Hiding one of these would break every record."""
    return frozenset(_words_of(run.Run | Event, set())) | {run.SCHEMA, "standard"}


class Redactor:
    """Replaces known key values and key-like shapes. What it knows only grows; safe to share between threads."""

    def __init__(self, environ: Mapping[str, str] | None = None, secrets: Mapping[str, str] | None = None) -> None:
        """Hides the values of `*_KEY`, `*_TOKEN`, `*_SECRET` and `*PASSWORD*` in `environ`, and all of `secrets`
        (name to value), where they have 8 characters or more."""
        self._known: tuple[dict[str, str], re.Pattern[str] | None] = ({}, None)
        self.learn(environ, secrets)

    def learn(self, environ: Mapping[str, str] | None = None, secrets: Mapping[str, str] | None = None) -> None:
        """Hides these too, from now on: a key may be set, or an endpoint named, while a session is open."""
        known = {name: value for name, value in (environ or {}).items() if _KEY_NAME.search(name)}
        known.update(secrets or {})
        names = dict(self._known[0])
        markers = [_marker(name) for name in (*known, *names.values(), *(name for name, _ in _SHAPES))]
        for name, value in known.items():
            value = value.strip()
            # A word of our own vocabulary or of a marker is no secret: hiding it would break every record.
            if len(value) < MIN_LENGTH or value in _own_words() or any(value in marker for marker in markers):
                continue
            for form in _forms(value):
                names.setdefault(form, name)
        longest_first = sorted(names, key=len, reverse=True)
        self._known = (names, re.compile("|".join(map(re.escape, longest_first))) if longest_first else None)

    def text(self, text: str) -> str:
        """The text with every key replaced by its marker."""
        names, values = self._known
        if values is not None:
            text = values.sub(lambda found: _marker(names[found[0]]), text)
        return _SHAPE.sub(lambda found: _marker(str(found.lastgroup)), text)

    def value(self, value: Any) -> Any:
        """Plain JSON values with every string redacted, names of fields and words of our own vocabulary apart."""
        own = _own_words()
        return map_strings(value, lambda text: text if text in own else self.text(text), self._key)

    def _key(self, key: str) -> str:
        return key if _PLAIN_NAME.fullmatch(key) else self.text(key)


def map_strings(value: Any, change: Callable[[str], str], change_key: Callable[[str], str]) -> Any:
    """A copy of plain JSON values with every string changed."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, Mapping):
        return {change_key(str(key)): map_strings(item, change, change_key) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [map_strings(item, change, change_key) for item in value]
    return value


def _marker(name: str) -> str:
    return f"[redacted:{name}]"


def _forms(value: str) -> set[str]:
    """The value as it is, and as it looks within JSON and within a URL."""
    return {value, json.dumps(value)[1:-1], quote(value, safe="")}
