"""The retry policy as pure functions, and laws that hold for any sequence of faults."""

from __future__ import annotations

import dataclasses
from datetime import UTC, datetime, timedelta
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reflect_lab.core.chat import ChatReply
from reflect_lab.core.errors import ModelFailed
from reflect_lab.models.retry import (
    AttemptFailed,
    Fault,
    GiveUp,
    Progress,
    RetryPolicy,
    Tally,
    TryAgain,
    back_off,
    is_retried_status,
    next_try,
    parse_retry_after,
    perform,
)
from tests.models.recording import Recording, Waits, request

POLICY = RetryPolicy()
NOW = datetime(2026, 5, 1, 12, 0, tzinfo=UTC)


def fault(again: Literal["fault", "bad_body", "adjusted", "never"] = "fault", after: float | None = None) -> Fault:
    return Fault(kind="provider_error", message="it broke", again=again, retry_after=after)


@pytest.mark.parametrize(
    ("seconds", "milliseconds", "expected"),
    [
        ("3", None, 3.0),
        ("0", None, 0.0),
        ("2.5", None, 2.5),
        ("9", "1500", 1.5),
        ("9", "soon", 9.0),
        ("Fri, 01 May 2026 12:00:30 GMT", None, 30.0),
        ("Fri, 01 May 2026 11:00:00 GMT", None, 0.0),
        ("-1", None, None),
        ("nan", None, None),
        ("inf", None, None),
        ("soon", None, None),
        ("", None, None),
        (None, None, None),
    ],
)
def test_retry_after_is_read_in_all_its_forms(
    seconds: str | None, milliseconds: str | None, expected: float | None
) -> None:
    assert parse_retry_after(seconds, milliseconds, NOW) == expected


def test_a_date_in_another_zone_is_the_same_moment() -> None:
    there = NOW.astimezone(tz=None) + timedelta(seconds=10)
    assert parse_retry_after(there.strftime("%a, %d %b %Y %H:%M:%S %z"), None, NOW) == 10.0


def test_only_statuses_that_may_pass_are_retried() -> None:
    assert [s for s in range(300, 600) if is_retried_status(s)] == [408, 409, 429, *range(500, 600)]


@given(tries=st.integers(0, 20), chance=st.floats(0, 1))
def test_the_back_off_stays_within_its_bounds(tries: int, chance: float) -> None:
    assert 0.375 <= back_off(tries, POLICY, chance) <= 8.0


def test_a_wait_beyond_the_time_left_gives_up_whatever_the_status() -> None:
    step = next_try(fault(after=31), Tally(), policy=POLICY, chance=0, seconds_left=30.0)
    assert isinstance(step, GiveUp) and step.kind == "rate_limited"
    assert "31" in step.message and "30" in step.message
    assert isinstance(next_try(fault(after=29), Tally(), policy=POLICY, chance=0, seconds_left=30.0), TryAgain)


def test_a_long_wait_is_granted_where_the_run_has_the_time() -> None:
    assert next_try(fault(after=200), Tally(), policy=POLICY, chance=0, seconds_left=300.0) == TryAgain(
        wait=200, tally=Tally(faults=1)
    )
    assert isinstance(next_try(fault(after=200), Tally(), policy=POLICY, chance=0, seconds_left=None), GiveUp)


def test_bad_bodies_and_faults_have_allowances_of_their_own() -> None:
    spent = Tally(bad_bodies=1)
    assert isinstance(next_try(fault("bad_body"), spent, policy=POLICY, chance=0, seconds_left=None), GiveUp)
    assert isinstance(next_try(fault("fault"), spent, policy=POLICY, chance=0, seconds_left=None), TryAgain)


KINDS = st.lists(st.sampled_from(["fault", "bad_body", "never", None]), min_size=1, max_size=12)


@given(kinds=KINDS)
async def test_every_attempt_is_one_row_and_a_call_ends(
    kinds: list[Literal["fault", "bad_body", "never"] | None],
) -> None:
    hooks, waits, made = Recording(), Waits(), 0

    async def attempt(progress: Progress) -> ChatReply:
        nonlocal made
        kind = kinds[made % len(kinds)]
        made += 1
        if kind is None:
            return ChatReply(text="ok")
        raise AttemptFailed(fault(kind))

    try:
        await perform(request(), hooks, attempt, model="m", clock=waits.clock)
        is_answered = True
    except ModelFailed:
        is_answered = False
    assert len(hooks.rows) == made <= 1 + POLICY.faults + POLICY.bad_bodies
    assert [row.attempt for row in hooks.rows] == list(range(1, made + 1))
    assert hooks.statuses[:-1] == ["retried"] * (made - 1)
    assert hooks.statuses[-1] == ("ok" if is_answered else "failed")


async def test_the_runs_own_time_bounds_a_wait() -> None:
    async def attempt(progress: Progress) -> ChatReply:
        raise AttemptFailed(fault(after=6.0))

    asked = dataclasses.replace(request(), seconds_left=5.0)
    waits = Waits()
    with pytest.raises(ModelFailed) as failed:
        await perform(asked, Recording(), attempt, model="m", clock=waits.clock)
    assert (failed.value.kind, waits.slept) == ("rate_limited", [])
