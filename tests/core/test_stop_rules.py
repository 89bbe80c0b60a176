"""Edges of the stop rules that the examples of `test_controller.py` leave out."""

from __future__ import annotations

from dataclasses import replace

import pytest

from reflect_lab.core.critique import CriticReply
from reflect_lab.core.run import Outcome, Run
from reflect_lab.core.task import CheckSpec
from tests.core.simulate import CHECKED_TASK, TASK, Turn, issue, play, policy, reply, report

GATE = report(source="syntax", gate=True)
GATED = replace(CHECKED_TASK, checks=(CheckSpec(name="syntax", kind="k", gate=True), *CHECKED_TASK.checks), sha256="")
CLEAN = reply(score=0.9)
LOW = reply(issue("R1", "minor"), score=0.2)
UNREADABLE = CriticReply(validity="invalid", problem="x")


def outcome(run: Run) -> Outcome:
    assert run.outcome is not None
    return run.outcome


def test_a_low_score_with_an_issue_that_does_not_block_is_revised() -> None:
    run, _ = play([Turn("one", replies=(LOW,)), Turn("two", replies=(CLEAN,))])
    assert run.rounds[0].decision and run.rounds[0].decision.reason == "low_score"
    assert outcome(run).draft == "two"


def test_gates_are_not_counted_among_the_checks_that_passed() -> None:
    run, _ = play([Turn("one", (GATE, report()), (CLEAN,))], GATED)
    assert outcome(run).message.startswith("1 check passed")
    assert run.rounds[0].decision and run.rounds[0].decision.numbers["checks_passed"] == 1


@pytest.mark.parametrize("critic", ["when_gates_pass", "never"])
def test_a_chosen_draft_that_repeats_an_earlier_one_is_no_pass_and_no_critic_is_asked(critic: str) -> None:
    first = Turn("a", (report("c1"),), (CLEAN,), others=(Turn("b", (report("c1", "c2"),)),))
    again = Turn("a", (report(),), (CLEAN,), others=(Turn("c", (report("c1"),)),))
    run, _ = play(
        [first, again], CHECKED_TASK, policy(width=2, select="best", repeat_limit=9, patience=9, critic=critic)
    )
    assert outcome(run).stop_reason == "no_change"
    assert [row.role for row in run.ledger if row.round == 1] == ["generator", "generator"]


def test_half_a_draft_is_shown_to_no_critic_not_even_to_one_that_is_always_asked() -> None:
    cut = report("cut", source="whole", gate=True)
    run, _ = play([Turn("one", (cut,), (CLEAN,))], TASK, policy(critic="always", revisions=0))
    assert [row.role for row in run.ledger] == ["generator"]


@pytest.mark.parametrize(("critic", "calls"), [("always", 2), ("when_gates_pass", 1)])
def test_a_failed_gate_silences_all_critics_but_one_that_is_always_asked(critic: str, calls: int) -> None:
    turn = Turn("one", (report("colon", source="syntax", gate=True), report(status="not_run")), (CLEAN,))
    run, _ = play([turn], GATED, policy(critic=critic, revisions=0))
    assert run.usage.calls == calls


def test_a_critique_that_can_t_be_paid_for_is_what_the_budget_names() -> None:
    run, _ = play([Turn("one", (report(),))], CHECKED_TASK, policy(critic_calls=0))
    assert outcome(run).message == "the critique needs up to 1 critic call, 0 are left"


def test_a_repair_that_can_t_be_paid_for_is_a_matter_of_the_budget() -> None:
    run, _ = play([Turn("one", replies=(UNREADABLE,))], TASK, policy(critic_calls=1))
    assert (outcome(run).stop_reason, outcome(run).budget_dimension) == ("budget", "critic_calls")


def test_no_repair_is_bought_where_unverified_is_the_answer_anyway() -> None:
    run, _ = play([Turn("one", (report(status="not_run"),), (UNREADABLE, CLEAN))], CHECKED_TASK)
    assert (outcome(run).stop_reason, run.usage.calls) == ("unverified", 2)


@pytest.mark.parametrize(("covers", "reason"), [(("R1", "R2", "R3"), "pass"), (("R1", "R2"), "unverified")])
def test_required_coverage_counts_checks_and_the_critic(covers: tuple[str, ...], reason: str) -> None:
    evidence = replace(report(), requirements=covers[:1])
    said = replace(CLEAN, requirements_checked=covers[1:])
    run, _ = play([Turn("one", (evidence,), (said,))], CHECKED_TASK, policy(coverage="required"))
    assert outcome(run).stop_reason == reason


def test_a_loop_that_repeats_itself_is_told_so_before_it_is_called_stalled() -> None:
    blocked = reply(issue("R1"), score=0.4)
    turns = [Turn(text, replies=(blocked,)) for text in "abc"]
    run, _ = play(turns, TASK, policy(patience=2, repeat_limit=3, revisions=5))
    assert (outcome(run).stop_reason, len(run.rounds)) == ("repeated_failure", 3)


def test_feedback_is_not_sent_beside_a_check_s_own_fix() -> None:
    run, _ = play(
        [Turn("one", (replace(report("a"), fix="mended"),), (CLEAN,)), Turn("", (report(),), (CLEAN,))], CHECKED_TASK
    )
    assert run.rounds[0].feedback is None and run.rounds[1].draft.mode == "fixed"
    assert outcome(run).draft == "mended"


@pytest.mark.parametrize("select", ["pass", "best", "last", "vote", "rank"])
def test_the_draft_that_passed_is_returned_whatever_the_rule_for_drafts_that_did_not(select: str) -> None:
    blocked = Turn("so 8", (report(),), (reply(issue("R1"), score=0.8),))
    again = Turn("again, so 8", (report(),), (reply(issue("R2"), score=0.6),))
    turns = [blocked, again, Turn("so 7", (report(),), (reply(score=0.7),))]
    run, _ = play(turns, CHECKED_TASK, policy(select=select, patience=9, repeat_limit=9))
    assert (outcome(run).stop_reason, outcome(run).draft) == ("pass", "so 7")
