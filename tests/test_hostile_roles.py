"""The loop ends for any roles: those that raise, hang, return junk, repeat themselves or lie (DESIGN 4.4)."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reflect_lab.core import progress
from reflect_lab.core.events import Event
from reflect_lab.core.observer import Observer
from reflect_lab.core.policy import Policy
from reflect_lab.core.run import LedgerRow, Run
from reflect_lab.documents.run_document import dump_run
from reflect_lab.loop import run_loop
from tests.core.simulate import Turn, policy, reply, report
from tests.core.strategies import LAW, ODD_TASK, POLICIES, TURNS, plain
from tests.hostile import ANSWERS, CRITIQUES, DRAFTS, FAULTS, HANGS, PROMPTS, REPORTS, Hostile, ImpatientLoop


@pytest.fixture(autouse=True, scope="module")
def quiet() -> Iterator[None]:
    """Each fault is logged with a traceback."""
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


class Recorder(Observer):
    def __init__(self) -> None:
        self.attempts: list[LedgerRow] = []
        self.last: Run | None = None

    def on_attempt(self, run: Run, row: LedgerRow) -> None:
        self.attempts.append(row)

    def on_event(self, run: Run, event: Event) -> None:
        self.last = run


def outcome_of(hostile: Hostile, under: Policy, cancel_after: float | None = None) -> tuple[Run, Recorder]:
    """The run's last state, however it ended."""
    recorder = Recorder()

    async def main() -> None:
        start = Run(run_id="test", task=ODD_TASK, policy=under)
        running = asyncio.ensure_future(run_loop(start, hostile.roles, [recorder]))
        if cancel_after is not None:
            asyncio.get_running_loop().call_later(cancel_after, running.cancel)
        try:
            assert await running == recorder.last
        except asyncio.CancelledError:
            assert recorder.last and recorder.last.outcome and recorder.last.outcome.stop_reason == "cancelled"

    loop = ImpatientLoop()
    try:
        loop.run_until_complete(asyncio.wait_for(main(), 10_000))
    finally:
        loop.close()
    assert recorder.last is not None
    return recorder.last, recorder


def ends_well(run: Run, recorder: Recorder) -> None:
    """What holds whatever roles did."""
    assert run.outcome is not None and run.outcome.message is not None
    assert [(r.call, r.role) for r in run.ledger] == [(r.call, r.role) for r in recorder.attempts]
    assert len(run.rounds) <= 1 + run.policy.limits.revisions
    if run.rounds:
        assert run.outcome.draft_index is not None
        returned = run.rounds[run.outcome.draft_index]
        assert run.outcome.draft == returned.draft.text
        if run.outcome.stop_reason != "pass" and plain(run.policy):
            assert not any(progress.is_better(r, returned) for r in run.rounds)
    if run.outcome.stop_reason == "pass":
        last = run.rounds[-1]
        assert {"syntax", "tests"} <= {e.source for e in last.evidence or () if e.status == "passed"}
        assert last.critique is not None and not last.critique.blocking
    json.dumps(dump_run(run), allow_nan=False)


def acts(place: str, visits: int, *answers: tuple[object, ...]) -> st.SearchStrategy[tuple[str, int, object]]:
    """One of the answers at one of the visits of a place."""
    return st.tuples(st.just(place), st.integers(0, visits), st.sampled_from([one for some in answers for one in some]))


HOSTILE = st.lists(
    acts("answer", 5, ANSWERS, FAULTS)
    | acts("prompt", 12, PROMPTS, FAULTS)
    | acts("draft", 4, DRAFTS, DRAFTS, FAULTS)
    | acts("critique", 3, CRITIQUES, CRITIQUES, FAULTS)
    | acts("report", 4, REPORTS, REPORTS, FAULTS),
    min_size=1,
    max_size=4,
)
SLOW = st.lists(acts("answer", 5, HANGS) | acts("report", 3, HANGS) | acts("draft", 3, DRAFTS), min_size=1, max_size=4)
ROOMY = st.builds(
    policy,
    revisions=st.integers(1, 4),
    width=st.integers(1, 3),
    select=st.sampled_from(["pass", "best", "last", "vote", "rank"]),
    patience=st.just(9),
    repeat_limit=st.just(9),
    critic=st.sampled_from(["when_gates_pass", "always", "never"]),
)


