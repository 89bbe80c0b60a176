"""The generator: what it asks for, and how a draft is taken from a reply."""

from __future__ import annotations

from typing import Any

import pytest

from reflect_lab.core.chat import ChatClient, ChatReply
from reflect_lab.core.policy import Policy
from reflect_lab.core.run import Draft, Feedback, FeedbackMode, Round, Run
from reflect_lab.core.steps import WriteDraft
from reflect_lab.core.task import Task
from reflect_lab.models.scripted import Script, ScriptedClient
from reflect_lab.roles.generator import Generator
from reflect_lab.roles.patch import PatchFailed
from reflect_lab.roles.prompt import generator_prompt

OLD = "def double(n):\n    return n + n + 1"
BLOCK = "<<<<<<< SEARCH\n    return n + n + 1\n=======\n    return n + n\n>>>>>>> REPLACE"
NEW = "def double(n):\n    return n + n"


def client() -> ChatClient:
    return ScriptedClient(Script([], "none"), model="scripted")


def revised(text: str, mode: FeedbackMode = "patch", language: str | None = "python", **reply: Any) -> Draft:
    """The draft that a reply makes of OLD."""
    run = Run(
        run_id="r",
        task=Task(text="Write double.", language=language),
        policy=Policy(),
        rounds=(Round(index=0, draft=Draft(index=0, text=OLD)),),
    )
    step = WriteDraft(index=1, feedback=Feedback(mode=mode, sent=("a",)))
    return Generator(client(), generator_prompt()).draft(run, step, ChatReply(text=text, **reply))


@pytest.mark.parametrize(
    "reply",
    [
        BLOCK,
        f"```python\n{BLOCK}\n```",
        f"Here it is.\n```\n{BLOCK}\n```\nDone.",
        f"<think>\n<<<<<<< SEARCH\nnot this\n=======\n</think>\n{BLOCK}",
        BLOCK.replace("\n", "\r\n"),
    ],
)
@pytest.mark.parametrize("language", ["python", None])
def test_a_patch_is_applied_to_the_draft_in_or_out_of_a_fence(reply: str, language: str | None) -> None:
    draft = revised(reply, language=language)
    assert (draft.text, draft.mode, draft.extraction, draft.truncated) == (NEW, "patch", "patch:1", False)
    assert draft.raw == reply


def test_several_blocks_are_counted_in_the_rule() -> None:
    second = "<<<<<<< SEARCH\ndef double(n):\n=======\ndef twice(n):\n>>>>>>> REPLACE"
    draft = revised(f"{BLOCK}\n{second}")
    assert (draft.text, draft.extraction) == ("def twice(n):\n    return n + n", "patch:2")


def test_reasoning_of_a_patch_is_kept_apart() -> None:
    draft = revised(f"<think>one too many</think>{BLOCK}")
    assert (draft.text, draft.reasoning) == (NEW, "one too many")


def test_a_reply_without_a_block_is_a_rewrite_by_the_usual_rule() -> None:
    draft = revised(f"```python\n{NEW}\n```")
    assert (draft.text, draft.mode, draft.extraction) == (NEW, "rewrite", "fence:python")


def test_blocks_in_a_rewrite_are_text() -> None:
    draft = revised(BLOCK, mode="rewrite", language=None)
    assert (draft.text, draft.mode) == (BLOCK, "rewrite")


def test_a_patch_that_does_not_apply_is_no_draft() -> None:
    with pytest.raises(PatchFailed, match="not in the draft"):
        revised(BLOCK.replace("n + n + 1", "n * n"))


@pytest.mark.parametrize("cut", [BLOCK, BLOCK[:40]])
@pytest.mark.parametrize("how", [{"finish_reason": "length"}, {"truncated": True}])
def test_a_patch_that_was_cut_off_is_never_applied(cut: str, how: dict[str, Any]) -> None:
    draft = revised(cut, **how)
    assert (draft.text, draft.mode, draft.truncated) == (cut, "patch", True)


def test_a_refused_patch_is_an_empty_refused_draft() -> None:
    draft = revised(BLOCK[:40], finish_reason="content_filter")
    assert (draft.text, draft.truncated) == ("", False) and draft.refused


def test_reasoning_that_never_ends_is_a_draft_cut_off() -> None:
    draft = revised(f"<think>{BLOCK}")
    assert (draft.text, draft.mode, draft.truncated) == ("", "rewrite", True)
