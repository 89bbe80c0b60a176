"""Estimates of prompt sizes: what they learn, and what they never fall under."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from reflect_lab.core.chat import Message
from reflect_lab.models.tokens import TokenEstimator, bound, utf8_size

LONG = st.builds(lambda text: text * 300, st.text(min_size=1, max_size=9))
TEXTS = st.text(max_size=40) | LONG
PROMPTS = st.lists(st.builds(Message, role=st.sampled_from(["system", "user"]), content=TEXTS), min_size=1, max_size=4)
COUNTED = st.tuples(PROMPTS, st.integers(0, 20_000))


def taught(lessons: list[tuple[list[Message], int]]) -> TokenEstimator:
    estimator = TokenEstimator()
    for messages, counted in lessons:
        estimator.learn(messages, counted)
    return estimator


@given(st.lists(COUNTED, max_size=5), COUNTED)
def test_a_prompt_is_never_estimated_below_what_was_counted_for_it(
    lessons: list[tuple[list[Message], int]], last: tuple[list[Message], int]
) -> None:
    estimator = taught([*lessons, last])
    assert estimator.estimate(last[0]) >= last[1]


@given(st.lists(COUNTED, max_size=3), PROMPTS, TEXTS)
def test_more_text_is_never_estimated_lower(
    lessons: list[tuple[list[Message], int]], messages: list[Message], text: str
) -> None:
    estimator = taught(lessons)
    longer = [*messages, Message(role="user", content=text)]
    assert estimator.estimate(longer) > estimator.estimate(messages)
    assert bound(longer) > bound(messages) > utf8_size(messages)


@given(st.integers(400, 2_000), st.lists(COUNTED, min_size=1, max_size=4), PROMPTS)
def test_once_a_ratio_is_learnt_no_lesson_lowers_an_estimate(
    size: int, lessons: list[tuple[list[Message], int]], messages: list[Message]
) -> None:
    estimator = taught([([Message(role="user", content="x" * size)], size // 4)])
    before = estimator.estimate(messages)
    for prompt, counted in lessons:
        estimator.learn(prompt, counted)
        assert estimator.estimate(messages) >= before
        before = estimator.estimate(messages)


@given(PROMPTS, st.floats(0.11, 1.0))
def test_an_honest_tokenizer_is_met_with_the_stated_margin(messages: list[Message], ratio: float) -> None:
    """From the first lesson on: at least what it counts, at most 15 % and a token per message and rounding more."""
    lesson = [Message(role="user", content="y" * 4_000)]
    estimator = taught([(lesson, int(4_000 * ratio) + 4)])
    counted = int(utf8_size(messages) * ratio) + 4 * len(messages)
    estimate = estimator.estimate(messages)
    assert counted <= estimate + 1
    assert estimate <= counted * 1.15 + len(messages) + 3


def test_a_server_that_cut_a_prompt_teaches_nothing() -> None:
    estimator = taught([([Message(role="user", content="z" * 4_000)], 1_000)])
    long = [Message(role="user", content="z" * 40_000)]
    before = estimator.estimate(long)
    assert estimator.is_cut(long, 2_000)
    estimator.learn(long, 2_000)
    assert estimator.estimate(long) == before