@LAW
@given(TURNS, POLICIES | ROOMY, HOSTILE)
def test_the_loop_ends_with_its_best_draft_and_all_it_paid_for_whatever_roles_return_or_raise(
    turns: list[Turn], under: Policy, does: list[tuple[str, int, object]]
) -> None:
    ends_well(*outcome_of(Hostile(turns, does), under))


TWO = [Turn("a", (report(source="syntax", gate=True), report("case:1")), (), others=(Turn("b"),))]


@pytest.mark.parametrize("visit", [0, 1])
@pytest.mark.parametrize("nonsense", [None, 7, ("passed",), (replace(report("case:1"), findings=None),)])
def test_nonsense_about_one_of_several_candidates_ends_the_run_where_it_arrives(visit: int, nonsense: object) -> None:
    run, recorder = outcome_of(Hostile(TWO, [("report", visit, nonsense)]), policy(width=2, select="best"))
    ends_well(run, recorder)
    assert run.outcome and run.outcome.error and run.outcome.error.kind == "internal"
    assert len(run.ledger) == 1 + visit and run.outcome.draft == "a"


@pytest.mark.parametrize(("seconds", "executions"), [(-9.0, 1), (float("nan"), 1), (float("inf"), 1), (0.0, -5)])
def test_no_check_gives_back_time_or_tool_calls(seconds: float, executions: int) -> None:
    lies = (replace(report("case:1"), seconds=seconds, executions=executions),)
    run, _ = outcome_of(Hostile(TWO, [("report", 0, lies)]), policy())
    assert run.outcome and run.outcome.error and "says that it took" in run.outcome.error.message


def test_a_model_that_answers_a_critic_with_nothing_is_still_paid_for_in_the_ledger() -> None:
    clean = [Turn("a", (report(source="syntax", gate=True), report()), (reply(score=0.9),))]
    run, recorder = outcome_of(Hostile(clean, [("answer", 1, None)]), policy())
    ends_well(run, recorder)
    assert [row.role for row in run.ledger] == ["generator", "critic"]


def test_a_cancellation_that_a_role_made_up_is_a_fault_and_no_interrupt() -> None:
    run, _ = outcome_of(Hostile(TWO, [("report", 0, asyncio.CancelledError("of its own"))]), policy())
    assert run.outcome and run.outcome.error
    assert (run.outcome.stop_reason, run.outcome.error.message) == ("error", "CancelledError: of its own")


@LAW
@given(TURNS, POLICIES | ROOMY, SLOW, st.floats(0.01, 5), st.booleans())
def test_a_role_that_hangs_is_ended_by_the_time_limit_or_by_an_interrupt(
    turns: list[Turn], under: Policy, does: list[tuple[str, int, object]], seconds: float, is_interrupt: bool
) -> None:
    no_limit = under.limits.elapsed_s is None
    run, recorder = outcome_of(Hostile(turns, does), under, seconds if is_interrupt or no_limit else None)
    ends_well(run, recorder)


@LAW
@given(st.sampled_from([Turn("again"), Turn("again "), Turn("\ud800")]), st.integers(0, 5), st.integers(1, 3))
def test_a_generator_that_repeats_itself_for_ever_is_stopped_at_once(turn: Turn, revisions: int, width: int) -> None:
    always = Turn(turn.draft, (), ())
    run, recorder = outcome_of(Hostile([always] * 9, []), policy(revisions=revisions, width=width))
    ends_well(run, recorder)
    assert len(run.rounds) <= 2
