"""docs/budgets.md: its numbers are those of the code."""

from __future__ import annotations

from pathlib import Path

from reflect_lab.core.budget import USEFUL_OUTPUT
from reflect_lab.core.reducer import EXHAUSTION
from reflect_lab.models import tokens
from reflect_lab.models.counting import WAYS

PAGE = " ".join((Path(__file__).parents[2] / "docs" / "budgets.md").read_text("utf-8").split())


def test_the_numbers_on_the_page_are_those_of_the_code() -> None:
    assert f"({USEFUL_OUTPUT} tokens at least" in PAGE
    assert f"plus {round((tokens.MARGIN - 1) * 100)} % and {tokens.PER_MESSAGE} tokens for each message" in PAGE
    assert f"a token for {round(1 / tokens.FIRST_RATIO)} bytes" in PAGE
    assert f"a token for each byte, {tokens.BOUND_PER_MESSAGE} for each message" in PAGE


def test_the_names_on_the_page_are_those_of_the_code() -> None:
    assert all(f"`{way}`" in PAGE for way in WAYS)
    assert all(f"`{reason}`" in PAGE for reason in EXHAUSTION)
