"""Several candidates in a round, and which draft counts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reflect_lab.core.policy import Select
from reflect_lab.core.run import Run
from reflect_lab.core.selection import JUDGED, answer, candidates
from reflect_lab.core.task import Task
from tests.core.simulate import CHECKED_TASK, TASK, Turn, issue, play, policy, reply, report
from tests.core.strategies import LAW


def drafts(*turns: Turn) -> Turn:
    """One round's candidates."""
    return Turn(turns[0].draft, turns[0].evidence, turns[0].replies, turns[0].truncated, others=turns[1:])


def checked(text: str, *failing: str) -> Turn:
    return Turn(text, (report(*failing),))


def chosen(run: Run) -> list[int]:
    return [r.draft.candidate for r in run.rounds]


def test_best_of_n_writes_all_and_returns_the_one_with_the_fewest_failed_findings() -> None:
    turn = drafts(checked("a", "c1", "c2"), checked("b", "c1"), checked("c", "c1", "c2", "c3"))
    under = policy(width=3, select="rank", revisions=0, critic="never")
    run, _ = play([turn], CHECKED_TASK, under)
    assert run.outcome is not None
    assert (run.outcome.draft, run.usage.calls, chosen(run)) == ("b", 3, [1])
    assert [(o.draft.text, o.evidence is not None) for o in run.rounds[0].others] == [("a", True), ("c", True)]


def test_a_vote_returns_the_most_frequent_answer_and_checks_only_that_draft() -> None:
    turn = drafts(
        Turn("First 3 and 4.\nThe answer is 7."), Turn("I add.\nThe answer is 8."), Turn("3 + 4\nthe answer is 7.0")
    )
    run, _ = play([turn], TASK, policy(width=3, select="vote", revisions=0, critic="never"))
    assert chosen(run) == [0] and run.usage.calls == 3
    assert run.rounds[0].evidence == () and all(o.evidence is None for o in run.rounds[0].others)


def test_a_vote_can_be_won_by_a_later_draft() -> None:
    turn = drafts(Turn("8"), Turn("so it is 1,204"), Turn("so it is 1204"))
    run, _ = play([turn], TASK, policy(width=3, select="vote", revisions=0, critic="never"))
    assert run.outcome is not None and run.outcome.draft == "so it is 1,204"


@pytest.mark.parametrize(
    ("text", "expected"), [("a\nThe Total: 1,000\n\n", ("the", "total", "1000")), ("", ()), ("…\n!", ()), ("x", ("x",))]
)
def test_an_answer_is_the_last_line_with_words_in_it(text: str, expected: tuple[str, ...]) -> None:
    assert answer(text) == expected


def test_pass_writes_no_further_draft_once_one_passed_its_checks() -> None:
    turn = drafts(checked("a", "c1"), checked("b"), checked("never written"))
    run, _ = play([turn], CHECKED_TASK, policy(width=3, select="pass", revisions=0, critic="never"))
    assert run.outcome is not None
    assert (run.outcome.stop_reason, run.outcome.draft, run.usage.calls) == ("pass", "b", 2)


def test_last_returns_the_newest_draft_though_an_earlier_one_was_better() -> None:
    turns = [
        Turn("a", (), (reply(issue("R1"), score=0.6),)),
        Turn("b", (), (reply(issue("R1"), issue("R2", name="b"), score=0.2),)),
    ]
    kept, _ = play(turns, TASK, policy(revisions=1, patience=3, repeat_limit=5))
    newest, _ = play(turns, TASK, policy(revisions=1, patience=3, repeat_limit=5, select="last"))
    assert kept.outcome and newest.outcome
    assert (kept.outcome.draft, newest.outcome.draft) == ("a", "b")


def test_a_truncated_newest_draft_is_not_the_one_returned() -> None:
    turns = [
        Turn("a", (), (reply(issue("R1"), score=0.6),)),
        Turn("b", (report("cut", source="whole", gate=True),), truncated=True),
    ]
    run, _ = play(turns, TASK, policy(revisions=1, patience=3, select="last"))
    assert run.outcome is not None and run.outcome.draft == "a"


