"""Patches: exact search and replace blocks in a reply, applied to the draft before it (DESIGN 4.2, 4.5).

A block is `<<<<<<< SEARCH`, the search text, `=======`, the replacement, `>>>>>>> REPLACE`, each mark on a line of its
own. Every search text must stand exactly once in the draft; all blocks match that draft, or none is applied. Whatever
could be read in two ways is no patch: a half-understood one would damage a draft in silence.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

SEARCH, DIVIDER, REPLACE = "<<<<<<< SEARCH", "=======", ">>>>>>> REPLACE"
MAX_BLOCKS = 1_000
"""Blocks of one patch; each is searched for in the whole draft, so that without a bound a reply could take hours."""
_ABOUT_A_MARK = ("<<<<<<<", ">>>>>>>")
"""How a line begins that was meant as a mark, rightly written or not."""


@dataclass(frozen=True)
class Block:
    """Replace `search`, which stands once in the draft, by `replacement`; whole lines, without the last line end."""

    search: str
    replacement: str


class PatchFailed(Exception):
    """Why the blocks of a reply can't be applied, in one line."""


def has_blocks(reply: str) -> bool:
    """Whether a reply was meant as a patch, well written or not; one that was not is a rewrite."""
    return any(line.lstrip().startswith(_ABOUT_A_MARK) for line in reply.split("\n"))


def read_blocks(reply: str) -> tuple[Block, ...]:
    """The blocks of a reply in order; text around them (code fences, too) is ignored.

    Raises PatchFailed for a block that is not whole, for one with two dividers and for a mark outside of a block.
    """
    blocks: list[Block] = []
    lines = reply.replace("\r\n", "\n").split("\n")
    at = 0
    while at < len(lines):
        if lines[at].rstrip() == SEARCH:
            block, at = _block(lines, at + 1, len(blocks) + 1)
            blocks.append(block)
        elif lines[at].lstrip().startswith(_ABOUT_A_MARK):
            raise PatchFailed(f"the line {lines[at].strip()[:40]!r} is no mark of a block")
        else:
            at += 1
    return tuple(blocks)


def apply(draft: str, blocks: tuple[Block, ...]) -> str:
    """The draft with all blocks replaced at once; a draft with CRLF line ends keeps them.

    Raises PatchFailed: a search text is empty, not there, there more than once, two blocks overlap, or there are more
    than `MAX_BLOCKS`.
    """
    if len(blocks) > MAX_BLOCKS:
        raise PatchFailed(f"it has {len(blocks):,} blocks; at most {MAX_BLOCKS:,} are applied")
    line_end = "\r\n" if "\r\n" in draft else "\n"
    spans: list[tuple[int, int, str]] = []
    for number, block in enumerate(blocks, 1):
        search, replacement = (text.replace("\n", line_end) for text in (block.search, block.replacement))
        if not search.strip():
            raise PatchFailed(f"block {number} searches for nothing")
        start = draft.find(search)
        if start < 0:
            raise PatchFailed(f"the search text of block {number} is not in the draft")
        if draft.find(search, start + 1) >= 0:
            raise PatchFailed(f"the search text of block {number} stands in the draft more than once")
        spans.append((start, start + len(search), replacement))
    spans.sort()
    if any(a[1] > b[0] for a, b in pairwise(spans)):
        raise PatchFailed("two blocks overlap")
    parts, at = [], 0
    for start, end, replacement in spans:
        parts += [draft[at:start], replacement]
        at = end
    return "".join([*parts, draft[at:]])


def _block(lines: list[str], start: int, number: int) -> tuple[Block, int]:
    """The block whose search text begins at line `start`, and the line after it."""
    marks = {SEARCH, REPLACE}
    end = next((at for at in range(start, len(lines)) if lines[at].rstrip() in marks), None)
    if end is None or lines[end].rstrip() == SEARCH:
        raise PatchFailed(f"block {number} is not whole: `{REPLACE}` is missing")
    dividers = [at for at in range(start, end) if lines[at].rstrip() == DIVIDER]
    if len(dividers) != 1:
        what = f"`{DIVIDER}` is missing" if not dividers else f"`{DIVIDER}` stands in it more than once"
        raise PatchFailed(f"block {number} is not whole: {what}")
    search, replacement = lines[start : dividers[0]], lines[dividers[0] + 1 : end]
    return Block("\n".join(search), "\n".join(replacement)), end + 1
