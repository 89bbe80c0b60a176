"""The page `docs/stop-rules.md`: its worked runs are real ones, and what it says of the rules is so."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest

from reflect_lab.core import stop_rules
from reflect_lab.core.critique import Critique, Issue, Severity
from reflect_lab.core.evidence import Evidence, Finding
from reflect_lab.core.policy import Rules
from reflect_lab.core.progress import is_better, is_gain
from reflect_lab.core.run import Draft, Round, Run, StopReason
from reflect_lab.documents.policy_file import load_policy
from reflect_lab.documents.render_words import DIMENSIONS
from reflect_lab.documents.task_cell import parse_cell
from reflect_lab.session import Session
from scripts.make_stop_rules import CELLS, GAINS, PAGE, REASONS, blocks, filled, play, play_all
from tests.end_to_end.processes import environment, run

PAGE_TEXT = PAGE.read_text(encoding="utf-8")

STOPS_OF_RULES = {
    stop_rules.denied: ["denied"],
    stop_rules.repeated_draft: ["no_change", "oscillating"],
    stop_rules.no_signal: ["no_signal"],
    stop_rules.passed: ["pass"],
    stop_rules.unverified: ["unverified"],
    stop_rules.invalid_critique: ["invalid_critique"],
    stop_rules.repeated_failure: ["repeated_failure"],
    stop_rules.stalled: ["stalled"],
    stop_rules.unaffordable_critique: ["budget"],
}


@pytest.fixture(scope="module")
def runs() -> dict[str, Run]:
    return asyncio.run(play_all())


@pytest.fixture
async def session(tmp_path: Path) -> Iterator[Session]:  # type: ignore[misc]
    async with Session(traces=tmp_path / "traces", environ={"HOME": str(tmp_path)}, cwd=CELLS) as opened:
        yield opened


def overview() -> list[tuple[str, str]]:
    """Stop reasons and outcomes as the page's first table lists them."""
    return re.findall(r"^\| \d+ \| \[`(\w+)`\]\(#\1\) \|.*\| (\w+) \|$", PAGE_TEXT, re.MULTILINE)


def policy_of(name: str, **changes: object) -> dict[str, object]:
    """The policy that a cell names, with changes."""
    named = parse_cell((CELLS / f"{name}.md").read_text()).options.policy or {}
    assert not isinstance(named, str)
    return {**named, **changes}


def test_the_page_holds_what_the_runs_give(runs: dict[str, Run]) -> None:
    assert filled(PAGE_TEXT, blocks(runs)) == PAGE_TEXT, "regenerate: python scripts/make_stop_rules.py"


@pytest.mark.parametrize("reason", get_args(StopReason))
def test_every_stop_reason_has_a_section_and_a_run_that_ends_with_it(reason: str, runs: dict[str, Run]) -> None:
    outcome = runs[reason].outcome
    assert outcome is not None and outcome.stop_reason == reason
    assert PAGE_TEXT.count(f"\n## {reason}\n") == 1


def test_the_overview_lists_the_rules_in_their_order_with_what_becomes_of_the_run(runs: dict[str, Run]) -> None:
    in_order = ["cancelled", "error", *(name for rule in stop_rules.RULES for name in STOPS_OF_RULES[rule])]
    assert [reason for reason, _ in overview()] == in_order
    assert {reason: run.outcome.status for reason, run in runs.items() if "/" not in reason and run.outcome} == dict(
        overview()
    )
    sections = re.findall(r"^## (\w+)$", PAGE_TEXT, re.MULTILINE)
    assert sections == in_order


@pytest.mark.parametrize("reason", [reason for reason, status in overview() if status == "escalated"])
async def test_with_on_exhaustion_stop_all_but_unverified_are_stopped(reason: str, session: Session) -> None:
    outcome = (await play(session, reason, load_policy(policy_of(reason, on_exhaustion="stop")))).outcome
    assert outcome is not None and outcome.stop_reason == reason
    assert outcome.status == ("escalated" if reason == "unverified" else "stopped")


def test_every_limit_has_a_run_that_it_ends(runs: dict[str, Run]) -> None:
    ended = {name.removeprefix("budget/"): run.outcome for name, run in runs.items() if name.startswith("budget/")}
    assert set(ended) == set(DIMENSIONS)
    assert {dimension: outcome and outcome.budget_dimension for dimension, outcome in ended.items()} == {
        dimension: dimension for dimension in ended
    }


