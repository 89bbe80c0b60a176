"""The generator: writes the first draft, and revises it on feedback."""

from __future__ import annotations

from reflect_lab.core.chat import ChatClient, ChatReply, Message
from reflect_lab.core.run import Draft, Run
from reflect_lab.core.steps import WriteDraft
from reflect_lab.roles.extraction import extract
from reflect_lab.roles.prompt import Prompt
from reflect_lab.roles.sections import generator_messages


class Generator:
    """Turns a WriteDraft step into messages and a reply into a draft. The call itself is the loop's."""

    def __init__(
        self, client: ChatClient, prompt: Prompt, *, temperature: float | None = None, seed: int | None = None
    ) -> None:
        self.client = client
        self.prompt = prompt
        self.temperature = temperature
        self.seed = seed

    def messages(self, run: Run, step: WriteDraft) -> tuple[Message, ...]:
        """Task, current draft and feedback: the size does not grow with the number of rounds."""
        return (
            Message(role="system", content=self.prompt.text),
            *generator_messages(run, step),
        )

    def draft(self, run: Run, step: WriteDraft, reply: ChatReply) -> Draft:
        """The draft in a reply, by the recorded rule of `extraction`."""
        taken = extract(reply.text, run.task.language)
        is_refused = reply.refusal is not None or reply.finish_reason == "content_filter"
        refused = (reply.refusal or "the provider's filter held the answer back") if is_refused else None
        reasoning = "\n".join(part for part in (reply.reasoning, taken.reasoning) if part)
        return Draft(
            index=step.index,
            text="" if is_refused else taken.text,
            mode="rewrite" if step.feedback else "first",
            extraction=taken.rule,
            truncated=reply.truncated or reply.finish_reason == "length" or taken.is_cut,
            raw=reply.text if reply.text != taken.text else None,
            reasoning=reasoning or None,
            refused=refused,
            ambiguous=taken.ambiguous,
        )
