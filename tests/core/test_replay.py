"""Replay: what another policy would have decided on a recorded run, and forks that go on from a round."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reflect_lab.core.controller import next_step
from reflect_lab.core.critique import CriticReply
from reflect_lab.core.errors import WrongUse
from reflect_lab.core.events import Cancelled, DeadlinePassed, EvidenceGathered
from reflect_lab.core.policy import Policy, Rules, Views
from reflect_lab.core.reducer import after
from reflect_lab.core.replay import fork, replay
from reflect_lab.core.run import Run
from reflect_lab.core.selection import candidates
from reflect_lab.core.steps import Decide, GatherEvidence, WriteDraft
from reflect_lab.documents.run_document import dump_run, load_run
from tests.core.simulate import CHECKED_TASK, TASK, Turn, go_on, issue, play, policy, prefixes, reply, report
from tests.core.strategies import LAW, ODD_TASK, POLICIES, TURNS

TWO_REVISIONS = [
    Turn("a", (), (reply(issue("R1"), issue("R2", name="b"), score=0.3),)),
    Turn("b", (), (reply(issue("R1"), score=0.5),)),
    Turn("c", (), (reply(score=0.9),)),
]


def test_what_would_one_revision_have_returned() -> None:
    run, _ = play(TWO_REVISIONS, TASK, policy(revisions=2))
    capped = replay(run, policy(revisions=1))
    assert run.outcome and run.outcome.stop_reason == "pass"
    assert capped.unknown is None and capped.run.outcome
    assert (capped.run.outcome.stop_reason, capped.run.outcome.budget_dimension) == ("budget", "revisions")
    assert capped.run.outcome.draft == "b"
    assert capped.run.usage.calls == 4


def test_a_smaller_gain_that_counts_goes_on_beyond_the_record_and_is_unknown() -> None:
    turns = [Turn("a", (), (reply(issue("R1"), score=0.5),)), Turn("b", (), (reply(issue("R1"), score=0.52),))]
    run, _ = play(turns, TASK, policy(revisions=3, repeat_limit=9))
    assert run.outcome and run.outcome.stop_reason == "stalled"
    counted = replay(run, policy(revisions=3, repeat_limit=9, min_gain=0.01))
    assert counted.run.outcome is None
    assert counted.unknown == "draft 2 was never written"
    assert [r.decision.action for r in counted.run.rounds if r.decision] == ["revise", "revise"]


def test_a_larger_gain_that_is_asked_for_stops_earlier() -> None:
    turns = [Turn(d, (), (reply(issue("R1"), score=s),)) for d, s in (("a", 0.3), ("b", 0.4), ("c", 0.6))]
    run, _ = play(turns, TASK, policy(revisions=2, repeat_limit=9))
    assert [r.index for r in replay(run, policy(revisions=2, repeat_limit=9, min_gain=0.2)).run.rounds] == [0, 1]


def test_a_draft_that_was_written_on_other_feedback_is_not_in_the_record() -> None:
    run, _ = play(TWO_REVISIONS, TASK, policy())
    fewer = replay(run, policy(max_issues=1))
    assert fewer.unknown == "draft 1 was written on other feedback"
    assert fewer.run.rounds[0].decision is not None


def test_drafts_that_were_written_by_another_view_are_not_in_the_record() -> None:
    run, _ = play(TWO_REVISIONS, TASK, policy())
    other = replace(policy(), views=Views(generator=("task", "requirements", "facts", "history", "feedback")))
    assert replay(run, other).unknown == "draft 1 was written by another view of the run"
    blind = replace(policy(), views=Views(critic=("task", "draft")))
    assert "another view" in (replay(run, blind).unknown or "")


def test_a_critic_that_was_never_asked_is_unknown() -> None:
    run, _ = play([Turn("a", (report("c1"),)), Turn("b", (report(),))], CHECKED_TASK, policy(critic="never"))
    assert replay(run, policy(critic="always")).unknown == "no critic was asked about draft 0"


def test_a_contradictory_critique_is_judged_anew_by_another_pass_score() -> None:
    replies = (reply(score=0.4), reply(score=0.4))
    run, _ = play([Turn("a", (), replies)], TASK, policy())
    assert run.outcome and run.outcome.stop_reason == "invalid_critique"
    assert "only the repaired critique" in (replay(run, policy(pass_score=0.3)).unknown or "")
    unrepaired = replace(run, rounds=(replace(run.rounds[0], critique=replace(run.rounds[0].critique, repairs=0)),))  # type: ignore[type-var]
    lenient = replay(unrepaired, policy(pass_score=0.3))
    assert lenient.run.outcome and lenient.run.outcome.stop_reason == "pass"


def test_a_smaller_token_budget_stops_where_it_would_have_and_says_when_a_reply_would_not_have_fitted() -> None:
    run, _ = play(TWO_REVISIONS, TASK, policy(total_tokens=40_000))
    tight = replay(run, policy(total_tokens=310))
    assert tight.run.outcome and tight.run.outcome.budget_dimension == "total_tokens"
    assert [r.index for r in tight.run.rounds] == [0]
    long_reply = [replace(row, output_tokens=5_000) if row.round == 1 else row for row in run.ledger]
    longer = replay(replace(run, ledger=tuple(long_reply)), policy(total_tokens=1_000))
    assert longer.unknown == "draft 1 is longer than this budget leaves room for"


def wide(*texts: str) -> Turn:
    first, *others = (Turn(text, (report("c1"),), (reply(score=0.9),)) for text in texts)
    return replace(first, others=tuple(others))


@pytest.mark.parametrize("limits", [{"model_calls": 2}, {"model_calls": 2, "critic_calls": 0}, {"elapsed_s": 0.4}])
def test_a_round_whose_further_candidates_were_not_afforded_replays_as_what_it_was(limits: dict[str, object]) -> None:
    run, _ = play([wide("a", "b", "c")], CHECKED_TASK, policy(width=3, select="best", **limits))
    assert run.rounds[0].shortage is not None
    assert replay(run, run.policy).run == run


def test_a_run_that_broke_off_between_candidates_replays_as_what_it_was() -> None:
    _, events = play([wide("a", "b", "c")], CHECKED_TASK, policy(width=3, select="best"))
    for state in list(
        prefixes(Run(run_id="test", task=CHECKED_TASK, policy=policy(width=3, select="best")), events[:6])
    ):
        broken = after(state, Cancelled())
        assert replay(broken, broken.policy).run == broken


def test_a_repair_under_required_coverage_replays_as_a_repair() -> None:
    low = replace(reply(score=0.1), requirements_checked=("R1", "R2", "R3"))
    run, _ = play([Turn("a", (), (low, low))], TASK, policy(coverage="required"))
    assert run.outcome and run.outcome.stop_reason == "invalid_critique"
    assert replay(run, run.policy).run == run


@LAW
@given(TURNS, POLICIES)
def test_under_its_own_policy_a_replay_is_the_run(turns: list[Turn], under: Policy) -> None:
    run, _ = play(turns, ODD_TASK, under)
    again = replay(load_run(dump_run(run)), under)
    assert again.unknown is None
    assert again.run == run


@LAW
@given(TURNS, POLICIES, st.integers(0, 30), st.booleans())
def test_a_run_that_broke_off_anywhere_replays_to_the_same_end(
    turns: list[Turn], under: Policy, after_events: int, by_deadline: bool
) -> None:
    run, events = play(turns, ODD_TASK, under)
    states = [s for s in list(prefixes(run, events))[:-1] if not isinstance(next_step(s), Decide)]
    state = states[after_events % len(states)]
    broken = after(state, DeadlinePassed(seconds=3.0, limit=300.0) if by_deadline else Cancelled())
    assert replay(broken, under).run == broken


@LAW
@given(TURNS, POLICIES, POLICIES)
def test_a_replay_never_invents_a_round_or_a_call(turns: list[Turn], under: Policy, other: Policy) -> None:
    run, _ = play(turns, ODD_TASK, under)
    again = replay(run, other)
    assert (again.run.outcome is None) == (again.unknown is not None)
    assert len(again.run.rounds) <= len(run.rounds)
    for replayed, recorded in zip(again.run.rounds, run.rounds, strict=False):
        written = {c.draft.candidate: c.draft.text for c in candidates(recorded)}
        assert {c.draft.candidate: c.draft.text for c in candidates(replayed)}.items() <= written.items()
    assert set(again.run.ledger) <= set(run.ledger)
    assert len(again.run.rounds) <= 1 + other.limits.revisions


@LAW
@given(TURNS, POLICIES)
def test_a_replay_of_a_replay_changes_nothing(turns: list[Turn], under: Policy) -> None:
    run, _ = play(turns, ODD_TASK, under)
    once = replay(run, policy(revisions=1, critic=under.rules.critic)).run
    if once.outcome is not None:
        assert replay(once, once.policy).run == once


def test_a_fork_goes_on_from_a_round_and_pays_only_for_what_is_new() -> None:
    run, _ = play(TWO_REVISIONS[:2], TASK, policy(revisions=1))
    assert run.outcome and run.outcome.stop_reason == "budget"
    start = fork(run, 1, run_id="child", policy=policy(revisions=2))
    assert (start.parent_run, start.forked_at, start.usage.calls, start.outcome) == ("test", 1, 0, None)
    child = go_on(start, TWO_REVISIONS)
    assert child.outcome and (child.outcome.stop_reason, child.outcome.draft) == ("pass", "c")
    assert child.usage.calls == 2 and [r.usage.calls for r in child.rounds] == [0, 0, 2]
    assert replay(child, child.policy).run == child


def test_a_fork_with_another_critic_asks_it_about_the_same_draft_and_evidence() -> None:
    run, _ = play([Turn("a", (report(),), (reply(score=0.9),))], CHECKED_TASK)
    assert run.outcome and run.outcome.stop_reason == "pass"
    stricter = [Turn("a", (report(),), (reply(issue("R2"), score=0.4),)), Turn("b", (report(),), (reply(score=1.0),))]
    child = go_on(fork(run, 0, run_id="child", recritique=True), stricter)
    assert child.outcome and child.outcome.draft == "b"
    assert child.rounds[0].evidence == run.rounds[0].evidence
    assert [row.role for row in child.ledger] == ["critic", "generator", "critic"]
    assert replay(child, child.policy).run == child


def test_a_fork_of_a_run_that_was_interrupted_before_its_checks_runs_and_counts_them() -> None:
    _, events = play([Turn("a", (report(),), (reply(score=0.9),))], CHECKED_TASK)
    run = after(after(Run(run_id="test", task=CHECKED_TASK, policy=policy()), events[0]), Cancelled())
    child = go_on(fork(run, 0, run_id="child"), [Turn("a", (replace(report(), seconds=2.0),), (reply(score=0.9),))])
    assert child.outcome and child.outcome.stop_reason == "pass" and child.usage.seconds >= 2.0


def test_a_fork_judges_the_parent_s_rounds_by_its_own_policy() -> None:
    quoting_draft = issue("", evidence="the quick brown fox jumps")
    turns = [Turn("The quick brown fox jumps over it.", (), (reply(quoting_draft, score=0.9),))]
    run, _ = play(turns, TASK, policy())
    assert run.outcome and run.outcome.stop_reason == "pass"
    start = fork(run, 0, run_id="child", policy=policy(draft_quotes="allow"))
    assert start.rounds[0].critique and len(start.rounds[0].critique.blocking) == 1


@pytest.mark.parametrize("at", [-1, 3, 99])
def test_a_fork_from_a_round_that_is_not_there_names_those_that_are(at: int) -> None:
    run, _ = play(TWO_REVISIONS, TASK)
    with pytest.raises(WrongUse, match=r"its rounds are 0\.\.2"):
        fork(run, at, run_id="child")


@LAW
@given(TURNS, POLICIES, st.integers(0, 5))
def test_a_fork_with_nothing_changed_decides_as_the_run_did(turns: list[Turn], under: Policy, at: int) -> None:
    run, _ = play(turns, ODD_TASK, under)
    decided_rounds = [r for r in run.rounds if r.decision is not None and r.shortage is None]
    whole = [r for r in decided_rounds if r.decision and r.decision.reason not in ("error", "budget")]
    if not whole:
        return
    round_ = whole[at % len(whole)]
    start = fork(run, round_.index, run_id="child")
    child = go_on(start, turns)
    assert child.rounds[round_.index].critique == round_.critique
    decided = child.rounds[round_.index].decision
    assert decided == round_.decision or (decided and decided.reason == "budget")


def test_a_reply_that_could_not_be_read_replays_as_what_it_was() -> None:
    bad = CriticReply(validity="truncated", problem="the answer was cut off")
    run, _ = play([Turn("a", (), (bad, reply(score=0.9)))], TASK)
    assert run.outcome and run.outcome.stop_reason == "pass" and replay(run, run.policy).run == run


def test_a_fork_keeps_the_choice_that_was_made_in_a_wide_round() -> None:
    run, _ = play([wide("one", "two")], CHECKED_TASK, policy(width=2, select="last", critic="never"))
    start = fork(run, 0, run_id="child", policy=policy(width=2, select="best", critic="never"))
    assert isinstance(next_step(start), Decide) and start.rounds[0].draft.text == "two"


def test_a_fork_of_a_wide_round_that_broke_off_checks_each_of_its_drafts_once() -> None:
    turns, under = [wide("one", "two", "three")], policy(width=3, select="last", critic="never", revisions=0)
    run, events = play(turns, CHECKED_TASK, under)
    two_drafts = next(state for state in prefixes(run, events) if state.round and state.round.others)
    start = fork(after(two_drafts, Cancelled()), 0, run_id="child", policy=replace(under, rules=Rules(width=2)))
    checked = []
    while isinstance(step := next_step(start), GatherEvidence):
        checked.append(step.candidate)
        assert len(checked) < 4, "the same draft again and again"
        start = after(start, EvidenceGathered(evidence=(report(),), candidate=step.candidate))
    assert checked == [0, 1] and start.round and start.round.draft.text == "one"


def test_a_fork_under_a_policy_without_a_critic_is_judged_by_the_checks_alone() -> None:
    unread = CriticReply(validity="invalid", problem="no JSON")
    run, events = play([Turn("a", (report(),), (unread, unread))], CHECKED_TASK)
    assert run.outcome and run.outcome.stop_reason == "invalid_critique"
    unrepaired = next(s for s in prefixes(run, events) if s.round and s.round.critique and "invalid" in repr(s.round))
    for parent in (run, after(unrepaired, Cancelled())):
        start = fork(parent, 0, run_id="child", policy=policy(critic="never"))
        assert isinstance(next_step(start), Decide), "there is no critic to ask for a repair"
        child = go_on(start, [])
        assert child.outcome and child.outcome.stop_reason == "pass", "as a run under that policy would have ended"


def test_a_record_without_its_ledger_replays_to_the_same_answer() -> None:
    bad = CriticReply(validity="truncated", problem="the answer was cut off")
    run, _ = play([Turn("a", (), (bad, reply(score=0.9)))], TASK)
    again = replay(replace(run, ledger=(), not_recorded=("/ledger",)), run.policy)
    assert again.run.outcome == run.outcome


def test_a_fork_that_goes_wide_in_a_round_asks_with_what_still_stands_of_the_feedback_before_it() -> None:
    turns = [Turn("a", (report("c1"),), (reply(issue("R1"), score=0.3),)), wide("b", "c")]
    run, events = play(turns, CHECKED_TASK, policy(revisions=1))
    unchecked = next(state for state in prefixes(run, events) if len(state.rounds) == 2)
    wider = policy(width=2, select="last", critic="never")
    start = fork(after(unchecked, Cancelled()), 1, run_id="child", policy=wider)
    step = next_step(start)
    assert isinstance(step, WriteDraft) and step.candidate == 1
    assert [i.id for i in step.issues] == ["tests/c1"], "there is no critic whose issue could stand"
