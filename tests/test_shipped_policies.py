"""The policies that come with the package, each by what it does in a short scripted run."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
import yaml

from reflect_lab.core.policy import Policy
from reflect_lab.core.run import Run
from reflect_lab.documents.policy_file import named_policy, policy_mapping, policy_names
from reflect_lab.options import RunOptions
from reflect_lab.session import Session

TASK = "Write a note about the fair.\n- [ ] names the day of the fair\n- [ ] thanks the helpers by name\n"
CHECKED = "---\nchecks: [tests]\n---\nWrite the function.\n"


def draft(text: str) -> dict[str, Any]:
    return {"role": "generator", "text": text}


def critique(*issues: str, score: float, checked: tuple[str, ...] = ("R1", "R2")) -> dict[str, Any]:
    """A critic's line: each issue names the requirement that the draft misses."""
    raised = [{"id": r, "severity": "blocking", "requirement": r, "evidence": ""} for r in issues]
    return {"role": "critic", "json": {"issues": raised, "score": score, "requirements_checked": list(checked)}}


def check(status: str, finding: str = "") -> dict[str, Any]:
    findings = [{"id": finding, "status": "failed", "message": f"{finding} fails"}] if finding else []
    return {"role": "check", "name": "tests", "status": status, "findings": findings}


async def play(folder: Path, policy: str, task: str, *lines: dict[str, Any]) -> Run:
    (folder / "script.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    options = RunOptions(model="scripted:script.jsonl", policy=policy)
    async with Session(traces=folder / "t", environ={"HOME": str(folder)}, cwd=folder) as session:
        return await session.reflect(task, options)


def ended(run: Run) -> tuple[str, str, int]:
    assert run.outcome is not None
    return run.outcome.stop_reason, run.outcome.status, len(run.rounds)


def calls(run: Run, role: str) -> int:
    return len({row.call for row in run.ledger if row.role == role})


def test_the_shipped_policies_are_these() -> None:
    assert policy_names() == ("draft-once", "repair", "standard", "strict-review", "teaching")


@pytest.mark.parametrize("name", policy_names())
def test_a_shipped_policy_bears_its_name_and_writes_every_key_out(name: str) -> None:
    text = (files("reflect_lab.documents") / "policies" / f"{name}.yaml").read_text("utf-8")
    policy = named_policy(name)
    assert policy.profile == name
    assert yaml.safe_load(text) == policy_mapping(policy)
    assert text.startswith("# ") and "# Use it " in text and "# Not " in text


def test_the_shipped_policies_are_all_different() -> None:
    assert len({named_policy(name).sha256 for name in policy_names()}) == len(policy_names())
    assert named_policy("standard") == Policy()


async def test_draft_once_judges_one_draft_and_never_revises(tmp_path: Path) -> None:
    run = await play(tmp_path, "draft-once", TASK, draft("A fair."), critique("R1", score=0.4), draft("On Monday."))
    assert ended(run) == ("budget", "escalated", 1)
    assert run.outcome is not None and run.outcome.budget_dimension == "revisions"
    assert (calls(run, "generator"), calls(run, "critic")) == (1, 1)


async def test_draft_once_accepts_a_first_draft_on_its_one_critique(tmp_path: Path) -> None:
    run = await play(tmp_path, "draft-once", TASK, draft("Monday. Thank you, Ada."), critique(score=0.9))
    assert ended(run) == ("pass", "accepted", 1)


async def test_draft_once_has_room_for_the_repair_of_its_critique(tmp_path: Path) -> None:
    unreadable = {"role": "critic", "text": "Looks fine to me."}
    run = await play(tmp_path, "draft-once", TASK, draft("Monday, Ada."), unreadable, critique(score=0.9))
    assert ended(run) == ("pass", "accepted", 1)


async def test_repair_revises_on_failing_checks_without_a_critic_call(tmp_path: Path) -> None:
    lines = [draft("one"), check("failed", "a"), draft("two"), check("failed", "b"), draft("three"), check("passed")]
    run = await play(tmp_path, "repair", CHECKED, *lines)
    assert ended(run) == ("pass", "accepted", 3)
    assert (calls(run, "generator"), calls(run, "critic")) == (3, 0)
    under_the_default = await play(tmp_path, "standard", CHECKED, *lines)
    assert ended(under_the_default)[0] != "pass"


async def test_repair_gives_up_on_the_same_failure_twice(tmp_path: Path) -> None:
    run = await play(tmp_path, "repair", CHECKED, draft("1"), check("failed", "a"), draft("2"), check("failed", "a"))
    assert ended(run) == ("repeated_failure", "escalated", 2)


async def test_repair_accepts_nothing_that_no_check_looked_at(tmp_path: Path) -> None:
    run = await play(tmp_path, "repair", TASK, draft("Monday. Thank you, Ada."))
    assert ended(run) == ("unverified", "escalated", 1)


async def test_strict_review_refuses_what_leaves_a_requirement_unlooked_at(tmp_path: Path) -> None:
    lines = [draft("Monday. Thank you, Ada."), critique(score=0.95, checked=("R1",))]
    run = await play(tmp_path, "strict-review", TASK, *lines)
    assert ended(run) == ("unverified", "escalated", 1)
    assert run.outcome is not None and "R2" in run.outcome.message
    assert ended(await play(tmp_path, "standard", TASK, *lines))[0] == "pass"


async def test_strict_review_accepts_only_a_high_score(tmp_path: Path) -> None:
    low, high = critique("R2", score=0.7), critique(score=0.8)
    run = await play(tmp_path, "strict-review", TASK, draft("Monday."), low, draft("Monday. Thank you, Ada."), high)
    assert ended(run) == ("pass", "accepted", 2)
    lines = [draft("Monday. Thank you, Ada."), critique(score=0.7), critique(score=0.7)]
    assert ended(await play(tmp_path, "strict-review", TASK, *lines))[1] == "escalated"
    assert ended(await play(tmp_path, "standard", TASK, *lines))[1] == "accepted"


async def test_teaching_shows_a_lost_round_and_the_return_to_an_older_draft(tmp_path: Path) -> None:
    lines = [draft("A fair."), critique("R1", score=0.4), draft("Thanks."), critique("R2", score=0.4), draft("A fair.")]
    run = await play(tmp_path, "teaching", TASK, *lines)
    assert ended(run) == ("oscillating", "escalated", 3)
    assert ended(await play(tmp_path, "standard", TASK, *lines)) == ("stalled", "escalated", 2)


async def test_teaching_tells_a_repeated_failure_from_a_stall(tmp_path: Path) -> None:
    same = [line for n in range(3) for line in (draft(f"Fair {n}."), critique("R1", score=0.4))]
    assert ended(await play(tmp_path, "teaching", TASK, *same)) == ("repeated_failure", "escalated", 3)
    turning = [
        line for n in range(3) for line in (draft(f"Fair {n}."), critique(("R1", "R2")[n % 2], score=0.4))
    ]  # fmt: skip
    assert ended(await play(tmp_path, "teaching", TASK, *turning)) == ("stalled", "escalated", 3)


async def test_teaching_asks_the_critic_beside_a_failed_gate(tmp_path: Path) -> None:
    gate = {**check("failed", "syntax"), "gate": True}
    lines = [draft("def"), gate, critique(score=0.4, checked=()), draft("ok"), check("passed"), critique(score=0.9)]
    run = await play(tmp_path, "teaching", CHECKED, *lines)
    assert calls(run, "critic") == 2
