"""Hidden characters are shown by name; scripts and emoji that need joiners keep them."""

from __future__ import annotations

import sys
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reflect_lab.documents.visible import visible, visible_line


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain\ttext\nwith lines", "plain\ttext\nwith lines"),
        ("\x1b[31mred\x07\x00", "[ESC][31mred[BEL][NUL]"),
        ("a\r\nb", "a[CR]\nb"),
        ("if x:\u202e return\u2066", "if x:[RLO] return[LRI]"),
        ("pay\u200bpal \ufeff\u00ad\u3164", "pay[ZWSP]pal [BOM][SHY][U+3164]"),
        ("a\u200db a\u200c", "a[ZWJ]b a[ZWNJ]"),
        ("lone \ud83e end", "lone [U+D83E] end"),
        ("tag \U000e0041\U000e0100", "tag [U+E0041][U+E0100]"),
        ("\u2028\u2029\x85", "[LS][PS][U+0085]"),
        ("❤\ufe0f\ufe0f\ufe01", "❤\ufe0f[U+FE0F][U+FE01]"),
    ],
)
def test_what_can_hide_or_reorder_text_is_shown_by_its_name(text: str, shown: str) -> None:
    assert visible(text) == shown


@pytest.mark.parametrize("text", ["می\u200cخواهم", "क्\u200dष", "👩\u200d👧", "e\u0301 naïve 中文 שלום"])
def test_scripts_and_emoji_that_need_joiners_stay_as_they_are(text: str) -> None:
    assert visible(text) == text


def test_no_control_format_separator_or_surrogate_character_is_left() -> None:
    visible_marks = "\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd"
    for code in range(sys.maxunicode + 1):
        char = chr(code)
        category = unicodedata.category(char)
        is_hidden = category in ("Cc", "Cs", "Zl", "Zp") or (category == "Cf" and char not in visible_marks)
        if is_hidden and char not in "\t\n" and not 0x13430 <= code <= 0x1343F:  # hieroglyph joiners draw themselves
            assert visible(f"a{char}b").startswith("a["), hex(code)


@settings(deadline=None)
@given(st.text(alphabet=st.characters(), max_size=40))
def test_the_result_can_always_be_written_as_utf8_and_is_stable(text: str) -> None:
    shown = visible(text)
    shown.encode("utf-8")
    assert visible(shown) == shown


def test_a_line_is_one_line_within_its_limit() -> None:
    assert visible_line(" a\n\n b\t c ") == "a b c"
    assert visible_line("x" * 50, 10) == "x" * 9 + "…"
    assert len(visible_line("\x00" * 10_000, 40)) == 40
    assert visible_line(" " * 10_000 + "a" + " " * 10_000, 10) == "a"
    assert visible_line("a" + " " * 10_000 + "b", 10) == "a…"
