"""Which brackets of a Markdown text a reader sees as brackets: no code, no comments, no links, no definitions."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

_BRACKET = re.compile(r"[\[【［〔]([^\[【［〔\]】］〕]++)[\]】］〕]")
"""An innermost bracket. No text is looked at twice, however many brackets are never closed."""
_FENCE = re.compile(r"[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)?(`{3,}(?=[^`]*$)|~{3,})")
_FENCE_END = re.compile(r"[ \t>]*(`{3,}|~{3,})[ \t]*$")
_TICKS = re.compile(r"\\`|`+")
_BLANK_LINE = re.compile(r"\n[ \t>]*\n")
_IN_CODE = str.maketrans(dict.fromkeys("[【［〔]】］〕", " "))
_PLACE = r"(<[^<>\n]*>|(?:[^\s()<>]++|\([^\s()<>]*+\))++)(?:[ \t]+(?:\"[^\"\n]*\"|'[^'\n]*'))?[ \t]*"
"""Where a link leads, and perhaps its title."""
_TARGET = re.compile(rf"\(\s*{_PLACE}\)")
_LABEL = re.compile(r"\[([^\[\]]++)\]")
_DEFINITION = re.compile(rf"(?m)^[ \t>]*(?:[-*+][ \t]+)?\[([^\[\]\n]++)\]:(?:[ \t]*{_PLACE}$)?")
_ENDING = re.compile(r"\.[A-Za-z]\w*$")


@dataclass(frozen=True, kw_only=True)
class Bracket:
    """A bracket as it stands from `start` to `end` in a text; `inner` is what is in it. It `is_glued` where it follows
    a word, a `)` or a glued bracket at once, as an index of a program does."""

    start: int
    end: int
    inner: str
    is_glued: bool


def brackets(text: str) -> Iterator[Bracket]:
    """The innermost brackets of a text that are brackets to its reader, from its start to its end.

    None of them are brackets in code and in comments, tick boxes aside links and images (`[a](address)`; `[a][b]` where
    the text defines `b` and not `a`), and definitions (`[b]: address` and `[^b]: …` at the start of a line). A
    backslash before a bracket changes nothing: its reader sees a bracket.
    """
    prose = _without_code(text)
    definitions = [m for m in _DEFINITION.finditer(prose) if m[1].startswith("^") or _is_address(m[2])]
    heads = {match.start(1) for match in definitions}
    labels = {_label(match[1]) for match in definitions}
    glued_end, skipped = -1, -1
    for match in _BRACKET.finditer(prose):
        start, end, inner = match.start(), match.end(), text[match.start(1) : match.end(1)]
        if start < skipped or match.start(1) in heads or _BLANK_LINE.search(inner):
            continue
        is_image = start > 0 and prose[start - 1] == "!"
        target, reference = _TARGET.match(prose, end), _LABEL.match(prose, end)
        is_defined = _label(inner) in labels
        if target is not None and _is_address(target[1]):
            skipped = target.end()
        elif reference is not None and _label(reference[1]) in labels and not is_defined:
            skipped = reference.end()
        elif not (is_image and is_defined):
            before = prose[start - 2 if start > 1 and prose[start - 1] == "\\" else start - 1] if start else " "
            is_glued = before.isalnum() or before in "_)" or start == glued_end
            glued_end = end if is_glued else glued_end
            yield Bracket(start=start, end=end, inner=inner, is_glued=is_glued)


def _is_address(place: str | None) -> bool:
    """Whether it leads anywhere: `[doc-9](2024)` and `[doc-9]: Monday` lead nowhere, whatever Markdown makes of it."""
    return place is not None and (any(char in "/:#<" for char in place) or _ENDING.search(place) is not None)


def _label(text: str) -> str:
    """Labels are compared without case, and any space is as good as another."""
    return " ".join(text.split()).casefold()


def _without_code(text: str) -> str:
    """The text, as long as it was, without the brackets that stand in code or a comment."""
    parts, end = [], 0
    for start, stop in _code(text):
        parts += [text[end:start], text[start:stop].translate(_IN_CODE)]
        end = stop
    prose = "".join([*parts, text[end:]])
    shown, at = [], 0
    while (start := prose.find("<!--", at)) >= 0 and (stop := prose.find("-->", start)) >= 0:
        shown += [prose[at:start], prose[start:stop].translate(_IN_CODE)]
        at = stop
    return "".join([*shown, prose[at:]])


def _code(text: str) -> list[tuple[int, int]]:
    """Where code is: fences (one that is never closed goes to the end), and between backticks."""
    found, prose, at, fence = [], 0, 0, ""
    for line in text.splitlines(keepends=True):
        plain = line.rstrip("\r\n")
        if fence:
            closing = _FENCE_END.match(plain)
            if closing is not None and closing[1].startswith(fence):
                found.append((prose, at + len(line)))
                prose, fence = at + len(line), ""
        elif (opening := _FENCE.match(plain)) is not None:
            found += _spans(text, prose, at)
            prose, fence = at, opening[1]
        at += len(line)
    return [*found, (prose, at)] if fence else [*found, *_spans(text, prose, at)]


def _spans(text: str, start: int, stop: int) -> list[tuple[int, int]]:
    """Code between backticks: a span ends at the next row of as many backticks, in the same paragraph."""
    rows = [(m.start(), m.end()) for m in _TICKS.finditer(text, start, stop) if m[0] != "\\`"]
    by_length: dict[int, list[int]] = {}
    for at, end in rows:
        by_length.setdefault(end - at, []).append(at)
    blanks = [match.start() for match in _BLANK_LINE.finditer(text, start, stop)]
    spans, done = [], start
    for at, end in rows:
        same = by_length[end - at]
        after = bisect_right(same, at)
        if at < done or after == len(same):
            continue
        blank = bisect_right(blanks, at)
        if blank == len(blanks) or blanks[blank] > same[after]:
            done = same[after] + end - at
            spans.append((at, done))
    return spans
