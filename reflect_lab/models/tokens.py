"""Tokens: what a server says it counted, and an upper estimate before the call."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from reflect_lab.core.chat import Message
from reflect_lab.models.retry import Progress

FIRST_RATIO = 1 / 3
"""Tokens per UTF-8 byte before anything was learnt; English and code have 0.2 to 0.3."""
PER_MESSAGE = 4
BOUND_PER_MESSAGE = 16
"""Tokens of a chat template's marks around a message: the role, its begin and its end; templates take 3 to 8."""
MARGIN = 1.15
LEAST_LEARNT_BYTES = 400
"""In shorter prompts the server's own additions (a hidden system prompt) outweigh the text."""
MOST_PER_BYTE = 1.0
CUT_SHARE = 0.5
CUT_RATIO = 0.1
LEAST_CUT_BYTES = 1500


def read_usage(usage: Mapping[str, object], progress: Progress) -> None:
    """Take over a `usage` object. A field that is no count (a text, negative, a fraction) is unknown: None, never 0.

    Parts that are larger than their whole are unknown, too.
    """
    progress.input_tokens = _count(usage.get("prompt_tokens"))
    progress.output_tokens = _count(usage.get("completion_tokens"))
    progress.cached_tokens = _part(usage.get("prompt_tokens_details"), "cached_tokens", progress.input_tokens)
    progress.reasoning_tokens = _part(
        usage.get("completion_tokens_details"), "reasoning_tokens", progress.output_tokens
    )


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _part(details: object, name: str, whole: int | None) -> int | None:
    part = _count(details.get(name)) if isinstance(details, Mapping) else None
    return None if part is not None and whole is not None and part > whole else part


def utf8_size(messages: Sequence[Message]) -> int:
    """UTF-8 bytes of all messages' contents."""
    return sum(len(m.content.encode("utf-8", "surrogatepass")) for m in messages)


def bound(messages: Sequence[Message]) -> int:
    """A prompt's tokens as a bound: a token per UTF-8 byte, which no byte-level tokenizer exceeds, and what a template
    puts around messages. A server's own hidden system prompt is not in it."""
    return utf8_size(messages) + BOUND_PER_MESSAGE * (len(messages) + 1)


def script_estimate(messages: Sequence[Message]) -> int:
    """A scripted model's prompt size: UTF-8 bytes of all messages / 3, rounded up."""
    return math.ceil(utf8_size(messages) / 3)


class TokenEstimator:
    """An upper estimate of a prompt's tokens: bytes times a ratio that is learnt from what the server counted.

    Starts at one token per 3 UTF-8 bytes plus 4 per message; then the largest ratio seen in prompts of some length,
    plus 15 %; plus what the server was seen to add by itself (a template, a hidden system prompt).
    """

    def __init__(self) -> None:
        self._learnt: float | None = None
        self._least: float | None = None
        self._added = 0

    @property
    def added(self) -> int:
        """Tokens that the server was seen to add to a prompt by itself."""
        return self._added

    def estimate(self, messages: Sequence[Message]) -> int:
        ratio = FIRST_RATIO if self._learnt is None else min(self._learnt * MARGIN, MOST_PER_BYTE)
        return math.ceil(utf8_size(messages) * ratio) + PER_MESSAGE * len(messages) + self._added

    def learn(self, messages: Sequence[Message], counted: int) -> None:
        """Take in that the server counted `counted` tokens for this prompt: it is not estimated lower any more."""
        size = utf8_size(messages)
        if size >= LEAST_LEARNT_BYTES and not self.is_cut(messages, counted):
            ratio = max(counted - PER_MESSAGE * len(messages), 1) / size
            self._learnt = ratio if self._learnt is None else max(ratio, self._learnt)
            self._least = ratio if self._least is None else min(ratio, self._least)
        self._added += max(0, counted - self.estimate(messages))

    def is_cut(self, messages: Sequence[Message], counted: int) -> bool:
        """Whether a server counted so little that it must have cut the prompt.

        That is under half of the smallest share seen so far where there is one, else ten bytes per token, which no
        ordinary text reaches.
        """
        size = utf8_size(messages)
        if size < LEAST_CUT_BYTES:
            return False
        expected = CUT_RATIO if self._least is None else self._least * CUT_SHARE
        return counted < size * expected