def test_the_cancelled_run_was_interrupted_while_its_critic_was_at_work(runs: dict[str, Run]) -> None:
    last = runs["cancelled"].ledger[-1]
    assert (last.role, last.status) == ("critic", "cancelled")


@pytest.mark.parametrize("reason", ["no_change", "oscillating", "denied", "no_signal"])
def test_no_critic_was_asked_about_the_last_draft(reason: str, runs: dict[str, Run]) -> None:
    ended = runs[reason]
    assert not [row for row in ended.ledger if row.role == "critic" and row.round == ended.rounds[-1].index]


def test_the_draft_that_passed_is_returned_although_the_first_has_the_higher_score(runs: dict[str, Run]) -> None:
    first, last = (round_.critique for round_ in runs["pass"].rounds)
    assert first and last and first.score and last.score and first.score > last.score
    assert runs["pass"].outcome and runs["pass"].outcome.draft_index == 1


def test_what_the_page_says_of_the_returned_drafts_is_so(runs: dict[str, Run]) -> None:
    returned = {name: ended.outcome.draft_index for name, ended in runs.items() if ended.outcome}
    assert (returned["oscillating"], returned["stalled"]) == (1, 1)


async def test_more_patience_finds_the_draft_that_repeated_failure_gave_up(session: Session) -> None:
    rules = {"critic": "never", "repeat_limit": 3, "patience": 2}
    patient = await play(session, "repeated_failure", load_policy({"rules": rules}))
    assert patient.outcome and (patient.outcome.stop_reason, patient.outcome.draft_index) == ("pass", 2)
    hasty = await play(session, "repeated_failure", load_policy({"rules": {**rules, "patience": 1}}))
    assert hasty.outcome and hasty.outcome.stop_reason == "stalled", "repeat_limit alone is not enough"


def test_the_gains_of_the_page_are_those_of_the_core() -> None:
    def scored(score: float) -> Round:
        critique = Critique(validity="ok", score=score, score_kind="critic")
        return Round(index=0, draft=Draft(index=0, text="a"), critique=critique)

    gained = {(old, new) for old, new in GAINS if is_gain(scored(new), scored(old), Rules())}
    assert gained == {(0.40, 0.45), (0.96, 0.99)}


def blocking(count: int) -> tuple[Issue, ...]:
    severity: Severity = "blocking"
    return tuple(Issue(key=f"R{n}", id=f"i{n}", severity=severity, source="critic") for n in range(count))


def test_the_order_of_drafts_is_the_one_of_the_page() -> None:
    findings = tuple(Finding(id=f"case:{n}", status="failed", message="no") for n in range(3))
    tests = Evidence(source="tests", kind="custom", rank="deterministic", status="failed", findings=findings[:1])
    cut = Evidence(source="whole", kind="whole", rank="deterministic", status="failed", gate=True, text="cut off")
    critique = Critique(validity="ok", score=0.5, score_kind="critic", issues=blocking(1))
    unread = Critique(validity="invalid", score=None, score_kind=None)
    good = Round(index=0, draft=Draft(index=0, text="a"), evidence=(tests,), critique=critique)
    higher = replace(good, critique=replace(critique, score=0.6))
    from_best_to_worst = [
        higher,
        good,
        replace(higher, critique=replace(critique, score=0.9, issues=blocking(2))),
        replace(higher, critique=unread),
        replace(higher, evidence=(replace(tests, findings=findings),)),
        replace(good, evidence=(), critique=None),
        replace(higher, evidence=(cut,)),
    ]
    for place, better in enumerate(from_best_to_worst):
        for worse in from_best_to_worst[place + 1 :]:
            assert is_better(better, worse) and not is_better(worse, better)
    assert not is_better(good, good), "of equals the earlier one stays"


def test_a_reader_can_play_a_run_as_the_page_says(tmp_path: Path) -> None:
    assert "`reflect-lab run docs/stop-rules/stalled.md`" in PAGE_TEXT
    env = environment(tmp_path, REFLECT_TRACES=str(tmp_path / "traces"))
    ended = run("run", "docs/stop-rules/stalled.md", "--json", cwd=PAGE.parents[1], env=env)
    assert (ended.code, ended.document["outcome"]["stop_reason"]) == (3, "stalled")


def test_every_file_beside_the_page_is_used() -> None:
    names = {*REASONS, "budget-elapsed_s"}
    assert {path.name for path in CELLS.iterdir()} == {f"{n}.md" for n in names} | {f"{n}.jsonl" for n in names}
