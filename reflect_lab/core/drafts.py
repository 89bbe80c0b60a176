"""Drafts as texts: which are the same, and what changed from one to the next."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator

from reflect_lab.core.run import Hunk

_BLANK_RUN = re.compile(r"\n{2,}")
_WORDS = re.compile(r"\s+|\w+|[^\w\s]")

MAX_LINE_PAIRS = 4_000_000
"""Lines × lines up to which a line diff is computed; beyond it the changed middle is one replaced block."""
MAX_LINE_LENGTH = 4_000
"""Characters of a line up to which its changed words are marked."""
MAX_LINE_WINDOW = 8
"""New lines that an old line is compared with in a large changed block."""
LINE_SHARE = 1 / 3
"""Share of common characters from which two lines count as one line altered."""

Spans = list[tuple[int, int]]


def comparable(text: str) -> str:
    """A draft as it is compared with others: line ends, trailing whitespace and blank lines normalised."""
    lines = [line.rstrip() for line in text.replace("\r\n", "\n").replace("\r", "\n").split("\n")]
    return _BLANK_RUN.sub("\n\n", "\n".join(lines)).strip("\n")


def same(a: str, b: str) -> bool:
    return comparable(a) == comparable(b)


def lines_of(text: str) -> list[str]:
    """The lines that hunks count: split at line feeds only (so that a browser counts the same)."""
    return text.split("\n")


def diff(old: str, new: str) -> tuple[Hunk, ...]:
    """What changed, as hunks of lines with the changed words marked where a line was altered."""
    a, b = lines_of(old), lines_of(new)
    head = 0
    while head < min(len(a), len(b)) and a[head] == b[head]:
        head += 1
    tail = 0
    while tail < min(len(a), len(b)) - head and a[-1 - tail] == b[-1 - tail]:
        tail += 1
    middle_a, middle_b = a[head : len(a) - tail], b[head : len(b) - tail]
    if not middle_a and not middle_b:
        return ()
    if len(middle_a) * len(middle_b) > MAX_LINE_PAIRS:
        return (Hunk(old_start=head, old_end=len(a) - tail, new_start=head, new_end=len(b) - tail),)
    matcher = difflib.SequenceMatcher(None, middle_a, middle_b, autojunk=False)
    hunks = [
        _hunk(a, b, head + i1, head + i2, head + j1, head + j2)
        for tag, i1, i2, j1, j2 in matcher.get_opcodes()
        if tag != "equal"
    ]
    return tuple(hunks)


def _hunk(a: list[str], b: list[str], i1: int, i2: int, j1: int, j2: int) -> Hunk:
    old_marks: list[tuple[int, int, int]] = []
    new_marks: list[tuple[int, int, int]] = []
    for old_line, new_line, old_spans, new_spans in _altered_lines(a, b, range(i1, i2), range(j1, j2)):
        old_marks += [(old_line, s, e) for s, e in old_spans]
        new_marks += [(new_line, s, e) for s, e in new_spans]
    return Hunk(
        old_start=i1, old_end=i2, new_start=j1, new_end=j2, old_marks=tuple(old_marks), new_marks=tuple(new_marks)
    )


def _altered_lines(a: list[str], b: list[str], old: range, new: range) -> Iterator[tuple[int, int, Spans, Spans]]:
    """Pairs of an old and a new line, in order, that are one line altered rather than another line."""
    next_new = new.start
    window = MAX_LINE_WINDOW if len(old) * len(new) > MAX_LINE_WINDOW**2 else len(new)
    for i in old:
        candidates = range(next_new, min(new.stop, next_new + window))
        marked = [(j, marks) for j in candidates if (marks := _line_marks(a[i], b[j]))]
        if marked:
            j, (_, old_spans, new_spans) = max(marked, key=lambda pair: pair[1][0])
            yield i, j, old_spans, new_spans
            next_new = j + 1


def _line_marks(old: str, new: str) -> tuple[float, Spans, Spans] | None:
    """How much two lines share (0..1) and their changed spans by words; None where it is too little to be one line."""
    if not old.strip() or not new.strip() or max(len(old), len(new)) > MAX_LINE_LENGTH:
        return None
    a, b = list(_WORDS.finditer(old)), list(_WORDS.finditer(new))
    matcher = difflib.SequenceMatcher(None, [m.group() for m in a], [m.group() for m in b], autojunk=False)
    blocks = matcher.get_matching_blocks()
    shared = sum(len(a[block.a + k].group().strip()) for block in blocks for k in range(block.size))
    share = shared / max(len(old.strip()), len(new.strip()))
    if share < LINE_SHARE:
        return None
    old_spans: Spans = []
    new_spans: Spans = []
    for tag, i1, i2, j1, j2 in matcher.get_opcodes():
        if tag != "equal" and i2 > i1:
            _extend(old_spans, a[i1].start(), a[i2 - 1].end(), old)
        if tag != "equal" and j2 > j1:
            _extend(new_spans, b[j1].start(), b[j2 - 1].end(), new)
    return share, old_spans, new_spans


def _extend(spans: Spans, start: int, end: int, line: str) -> None:
    """Adds a span; two changes with nothing but a space between them read as one phrase."""
    if spans and not line[spans[-1][1] : start].strip():
        spans[-1] = (spans[-1][0], end)
    else:
        spans.append((start, end))
