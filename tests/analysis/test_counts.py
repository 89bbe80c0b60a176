"""Bars of counts: what they show is what was counted, and what can't be compared is refused."""

from __future__ import annotations

import pytest

from reflect_lab.analysis.counts import HOLLOW, stacked_counts
from reflect_lab.core.errors import WrongUse

WRONG = {"tests": {"caught": 3, "missed": 1, "nobody looked": 3}, "facts": {"caught": 2, "nobody looked": 5}}
RIGHT = {"tests": {"nobody looked": 2, "passed": 2}, "facts": {"passed": 1, "nobody looked": 3}}


def test_each_panel_says_how_many_things_it_counts_and_each_number_is_written() -> None:
    figure = stacked_counts({"wrong drafts": WRONG, "right drafts": RIGHT}, title="t", hollow="nobody looked")
    assert [note.text for note in figure.layout.annotations] == ["n = 7 wrong drafts", "n = 4 right drafts"]
    assert [(bar.name, bar.x, bar.text) for bar in figure.data] == [
        ("caught", (3, 2), ("3", "2")),
        ("missed", (1, 0), ("1", "")),
        ("nobody looked", (3, 5), ("3", "5")),
        ("passed", (2, 1), ("2", "1")),
        ("nobody looked", (2, 3), ("2", "3")),
    ]
    assert [bar.showlegend for bar in figure.data] == [True, True, True, True, False]


def test_words_stand_in_the_order_that_is_given_and_others_after_them() -> None:
    figure = stacked_counts({"drafts": WRONG}, title="t", words=("nobody looked", "missed"))
    assert [bar.name for bar in figure.data] == ["nobody looked", "missed", "caught"]


def test_words_differ_by_more_than_colour_and_what_nobody_looked_at_is_hollow() -> None:
    figure = stacked_counts({"drafts": WRONG}, title="t", hollow="nobody looked")
    caught, missed, nobody = figure.data
    assert caught.marker.pattern.shape != missed.marker.pattern.shape and caught.marker.color != missed.marker.color
    assert nobody.marker.color == HOLLOW


def test_bars_that_count_different_things_are_refused() -> None:
    with pytest.raises(WrongUse, match=r"wrong drafts count different numbers of things: \[2, 7\]"):
        stacked_counts({"wrong drafts": {**WRONG, "facts": {"caught": 2}}}, title="t")
    with pytest.raises(WrongUse, match="same bars"):
        stacked_counts({"wrong drafts": WRONG, "right drafts": {"tests": {"passed": 4}}}, title="t")
