"""The page about verdicts says what the check does."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from reflect_lab.evidence.python.splitting import plan

PAGE = (Path(__file__).parents[2] / "docs" / "verdicts.md").read_text()


def blocks(heading: str) -> list[str]:
    section = PAGE.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    return re.findall(r"```python\n(.*?)```", section, re.S)


@pytest.mark.parametrize("code", blocks("What is split"))
def test_what_the_page_calls_split_is_split(code: str) -> None:
    assert all(case.is_split for case in plan(code).cases)


@pytest.mark.parametrize("code", blocks("What is not"))
def test_what_the_page_calls_unsplit_is_not_split(code: str) -> None:
    assert not any(case.is_split for case in plan(code).cases)


def test_the_page_has_both_kinds() -> None:
    assert len(blocks("What is split")) == 3 and len(blocks("What is not")) == 1
