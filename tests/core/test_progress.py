"""How rounds compare: the order of drafts, gain, progress, repetition."""

from __future__ import annotations

from dataclasses import replace

import pytest

from reflect_lab.core import progress
from reflect_lab.core.critique import Critique, Issue, ScoreKind, Severity, Validity
from reflect_lab.core.evidence import Evidence
from reflect_lab.core.policy import Rules
from reflect_lab.core.run import Draft, Round
from tests.core.simulate import TASK, Turn, issue, play, policy, reply, report

CUT = report("cut", source="whole", gate=True)
RULES = Rules()


def critique(
    score: float | None = 0.5, *keys: str, kind: ScoreKind = "critic", validity: Validity = "ok",
    severity: Severity = "blocking",
) -> Critique:  # fmt: skip
    issues = tuple(Issue(key=key, id=key, severity=severity, source="critic") for key in keys)
    return Critique(validity=validity, score=score, score_kind=kind, issues=issues)


def round_(said: Critique | None = None, *evidence: Evidence, index: int = 0) -> Round:
    return Round(index=index, draft=Draft(index=index, text=str(index)), evidence=evidence, critique=said)


ORDER = {
    "whole before half": (round_(critique(0.1, "R1", "R2"), report("a", "b")), round_(critique(0.9), CUT)),
    "checked before unchecked": (
        round_(critique(None, validity="not_asked"), report("a")),
        round_(critique(None, validity="not_asked"), report(status="not_run")),
    ),
    "two cases fail before it does not parse": (
        round_(critique(None, validity="not_asked"), report("a", "b"), report(source="syntax", gate=True)),
        round_(
            critique(None, validity="not_asked"),
            report(status="not_run"),
            report("colon", source="syntax", gate=True),
        ),
    ),
    "fewer failed findings": (round_(critique(0.1, "R1"), report("a")), round_(critique(0.9), report("a", "b"))),
    "a failure without findings counts": (
        round_(critique(0.1), report()),
        round_(critique(0.9), report(status="failed")),
    ),
    "a model's failure does not count": (
        round_(critique(0.6), replace(report("a"), rank="model")),
        round_(critique(0.5), report()),
    ),
    "known critique before unknown": (
        round_(critique(0.1, "R1"), report()),
        round_(critique(1.0, kind="checks", validity="invalid"), report()),
    ),
    "fewer blocking issues": (round_(critique(0.1, "R1")), round_(critique(0.9, "R1", "R2"))),
    "higher score": (round_(critique(0.6)), round_(critique(0.5))),
}


@pytest.mark.parametrize("name", ORDER)
def test_the_order_of_drafts(name: str) -> None:
    better, worse = ORDER[name]
    assert progress.is_better(better, worse) and not progress.is_better(worse, better)
    assert progress.best([worse, better]) is better and progress.best([better, worse]) is better


@pytest.mark.parametrize(
    "other",
    [critique(0.5), critique(0.5 + 1e-12), critique(0.9, kind="checks"), critique(None),
     critique(0.5, "x", severity="major")],
)  # fmt: skip
def test_of_equal_drafts_the_earliest_stays_and_scores_of_two_kinds_are_not_compared(other: Critique) -> None:
    first, second = round_(critique(0.5)), round_(other, index=1)
    assert progress.best([first, second]) is first


@pytest.mark.parametrize(
    ("old", "new", "gained"),
    [
        (0.3, 0.35, True), (0.3, 0.34, False), (0.96, 0.99, True), (0.96, 0.97, False), (0.5, 0.5, False),
        (1.0, 1.0, False), (0.4, 0.3, False), (0.0, 0.05, True),
    ],
)  # fmt: skip
def test_a_gain_is_the_minimum_or_half_of_what_is_left(old: float, new: float, gained: bool) -> None:
    assert progress.is_gain(round_(critique(new)), round_(critique(old)), RULES) is gained
    assert not progress.is_gain(round_(critique(new, kind="checks")), round_(critique(old)), RULES)


@pytest.mark.parametrize(
    ("old", "new", "further"),
    [
        (round_(critique(0.5, "R1", "R2")), round_(critique(0.5, "R1")), True),
        (round_(critique(0.5, "R1")), round_(critique(0.5, "R1")), False),
        (round_(critique(0.5, "R1")), round_(critique(0.5, "R2")), False),
        (round_(critique(0.5, "R1", "R2")), round_(critique(0.5, "R3")), False),
        (round_(critique(None, "a", "b", validity="not_asked"), report("a", "b")),
         round_(critique(None, "c", "R1"), report("c")), True),
        (round_(critique(0.5, "a", "b"), report("a", "b")), round_(critique(0.5, "c"), report("c")), False),
    ],
)  # fmt: skip
def test_progress_is_a_smaller_set_a_gain_or_solved_checks(old: Round, new: Round, further: bool) -> None:
    assert progress.is_progress(new, old, RULES) is further


def scored(*scores: float) -> list[Round]:
    return [round_(critique(score, "R1"), index=i) for i, score in enumerate(scores)]


@pytest.mark.parametrize(
    ("scores", "count"), [((0.6, 0.2, 0.5), 2), ((0.3, 0.2, 0.5), 0), ((0.3, 0.2, 0.5, 0.5), 1), ((0.5,), 0)]
)
def test_progress_is_counted_against_the_best_round_so_far(scores: tuple[float, ...], count: int) -> None:
    assert progress.rounds_without_progress(scored(*scores), RULES) == count


@pytest.mark.parametrize(("scores", "count"), [((0.5, 0.5, 0.5), 3), ((0.3, 0.5, 0.5), 2), ((0.3, 0.5), 1)])
def test_a_gain_begins_the_repetitions_anew(scores: tuple[float, ...], count: int) -> None:
    assert progress.repetitions(scored(*scores), RULES) == count


def test_nothing_that_fails_is_no_repetition() -> None:
    assert progress.repetitions([round_(critique(0.1)), round_(critique(0.1), index=1)], RULES) == 0


def test_how_a_check_fails_is_part_of_the_failure() -> None:
    def failing(message: str) -> Round:
        evidence = report("a")
        return round_(None, replace(evidence, findings=(replace(evidence.findings[0], message=message),)))

    assert progress.signature(failing("got 3")) != progress.signature(failing("got 4"))
    same = ["Slow after 1.2 s at 0x7f01, line 3", "slow  after 40 ms at 0xbeef, line 18"]
    assert progress.signature(failing(same[0])) == progress.signature(failing(same[1]))


def test_a_loop_that_recovers_from_a_bad_revision_has_not_got_further() -> None:
    turns = [Turn(d, (), (reply(issue("R1"), score=s),)) for d, s in (("a", 0.6), ("b", 0.2), ("c", 0.5), ("d", 0.9))]
    run, _ = play(turns, TASK, policy(revisions=5, patience=2, repeat_limit=9))
    assert run.outcome and (run.outcome.stop_reason, len(run.rounds)) == ("stalled", 3)
