"""Laws of the controller on random runs (DESIGN 4.4)."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from reflect_lab.core import progress
from reflect_lab.core.controller import decide
from reflect_lab.core.critique import CriticReply
from reflect_lab.core.events import Decided
from reflect_lab.core.policy import Policy
from reflect_lab.documents.run_document import dump_event, dump_run, load_event, load_run
from tests.core.simulate import CHECKED_TASK, Turn, issue, play, policy, prefixes, reply, report

SEVERITIES = st.sampled_from(["blocking", "major", "minor"])
ISSUES = st.builds(issue, st.sampled_from(["R1", "R2", "R3", "R9", ""]), SEVERITIES, st.sampled_from("abc"))
SCORES = st.none() | st.floats(0, 1)
INVALID = st.sampled_from(["invalid", "refused", "truncated"]).map(lambda v: CriticReply(validity=v, problem="x"))
REPLIES = st.builds(lambda found, score: reply(*found, score=score), st.lists(ISSUES, max_size=4), SCORES) | INVALID
REPORTS = st.builds(
    lambda failing, odd: (report(*failing, status=odd),),
    st.lists(st.sampled_from(["case:1", "case:2", "case:3"]), unique=True, max_size=3),
    st.none() | st.none() | st.none() | st.sampled_from(["not_run", "error", "denied"]),
)
DRAFTS = st.sampled_from(["one", "two", "three", "four", "five", "one ", ""])
TURNS = st.lists(
    st.builds(Turn, DRAFTS, REPORTS, st.lists(REPLIES, min_size=2, max_size=2).map(tuple), st.booleans()),
    min_size=1,
    max_size=6,
)
POLICIES = st.builds(
    policy,
    revisions=st.integers(0, 5),
    model_calls=st.integers(0, 12),
    total_tokens=st.integers(0, 3000),
    patience=st.integers(1, 3),
    repeat_limit=st.integers(2, 3),
    max_issues=st.integers(1, 4),
    critic=st.sampled_from(["always", "when_gates_pass", "never"]),
    on_exhaustion=st.sampled_from(["review", "stop"]),
)
LAW = settings(max_examples=300, deadline=None)


@LAW
@given(TURNS, POLICIES)
def test_the_loop_ends_and_says_why(turns: list[Turn], under: Policy) -> None:
    run, events = play(turns, CHECKED_TASK, under)
    assert run.outcome is not None and run.outcome.message
    assert len(events) <= 5 * (len(turns) + 1)


@LAW
@given(TURNS, POLICIES)
def test_a_pass_has_no_failed_check_and_no_blocking_issue(turns: list[Turn], under: Policy) -> None:
    run, _ = play(turns, CHECKED_TASK, under)
    assert run.outcome is not None
    assert (run.outcome.status == "accepted") == (run.outcome.stop_reason == "pass")
    if run.outcome.stop_reason == "pass":
        last = run.rounds[-1]
        assert run.outcome.draft_index == last.index
        assert not progress.failed_evidence(last) and not progress.blocking_keys(last)
        assert not any(e.status in ("not_run", "error") for e in last.evidence or ())


@LAW
@given(TURNS, POLICIES)
def test_a_draft_returned_without_a_pass_is_never_worse_than_an_earlier_one(turns: list[Turn], under: Policy) -> None:
    run, _ = play(turns, CHECKED_TASK, under)
    assert run.outcome is not None
    if run.outcome.stop_reason != "pass" and run.outcome.draft_index is not None:
        returned = run.rounds[run.outcome.draft_index]
        assert not any(progress.is_better(earlier, returned) for earlier in run.rounds[: returned.index])


@LAW
@given(TURNS, POLICIES)
def test_counted_budgets_hold(turns: list[Turn], under: Policy) -> None:
    run, _ = play(turns, CHECKED_TASK, under)
    assert len(run.rounds) <= 1 + under.limits.revisions
    # The script's first draft is written without asking for a price; all later calls are reserved.
    assert run.usage.calls <= max(1, under.limits.model_calls or 0)


@LAW
@given(TURNS, POLICIES)
def test_a_run_is_the_fold_of_its_events_also_through_json(turns: list[Turn], under: Policy) -> None:
    run, events = play(turns, CHECKED_TASK, under)
    reread = [load_event(dump_event(event)) for event in events]
    *_, folded = prefixes(run, reread)
    assert folded == run
    assert load_run(dump_run(run)) == run


@LAW
@given(TURNS, POLICIES)
def test_recorded_decisions_are_reached_again(turns: list[Turn], under: Policy) -> None:
    run, events = play(turns, CHECKED_TASK, under)
    for state, event in zip(prefixes(run, events), events, strict=False):
        if isinstance(event, Decided) and event.decision.reason != "budget":
            assert decide(state) == event or event.decision.action == "revise"


@LAW
@given(TURNS, POLICIES)
def test_discarded_issues_change_nothing(turns: list[Turn], under: Policy) -> None:
    groundless = issue("R9", "blocking", name="noise", evidence="it feels weak")
    noisy = [
        replace(
            turn,
            replies=tuple(
                replace(r, issues=(*r.issues, groundless)) if r.validity == "ok" else r for r in turn.replies
            ),
        )
        for turn in turns
    ]
    plain, _ = play(turns, CHECKED_TASK, under)
    run, _ = play(noisy, CHECKED_TASK, under)
    assert run.outcome == plain.outcome
    assert [r.decision for r in run.rounds] == [r.decision for r in plain.rounds]


@LAW
@given(TURNS, POLICIES)
def test_feedback_is_bounded_unique_and_leaves_nothing_out(turns: list[Turn], under: Policy) -> None:
    run, _ = play(turns, CHECKED_TASK, under)
    for round_ in run.rounds:
        if round_.feedback:
            ids = [*round_.feedback.sent, *round_.feedback.withheld]
            assert round_.critique and sorted(ids) == sorted({i.id for i in round_.critique.issues})
            assert 1 <= len(round_.feedback.sent) <= under.rules.max_issues
