"""What the calls of a step may take, by what the model clients say of sizes and prices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from reflect_lab.core.budget import USEFUL_OUTPUT
from reflect_lab.core.chat import ChatClient, Message
from reflect_lab.core.money import in_limit_currency
from reflect_lab.core.policy import Limits
from reflect_lab.core.run import Estimate, Role


@dataclass(frozen=True)
class Asked:
    """A call that a step would make: of whom, with which prompt, in which role."""

    client: ChatClient
    messages: Sequence[Message]
    role: Role = "generator"


def estimate(limits: Limits, *, generator: Asked | None = None, critic: Asked | None = None) -> Estimate:
    """The sizes and prices of a step's calls. Under strict limits sizes are bounds and the answer is all of
    `max_tokens`; a price always takes the whole answer in."""
    return Estimate(
        generator=_prompt(limits, generator),
        critic=_prompt(limits, critic),
        generator_output=_output(limits, generator),
        critic_output=_output(limits, critic),
        generator_cost=_cost(limits, generator),
        critic_cost=_cost(limits, critic),
    )


def price(limits: Limits, client: ChatClient, role: Role, input_tokens: int, output_tokens: int) -> float | None:
    """The price of a call in the limit's currency; None where cost has no limit."""
    if limits.cost is None:
        return None
    money = client.price(role, input_tokens, output_tokens)
    return None if money is None else in_limit_currency(money.amount, money.currency, limits)


def _prompt(limits: Limits, asked: Asked | None) -> int | None:
    if asked is None:
        return None
    return asked.client.bound(asked.messages) if limits.strict else asked.client.estimate(asked.messages)


def _output(limits: Limits, asked: Asked | None) -> int:
    return asked.client.max_tokens if asked is not None and limits.strict else USEFUL_OUTPUT


def _cost(limits: Limits, asked: Asked | None) -> float | None:
    if asked is None:
        return None
    return price(limits, asked.client, asked.role, _prompt(limits, asked) or 0, asked.client.max_tokens)
