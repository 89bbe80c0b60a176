"""Which drafts are the same, and what a diff says."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reflect_lab.core.drafts import diff, lines_of
from reflect_lab.core.sameness import comparable

LINES = st.lists(st.sampled_from(["a", "b", "return x", "return x + 1", "", "  c"]), max_size=12).map("\n".join)


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ("a\nb", "a\r\nb", True),
        ("a\nb", "a\rb", True),
        ("a\nb", "a  \nb\n\n", True),
        ("a\n\nb", "a\n\n\n\nb", True),
        ("a\nb", "a\n b", False),
        ("a b", "a  b", False),
    ],
)
def test_line_ends_and_blank_space_at_the_edges_make_no_other_draft(a: str, b: str, expected: bool) -> None:
    assert (comparable(a) == comparable(b)) is expected


@given(LINES, LINES)
def test_hunks_turn_the_old_draft_into_the_new_one(old: str, new: str) -> None:
    a, b = lines_of(old), lines_of(new)
    rebuilt, at = [], 0
    for hunk in diff(old, new):
        rebuilt += a[at : hunk.old_start] + b[hunk.new_start : hunk.new_end]
        at = hunk.old_end
    assert rebuilt + a[at:] == b


@given(LINES, LINES)
def test_marks_lie_within_their_hunk_and_line(old: str, new: str) -> None:
    for hunk in diff(old, new):
        for marks, lines, first, last in (
            (hunk.old_marks, lines_of(old), hunk.old_start, hunk.old_end),
            (hunk.new_marks, lines_of(new), hunk.new_start, hunk.new_end),
        ):
            assert all(first <= line < last and 0 <= s < e <= len(lines[line]) for line, s, e in marks)


def test_an_altered_line_is_marked_by_words_beside_new_lines() -> None:
    (hunk,) = diff("return sum(xs)/len(xs)", "if not xs:\n    return 0.0\nreturn sum(xs) / count(xs)")
    assert {line for line, _, _ in hunk.new_marks} == {2}


def test_a_huge_rewrite_is_one_block_at_once() -> None:
    old, new = "\n".join(f"old {i}" for i in range(5000)), "\n".join(f"new {i}" for i in range(5000))
    assert [(h.old_start, h.old_end, h.new_start, h.new_end) for h in diff(old, new)] == [(0, 5000, 0, 5000)]


def test_drafts_that_repeat_themselves_are_one_block_at_once() -> None:
    old, new = "\n".join(["a", "b"] * 400), "\n".join(["b", "c", "a"] * 400)
    assert [(h.old_start, h.old_end, h.new_start, h.new_end) for h in diff(old, new)] == [(0, 800, 0, 1200)]


def test_lines_that_repeat_themselves_are_replaced_without_marks() -> None:
    (hunk,) = diff("the " * 900 + "end", "the " * 900 + "stop")
    assert (hunk.old_marks, hunk.new_marks) == ((), ())


def test_a_long_paragraph_is_marked_where_its_words_changed() -> None:
    words = [f"word{i}" for i in range(300)]
    (hunk,) = diff(" ".join(words), " ".join([*words[:200], "other", "words", *words[202:]]))
    (old,), (new,) = hunk.old_marks, hunk.new_marks
    assert " ".join(words)[old[1] : old[2]] == "word200 word201"
    assert new[2] - new[1] == len("other words")


def test_thousands_of_long_lines_that_were_altered_are_shown_without_marks() -> None:
    old = "\n".join(" ".join(f"w{word}" for word in range(line, line + 600)) for line in range(1000))
    new = "\n".join(" ".join(f"w{word}" for word in range(line + 3, line + 600)) for line in range(1000))
    (hunk,) = diff(old, new)
    assert (hunk.old_marks, hunk.new_marks) == ((), ()), "comparing their words took a minute and a half"
