"""Drafts as texts: what changed from one to the next."""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from reflect_lab.core.run import Hunk

_WORDS = re.compile(r"\s+|\w+|[^\w\s]")

MAX_LINE_PAIRS = 4_000_000
"""Lines × lines up to which a line diff is computed; beyond it the changed middle is one replaced block."""
MAX_MATCHES = 30_000
"""Pairs of equal parts (lines of two drafts, words of two lines) up to which they are compared; a model that repeats
itself makes millions, and comparing them takes minutes."""
MAX_LINE_LENGTH = 4_000
"""Characters of a line up to which its changed words are marked."""
MAX_MARKED = 200_000
"""Characters of all changed lines up to which changed words are marked: beyond it nobody reads them, and thousands of
long lines take minutes."""
MAX_LINE_WINDOW = 8
"""New lines that an old line is compared with in a large changed block."""
LINE_SHARE = 1 / 3
"""Share of common characters from which two lines count as one line altered."""

Spans = list[tuple[int, int]]


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
    is_too_much = _matches(Counter(middle_a), Counter(middle_b)) > MAX_MATCHES
    if is_too_much or len(middle_a) * len(middle_b) > MAX_LINE_PAIRS:
        return (Hunk(old_start=head, old_end=len(a) - tail, new_start=head, new_end=len(b) - tail),)
    matcher = difflib.SequenceMatcher(None, middle_a, middle_b, autojunk=False)
    hunks = [
        Hunk(old_start=head + i1, old_end=head + i2, new_start=head + j1, new_end=head + j2)
        for tag, i1, i2, j1, j2 in matcher.get_opcodes()
        if tag != "equal"
    ]
    changed = sum(len(line) for h in hunks for line in (*a[h.old_start : h.old_end], *b[h.new_start : h.new_end]))
    return tuple(hunks if changed > MAX_MARKED else [_marked(a, b, hunk) for hunk in hunks])


def _marked(a: list[str], b: list[str], hunk: Hunk) -> Hunk:
    """The hunk with the changed words of lines that were altered."""
    old, new = range(hunk.old_start, hunk.old_end), range(hunk.new_start, hunk.new_end)
    old_marks: list[tuple[int, int, int]] = []
    new_marks: list[tuple[int, int, int]] = []
    for old_line, new_line, old_spans, new_spans in _altered_lines(a, b, old, new):
        old_marks += [(old_line, s, e) for s, e in old_spans]
        new_marks += [(new_line, s, e) for s, e in new_spans]
    return replace(hunk, old_marks=tuple(old_marks), new_marks=tuple(new_marks))


def _altered_lines(a: list[str], b: list[str], old: range, new: range) -> Iterator[tuple[int, int, Spans, Spans]]:
    """Pairs of an old and a new line, in order, that are one line altered rather than another line."""
    next_new = new.start
    window = MAX_LINE_WINDOW if len(old) * len(new) > MAX_LINE_WINDOW**2 else len(new)
    read = {j: _Line.read(b[j]) for j in new}
    for i in old:
        line = _Line.read(a[i])
        best: tuple[float, int] | None = None
        for j in range(next_new, min(new.stop, next_new + window)):
            share = _share(line, read[j], least=best[0] if best else 0.0)
            if share > (best[0] if best else 0.0):
                best = share, j
        if best is not None:
            yield i, best[1], *_marks(line, read[best[1]])
            next_new = best[1] + 1


@dataclass(frozen=True)
class _Line:
    """A line as words, blanks and signs with their places; without any where it is not to be compared."""

    text: str
    tokens: tuple[str, ...] = ()
    spans: tuple[tuple[int, int], ...] = ()
    counts: Counter[str] = field(default_factory=Counter)

    @classmethod
    def read(cls, text: str) -> _Line:
        if not text.strip() or len(text) > MAX_LINE_LENGTH:
            return cls(text)
        found = list(_WORDS.finditer(text))
        tokens = tuple(m.group() for m in found)
        return cls(text, tokens, tuple(m.span() for m in found), Counter(t for t in tokens if not t.isspace()))


def _share(old: _Line, new: _Line, least: float) -> float:
    """How much two lines have in common, by characters (0..1); 0 where that is too little for one line altered, or not
    more than `least`."""
    longest = max(len(old.text.strip()), len(new.text.strip()), 1)
    at_most = sum(len(token) * min(count, new.counts[token]) for token, count in old.counts.items()) / longest
    if at_most < LINE_SHARE or at_most <= least or _matches(old.counts, new.counts) > MAX_MATCHES:
        return 0.0
    blocks = _matcher(old, new).get_matching_blocks()
    share = sum(len(old.tokens[block.a + k].strip()) for block in blocks for k in range(block.size)) / longest
    return share if share >= LINE_SHARE else 0.0


def _marks(old: _Line, new: _Line) -> tuple[Spans, Spans]:
    """The changed spans of two lines."""
    old_spans: Spans = []
    new_spans: Spans = []
    for tag, i1, i2, j1, j2 in _matcher(old, new).get_opcodes():
        if tag != "equal" and i2 > i1:
            _extend(old_spans, old.spans[i1][0], old.spans[i2 - 1][1], old.text)
        if tag != "equal" and j2 > j1:
            _extend(new_spans, new.spans[j1][0], new.spans[j2 - 1][1], new.text)
    return old_spans, new_spans


def _matcher(old: _Line, new: _Line) -> difflib.SequenceMatcher[str]:
    """Blanks only extend what words have in common: alone they match everywhere and mean nothing."""
    return difflib.SequenceMatcher(str.isspace, old.tokens, new.tokens, autojunk=False)


def _matches(a: Counter[str], b: Counter[str]) -> int:
    return sum(count * b[part] for part, count in a.items())


def _extend(spans: Spans, start: int, end: int, line: str) -> None:
    """Adds a span; two changes with nothing but a space between them read as one phrase."""
    if spans and not line[spans[-1][1] : start].strip():
        spans[-1] = (spans[-1][0], end)
    else:
        spans.append((start, end))
