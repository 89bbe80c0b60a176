"""Servers that count a prompt's tokens when asked: llama.cpp (and the embedded model), vLLM."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, get_args

from reflect_lab.core.chat import Message

if TYPE_CHECKING:
    from openai import AsyncOpenAI

TokenCount = Literal["llama.cpp", "vllm"]
"""How a server is asked: by whose way."""
WAYS: tuple[str, ...] = get_args(TokenCount)
TIMEOUT_S = 10.0
KEPT = 32
"""Prompts whose count is remembered: those of one step are asked for more than once."""
_log = logging.getLogger(__name__)


@dataclass
class ServerCount:
    """Asks one server, for one model. A server that fails to answer once is not asked again: the estimate stands in."""

    sdk: AsyncOpenAI
    base_url: str
    model: str
    way: TokenCount | None
    counts: dict[tuple[Message, ...], int] = field(default_factory=dict)

    def known(self, messages: Sequence[Message]) -> int | None:
        """The server's count of a prompt that it was asked about."""
        return self.counts.get(tuple(messages))

    async def ask(self, messages: Sequence[Message]) -> None:
        """Has the server count a prompt, where it can and has not yet."""
        key = tuple(messages)
        if self.way is None or key in self.counts:
            return
        import openai

        path, name = self._question(self.way)
        body = {"model": self.model, "messages": [{"role": m.role, "content": m.content} for m in messages]}
        try:
            answer: Any = await self.sdk.post(path, body=body, cast_to=object, options={"timeout": TIMEOUT_S})
        except (openai.OpenAIError, ValueError) as error:
            answer = type(error).__name__
        count = answer.get(name) if isinstance(answer, dict) else None
        if isinstance(count, bool) or not isinstance(count, int) or count < 0:
            _log.info("%s counts no tokens in the way of %s: %s", self.base_url, self.way, answer)
            self.way = None
            return
        while len(self.counts) >= KEPT:
            del self.counts[next(iter(self.counts))]
        self.counts[key] = count

    def _question(self, way: TokenCount) -> tuple[str, str]:
        """Where to ask, and the field of the answer that holds the count."""
        if way == "llama.cpp":
            return f"{self.base_url}/chat/completions/input_tokens", "input_tokens"
        return f"{self.base_url.removesuffix('/v1')}/tokenize", "count"
