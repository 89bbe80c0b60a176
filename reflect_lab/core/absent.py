"""What a draft holds and no source does: the ground `absent` (DESIGN 4.2, 4.5).

Dates, amounts, identifiers and numbers are compared as values, names as words. A name is a capitalised word of a prose
draft that does not open a sentence; in code capital letters mean something else. A number that only counts places
("step 2", "line 14") is no value, and a single digit is pointed at only together with a content word beside it
("7 days"), since almost every text says 1, 2 or 3 (`docs/grounding.md` has the figures).
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from reflect_lab.core.values import KnownValues, Value, find_values
from reflect_lab.core.words import Word, is_content, words

_PLACES = (
    "case|clause|column|draft|equation|example|item|line|page|paragraph|part|point|problem|requirement|round|row|"
    "section|sentence|stage|step|test|version"
)
_REFERENCE = re.compile(
    rf"(?i)\b(?:{_PLACES})s?[\s:*#]{{1,3}}[0-9]{{1,3}}(?![0-9]|[.,:/-][0-9])"
    rf"(?:\s?(?:-|–|to|and|or|,|&)\s?[0-9]{{1,3}}(?![0-9]|[.,:/-][0-9]))*"
)
_FORMULA = re.compile(r"\\[A-Za-z]{2,}|\\[(\[]|\$\$")
MAX_POINTING = 20_000
"""Characters of an issue that are read for values, from its start: a critic may write without end."""
_ABBREVIATIONS = frozenset(("dr", "mr", "mrs", "ms", "no", "prof", "shri", "smt", "sri", "st", "vs"))
_TO_TWENTY = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen twenty"
)
_NUMBER_WORDS = {word: number for number, word in enumerate(_TO_TWENTY.split())} | {
    "dozen": 12, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90,
    "hundred": 100, "thousand": 1000,
}  # fmt: skip


@dataclass(frozen=True)
class Absent:
    """A value or a name of the draft that stands in no source. `text` is its one spelling, the key of an issue;
    `start` and `end` are its first place in the draft."""

    text: str
    start: int
    end: int


class Absences:
    """All that a draft holds and no source does.

    `is_prose` says whether capital letters make names; a bare number with fewer than `digits` digits is pointed at only
    together with the word beside it.
    """

    def __init__(self, draft: str, sources: Sequence[str], *, is_prose: bool, digits: int) -> None:
        self._draft = draft
        self._sources = sources
        self._is_prose = is_prose
        self._least_digits = digits

    def pointed_at(self, evidence: str, location: str | None) -> Absent | None:
        """The one that an issue points at. A date, amount or identifier goes before a name, a name before a number;
        of equals the draft's first one."""
        pointing = [_readable(evidence[:MAX_POINTING])]
        if location and (any(c.isalpha() for c in location) or location in self._draft):
            pointing.append(_readable(location[:MAX_POINTING]))
        # In capitals as well: a critic's `25 august` is a date, its `ket-7731` an identifier.
        mentioned = KnownValues([*pointing, *(text.upper() for text in pointing)])
        places = {at for reading in mentioned.readings for at in self._places.get(reading, ())}
        values = [value for at in sorted(places) if (value := self.values[at]) in mentioned]
        distinct = next((value for value in values if value.kind != "number"), None)
        if distinct is None:
            said = [[word.text for word in words(text)] for text in pointing]
            spoken = {word for text in said for word in text}
            named = (self._named[word] for word in spoken if word in self._named)
            name = min(named, key=lambda word: word.start, default=None)
            if name is not None:
                return Absent(self._draft[name.start : name.end], name.start, name.end)
            pairs = {pair for text in said for pair in pairwise(text)}
            distinct = next((value for value in values if self._is_told_apart(value, pairs)), None)
        return Absent(distinct.canonical, distinct.start, distinct.end) if distinct else None

    @cached_property
    def values(self) -> tuple[Value, ...]:
        """The draft's values that no source holds, in order of their place."""
        known = KnownValues([*map(_readable, self._sources), " ".join(self._counts)])
        return tuple(value for value in self._own if value not in known)

    @cached_property
    def names(self) -> tuple[Word, ...]:
        """The draft's names that no source holds, each at its first place, in that order."""
        if not self._is_prose:
            return ()
        known = {word.text for text in self._sources for word in words(text)}
        inside = {at for value in self._own for at in range(value.start, value.end)}
        first: dict[str, Word] = {}
        for name in find_names(self._read):
            if name.text not in known and name.start not in inside:
                first.setdefault(name.text, name)
        return tuple(first.values())

    @cached_property
    def _places(self) -> dict[str, list[int]]:
        """Where in `values` a reading stands, so that an issue is not compared with each of them."""
        places: dict[str, list[int]] = {}
        for at, value in enumerate(self.values):
            for reading in value.readings:
                places.setdefault(reading, []).append(at)
        return places

    @cached_property
    def _named(self) -> dict[str, Word]:
        return {name.text: name for name in self.names}

    @cached_property
    def _own(self) -> tuple[Value, ...]:
        return find_values(self._read)

    @cached_property
    def _read(self) -> str:
        return _readable(self._draft)

    @cached_property
    def _words(self) -> tuple[Word, ...]:
        return words(self._read)

    def _is_told_apart(self, value: Value, pairs: set[tuple[str, str]]) -> bool:
        """Whether a bare number is pointed at by itself, or with the word beside it among these pairs of words."""
        return _digits(value) >= self._least_digits or not self._beside(value).isdisjoint(pairs)

    def _beside(self, value: Value) -> set[tuple[str, str]]:
        """The value's word with the content word before and after it in the draft."""
        at = bisect_left(self._words, value.start, key=lambda word: word.start)
        near = [word.text for word in self._words[max(0, at - 1) : at + 2]]
        return {(a, b) for a, b in pairwise(near) if any(is_content(w) and not w[0].isdigit() for w in (a, b))}

    @property
    def _counts(self) -> Iterator[str]:
        """Numbers that the sources say in words."""
        for text in self._sources:
            for word in words(text):
                if word.text in _NUMBER_WORDS:
                    yield str(_NUMBER_WORDS[word.text])


