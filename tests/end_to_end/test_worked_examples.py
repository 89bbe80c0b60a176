"""The worked examples of the literature that this loop follows, played with scripts: their numbers must come out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import reflect_lab as rl

SQL_TASK = """\
Revenue by country for the last 7 days, the 5 highest. Answer with one SQL query.
- [ ] only orders of the last 7 days
- [ ] at most 5 rows
- [ ] the totals agree with the daily summary
"""
SQL_FIRST = """\
SELECT c.name, SUM(o.amount * r.rate) AS revenue
FROM orders o
JOIN customers k ON k.id = o.customer_id
JOIN countries c ON c.code = k.country_code
JOIN rates r ON r.currency = o.currency
GROUP BY c.name
ORDER BY revenue DESC"""
SQL_LAST = """\
SELECT c.name, SUM(o.amount * r.rate) AS revenue
FROM orders o
JOIN customers k ON k.id = o.customer_id
JOIN countries c ON c.code = k.country_code
JOIN rates r ON r.currency = o.currency AND r.day = o.order_ts::DATE
WHERE o.order_ts >= current_date - 7
GROUP BY c.name
ORDER BY revenue DESC
LIMIT 5"""


def block(search: str, replacement: str) -> str:
    return f"<<<<<<< SEARCH\n{search}\n=======\n{replacement}\n>>>>>>> REPLACE"


def generator(text: str) -> dict[str, Any]:
    return {"role": "generator", "text": text, "usage": {"input_tokens": 300, "output_tokens": 100}}


def critic(score: float, *issues: dict[str, Any]) -> dict[str, Any]:
    answer = {"issues": issues, "score": score, "requirements_checked": ["R1", "R2", "R3"]}
    return {"role": "critic", "json": answer, "usage": {"input_tokens": 500, "output_tokens": 80}}


def played(folder: Path, task: str, lines: list[dict[str, Any]]) -> rl.Run:
    script = folder / "script.jsonl"
    script.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return rl.reflect_sync(task, model=f"scripted:{script}", traces=str(folder / "traces"))


def test_the_query_is_right_after_two_patches(tmp_path: Path) -> None:
    """Evidence of the database turns 0.4 into 0.7 into 0.95: a missing filter first, then a join that multiplies."""
    no_filter = {
        "id": "missing-date-filter",
        "severity": "blocking",
        "requirement": "R1",
        "location": "FROM orders o",
        "evidence": "the plan reads all of `orders`, and 212 countries come back",
        "suggestion": "o.order_ts >= current_date - 7",
    }
    no_limit = {
        "id": "no-limit",
        "severity": "minor",
        "requirement": "R2",
        "location": "ORDER BY revenue DESC",
        "evidence": "212 rows come back where 5 are wanted",
        "suggestion": "LIMIT 5",
    }
    wrong_join = {
        "id": "rate-of-any-day",
        "severity": "blocking",
        "requirement": "R3",
        "location": "r.currency = o.currency",
        "evidence": "each order meets the rate of every day: totals are about three times the summary's",
        "suggestion": "join on the day of the order, too",
    }
    group, order, join = "GROUP BY c.name", "ORDER BY revenue DESC", "ON r.currency = o.currency"
    lines = [
        generator(SQL_FIRST),
        critic(0.4, no_filter, no_limit),
        generator(
            block(group, f"WHERE o.order_ts >= current_date - 7\n{group}") + "\n" + block(order, f"{order}\nLIMIT 5")
        ),
        critic(0.7, wrong_join),
        generator(block(join, f"{join} AND r.day = o.order_ts::DATE")),
        critic(0.95),
    ]
    run = played(tmp_path, SQL_TASK, lines)
    assert run.outcome is not None
    assert (run.outcome.stop_reason, run.outcome.status, run.outcome.draft) == ("pass", "accepted", SQL_LAST)
    assert [r.draft.mode for r in run.rounds] == ["first", "patch", "patch"]
    assert [r.critique.score for r in run.rounds if r.critique] == [0.4, 0.7, 0.95]
    assert [r.feedback.sent for r in run.rounds if r.feedback] == [
        ("missing-date-filter", "no-limit"),
        ("rate-of-any-day",),
    ]
    assert [r.draft.extraction for r in run.rounds] == ["whole", "patch:2", "patch:1"]
    assert run.usage.calls == 6
