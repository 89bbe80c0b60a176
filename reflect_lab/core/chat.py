"""What a role asks of a model and what comes back. Clients live in `models`; roles know only these shapes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from reflect_lab.core.money import Money
from reflect_lab.core.run import LedgerRow, Notice, Role


@dataclass(frozen=True, kw_only=True)
class Message:
    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True, kw_only=True)
class ChatRequest:
    """One logical call. `call` counts the run's logical calls from 1; `max_tokens` is already clamped to the budget.

    `schema` is a JSON Schema that the answer should follow (the critic's), None for free text. `reserved_tokens` is
    what the budget set aside (prompt estimate + `max_tokens`), `reserved_cost` its price in the limit's currency, where
    cost has a limit. `seconds_left` is what the run's own time limit leaves
    for the call, retries and waits included; None where there is no limit.

    `in_lines` asks the same question in the line protocol, for a server that takes no form of answer; None where there
    is no such wording.
    """

    role: Role
    round: int
    call: int
    messages: tuple[Message, ...]
    max_tokens: int
    reserved_tokens: int
    reserved_cost: float | None = None
    temperature: float | None = None
    seed: int | None = None
    schema: Mapping[str, object] | None = None
    in_lines: tuple[Message, ...] | None = None
    seconds_left: float | None = None

    def asked(self, protocol: str | None) -> tuple[Message, ...]:
        """The messages that are sent where the answer is asked for in `protocol`."""
        return self.in_lines if protocol == "lines" and self.in_lines is not None else self.messages


@dataclass(frozen=True, kw_only=True)
class ChatReply:
    """A model's answer. `reasoning` came in a field of its own (`reasoning_content`); `<think>` blocks are still in
    `text`. `finish_reason` None means that a stream ended without one (the answer may be cut).

    `protocol` says how a wanted schema was asked for: `schema` (enforced by the server), `json` or `lines`.
    """

    text: str
    finish_reason: str | None = "stop"
    reasoning: str | None = None
    refusal: str | None = None
    answered: str | None = None
    protocol: Literal["schema", "json", "lines"] = "json"
    truncated: bool = False
    notices: tuple[Notice, ...] = ()


class CallHooks(Protocol):
    """How a client tells the loop what happens within a call, while it happens."""

    def attempt(self, row: LedgerRow) -> None:
        """One HTTP attempt is over (also a failed or cancelled one); called exactly once for each."""

    def again(self) -> None:
        """The call is about to be tried once more. Raises `Unaffordable` where the budget has no room for it."""

    def text(self, delta: str) -> None:
        """More of the answer's text arrived."""


class ChatClient(Protocol):
    """A model behind an endpoint. Raises `ModelFailed` when a call fails for good."""

    model: str
    endpoint: str | None
    is_live: bool
    """Whether a real model answers (its code needs consent to run); False for scripts that the user wrote."""
    max_tokens: int
    """Output tokens asked for where the budget leaves room."""

    async def measure(self, messages: Sequence[Message]) -> None:
        """Has the server count a prompt, where it can; `estimate` and `bound` know the count from then on."""

    def estimate(self, messages: Sequence[Message]) -> int:
        """The prompt's size in tokens, as an upper estimate."""

    def bound(self, messages: Sequence[Message]) -> int:
        """The prompt's size in tokens, as a bound that no tokenizer exceeds."""

    def price(self, role: Role, input_tokens: int, output_tokens: int) -> Money | None:
        """What the role's next call costs with so many tokens; None where no price is known."""

    def currencies(self) -> frozenset[str | None]:
        """The currencies in which calls are charged; None is among them where some call has no known price."""

    async def complete(self, request: ChatRequest, hooks: CallHooks) -> ChatReply: ...

    async def close(self) -> None: ...
