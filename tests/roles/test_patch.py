"""Patches: blocks that replace exactly what they name, all of them or none."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reflect_lab.roles.patch import Block, PatchFailed, apply, has_blocks, read_blocks

DRAFT = "Open the menu.\nPick a format.\nWait a moment.\nDone."
ONE = "<<<<<<< SEARCH\nPick a format.\n=======\nPick plain text.\n>>>>>>> REPLACE"


def failure(reply: str, draft: str = DRAFT) -> str:
    with pytest.raises(PatchFailed) as failed:
        apply(draft, read_blocks(reply))
    return str(failed.value)


def test_a_block_replaces_what_it_names() -> None:
    assert read_blocks(ONE) == (Block("Pick a format.", "Pick plain text."),)
    assert apply(DRAFT, read_blocks(ONE)) == "Open the menu.\nPick plain text.\nWait a moment.\nDone."


def test_text_around_blocks_and_code_fences_are_no_part_of_them() -> None:
    reply = f"Here you are:\n\n```text\n{ONE}\n```\nTitle\n=======\nThat is all."
    assert read_blocks(reply) == read_blocks(ONE)


def test_a_replacement_may_be_empty_and_may_hold_several_lines() -> None:
    reply = "<<<<<<< SEARCH\nPick a format.\nWait a moment.\n=======\n>>>>>>> REPLACE"
    assert apply(DRAFT, read_blocks(reply)) == "Open the menu.\n\nDone."
    reply = "<<<<<<< SEARCH\nDone.\n=======\n  a\n\n  b\n>>>>>>> REPLACE"
    assert apply(DRAFT, read_blocks(reply)).endswith("moment.\n  a\n\n  b")


def test_line_ends_of_the_reply_and_blanks_after_a_mark_do_not_matter() -> None:
    crlf = ONE.replace("SEARCH", "SEARCH  ").replace("=======", "=======\t").replace("\n", "\r\n") + "  \r\n"
    assert has_blocks(crlf)
    assert read_blocks(crlf) == read_blocks(ONE)


def test_a_draft_with_crlf_line_ends_keeps_them() -> None:
    reply = "<<<<<<< SEARCH\nPick a format.\nWait a moment.\n=======\nPick.\nWait.\n>>>>>>> REPLACE"
    assert apply(DRAFT.replace("\n", "\r\n"), read_blocks(reply)) == "Open the menu.\r\nPick.\r\nWait.\r\nDone."


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        (ONE.replace("a format", "no format"), "the search text of block 1 is not in the draft"),
        (ONE.replace("Pick a format.", "e"), "the search text of block 1 stands in the draft more than once"),
        (ONE.replace("Pick a format.", "  "), "block 1 searches for nothing"),
        (ONE.replace("Pick a format.\n", ""), "block 1 searches for nothing"),
        (f"{ONE}\n{ONE}", "two blocks overlap"),
        (f"{ONE}\n{ONE.replace('Pick a format.', 'format.')}", "two blocks overlap"),
        (ONE.replace("=======\n", ""), "block 1 is not whole: `=======` is missing"),
        (ONE.replace("\n>>>>>>> REPLACE", ""), "block 1 is not whole: `>>>>>>> REPLACE` is missing"),
        (f"{ONE}\n<<<<<<< SEARCH\nDone.", "block 2 is not whole: `>>>>>>> REPLACE` is missing"),
        (f"<<<<<<< SEARCH\nDone.\n=======\n{ONE}", "block 1 is not whole: `>>>>>>> REPLACE` is missing"),
        (ONE.replace("=======", "=======\n======="), "block 1 is not whole: `=======` stands in it more than once"),
        (f"{ONE}\n>>>>>>> REPLACE", "the line '>>>>>>> REPLACE' is no mark of a block"),
        (ONE.replace("SEARCH", "search"), "the line '<<<<<<< search' is no mark of a block"),
        (f"  {ONE}", "the line '<<<<<<< SEARCH' is no mark of a block"),
    ],
)
def test_what_can_not_be_applied_says_why(reply: str, message: str) -> None:
    assert has_blocks(reply)
    assert failure(reply) == message


def test_a_heading_underlined_like_a_divider_never_cuts_a_block_short() -> None:
    reply = "<<<<<<< SEARCH\nMenu\n=======\nOld\n=======\nNew\n>>>>>>> REPLACE"
    assert "more than once" in failure(reply, "Menu\n=======\nOld")


@pytest.mark.parametrize("reply", ["", "Pick plain text.", "a =======\nb", "=======", "text <<<<<<< SEARCH"])
def test_a_reply_without_a_mark_is_no_patch(reply: str) -> None:
    assert not has_blocks(reply)


LAW = settings(max_examples=200, deadline=None)
PIECES = st.lists(st.text("abc é\n", min_size=1, max_size=8), min_size=1, max_size=8)


@st.composite
def patched(draw: st.DrawFn) -> tuple[str, str, tuple[Block, ...]]:
    """A draft, blocks with unique search texts in it in any order, and what they make of it."""
    pieces = draw(PIECES)
    draft, expected, blocks = "", "", []
    for number, piece in enumerate(pieces):
        target = f"⟨{number}{piece}⟩"  # unique by its number
        draft += piece + target
        if draw(st.booleans()):
            replacement = draw(st.text("xyz\n", max_size=6))
            blocks.append(Block(target, replacement))
            expected += piece + replacement
        else:
            expected += piece + target
    return draft, expected, tuple(draw(st.permutations(blocks)))


@LAW
@given(patched())
def test_blocks_replace_what_they_name_in_any_order_and_nothing_else(case: tuple[str, str, tuple[Block, ...]]) -> None:
    draft, expected, blocks = case
    assert apply(draft, blocks) == expected


@LAW
@given(patched(), st.sampled_from(["absent ⟨", "", " \n"]))
def test_one_block_that_does_not_match_applies_none(case: tuple[str, str, tuple[Block, ...]], search: str) -> None:
    draft, _, blocks = case
    for place in (0, len(blocks)):
        with pytest.raises(PatchFailed):
            apply(draft, (*blocks[:place], Block(search, "x"), *blocks[place:]))


@LAW
@given(st.text("ab\n", max_size=20), st.lists(st.builds(Block, st.text("ab\n", max_size=4), st.text("ab", max_size=3))))
def test_a_draft_is_patched_wholly_or_the_patch_fails(draft: str, blocks: list[Block]) -> None:
    try:
        result = apply(draft, tuple(blocks))
    except PatchFailed:
        return
    assert all(draft.count(block.search) == 1 for block in blocks)
    grown = sum(len(block.replacement) - len(block.search) for block in blocks)
    assert len(result) == len(draft) + grown


LINES = st.lists(st.text("ab <>=#.", max_size=10), max_size=4).map("\n".join)
MARKS = ("<<<<<<<", ">>>>>>>", "=======")


@LAW
@given(st.lists(st.tuples(LINES, LINES), min_size=1, max_size=4), st.sampled_from(["\n", "\r\n"]))
def test_blocks_are_read_as_they_were_written(pairs: list[tuple[str, str]], line_end: str) -> None:
    if any(line.startswith(MARKS) for pair in pairs for text in pair for line in text.split("\n")):
        return
    reply = "\n".join(f"<<<<<<< SEARCH\n{search}\n=======\n{new}\n>>>>>>> REPLACE" for search, new in pairs)
    assert read_blocks(reply.replace("\n", line_end)) == tuple(Block(search, new) for search, new in pairs)


def test_a_patch_of_thousands_of_blocks_is_not_applied() -> None:
    lines = [f"line {i}" for i in range(1, 3_000)]
    blocks = tuple(Block(f"{line}\n", f"{line}!\n") for line in lines)
    draft = "".join(f"{line}\n" for line in lines)
    with pytest.raises(PatchFailed, match="it has 2,999 blocks; at most 1,000 are applied"):
        apply(draft, blocks)
    assert apply(draft, blocks[:200]) == draft.replace("\n", "!\n", 200)
