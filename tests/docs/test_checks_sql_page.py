"""The page `docs/checks-sql.md`: its example is run, and its options and findings are those of the code."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from reflect_lab.documents.task_cell import parse_cell
from reflect_lab.evidence.sandbox.limits import Limits
from reflect_lab.evidence.sql.options import KEYS, MOST_ROWS, SAMPLE
from tests.evidence.evidence_support import gather

PAGE = (Path(__file__).parents[2] / "docs" / "checks-sql.md").read_text(encoding="utf-8")
SHOP = """
CREATE TABLE orders AS SELECT n AS id, DATE '2026-06-01' + (n % 30)::INTEGER AS day,
  ['EUR', 'USD'][1 + n % 2] AS currency, n + 1 AS amount FROM range(300) t(n);
CREATE TABLE rates AS SELECT currency, month, rate + month / 100 AS rate
  FROM (VALUES ('EUR', 1.0), ('USD', 0.9)) AS c(currency, rate), (VALUES (4), (5), (6)) AS m(month);
CREATE TABLE daily_revenue AS SELECT day, sum(amount * rate) AS revenue
  FROM orders o JOIN rates r ON r.currency = o.currency AND r.month = month(day) GROUP BY day;
"""


def drafts() -> Iterator[tuple[str, list[str]]]:
    lines = PAGE.split("| draft | findings that fail |\n|---|---|\n")[1].split("\n\n")[0].splitlines()
    for line in lines:
        draft, failing = (cell.strip() for cell in line.strip("|").split(" | "))
        yield draft.strip("`"), re.findall(r"`([^`]+)`", failing)


@pytest.mark.parametrize(("draft", "failing"), list(drafts()))
async def test_the_drafts_fail_as_the_page_says(draft: str, failing: list[str], tmp_path: Path) -> None:
    (tmp_path / "shop.sql").write_text(SHOP)
    cell = re.search(r"^````markdown task\n(.*?)^````$", PAGE, re.DOTALL | re.MULTILINE)
    assert cell is not None
    evidence = await gather(parse_cell(cell[1]).task, draft, folder=tmp_path)
    assert list(dict.fromkeys(f.id for piece in evidence for f in piece.failed_findings)) == failing


def test_every_option_stands_on_the_page_with_its_default() -> None:
    assert [key for key in KEYS if f"`{key}" not in PAGE] == ["setup", "code"], "these two are blocks"
    assert f"{SAMPLE:,}" in PAGE and f"{MOST_ROWS:,} are read" in PAGE
    assert Limits().memory_bytes == 1 << 30
