"""Roles at the border of the real loop: those that play turns as the pure player does, and hostile ones."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from reflect_lab.core.chat import CallHooks, ChatReply, ChatRequest, Message
from reflect_lab.core.critique import CriticReply
from reflect_lab.core.errors import ModelFailed
from reflect_lab.core.evidence import Evidence
from reflect_lab.core.money import Money
from reflect_lab.core.roles import EvidenceHooks, Roles
from reflect_lab.core.run import Draft, LedgerRow, Role, Run
from reflect_lab.core.steps import AskCritic, WriteDraft
from tests.core.simulate import Turn

PROMPT = 10
"""Tokens that every prompt is said to take."""
PRICE = 1e-6
"""Dollars for each token."""


def charged(request: ChatRequest, output: int | None = 50, tokens: int | None = 100) -> LedgerRow:
    """A call as the pure player charges it, or within its reservation."""
    return LedgerRow(
        role=request.role, round=request.round, call=request.call, attempt=1, model="m", status="ok",
        input_tokens=tokens, output_tokens=output, reserved_tokens=500, seconds=0.5,
    )  # fmt: skip


@dataclass
class Model:
    """A model whose every answer is charged by `charge` and may be made worse by `answer` first."""

    charge: Callable[[ChatRequest], LedgerRow] = charged
    answer: Callable[[ChatRequest], Any] = lambda request: ChatReply(text="")
    model: str = "m"
    endpoint: str | None = None
    is_live: bool = False
    max_tokens: int = 400
    requests: list[ChatRequest] = field(default_factory=list)

    def estimate(self, messages: Sequence[Message]) -> int:
        return PROMPT

    def bound(self, messages: Sequence[Message]) -> int:
        return PROMPT

    async def measure(self, messages: Sequence[Message]) -> None:
        """There is nothing to ask."""

    def price(self, role: Role, input_tokens: int, output_tokens: int) -> Money | None:
        return Money((input_tokens + output_tokens) * PRICE, "USD")

    def currencies(self) -> frozenset[str | None]:
        return frozenset({"USD"})

    async def complete(self, request: ChatRequest, hooks: CallHooks) -> ChatReply:
        self.requests.append(request)
        reply = self.answer(request)
        if asyncio.iscoroutine(reply):
            reply = await reply
        hooks.attempt(self.charge(request))
        return reply  # type: ignore[no-any-return]

    async def close(self) -> None:
        """Nothing is open."""


@dataclass
class Player:
    """Generator, critic and checks in one, which play turns."""

    turns: Sequence[Turn]
    client: Model = field(default_factory=Model)
    temperature: float | None = None
    seed: int | None = None
    schema: Any = None

    def __post_init__(self) -> None:
        self.left = [list(turn.replies) for turn in self.turns]
        self.client.answer = self._has_line

    @property
    def roles(self) -> Roles:
        return Roles(generator=self, critic=self, evidence=self)

    def messages(self, run: Run, step: WriteDraft | AskCritic) -> tuple[Message, ...]:
        if isinstance(step, WriteDraft):
            self.writing = step
        return ()

    in_lines = messages

    def draft(self, run: Run, step: WriteDraft, reply: ChatReply) -> Draft:
        turn = self.turns[step.index].candidates[step.candidate]
        return Draft(index=step.index, text=turn.draft, truncated=turn.truncated)

    def read(self, run: Run, reply: ChatReply) -> CriticReply:
        return self.left[run.rounds[-1].index].pop(0)

    async def gather(self, run: Run, hooks: EvidenceHooks) -> tuple[Evidence, ...]:
        draft = run.rounds[-1].draft
        if draft.index >= len(self.turns):
            raise ModelFailed("script_ended", "no report is left")
        return self.turns[draft.index].candidates[draft.candidate].evidence

    def _has_line(self, request: ChatRequest) -> ChatReply:
        index, is_critic = request.round, request.role == "critic"
        is_known = index < len(self.turns)
        if is_critic and not (is_known and self.left[index]):
            raise ModelFailed("script_ended", "no reply is left")
        if not is_critic and not (is_known and self.writing.candidate < len(self.turns[index].candidates)):
            raise ModelFailed("script_ended", "no draft is left")
        return ChatReply(text="")


def without_texts(run: Run) -> Run:
    """The run without the raw answers that its ledger keeps."""
    return replace(run, ledger=tuple(replace(row, text=None) for row in run.ledger))
