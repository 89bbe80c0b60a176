"""What the shipped critic prompts are made for, in scripted runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from reflect_lab.core.run import Run
from reflect_lab.options import RunOptions
from reflect_lab.session import Session

INTRINSIC = {
    "rules": {"draft_quotes": "allow", "signal": "optional"},
    "views": {"critic": ["task", "draft"]},
}
"""A policy under which a critic judges by its own reading alone."""


async def play(folder: Path, policy: dict[str, Any]) -> Run:
    issue = {"id": "sum", "severity": "blocking", "evidence": "the sum is five", "suggestion": "add again"}
    lines = [
        {"role": "generator", "text": "Two and two: the sum is five."},
        {"role": "critic", "json": {"issues": [issue], "score": 0.2}},
        {"role": "generator", "text": "Two and two: the sum is four."},
        {"role": "critic", "json": {"issues": [], "score": 0.9}},
    ]
    (folder / "script.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    options = RunOptions(model="scripted:script.jsonl", critic="intrinsic", policy=policy)
    async with Session(traces=folder / "t", environ={"HOME": str(folder)}, cwd=folder) as session:
        return await session.reflect("Add two and two.", options)


async def test_the_intrinsic_critic_is_heard_where_the_policy_lets_the_draft_be_quoted(tmp_path: Path) -> None:
    run = await play(tmp_path, INTRINSIC)
    assert run.outcome is not None and run.outcome.stop_reason == "pass" and len(run.rounds) == 2
    critique = run.rounds[0].critique
    assert critique is not None and critique.issues[0].ground is not None
    assert critique.issues[0].ground.kind == "draft"
    assert run.prompts["critic"].name == "intrinsic"


async def test_under_the_default_rules_the_intrinsic_critic_is_not_even_asked(tmp_path: Path) -> None:
    run = await play(tmp_path, {})
    assert run.outcome is not None and run.outcome.stop_reason == "no_signal"
    assert {row.role for row in run.ledger} == {"generator"}
