"""From a reply to a draft, and reasoning kept apart."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reflect_lab.roles.extraction import extract, split_reasoning, strip_outer_fence

CODE = "def f():\n    return 1"


@pytest.mark.parametrize(
    "reply",
    [
        CODE,
        f"```python\n{CODE}\n```",
        f"Here it is:\n```python\n{CODE}\n```\nIt returns one.",
        f"```text\nnote\n```\n```py\n{CODE}\n```",
        f"```\n{CODE}\n```",
        f"<think>```python\nsecret()\n```</think>\n```python\n{CODE}\n```",
        f"plan</think>\n```python\n{CODE}\n```",
    ],
)
def test_the_one_block_of_the_wanted_language_is_the_draft(reply: str) -> None:
    assert extract(reply, "python").text == CODE


def test_two_wanted_blocks_are_ambiguous_and_the_whole_reply_is_kept() -> None:
    reply = "```python\na\n```\nor\n```python\nb\n```"
    taken = extract(reply, "python")
    assert taken.ambiguous and taken.rule == "ambiguous" and taken.text == reply


def test_prose_is_taken_whole() -> None:
    assert extract("\nDear all,\n\n```x```\n", None).text == "Dear all,\n\n```x```"


@pytest.mark.parametrize(
    ("reply", "answer", "reasoning", "is_cut"),
    [
        ("<think>plan</think>\nyes", "yes", "plan", False),
        ("<think>a</think><think>b</think>yes", "yes", "a\nb", False),
        ("<think>never closed", "", "never closed", True),
        ("began at once</think>yes", "yes", "began at once", False),
        ("```\n</think>\n```", "```\n</think>\n```", None, False),
        ("no tags", "no tags", None, False),
    ],
)
def test_reasoning_is_kept_apart(reply: str, answer: str, reasoning: str | None, is_cut: bool) -> None:
    assert split_reasoning(reply) == (answer, reasoning, is_cut)


def test_one_outer_fence_is_taken_off_and_prose_around_it_is_not() -> None:
    assert strip_outer_fence("```json\n{}\n```") == "{}"
    assert strip_outer_fence("Sure:\n```json\n{}\n```") == "Sure:\n```json\n{}\n```"


@given(st.text(alphabet="<>/think `\npyo", max_size=80), st.sampled_from([None, "python"]))
def test_extraction_never_fails(reply: str, language: str | None) -> None:
    assert extract(reply, language).rule in ("whole", "fence:python", "ambiguous")


@pytest.mark.parametrize(
    ("reply", "length"),
    [
        ("<think></think>" * 200_000 + "yes", 3),
        ("```\n" + "</think>\n" * 100_000 + "```", 899_999),
        ("```\n</think>\n```\n" * 20_000, 339_999),
        ("[" * 500_000, 500_000),
        ("![" * 250_000, 500_000),
    ],
    ids=["reasoning", "one fence", "fences", "brackets", "images"],
)
def test_a_reply_of_a_megabyte_full_of_marks_is_read_in_one_walk(reply: str, length: int) -> None:
    assert len(extract(reply, "markdown").text) == length
