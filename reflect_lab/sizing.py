"""What the calls of a step may take, by what the model clients say of sizes and prices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from reflect_lab.core.budget import USEFUL_OUTPUT
from reflect_lab.core.chat import ChatClient, Message
from reflect_lab.core.money import in_limit_currency
from reflect_lab.core.policy import Limits
from reflect_lab.core.roles import Roles
from reflect_lab.core.run import Estimate, Role, Run
from reflect_lab.core.steps import AskCritic, WriteDraft
from reflect_lab.core.stop_rules import has_critic


@dataclass(frozen=True)
class Asked:
    """A call that a step would make: of whom, with which prompt, in which role."""

    client: ChatClient
    messages: Sequence[Message]
    role: Role = "generator"


async def estimate(limits: Limits, *, generator: Asked | None = None, critic: Asked | None = None) -> Estimate:
    """The sizes and prices of a step's calls; a server that counts prompts is asked. Under strict limits sizes are
    bounds and the answer is all of `max_tokens`; a price always takes the whole answer in."""
    for asked in (generator, critic):
        if asked is not None:
            await asked.client.measure(asked.messages)
    return Estimate(
        generator=_prompt(limits, generator),
        critic=_prompt(limits, critic),
        generator_output=_output(limits, generator),
        critic_output=_output(limits, critic),
        generator_cost=_cost(limits, generator),
        critic_cost=_cost(limits, critic),
    )


async def draft_sizes(run: Run, step: WriteDraft, roles: Roles) -> Estimate:
    """What a draft may take and, but for the very first one, the critique after it, which is sized by that of the draft
    before: no further draft is bought with what its critique needs. A check's own fix takes no call."""
    writer, judge = roles.generator, roles.critic
    generator = Asked(writer.client, writer.messages(run, step)) if step.fixed is None else None
    critic = None
    if (step.index or step.candidate) and judge is not None and has_critic(run):
        critic = Asked(judge.client, judge.messages(run, AskCritic(index=max(0, step.index - 1))), "critic")
    return await estimate(run.policy.limits, generator=generator, critic=critic)


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
