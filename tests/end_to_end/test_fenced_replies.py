"""Replies with a code fence, scripted: the draft is what stands in it, whatever way the check was named."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from reflect_lab.core.errors import WrongUse
from reflect_lab.core.run import Run
from reflect_lab.options import RunOptions
from reflect_lab.session import Session

RIGHT = "def mean(xs):\n    return sum(xs) / len(xs)"
UNIT = "unit: {kind: python, code: 'assert mean([2, 4]) == 3'}"


async def performed(checks: str, draft: str, folder: Path, language: str = "python", block: str = "") -> Run:
    reply = {"role": "generator", "text": f"Here it is:\n\n```{language}\n{draft}\n```\n\nIt is done."}
    verdict = {"issues": [], "score": 0.9, "requirements_checked": ["R1"]}
    lines = [reply, {"role": "critic", "json": verdict}]
    (folder / "script.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    task = f"---\nchecks:\n- {checks}\n---\nWrite mean.\n\n- [ ] it is the mean\n\n{block}"
    async with Session(traces=folder / "traces", environ={"HOME": str(folder)}, cwd=folder) as session:
        return await session.reflect(task, RunOptions(model="scripted:script.jsonl"))


@pytest.mark.parametrize(
    ("checks", "sources"),
    [
        (UNIT, ["unit/syntax", "unit"]),
        ("python: {code: 'assert mean([2, 4]) == 3'}", ["python/syntax", "python"]),
        ("python_syntax", ["python_syntax"]),
        ("ruff: {level: advisory}", ["ruff"]),
        ("lint: {kind: command, argv: [grep, -q, '^def mean', '{file}'], file: draft.py}", ["lint"]),
        ("lint: {kind: command, argv: [grep, -vq, Here], language: python}", ["lint"]),
        (f"{UNIT}\n- ruff", ["unit/syntax", "unit", "ruff"]),
        (f"python_syntax\n- {UNIT}", ["python_syntax", "unit"]),
    ],
)
async def test_the_right_draft_in_a_fence_is_accepted_without_the_fence(
    checks: str, sources: list[str], tmp_path: Path
) -> None:
    run = await performed(checks, RIGHT, tmp_path)
    assert run.task.language == "python" and run.rounds[0].draft.text == RIGHT
    assert [(e.source, e.status) for e in run.rounds[0].evidence or ()] == [(name, "passed") for name in sources]
    assert run.outcome is not None and (run.outcome.status, run.outcome.draft_index) == ("accepted", 0)


@pytest.mark.parametrize(
    ("file", "language"), [("a.sql", "sql"), ("a.json", "json"), ("a.yml", "yaml"), ("a.yaml", "yaml"), ("a.md", None)]
)
async def test_a_command_s_file_says_the_language(file: str, language: str | None, tmp_path: Path) -> None:
    checks = f"tool: {{kind: command, argv: ['true'], file: {file}}}"
    run = await performed(checks, "[1]", tmp_path, language or "markdown")
    assert run.task.language == language
    assert run.rounds[0].draft.text.startswith("Here it is" if language is None else "[1]")


async def test_a_command_may_say_that_its_file_holds_prose(tmp_path: Path) -> None:
    checks = "tool: {kind: command, argv: ['true'], file: a.py, language: text}"
    assert (await performed(checks, RIGHT, tmp_path)).task.language is None


async def test_what_other_checks_say_outweighs_a_command_s_file(tmp_path: Path) -> None:
    checks = f"tool: {{kind: command, argv: ['true'], file: a.json}}\n- {UNIT}"
    assert (await performed(checks, RIGHT, tmp_path)).task.language == "python"


@pytest.mark.parametrize(
    ("checks", "block"),
    [
        (f"{UNIT}\n- yaml: {{required: [a]}}", ""),
        ("ruff", "```sql setup\nCREATE TABLE t (a INT)\n```\n\n```sql check R1\nSELECT true\n```\n"),
    ],
)
async def test_checks_of_two_languages_are_refused_before_anything_is_spent(
    checks: str, block: str, tmp_path: Path
) -> None:
    with pytest.raises(WrongUse, match=r"^check \S+ wants the draft in \w+, check \S+ in \w+; leave one of them out$"):
        await performed(checks, RIGHT, tmp_path, block=block)


async def test_a_block_beside_front_matter_shares_its_gate(tmp_path: Path) -> None:
    run = await performed(UNIT, RIGHT, tmp_path, block="```python check R1\nassert mean([1]) == 1\n```\n")
    assert [e.source for e in run.rounds[0].evidence or ()] == ["unit/syntax", "unit", "python:1"]
