"""Laws of the loop with real steps, observers and the clock, and roles that play by no rules (DESIGN 4.4)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reflect_lab.core.budget import spent_cost, spent_tokens
from reflect_lab.core.chat import ChatRequest
from reflect_lab.core.events import Event
from reflect_lab.core.observer import Observer
from reflect_lab.core.policy import Policy
from reflect_lab.core.reducer import after
from reflect_lab.core.run import LedgerRow, Run
from reflect_lab.loop import run_loop
from tests.core.simulate import Turn, play, policy
from tests.core.strategies import LAW, ODD_TASK, POLICIES, TURNS
from tests.players import PRICE, PROMPT, Model, Player, without_texts


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """Faults of hostile roles are logged, with a traceback each."""
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


def empty(under: Policy, task: Any = ODD_TASK) -> Run:
    return Run(run_id="test", task=task, policy=under)


class Recorder(Observer):
    def __init__(self) -> None:
        self.events: list[Event] = []
        self.attempts: list[LedgerRow] = []
        self.last: Run | None = None

    def on_attempt(self, run: Run, row: LedgerRow) -> None:
        self.attempts.append(row)

    def on_event(self, run: Run, event: Event) -> None:
        self.events.append(event)
        self.last = run


@LAW
@given(TURNS, POLICIES)
def test_the_async_loop_and_the_pure_player_make_the_same_run(turns: list[Turn], under: Policy) -> None:
    pure, events = play(turns, ODD_TASK, under)
    recorder = Recorder()
    run = asyncio.run(run_loop(empty(under), Player(turns).roles, [recorder]))
    assert without_texts(run) == pure
    assert [type(e) for e in recorder.events] == [type(e) for e in events]
    folded = empty(under)
    for event in recorder.events:
        folded = after(folded, event)
    assert folded == run


class Broken(Observer):
    """Raises in each of the named methods, at once or while its context is left."""

    def __init__(self, methods: set[str], is_recording: bool) -> None:
        self.is_recording = is_recording

        def fail(*args: object) -> Any:
            raise ValueError("an observer that is broken")

        @contextmanager
        def fail_at_the_end(*args: object) -> Iterator[None]:
            yield
            raise ValueError("an observer that breaks at the end")

        for method in methods:
            name, _, when = method.partition(" ")
            setattr(self, name, fail_at_the_end if when else fail)


METHODS = (
    "around_run", "around_step", "around_call", "around_check", "on_attempt", "on_reply", "on_text", "on_evidence",
    "on_event", "on_end", "settle", "around_run late", "around_step late", "around_call late",
)  # fmt: skip


@LAW
@given(TURNS, POLICIES, st.sets(st.sampled_from(METHODS), min_size=1, max_size=4), st.booleans())
def test_observers_change_nothing(turns: list[Turn], under: Policy, broken: set[str], is_recording: bool) -> None:
    plain = asyncio.run(run_loop(empty(under), Player(turns).roles))
    watchers = [Broken(broken, is_recording), recorder := Recorder()]
    watched = asyncio.run(run_loop(empty(under), Player(turns).roles, watchers))
    assert watched.rounds == plain.rounds and watched.ledger == plain.ledger
    assert watched.outcome and plain.outcome
    assert replace(watched.outcome, recorded=True) == plain.outcome
    assert recorder.attempts == list(without_texts(watched).ledger)
    if not is_recording:
        assert watched == plain


LIMITS = st.fixed_dictionaries(
    {
        "revisions": st.integers(0, 4),
        "model_calls": st.none() | st.integers(0, 9),
        "critic_calls": st.none() | st.integers(0, 4),
        "total_tokens": st.none() | st.integers(0, 2_500),
        "cost": st.none() | st.floats(0, 2_500 * PRICE),
        "tool_calls": st.none() | st.integers(0, 8),
        "elapsed_s": st.none() | st.floats(0, 4),
        "strict": st.booleans(),
        "width": st.integers(1, 3),
        "select": st.sampled_from(["pass", "best", "last", "vote", "rank"]),
        "patience": st.just(9),
        "repeat_limit": st.just(9),
    }
)


@LAW
@given(TURNS, LIMITS, st.lists(st.floats(0, 1) | st.none(), min_size=30, max_size=30))
def test_a_provider_that_keeps_to_its_reservation_never_takes_a_run_past_a_limit(
    turns: list[Turn], limits: dict[str, Any], shares: list[float | None]
) -> None:
    under, shares = policy(**limits), list(shares)

    def charge(request: ChatRequest) -> LedgerRow:
        share = shares.pop()
        output = None if share is None else round(share * request.max_tokens)
        row = LedgerRow(
            role=request.role, round=request.round, call=request.call, attempt=1, model="m", status="ok",
            input_tokens=PROMPT, output_tokens=output, reserved_tokens=request.reserved_tokens, seconds=0.5,
            reserved_cost=request.reserved_cost, currency="USD",
            cost=None if output is None else (PROMPT + output) * PRICE,
        )  # fmt: skip
        assert request.reserved_tokens == PROMPT + request.max_tokens
        return row

    player = Player(turns, Model(charge=charge))
    run = asyncio.run(run_loop(empty(under), player.roles))
    limit = under.limits
    assert run.outcome is not None and len(run.rounds) <= 1 + limit.revisions
    assert limit.model_calls is None or run.usage.calls <= limit.model_calls
    assert limit.critic_calls is None or sum(row.role == "critic" for row in run.ledger) <= limit.critic_calls
    assert limit.total_tokens is None or spent_tokens(run.ledger) <= limit.total_tokens
    assert limit.cost is None or spent_cost(run.ledger, limit) <= limit.cost + 1e-9
    assert all(request.max_tokens >= 64 for request in player.client.requests)
    assert not [n for n in run.notices if n.kind == "overshoot"]
