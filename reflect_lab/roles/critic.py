"""The critic: lists problems that must quote evidence. It never sees the generator's reasoning or model."""

from __future__ import annotations

from reflect_lab.core.chat import ChatClient, ChatReply, Message
from reflect_lab.core.critique import CriticReply, Protocol
from reflect_lab.core.run import Run
from reflect_lab.core.steps import AskCritic
from reflect_lab.roles.critic_form import form, instructions
from reflect_lab.roles.critic_json import SCHEMA
from reflect_lab.roles.critic_reply import read_reply
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
        """The critic's view of one draft; a repair adds the unreadable answer, what was wrong with it, and the form
        that was agreed on."""
        return self._asked(run, step, _agreed(run, step))

    def in_lines(self, run: Run, step: AskCritic) -> tuple[Message, ...]:
        """The same in the line protocol."""
        return self._asked(run, step, "lines")

    def read(self, run: Run, reply: ChatReply) -> CriticReply:
        return read_reply(reply, is_prose=run.policy.rules.critique == "text")

    def _asked(self, run: Run, step: AskCritic, protocol: Protocol) -> tuple[Message, ...]:
        content = critic_sections(run, step.index)
        if step.repair:
            content += f"\n\n# Your last answer could not be used: {step.problem}\n{self._last_answer(run)}"
            content += f"\nAnswer again, in the agreed form.\n\n{form(protocol)}"
        system = instructions(self.prompt.text, protocol)
        return (Message(role="system", content=system), Message(role="user", content=content))

    def _last_answer(self, run: Run) -> str:
        texts = [row.text for row in run.ledger if row.role == "critic" and row.text]
        answer = split_reasoning(texts[-1])[0] if texts else ""
        return quoted("answer", answer, run.salt, MAX_EVIDENCE) if answer else ""


def _agreed(run: Run, step: AskCritic) -> Protocol:
    """The form that is asked for; a repair keeps to that of the answer before it."""
    if run.policy.rules.critique == "text":
        return "text"
    critique = run.rounds[step.index].critique
    return "lines" if step.repair and critique is not None and critique.protocol == "lines" else "json"
