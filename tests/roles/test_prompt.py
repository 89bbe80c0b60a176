"""A prompt's rubric: the task-list items that the user wrote, read as everywhere else."""

from __future__ import annotations

import pytest

from reflect_lab.roles.prompt import Prompt, generator_prompt, shipped_critic, shipped_critics


@pytest.mark.parametrize(
    ("text", "rubric"),
    [
        ("- [ ] names the\n  day\n* [x] is short", ("names the day", "is short")),
        ("1. [ ] is polite\n2. no box", ("is polite",)),
        ("Answer like this:\n\n```\n- [ ] an example\n```\n", ()),
        ("- [ ]", ()),
        ("", ()),
    ],
)
def test_the_rubric_is_the_task_list(text: str, rubric: tuple[str, ...]) -> None:
    assert Prompt("own", text).rubric == rubric


def test_shipped_prompts_hold_no_rubric() -> None:
    shipped = [generator_prompt(), *map(shipped_critic, shipped_critics())]
    assert [prompt.rubric for prompt in shipped] == [()] * len(shipped)