def find_names(text: str) -> Iterator[Word]:
    """The capitalised words of a text that open no sentence and no line, in order.

    Single letters (initials, variables), titles (`Mr`), words of the stop list and commands such as `\\Delta` are none.
    """
    for word in words(text):
        first, before = text[word.start], text[max(0, word.start - 1) : word.start]
        is_capitalised = (first.isupper() or first.istitle()) and word.end - word.start > 1 and before != "\\"
        means_one = is_content(word.text) and word.text not in _ABBREVIATIONS
        if is_capitalised and means_one and not _opens_sentence(text, word.start):
            yield word


def _opens_sentence(text: str, start: int) -> bool:
    """Whether only quotes, brackets, list marks and spaces part this place from a sentence's or a line's beginning."""
    at = start - 1
    while at >= 0 and not text[at].isalnum():
        if text[at] in "\n\r!?…。！？":
            return True
        if text[at] == ".":
            before = re.search(r"\w+$", text[max(0, at - 20) : at])
            return not before or not (re.fullmatch(r"[^\W\d]", before[0]) or before[0].casefold() in _ABBREVIATIONS)
        at -= 1
    return at < 0


def _digits(value: Value) -> int:
    return len(min(value.readings, key=len).replace(".", ""))


def _readable(text: str) -> str:
    """The text with references to places blanked, and dollar signs too where they enclose formulas; offsets stay."""
    if "$" in text and _FORMULA.search(text):
        text = re.sub(r"(?<!\\)\$", " ", text)
    return _REFERENCE.sub(lambda match: " " * len(match[0]), text)
