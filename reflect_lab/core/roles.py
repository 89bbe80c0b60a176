"""The roles that the loop calls, as far as it knows them: who writes, who judges, who gathers evidence."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from reflect_lab.core.chat import ChatClient, ChatReply, Message
from reflect_lab.core.critique import CriticReply
from reflect_lab.core.evidence import Evidence
from reflect_lab.core.run import Draft, Run, Shortage
from reflect_lab.core.steps import AskCritic, WriteDraft
from reflect_lab.core.task import CheckSpec


class AsksModel(Protocol):
    """Whose calls the loop makes: of which model, and how it is to answer."""

    client: ChatClient
    temperature: float | None
    seed: int | None


class GeneratorRole(AsksModel, Protocol):
    """Words a draft's prompt and takes the draft from the reply."""

    def messages(self, run: Run, step: WriteDraft) -> tuple[Message, ...]: ...
    def draft(self, run: Run, step: WriteDraft, reply: ChatReply) -> Draft:
        """The draft in a reply; raises `PatchFailed` for a patch that can't be applied."""


class CriticRole(AsksModel, Protocol):
    """Words the question about a draft and reads the answer strictly."""

    schema: dict[str, object]

    def messages(self, run: Run, step: AskCritic) -> tuple[Message, ...]: ...
    def in_lines(self, run: Run, step: AskCritic) -> tuple[Message, ...]:
        """The same question for a server that takes no form of answer: in the line protocol."""

    def read(self, run: Run, reply: ChatReply) -> CriticReply: ...


class CheckHooks(Protocol):
    """How an evidence source tells the loop what it is doing."""

    def check(self, spec: CheckSpec) -> AbstractContextManager[object]:
        """Around one check."""

    def evidence(self, evidence: Evidence) -> None:
        """One check is done, within its `check`."""

    def pausing(self) -> AbstractContextManager[object]:
        """Around waiting for a person: the run's time stands still meanwhile."""


class EvidenceHooks(CheckHooks, Protocol):
    """The same for a source that asks a model through the loop."""

    async def ask(
        self, client: ChatClient, messages: tuple[Message, ...], *, temperature: float | None = 0.0
    ) -> ChatReply | Shortage:
        """A model's opinion, metered like every call: the answer, or why it can't be afforded. What it says is
        evidence of the lowest rank (`model`), which never overrules a check."""


class EvidenceRole(Protocol):
    """Gathers the evidence on the run's current draft."""

    async def gather(self, run: Run, hooks: EvidenceHooks) -> tuple[Evidence, ...]: ...


@dataclass(frozen=True, kw_only=True)
class Roles:
    """Who performs the steps. Without a critic the policy must not call for one."""

    generator: GeneratorRole
    critic: CriticRole | None
    evidence: EvidenceRole

    async def close(self) -> None:
        """Closes the models' connections."""
        for role in (self.generator, self.critic):
            if role is not None:
                await role.client.close()
