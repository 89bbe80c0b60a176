"""What a step may take, as the loop sizes it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from reflect_lab.core.chat import Message
from reflect_lab.core.money import Money
from reflect_lab.core.policy import Limits, Policy
from reflect_lab.core.roles import Roles
from reflect_lab.core.run import Estimate, Role, Run
from reflect_lab.core.steps import WriteDraft
from reflect_lab.core.task import Requirement, Task
from reflect_lab.sizing import draft_sizes

TASK = Task(text="Write a note.", requirements=(Requirement(id="R1", text="it names the day"),))


@dataclass
class Sized:
    """A client and its role at once, with fixed sizes and prices."""

    size: int
    max_tokens: int = 900
    model: str = "m"
    endpoint: str | None = None
    is_live: bool = True

    @property
    def client(self) -> Any:
        return self

    def messages(self, run: Run, step: object) -> tuple[Message, ...]:
        return (Message(role="user", content="x"),)

    async def measure(self, messages: Sequence[Message]) -> None:
        """Nothing can be asked."""

    def estimate(self, messages: Sequence[Message]) -> int:
        return self.size

    def bound(self, messages: Sequence[Message]) -> int:
        return self.size * 3

    def price(self, role: Role, input_tokens: int, output_tokens: int) -> Money | None:
        return Money((input_tokens + output_tokens) / 1_000, "EUR")


def run_under(**limits: Any) -> Run:
    return Run(run_id="r", task=TASK, policy=Policy(limits=Limits(**limits)))


def roles(critic: Any) -> Roles:
    writer: Any = Sized(100)
    return Roles(generator=writer, critic=critic, evidence=writer)


JUDGE = Sized(200, max_tokens=300)


@pytest.mark.parametrize(
    ("step", "limits", "sizes"),
    [
        (WriteDraft(index=0), {}, Estimate(generator=100)),
        (WriteDraft(index=1), {}, Estimate(generator=100, critic=200)),
        (WriteDraft(index=1, fixed="mended"), {}, Estimate(critic=200)),
        (
            WriteDraft(index=1),
            {"strict": True},
            Estimate(generator=300, critic=600, generator_output=900, critic_output=300),
        ),
        (
            WriteDraft(index=1),
            {"cost": 9.0, "rates": {"EUR": 2.0}},
            Estimate(generator=100, critic=200, generator_cost=2.0, critic_cost=1.0),
        ),
        (
            WriteDraft(index=0),
            {"cost": 9.0, "rates": {"EUR": 2.0}, "strict": True},
            Estimate(generator=300, generator_output=900, generator_cost=2.4),
        ),
    ],
)
async def test_a_draft_is_sized_with_the_critique_that_must_follow(
    step: WriteDraft, limits: dict[str, Any], sizes: Estimate
) -> None:
    assert await draft_sizes(run_under(**limits), step, roles(JUDGE)) == sizes


async def test_without_a_critic_a_revision_is_sized_alone() -> None:
    assert await draft_sizes(run_under(), WriteDraft(index=1), roles(None)) == Estimate(generator=100)
