"""The critic: lists problems that must quote evidence. It never sees the generator's reasoning or model."""

from __future__ import annotations

from reflect_lab.core.chat import ChatClient, ChatReply, Message
from reflect_lab.core.critique import CriticReply
from reflect_lab.core.run import Run
from reflect_lab.core.steps import AskCritic
from reflect_lab.roles.critic_reply import SCHEMA, read_reply
from reflect_lab.roles.extraction import split_reasoning
from reflect_lab.roles.prompt import Prompt
from reflect_lab.roles.sections import MAX_EVIDENCE, critic_sections, quoted


class Critic:
    """Turns an AskCritic step into messages and a reply into a strictly read answer."""

    schema = SCHEMA

    def __init__(
        self, client: ChatClient, prompt: Prompt, *, temperature: float | None = 0.0, seed: int | None = None
    ) -> None:
        self.client = client
        self.prompt = prompt
        self.temperature = temperature
        self.seed = seed

    def messages(self, run: Run, step: AskCritic) -> tuple[Message, ...]:
        """The critic's view of one draft; a repair adds the unreadable answer and what was wrong with it."""
        content = critic_sections(run, step.index)
        if step.repair:
            content += f"\n\n# Your last answer could not be used: {step.problem}\n{self._last_answer(run)}"
            content += "\nAnswer again, in the agreed form."
        return (Message(role="system", content=self.prompt.text), Message(role="user", content=content))

    def read(self, reply: ChatReply) -> CriticReply:
        return read_reply(reply)

    def _last_answer(self, run: Run) -> str:
        texts = [row.text for row in run.ledger if row.role == "critic" and row.text]
        answer = split_reasoning(texts[-1])[0] if texts else ""
        return quoted("answer", answer, run.salt, MAX_EVIDENCE) if answer else ""
