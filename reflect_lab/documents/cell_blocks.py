"""The structure of a cell's Markdown: task-list items, special fenced blocks, and the text that is left.

markdown-it-py reads the structure (CommonMark), so nested lists, long fences and indented blocks mean what they mean
everywhere else. What is taken out of the text is taken out by whole lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from reflect_lab.core.errors import WrongUse
from reflect_lab.documents.suggest import nearest, shown

if TYPE_CHECKING:
    from markdown_it.token import Token

SPECIAL = ("check", "reference", "setup", "schema", "facts", "label")

_TASK_ITEM = re.compile(r"\[[ \txX]\](?=\s|$)")
_NEAR = 0.8
"""How close a second word must be to a special one to count as a slip of the pen: `chek`, `checks`, `Check` are,
`example`, `python3` and `table` are not."""


@dataclass(frozen=True, kw_only=True)
class Item:
    """A task-list item: its text without marker and box, in one line where it is one paragraph."""

    text: str
    line: int


@dataclass(frozen=True, kw_only=True)
class Block:
    """A special fenced block. `line` is that of its opening fence, so its content begins one line below.

    `words` are those of the info string after the second one.
    """

    language: str
    word: str
    words: tuple[str, ...]
    content: str
    line: int


@dataclass(frozen=True, kw_only=True)
class Structure:
    text: str
    items: tuple[Item, ...]
    blocks: tuple[Block, ...]


@dataclass(frozen=True)
class _Range:
    """Lines `start..end` (half open, from 0) that belong to an item or a block; inner ranges come after outer ones."""

    start: int
    end: int
    token: Token
    paragraph: Token | None = None


def read_structure(lines: Sequence[str], where: str, first_line: int) -> Structure:
    """What a cell's body holds. `first_line` is the number of its first line. Raises WrongUse with a line number."""
    ranges = list(_ranges(_tokens("\n".join(lines)), lines, where, first_line))
    owner: list[int | None] = [None] * len(lines)
    for index, part in enumerate(ranges):
        owner[part.start : part.end] = [index] * (part.end - part.start)
    items: list[Item] = []
    blocks: list[Block] = []
    for index, part in enumerate(ranges):
        if part.token.type == "fence":
            blocks.append(_block(part, first_line))
        else:
            items.append(_item(part, [i for i in range(part.start, part.end) if owner[i] == index], lines, first_line))
    return Structure(text=_rest(lines, owner), items=tuple(items), blocks=tuple(blocks))


def task_items(text: str) -> tuple[str, ...]:
    """The task-list items of any Markdown text, each in one line: the first paragraph without its box."""
    tokens = _tokens(text)
    found = [_task_paragraph(*tokens[index : index + 3]) for index in range(len(tokens) - 2)]
    return tuple(item for paragraph in found if paragraph and (item := _first_line(paragraph)))


def _task_paragraph(token: Token, second: Token, third: Token) -> Token | None:
    """The paragraph of a list item that has a box; None for anything else."""
    is_item = token.type == "list_item_open" and second.type == "paragraph_open"
    return third if is_item and _TASK_ITEM.match(third.content) else None


def _first_line(paragraph: Token) -> str:
    return " ".join(_TASK_ITEM.sub("", paragraph.content, count=1).split())


def _tokens(text: str) -> list[Token]:
    from markdown_it import MarkdownIt

    # Only the block structure is of interest: inline markup, links and entities stay as written.
    return MarkdownIt("commonmark").disable("inline").parse(text)


def _ranges(tokens: list[Token], lines: Sequence[str], where: str, first_line: int) -> Iterator[_Range]:
    for index, token in enumerate(tokens):
        if token.map is None:
            continue
        start, end = token.map
        if token.type == "fence":
            if _is_special(token, f"{where}, line {start + first_line}", lines[start:end]):
                yield _Range(start, end, token)
        elif token.type == "list_item_open" and (paragraph := _task_paragraph(*tokens[index : index + 3])):
            yield _Range(start, end, token, paragraph)


def _is_special(token: Token, place: str, lines: Sequence[str]) -> bool:
    words = token.info.split()
    # In a quote or a list item the closing fence stands behind the container's marker or indent.
    closing = rf"[\s>]*{re.escape(token.markup)}{re.escape(token.markup[0])}*\s*"
    if len(lines) < 2 or not re.fullmatch(closing, lines[-1]):
        raise WrongUse(f"{place}: the fenced block that opens here is never closed ({token.markup})")
    if words and words[0] in SPECIAL and (len(words) == 1 or words[1] not in SPECIAL):
        example = {"schema": "json", "facts": "text"}.get(words[0], "python")
        raise WrongUse(f"{place}: a {words[0]} block needs a language before the word: ```{example} {words[0]}")
    if len(words) < 2 or words[1] in SPECIAL:
        return len(words) >= 2
    near = nearest(words[1], SPECIAL, cutoff=_NEAR)
    if near is not None:
        raise WrongUse(f"{place}: {shown(words[1])} is no kind of block; did you mean {near!r}?")
    return False


def _block(part: _Range, first_line: int) -> Block:
    language, word, *words = part.token.info.split()
    return Block(
        language=language.casefold(),
        word=word,
        words=tuple(w for w in (word.strip(",") for word in words) if w),
        content=part.token.content,
        line=part.start + first_line,
    )


def _item(part: _Range, own: list[int], lines: Sequence[str], first_line: int) -> Item:
    assert part.paragraph is not None and part.paragraph.map is not None
    paragraph_end = part.paragraph.map[1]
    more = [lines[i].strip() for i in own if i >= paragraph_end and lines[i].strip()]
    return Item(text="\n".join([_first_line(part.paragraph), *more]), line=part.start + first_line)


def _rest(lines: Sequence[str], owner: Sequence[int | None]) -> str:
    """The lines that nothing owns, without trailing whitespace and without the blank lines around what was taken."""
    kept: list[str] = []
    is_after_gap = False
    for line, owned in zip(lines, owner, strict=True):
        if owned is not None:
            is_after_gap = True
        elif line.strip():
            kept.append(line.rstrip())
            is_after_gap = False
        elif not (is_after_gap and (not kept or not kept[-1])):
            kept.append("")
    return "\n".join(kept).strip("\n")
