"""A check's own fix: when the next draft is the mended one, without a model call."""

from __future__ import annotations

from dataclasses import replace

import pytest

from reflect_lab.core.controller import decide, next_step
from reflect_lab.core.critique import RaisedIssue
from reflect_lab.core.events import CriticAnswered, DraftWritten, EvidenceGathered
from reflect_lab.core.evidence import Evidence
from reflect_lab.core.fixes import offered_fix
from reflect_lab.core.policy import Policy
from reflect_lab.core.reducer import after
from reflect_lab.core.run import Draft, Estimate, Run
from reflect_lab.core.steps import WriteDraft
from tests.core.simulate import CHECKED_TASK, issue, policy, reply, report


def failing(fix: str | None, source: str = "tests") -> Evidence:
    return replace(report("case:1", source=source), fix=fix)


def judged(*evidence: Evidence, found: tuple[RaisedIssue, ...] = (), under: Policy | None = None) -> Run:
    """A run with one draft that was checked and criticised, before the decision."""
    run = Run(run_id="r", task=CHECKED_TASK, policy=under or Policy())
    run = after(run, DraftWritten(draft=Draft(index=0, text="broken")))
    run = after(run, EvidenceGathered(evidence=evidence))
    return after(run, CriticAnswered(reply=reply(*found)))


def test_a_fix_of_the_only_failed_check_is_the_next_draft() -> None:
    run = judged(failing("mended"))
    decided = decide(run)
    assert (decided.decision.action, decided.decision.reason, decided.feedback) == ("revise", "failed_evidence", None)
    assert decided.decision.message == "1 finding of checks failed; tests mends the draft itself"
    assert decided.decision.numbers["fixed_by"] == "tests"
    assert next_step(after(run, decided)) == WriteDraft(index=1, fixed="mended")


def test_the_first_of_several_fixes_is_taken() -> None:
    assert decide(judged(failing("one", "a"), failing("two", "b"))).decision.numbers["fixed_by"] == "a"


@pytest.mark.parametrize(
    "evidence",
    [
        (failing(None),),
        (failing("mended", "a"), failing(None, "b")),
        (failing("broken"),),
        (failing("broken  \n"),),
        (failing(""),),
        (failing(" \n"),),
    ],
)
def test_otherwise_the_model_revises_on_all_problems(evidence: tuple[Evidence, ...]) -> None:
    decided = decide(judged(*evidence))
    assert decided.decision.action == "revise"
    assert decided.feedback is not None and len(decided.feedback.sent) == len(evidence)


def test_a_blocking_issue_of_the_critic_needs_the_model_and_a_minor_one_does_not() -> None:
    blocked = decide(judged(failing("mended"), found=(issue("R1"),)))
    assert blocked.feedback is not None and blocked.feedback.sent == ("tests/case:1", "a")
    assert decide(judged(failing("mended"), found=(issue("R1", "minor"),))).feedback is None


def test_a_fix_that_repeats_an_earlier_draft_gives_way_to_the_next_or_to_the_model() -> None:
    first = judged(failing("second"))
    run = after(first, decide(first))
    run = after(run, DraftWritten(draft=Draft(index=1, text="second", mode="fixed")))
    run = after(run, EvidenceGathered(evidence=(failing("broken", "a"), failing("third", "b"))))
    run = after(run, CriticAnswered(reply=reply()))
    fix = offered_fix(run, run.rounds[-1])
    assert fix is not None and fix.fix == "third"
    assert offered_fix(run, replace(run.rounds[-1], evidence=(failing("broken"),))) is None


def test_a_round_of_several_candidates_is_written_by_the_model() -> None:
    run = judged(failing("mended"))
    wide = replace(run, policy=policy(width=2))
    assert offered_fix(wide, wide.rounds[-1]) is None


def test_evidence_that_passed_or_has_no_authority_offers_no_fix() -> None:
    passed = replace(failing("mended"), status="passed")
    opinion = replace(failing("mended"), rank="model")
    run = judged(passed)
    assert offered_fix(run, run.rounds[-1]) is None
    assert offered_fix(judged(opinion), judged(opinion).rounds[-1]) is None


def test_a_fix_reserves_no_generator_call_but_the_critique_after_it() -> None:
    asked: list[WriteDraft] = []

    def quote(step: WriteDraft) -> Estimate:
        asked.append(step)
        return Estimate(critic=10)

    poor = policy(model_calls=1, critic_calls=1)
    assert decide(judged(failing("mended"), under=poor)).decision.action == "revise"
    assert decide(judged(failing("mended"), under=policy(model_calls=0))).decision.budget_dimension == "model_calls"
    assert decide(judged(failing(None), under=poor)).decision.budget_dimension == "model_calls"
    assert decide(judged(failing("mended"), under=policy(revisions=0))).decision.budget_dimension == "revisions"
    assert decide(judged(failing("mended")), quote).decision.action == "revise"
    assert asked == [WriteDraft(index=1, fixed="mended")]
