"""Texts as words, so that quotes can be compared: NFC, casefold, numbers by value, one word per CJK character.

A word is a run of letters, marks and digits. A number is one word that stands for its value: comma, Indian grouping,
no-break and thin spaces and apostrophes are thousands separators; the point is one only where a group of three follows
and no other separator stands in the number. Offsets are code points of the original text.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

_SEPARATORS = ",\u00a0\u2009\u202f'\u2019"
_MAX_GROUPS = 20
"""Groups of digits that one number may have: a row of thousands is none, and would be read again and again."""
_NUMBER = re.compile(
    rf"[1-9][0-9]{{0,2}}(?:\.[0-9]{{3}}){{1,{_MAX_GROUPS}}}(?![0-9]|[.{_SEPARATORS}][0-9])"  # 1.204.331
    rf"|[0-9]{{1,3}}([{_SEPARATORS}])(?:[0-9]{{2,3}}\1){{0,{_MAX_GROUPS}}}[0-9]{{3}}(?![0-9])(?:\.[0-9]+)?"  # 12,04,331
    rf"|[0-9]+(?:\.[0-9]+)?"  # 1204331 and 2.5
)
_POINT_GROUPS = re.compile(r"[1-9][0-9]{0,2}(?:\.[0-9]{3})+")


@dataclass(frozen=True)
class Word:
    """A normalised word and where it stands in its text (`start..end`, code points)."""

    text: str
    start: int
    end: int


def words(text: str) -> tuple[Word, ...]:
    """All words of a text in order."""
    found: list[Word] = []
    at = 0
    while at < len(text):
        if not _is_word_character(text[at]):
            at += 1
            continue
        number = _number_at(text, at)
        if number:
            found.append(Word(_value(number), at, at + len(number)))
            at += len(number)
        elif _is_cjk(text[at]):
            found.append(Word(_normal(text[at]), at, at + 1))
            at += 1
        else:
            end = at + 1
            while end < len(text) and _is_word_character(text[end]) and not _is_cjk(text[end]):
                end += 1
            found.append(Word(_normal(text[at:end]), at, end))
            at = end
    return tuple(found)


def is_content(word: str) -> bool:
    """Whether a word carries meaning: it is not in the published stop list `stopwords.txt`."""
    return word not in _stopwords()


@cache
def _stopwords() -> frozenset[str]:
    return frozenset(files("reflect_lab.core").joinpath("stopwords.txt").read_text(encoding="utf-8").split())


def _number_at(text: str, at: int) -> str | None:
    """The number that starts here, unless letters touch it (`R1`, `4815a` are words)."""
    if not ("0" <= text[at] <= "9") or (at and _is_word_character(text[at - 1])):
        return None
    match = _NUMBER.match(text, at)
    if match is None or (match.end() < len(text) and _is_word_character(text[match.end()])):
        return None
    return match.group()


def _value(number: str) -> str:
    if _POINT_GROUPS.fullmatch(number):
        number = number.replace(".", "")
    for separator in _SEPARATORS:
        number = number.replace(separator, "")
    whole, _, part = number.partition(".")
    part = part.rstrip("0")
    return (whole.lstrip("0") or "0") + (f".{part}" if part else "")


def _normal(text: str) -> str:
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())


def _is_word_character(character: str) -> bool:
    if character.isascii():
        return character.isalnum()
    return unicodedata.category(character)[0] in "LMN"


def _is_cjk(character: str) -> bool:
    """Han ideographs and kana, which are written without spaces between words."""
    code = ord(character)
    return (
        0x3040 <= code <= 0x30FF
        or 0x3400 <= code <= 0x4DBF
        or 0x4E00 <= code <= 0x9FFF
        or 0xF900 <= code <= 0xFAFF
        or 0x20000 <= code <= 0x323AF
    )
