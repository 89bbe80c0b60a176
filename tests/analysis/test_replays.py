"""What a run would have returned under other caps and policies: read off its record, unknown where that ends."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from reflect_lab.analysis.replays import SPREAD, capped, returned_by_revisions
from reflect_lab.core.policy import Policy
from reflect_lab.core.run import Run
from reflect_lab.core.task import Task
from tests.core.simulate import TASK, Turn, issue, play, policy, reply

LATE = policy(revisions=3, patience=3, repeat_limit=4)
"""A patient policy: two small steps do not stop the run."""
USUAL = Policy()
CURIOUS = replace(USUAL, rules=replace(USUAL.rules, min_gain=0.01))
ONE_ISSUE = replace(LATE, rules=replace(LATE.rules, max_issues=1))


@pytest.fixture(scope="module")
def run() -> Run:
    """Four drafts: two problems, one, one (with a little gain), none."""
    turns = [
        Turn("a", replies=(reply(issue("R1"), issue("R2", name="b"), score=0.4),)),
        Turn("b", replies=(reply(issue("R2", name="b"), score=0.6),)),
        Turn("c", replies=(reply(issue("R2", name="b"), score=0.62),)),
        Turn("d", replies=(reply(score=0.9),)),
    ]
    played, _ = play(turns, TASK, LATE)
    assert played.outcome and played.outcome.stop_reason == "pass"
    return played


def notes(figure: Any) -> list[str]:
    return [note.text for note in figure.layout.annotations]


def test_each_cap_returns_the_best_draft_up_to_it(run: Run) -> None:
    ends = capped(run, LATE, 4)
    assert [c.score for c in ends] == [0.4, 0.6, 0.62, 0.9, 0.9]
    assert [c.blocking for c in ends] == [2, 1, 1, 0, 0]
    assert [c.end for c in ends] == ["budget", "budget", "budget", "pass", "pass"]


def test_a_cap_beyond_the_record_is_known_only_where_the_run_ended_of_itself(run: Run) -> None:
    short, _ = play([Turn("a", replies=(reply(issue("R1"), score=0.4),))], TASK, policy(revisions=0))
    ends = capped(short, short.policy, 1)
    assert [(c.end, c.score, c.blocking) for c in ends] == [("budget", 0.4, 1), ("unknown", None, None)]
    assert capped(run, LATE, 9)[-1].end == "pass"


def test_other_rules_give_up_earlier_or_later(run: Run) -> None:
    assert [(c.end, c.score) for c in capped(run, USUAL, 3)][2:] == [("repeated_failure", 0.62)] * 2
    assert capped(run, CURIOUS, 3)[-1].end == "pass"


def test_the_figure_draws_a_line_for_each_policy_and_marks_what_passed(run: Run) -> None:
    figure = returned_by_revisions(run, {"recorded": LATE, "usual": USUAL})
    scores = [trace for trace in figure.data if trace.showlegend]
    problems = [trace for trace in figure.data if not trace.showlegend]
    assert [trace.name for trace in scores] == ["recorded: pass", "usual: repeated_failure"]
    assert [list(trace.y) for trace in scores] == [[0.4, 0.6, 0.62, 0.9, 0.9], [0.4, 0.6, 0.62, 0.62, 0.62]]
    assert [list(trace.y) for trace in problems] == [[2, 1, 1, 0, 0], [2, 1, 1, 1, 1]]
    assert [list(map(round, trace.x)) for trace in scores] == [[0, 1, 2, 3, 4]] * 2
    assert scores[1].x[0] - scores[0].x[0] == pytest.approx(SPREAD), "equal values stand side by side"
    assert list(scores[0].marker.symbol) == ["circle-open"] * 3 + ["circle"] * 2
    assert "n = 1 run, 4 drafts" in figure.layout.title.text
    assert "the record: 3 revisions, pass" in notes(figure)
    assert not any("unknown" in note for note in notes(figure))


def test_what_the_record_does_not_hold_is_a_gap_and_named(run: Run) -> None:
    figure = returned_by_revisions(run, {"one issue at a time": ONE_ISSUE}, most=2)
    scores, problems = figure.data
    assert list(scores.y) == [0.4, None, None] and list(problems.y) == [2, None, None]
    assert "one issue at a time: unknown at a cap of 1, 2, the record does not hold it" in notes(figure)
    assert list(scores.customdata[1][1:]) == ["unknown"] * 4, "also where the pointer rests"


def test_the_runs_own_policy_is_drawn_where_none_is_named(run: Run) -> None:
    (scores, _) = returned_by_revisions(run).data
    assert (scores.name, list(scores.y)) == ("as recorded: pass", [0.4, 0.6, 0.62, 0.9, 0.9])


def test_a_draft_at_which_nobody_looked_has_no_number_of_problems() -> None:
    played, _ = play([Turn("a")], Task(text="Write a note."), policy())
    (end,) = capped(played, played.policy, 0)
    assert (end.end, end.returned and end.returned.draft.text, end.blocking) == ("no_signal", "a", None)
