"""The versions of critic prompts: which text is in use, and what the last registration changed."""

from __future__ import annotations

import pytest

from reflect_lab.core.errors import WrongUse
from reflect_lab.roles.critic_registry import CriticRegistry, PromptChange
from reflect_lab.roles.prompt import Prompt, shipped_critic, shipped_critics

ONE, TWO, THREE = (Prompt("strict", f"Be strict, {n}.\n") for n in ("one", "two", "three"))


def registry(*prompts: Prompt) -> CriticRegistry:
    made = CriticRegistry()
    for prompt in prompts:
        made.register(prompt)
    return made


def test_the_text_that_was_registered_last_is_in_use_and_the_earlier_ones_are_kept() -> None:
    critics = registry(ONE, TWO, THREE)
    assert critics["strict"] == THREE
    assert critics.versions("strict") == (ONE, TWO, THREE)
    assert critics.last_change("strict") == PromptChange(TWO, THREE)


def test_equal_texts_are_one_version() -> None:
    assert registry(ONE, ONE, TWO, TWO).versions("strict") == (ONE, TWO)


def test_an_old_text_that_is_registered_again_is_the_one_in_use() -> None:
    critics = registry(ONE, TWO, ONE)
    assert critics["strict"] == ONE
    assert critics.last_change("strict") == PromptChange(TWO, ONE)


def test_a_name_that_was_shipped_is_compared_with_what_it_replaced() -> None:
    own = Prompt("grounded", "Mine.\n")
    critics = registry(own)
    assert critics["grounded"] == own
    assert critics.last_change("grounded") == PromptChange(shipped_critic("grounded"), own)


def test_a_shipped_prompt_is_known_without_being_registered() -> None:
    critics = registry(ONE)
    assert critics["intrinsic"] == shipped_critic("intrinsic")
    assert "strict" in critics and "intrinsic" not in critics
    assert critics.names == (*shipped_critics(), "strict")
    assert registry(Prompt("grounded", "Mine.\n")).names == shipped_critics()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("strict", "critic 'strict' is known here in one version, so there is nothing to compare it with; change it"),
        ("grounded", "critic 'grounded' is known here as it was shipped, so there is nothing to compare"),
        ("stict", "there is no critic 'stict'; did you mean 'strict'?"),
        ("intrinsc", "there is no critic 'intrinsc'; did you mean 'intrinsic'?"),
    ],
)
def test_a_change_that_is_not_there_is_one_clear_line(name: str, message: str) -> None:
    with pytest.raises(WrongUse) as caught:
        registry(ONE).last_change(name)
    assert str(caught.value).startswith(message)


def test_a_change_names_the_rubric_items_that_came_and_went() -> None:
    old = Prompt("a", "- [ ] names the day\n- [ ] is short\n")
    new = Prompt("a", "- [ ] is short\n- [ ] thanks Ada\n- [ ] names the hour\n")
    change = PromptChange(old, new)
    assert (change.added, change.removed) == (("thanks Ada", "names the hour"), ("names the day",))
