"""Characters that hide, reorder or control text, shown by their names: `[ESC]`, `[RLO]`, `[U+2063]`.

Model text may hold terminal sequences, bidirectional overrides or invisible letters. Wherever it is shown, these are
marks that a person can see. Tab and line feed stay; the joiners U+200C and U+200D stay where scripts and emoji need
them, between two characters that are not Latin.
"""

from __future__ import annotations

import re

_NAMES = {
    0x00: "NUL", 0x07: "BEL", 0x08: "BS", 0x0B: "VT", 0x0C: "FF", 0x0D: "CR", 0x1B: "ESC", 0x7F: "DEL", 0xAD: "SHY",
    0x061C: "ALM", 0x200B: "ZWSP", 0x200C: "ZWNJ", 0x200D: "ZWJ", 0x200E: "LRM", 0x200F: "RLM", 0x2028: "LS",
    0x2029: "PS", 0x202A: "LRE", 0x202B: "RLE", 0x202C: "PDF", 0x202D: "LRO", 0x202E: "RLO", 0x2060: "WJ",
    0x2066: "LRI", 0x2067: "RLI", 0x2068: "FSI", 0x2069: "PDI", 0xFEFF: "BOM",
}  # fmt: skip

# Controls, format characters, separators, fillers, noncharacters, lone surrogates, tags and variation selectors that
# can carry hidden bytes; FE00..FE0F only where one follows another, since an emoji may need a single one.
_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ufeff\uffa0\ufdd0-\ufdef\ufff0-\ufffb\ufffe\uffff\ud800-\udfff"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
    "|(?<=[\ufe00-\ufe0f])[\ufe00-\ufe0f]"
)
_JOINERS = "\u200c\u200d"
_LAST_LATIN = 0x2FF


def visible(text: str) -> str:
    """The text with every hidden character shown by its name. The result can always be encoded as UTF-8."""
    return _HIDDEN.sub(lambda match: _shown(match, text), text)


def visible_line(text: str, limit: int | None = None) -> str:
    """The text as one line of at most `limit` characters: runs of whitespace become one space."""
    if limit is None:
        return " ".join(visible(text).split())
    # Runs of whitespace shrink, so a little more than the limit is read; never all of a huge text.
    start = text.lstrip()
    read = start[: 2 * limit + 64]
    line = " ".join(visible(read).split())
    return f"{line[: limit - 1]}…" if len(line) > limit or len(read) < len(start.rstrip()) else line


def _shown(match: re.Match[str], text: str) -> str:
    char = match.group()
    if char in _JOINERS and _is_needed(text, match.start()):
        return char
    code = ord(char)
    return f"[{_NAMES.get(code, f'U+{code:04X}')}]"


def _is_needed(text: str, at: int) -> bool:
    """Whether a joiner stands between two visible characters of scripts that use joiners (or emoji)."""
    if at == 0 or at + 1 >= len(text):
        return False
    return all(ord(c) > _LAST_LATIN and not _HIDDEN.fullmatch(c) for c in (text[at - 1], text[at + 1]))
