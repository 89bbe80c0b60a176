"""From a reply to a draft: one named rule, recorded with the draft (DESIGN 4.2, 6.1).

Reasoning is taken out first. Tasks with a wanted language take the one fenced block of that language; prose is taken
whole.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

ALIASES: dict[str, frozenset[str]] = {
    "python": frozenset({"python", "py", "python3"}),
    "json": frozenset({"json", "jsonc"}),
    "sql": frozenset({"sql", "duckdb", "sqlite", "postgresql"}),
    "yaml": frozenset({"yaml", "yml"}),
}

_OPEN = re.compile(r"\s*<think(?:ing)?>", re.IGNORECASE)
_CLOSE = re.compile(r"</think(?:ing)?>", re.IGNORECASE)
_FENCE_LINE = re.compile(r"^ {0,3}(`{3,}|~{3,})", re.MULTILINE)
_FENCE_OR_CLOSE = re.compile(rf"{_FENCE_LINE.pattern}|(?P<close>{_CLOSE.pattern})", re.MULTILINE | re.IGNORECASE)


@dataclass(frozen=True, kw_only=True)
class Extraction:
    """A draft's text, the rule that took it (`whole`, `fence:python`, `ambiguous`), and what was kept apart.

    `is_cut`: a reasoning block was never closed, so the answer never came. `ambiguous` says which blocks competed.
    """

    text: str
    rule: str
    reasoning: str | None = None
    is_cut: bool = False
    ambiguous: str | None = None


def split_reasoning(reply: str) -> tuple[str, str | None, bool]:
    """The answer, the reasoning that stood before it (None if none), and whether the reasoning was never closed.

    A closing tag without an opening one ends reasoning that began at the start; tags inside a code fence are text.
    """
    reasoning: list[str] = []
    at = 0
    while opening := _OPEN.match(reply, at):
        closing = _CLOSE.search(reply, opening.end())
        if closing is None:
            return "", "\n".join([*reasoning, reply[opening.end() :]]).strip(), True
        reasoning.append(reply[opening.end() : closing.start()])
        at = closing.end()
    answer = reply[at:]
    stray = _stray_close(answer)
    if stray is not None and "<think" not in answer[: stray.start()].lower():
        reasoning.append(answer[: stray.start()])
        answer = answer[stray.end() :]
    if not reasoning:
        return reply, None, False
    return answer.lstrip(), "\n".join(part.strip() for part in reasoning), False


def extract(reply: str, language: str | None) -> Extraction:
    """The draft in a reply for a task that wants `language` (None: prose)."""
    answer, reasoning, is_cut = split_reasoning(reply)
    whole = answer.strip("\r\n").rstrip()
    if language is None or not whole:
        return Extraction(text=whole, rule="whole", reasoning=reasoning, is_cut=is_cut)
    blocks = _fences(whole)
    wanted = [text for info, text in blocks if info in ALIASES.get(language, frozenset({language}))]
    if not wanted and len(blocks) == 1 and not blocks[0][0]:
        wanted = [blocks[0][1]]
    if len(wanted) == 1:
        return Extraction(text=wanted[0], rule=f"fence:{language}", reasoning=reasoning)
    if len(wanted) > 1:
        problem = f"the reply holds {len(wanted)} {language} blocks where one is wanted"
        return Extraction(text=whole, rule="ambiguous", reasoning=reasoning, ambiguous=problem)
    return Extraction(text=whole, rule="whole", reasoning=reasoning)


def strip_outer_fence(text: str) -> str:
    """The content of a reply that is one code fence and nothing else; any other text unchanged."""
    lines = text.strip().split("\n")
    if len(lines) < 2 or not (mark := _FENCE_LINE.match(lines[0])) or lines[-1].strip() != mark.group(1):
        return text
    return "\n".join(lines[1:-1])


def _fences(text: str) -> list[tuple[str, str]]:
    """The fenced blocks of a Markdown text as (language, content)."""
    from markdown_it import MarkdownIt

    # What stands within paragraphs is not read: it can't hold a fence, and a row of brackets would take minutes.
    tokens = MarkdownIt("commonmark").disable("inline").parse(text)
    fences = [t for t in tokens if t.type == "fence"]
    return [((t.info.split() or [""])[0].lower(), t.content.removesuffix("\n")) for t in fences]


def _stray_close(text: str) -> re.Match[str] | None:
    """The first closing tag that stands in no code fence."""
    is_in_fence = False
    for mark in _FENCE_OR_CLOSE.finditer(text):
        if mark["close"] is None:
            is_in_fence = not is_in_fence
        elif not is_in_fence:
            return mark
    return None