def test_the_critic_and_the_decision_see_only_the_chosen_draft() -> None:
    turn = drafts(checked("a", "c1"), Turn("b", (report(),), (reply(issue("R1"), score=0.4),)))
    turn = Turn(turn.draft, turn.evidence, (reply(score=0.9),), others=turn.others)
    run, _ = play([turn], CHECKED_TASK, policy(width=2, select="best", revisions=0))
    assert run.outcome is not None and run.outcome.stop_reason == "pass" and run.outcome.draft == "b"
    assert run.usage.calls == 3


def test_candidates_that_can_t_be_afforded_leave_a_choice_among_those_that_were_written() -> None:
    turn = drafts(checked("a", "c1"), checked("b"), checked("c"))
    turn = Turn(turn.draft, turn.evidence, (reply(score=0.9),), others=turn.others)
    run, _ = play([turn], CHECKED_TASK, policy(width=3, select="best", model_calls=3))
    assert run.outcome is not None
    assert [len(r.others) for r in run.rounds] == [1] and run.rounds[0].shortage is not None
    assert run.rounds[0].shortage.step == "candidate"
    assert (run.outcome.stop_reason, run.outcome.draft) == ("pass", "b")


def test_a_fault_between_two_candidates_returns_the_best_that_was_paid_for() -> None:
    turn = drafts(checked("a", "c1", "c2"), checked("b", "c1"))
    run, _ = play([turn], CHECKED_TASK, policy(width=3, select="best"))
    assert run.outcome is not None
    assert (run.outcome.stop_reason, run.outcome.draft, run.usage.calls) == ("error", "b", 2)


def test_a_chosen_draft_that_repeats_an_earlier_round_stops_the_run() -> None:
    turns = [drafts(checked("a", "c1"), checked("b", "c1", "c2")), drafts(checked("x", "c1", "c2"), checked("a", "c1"))]
    run, _ = play(turns, CHECKED_TASK, policy(width=2, select="best", critic="never"))
    assert run.outcome is not None and run.outcome.stop_reason == "no_change"


TURN = st.builds(
    lambda text, failing: checked(text, *failing),
    st.sampled_from(["one", "two", "three", "four", "", "five"]),
    st.lists(st.sampled_from(["c1", "c2", "c3"]), unique=True, max_size=3),
)
ROUNDS = st.lists(st.lists(TURN, min_size=4, max_size=4).map(lambda t: drafts(*t)), min_size=1, max_size=4)


@LAW
@given(ROUNDS, st.integers(1, 4), st.sampled_from(["pass", "best", "last", "vote", "rank"]), st.integers(0, 3))
def test_every_candidate_is_kept_and_none_is_better_than_the_chosen_one(
    turns: list[Turn], width: int, select: Select, revisions: int
) -> None:
    run, _ = play(turns, CHECKED_TASK, policy(width=width, select=select, revisions=revisions, critic="never"))
    written = sum(1 + len(r.others) for r in run.rounds)
    assert run.outcome is not None and run.usage.calls == written
    for round_ in run.rounds:
        assert [c.draft.candidate for c in candidates(round_)] == list(range(1 + len(round_.others)))
        assert len(round_.others) < width
        failed = [len(c.evidence[0].failed_findings) for c in candidates(round_) if c.evidence and c.draft.text]
        if select in JUDGED and round_.draft.text and round_.evidence:
            assert len(round_.evidence[0].failed_findings) == min(failed)


@LAW
@given(ROUNDS, st.sampled_from(["pass", "best", "last", "vote", "rank"]))
def test_width_one_is_the_plain_loop_whatever_select_says_of_a_round(turns: list[Turn], select: Select) -> None:
    plain, _ = play(turns, CHECKED_TASK, policy(critic="never"))
    other, _ = play(turns, CHECKED_TASK, policy(critic="never", select=select))
    assert [r.decision for r in other.rounds] == [r.decision for r in plain.rounds]


def test_without_a_signal_a_wide_round_writes_one_draft_before_it_says_so() -> None:
    bare = Task(text="Write a release note.")
    run, _ = play([drafts(Turn("one"), Turn("two"))], bare, policy(width=2))
    assert run.outcome and run.outcome.stop_reason == "no_signal" and run.usage.calls == 1
    asked, _ = play([drafts(Turn("one"), Turn("two"))], bare, policy(width=2, signal="optional", critic="never"))
    assert asked.usage.calls == 2
