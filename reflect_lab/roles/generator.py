"""The generator: writes the first draft, and revises it on feedback."""

from __future__ import annotations

from reflect_lab.core.chat import ChatClient, ChatReply, Message
from reflect_lab.core.run import Draft, Mode, Run
from reflect_lab.core.steps import WriteDraft
from reflect_lab.roles.extraction import Extraction, extract, split_reasoning
from reflect_lab.roles.patch import apply, has_blocks, read_blocks
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
        """The draft in a reply, by the recorded rule of `extraction`.

        Raises PatchFailed where a patch was asked for and the reply is one that can't be applied; a reply without a
        block is a rewrite.
        """
        is_refused = reply.refusal is not None or reply.finish_reason == "content_filter"
        is_cut_off = reply.truncated or reply.finish_reason == "length"
        mode, taken = self._taken(run, step, reply.text, is_whole=not (is_refused or is_cut_off))
        refused = (reply.refusal or "the provider's filter held the answer back") if is_refused else None
        reasoning = "\n".join(part for part in (reply.reasoning, taken.reasoning) if part)
        return Draft(
            index=step.index,
            text="" if is_refused else taken.text,
            mode=mode,
            extraction=taken.rule,
            truncated=is_cut_off or taken.is_cut,
            raw=reply.text if reply.text != taken.text else None,
            reasoning=reasoning or None,
            refused=refused,
            ambiguous=taken.ambiguous,
        )

    def _taken(self, run: Run, step: WriteDraft, reply: str, *, is_whole: bool) -> tuple[Mode, Extraction]:
        """How the draft came about and what it is. Half a patch is never applied: the draft was cut off."""
        if step.feedback is None:
            return "first", extract(reply, run.task.language)
        answer, reasoning, _ = split_reasoning(reply)
        if step.feedback.mode == "rewrite" or not has_blocks(answer):
            return "rewrite", extract(reply, run.task.language)
        if not is_whole:
            return "patch", Extraction(text=answer, rule="whole", reasoning=reasoning)
        blocks = read_blocks(answer)
        text = apply(run.rounds[step.index - 1].draft.text, blocks)
        return "patch", Extraction(text=text, rule=f"patch:{len(blocks)}", reasoning=reasoning)
