"""The budget: every dimension, ties, messages, strict bounds, costs in several currencies, what was overcharged."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from reflect_lab.core.budget import (
    needed_tokens,
    output_room,
    overshoot,
    retry_shortage,
    run_usage,
    seconds_left,
    shortage,
    spent_cost,
    spent_tokens,
    tool_calls,
    usage,
)
from reflect_lab.core.evidence import Evidence
from reflect_lab.core.policy import Limits, Policy
from reflect_lab.core.run import Carried, Draft, Estimate, LedgerRow, Round, Run
from tests.core.simulate import CHECKED_TASK, policy, report

SIZES = Estimate(generator=1_000, critic=1_772, generator_cost=0.008, critic_cost=0.0043)


def row(**changes: Any) -> LedgerRow:
    fields: dict[str, Any] = {
        "role": "generator", "round": 0, "call": 1, "attempt": 1, "model": "m", "status": "ok",
        "input_tokens": 100, "output_tokens": 50, "reserved_tokens": 500, "seconds": 0.5,
    }  # fmt: skip
    return LedgerRow(**{**fields, **changes})


def run_with(*rows: LedgerRow, under: Policy, evidence: tuple[Evidence, ...] = ()) -> Run:
    """A run with one round and this ledger."""
    round_ = Round(index=0, draft=Draft(index=0, text="one"), evidence=evidence)
    run = Run(run_id="r", task=CHECKED_TASK, policy=under, rounds=(round_,), ledger=rows)
    return replace(run, usage=run_usage(run))


def short_of(step: Any = "revision", sizes: Estimate = SIZES, **limits: object) -> tuple[str, str] | None:
    """The dimension and the message of the shortage after one call of 150 tokens, 0.5 s and 0.01 USD, one check."""
    spent = row(cost=0.01, currency="USD")
    found = shortage(run_with(spent, under=policy(**limits), evidence=(report(),)), step, sizes)
    return None if found is None else (found.dimension, found.message)


REVISION = "the next revision with its critique"


@pytest.mark.parametrize(
    ("limits", "enough", "dimension", "message"),
    [
        ({"revisions": 0}, {"revisions": 1}, "revisions", "no revision is left: the policy allows 0"),
        ({"model_calls": 2}, {"model_calls": 3}, "model_calls", f"{REVISION} needs up to 2 model calls, 1 is left"),
        ({"critic_calls": 0}, {"critic_calls": 1}, "critic_calls", f"{REVISION} needs up to 1 critic call, 0 are left"),
        ({"total_tokens": 1_250}, {"total_tokens": 3_050}, "total_tokens",
         f"{REVISION} needs up to 2,900 tokens, 1,100 are left"),
        ({"elapsed_s": 0.5}, {"elapsed_s": 1}, "elapsed_s",
         f"{REVISION} can't start: the time limit of 0.5 s is used up"),
        ({"cost": 0.014}, {"cost": 0.0223}, "cost", f"{REVISION} needs up to 0.0123 USD, 0.0040 USD are left"),
        ({"tool_calls": 1}, {"tool_calls": 2}, "tool_calls", f"{REVISION} needs up to 1 tool call, 0 are left"),
    ],
)  # fmt: skip
def test_each_dimension_is_judged_and_told_with_its_numbers(
    limits: dict[str, object], enough: dict[str, object], dimension: str, message: str
) -> None:
    assert short_of(**limits) == (dimension, message)
    assert short_of(**enough) is None, "exactly enough is enough"


NEVER_ENOUGH: dict[str, object] = {
    "revisions": 0, "model_calls": 0, "critic_calls": 0, "total_tokens": 0, "elapsed_s": 0.0, "cost": 0.0,
    "tool_calls": 0,
}  # fmt: skip


def test_at_a_tie_the_first_in_the_order_of_the_policy_is_named() -> None:
    left = dict(NEVER_ENOUGH)
    for dimension in NEVER_ENOUGH:
        found = short_of(**left)
        assert found and found[0] == dimension
        left[dimension] = 9 if dimension == "revisions" else None
    assert short_of(**left) is None


@pytest.mark.parametrize(
    ("step", "sizes", "needs"),
    [
        ("draft", Estimate(generator=10), "the first draft needs up to 74 tokens"),
        ("candidate", Estimate(generator=10), "another draft of this round needs up to 74 tokens"),
        ("critique", Estimate(critic=20), "the critique needs up to 84 tokens"),
        ("repair", Estimate(critic=20), "the repair request needs up to 84 tokens"),
    ],
)
def test_each_step_is_told_by_its_name(step: str, sizes: Estimate, needs: str) -> None:
    assert short_of(step, sizes, total_tokens=150) == ("total_tokens", f"{needs}, 0 are left")


def test_a_first_draft_is_not_written_where_its_checks_cannot_be_run() -> None:
    assert short_of("draft", Estimate(generator=10), tool_calls=1) == (
        "tool_calls", "the first draft needs up to 1 tool call, 0 are left"
    )  # fmt: skip


def test_a_wide_round_reserves_each_of_its_drafts_and_one_critique() -> None:
    sizes = Estimate(generator=10, critic=20, generator_cost=1.0, critic_cost=0.5)
    assert needed_tokens(sizes, drafts=3) == 3 * 74 + 84
    wide = {"width": 3, "revisions": 5}
    found = short_of(sizes=sizes, model_calls=4, **wide)
    message = "the next revision, in 3 drafts, with its critique needs up to 4 model calls, 3 are left"
    assert found == ("model_calls", message)
    assert short_of(sizes=sizes, model_calls=5, **wide) is None
    found = short_of(sizes=sizes, tool_calls=3, model_calls=99, **wide)
    assert found and found[1].endswith("needs up to 3 tool calls, 2 are left")
    found = short_of(sizes=sizes, cost=3.4, **wide)
    assert found and found[1].endswith("needs up to 3.5000 USD, 3.3900 USD are left")


def test_a_checks_own_fix_is_one_draft_and_takes_no_call_but_the_critique() -> None:
    mended = Estimate(critic=20)
    assert short_of(sizes=mended, width=3, model_calls=2, tool_calls=2) is None
    assert short_of(sizes=mended, width=3, model_calls=1) == (
        "model_calls", "the next revision with its critique needs up to 1 model call, 0 are left"
    )  # fmt: skip


def test_the_room_for_an_answer_keeps_back_what_the_steps_other_calls_need() -> None:
    run = run_with(row(), under=policy(total_tokens=1_000))
    assert output_room(run, Estimate(generator=100)) == 1_000 - 150 - 100
    assert output_room(run, Estimate(generator=100, critic=200)) == 1_000 - 150 - 100 - 200 - 64
    assert output_room(run, Estimate(generator=100), drafts=2) == 1_000 - 150 - 2 * 100 - 64
    assert output_room(run, Estimate(critic=900)) == 64, "a call that was reserved keeps its useful minimum"
    assert output_room(run_with(under=policy(total_tokens=None)), Estimate(generator=100)) is None


def test_under_strict_limits_all_of_an_answer_is_reserved() -> None:
    strict = Estimate(generator=100, critic=200, generator_output=2_048, critic_output=384)
    assert needed_tokens(strict) == 100 + 2_048 + 200 + 384
    run = run_with(under=policy(total_tokens=2_732))
    assert shortage(run, "revision", strict) is None
    assert output_room(run, strict) == 2_048
    assert output_room(run, Estimate(critic=200, critic_output=384)) == 2_732 - 200


UNKNOWN = {"input_tokens": None, "output_tokens": None}


@pytest.mark.parametrize(
    ("changes", "tokens"),
    [
        ({}, 150),
        ({"status": "ok", **UNKNOWN}, 500),
        ({"status": "cancelled", "cost_uncertain": True, **UNKNOWN}, 500),
        ({"status": "retried", **UNKNOWN}, 0),
        ({"status": "failed", "cost_uncertain": True, "output_tokens": None}, 500),
        ({"status": "retried"}, 150),
    ],
)
def test_known_usage_settles_a_reservation_and_unknown_usage_keeps_it(changes: dict[str, Any], tokens: int) -> None:
    assert spent_tokens([row(**changes)]) == tokens


USD_LIMIT = Limits(cost=1.0, currency="USD", rates={"EUR": 1.25})


@pytest.mark.parametrize(
    ("changes", "cost"),
    [
        ({"cost": 0.2, "currency": "USD"}, 0.2),
        ({"cost": 0.2, "currency": "EUR"}, 0.25),
        ({"cost": 0.2, "currency": "GBP", "reserved_cost": 0.7}, 0.7),
        ({"cost": None, "reserved_cost": 0.7}, 0.7),
        ({"cost": None, "reserved_cost": 0.7, "status": "retried", **UNKNOWN}, 0.0),
        ({"cost": None, "reserved_cost": 0.7, "status": "failed", "cost_uncertain": True, **UNKNOWN}, 0.7),
    ],
)
def test_costs_count_in_the_currency_of_the_limit(changes: dict[str, Any], cost: float) -> None:
    assert spent_cost([row(**changes)], USD_LIMIT) == pytest.approx(cost)


EUR, USD = {"cost": 0.2, "currency": "EUR"}, {"cost": 0.2, "currency": "USD"}


@pytest.mark.parametrize(
    ("rows", "limits", "total"),
    [
        ([EUR, USD], USD_LIMIT, (0.45, "USD")),
        ([EUR, USD], Limits(currency="USD", rates={"EUR": 1.25}), (0.45, "USD")),
        ([EUR, EUR], Limits(), (0.4, "EUR")),
        ([EUR, USD], Limits(), (None, None)),
        ([EUR, EUR], Limits(currency="USD"), (0.4, "EUR")),
        ([EUR, {}], Limits(), (None, "EUR")),
        ([{}], USD_LIMIT, (None, None)),
    ],
)
def test_the_total_is_in_the_limits_currency_else_in_the_one_used_else_unknown(
    rows: list[dict[str, Any]], limits: Limits, total: tuple[float | None, str | None]
) -> None:
    found = usage([row(**changes) for changes in rows], limits=limits)
    assert (found.cost, found.currency) == (pytest.approx(total[0]) if total[0] else None, total[1])


def test_a_call_of_half_known_usage_keeps_the_reservation_of_its_cost() -> None:
    half = row(status="retried", output_tokens=None, reserved_cost=0.3)
    assert spent_cost([half], USD_LIMIT) == 0.3


def test_what_is_left_is_never_below_nothing() -> None:
    run = run_with(row(input_tokens=900, seconds=7.0), under=policy(total_tokens=500, elapsed_s=5.0))
    found = shortage(run, "critique", Estimate(critic=1))
    assert found and found.left == 0 and found.message.endswith("65 tokens, 0 are left")
    assert seconds_left(run) == 0.0
    assert seconds_left(run_with(row(seconds=2.0), under=policy(elapsed_s=5.0))) == 3.0
    assert seconds_left(run_with(row(), under=policy(elapsed_s=None))) is None


def test_a_further_draft_needs_its_checks_too() -> None:
    assert short_of("candidate", Estimate(generator=10), tool_calls=1) == (
        "tool_calls", "another draft of this round needs up to 1 tool call, 0 are left"
    )  # fmt: skip


def test_what_a_fork_took_from_its_parent_is_not_counted_again() -> None:
    run = run_with(under=policy(tool_calls=1), evidence=(report(),))
    assert tool_calls(run) == 1 and tool_calls(replace(run, forked_at=0)) == 0


def test_sums_of_costs_are_not_undone_by_rounding() -> None:
    run = run_with(row(cost=0.1, currency="USD"), under=policy(cost=0.3))
    assert shortage(run, "critique", Estimate(critic=1, critic_cost=0.2)) is None


def test_another_try_must_be_affordable_beside_what_the_ones_before_may_have_cost() -> None:
    lost = row(status="retried", cost_uncertain=True, reserved_cost=0.4, **UNKNOWN)
    rejected = row(status="retried", reserved_cost=0.4, **UNKNOWN)
    run = run_with(under=policy(total_tokens=999, cost=None))
    assert retry_shortage(run, "draft", [rejected, rejected]) is None
    found = retry_shortage(run, "draft", [rejected, lost])
    assert found and found.message == "another try of the generator's call needs up to 500 tokens, 499 are left"
    found = retry_shortage(run_with(under=policy(cost=0.7)), "critique", [lost])
    assert found and (found.dimension, found.step) == ("cost", "critique")
    assert found.message == "another try of the generator's call needs up to 0.4000 USD, 0.3000 USD are left"


def test_what_was_charged_beyond_a_reservation_is_told_with_its_numbers() -> None:
    run = run_with(row(), under=policy(total_tokens=800, cost=0.5))
    dear = row(call=2, role="critic", input_tokens=700, output_tokens=20, reserved_cost=0.2, cost=0.6, currency="USD")
    tokens, cost = overshoot(run, [dear])
    assert tokens.kind == cost.kind == "overshoot"
    assert tokens.message == (
        "the critic's call 2 was charged 720 tokens where 500 were reserved; the limit of 800 tokens is passed by 70"
    )
    assert cost.message == (
        "the critic's call 2 was charged 0.6000 USD where 0.2000 USD were reserved; "
        "the limit of 0.5 USD is passed by 0.1000"
    )
    within = overshoot(run_with(under=policy(total_tokens=10_000)), [dear])
    assert [notice.message for notice in within] == [
        "the critic's call 2 was charged 720 tokens where 500 were reserved"
    ]
    exact = row(reserved_tokens=150, reserved_cost=0.1, cost=0.1, currency="USD")
    assert overshoot(run, [exact]) == (), "all that was reserved is not more than that"
    assert overshoot(run_with(under=policy(total_tokens=None)), [dear]) == (), "nobody set a limit"


def test_a_run_that_took_over_counts_what_was_carried_over() -> None:
    under = policy(tool_calls=3, model_calls=2)
    run = run_with(row(paid_by="parent"), under=under, evidence=(report(),))
    run = replace(run, carried=Carried(seconds=2.0, tool_calls=2))
    run = replace(run, usage=run_usage(run))
    assert (run.usage.calls, run.usage.seconds) == (1, 2.5)
    found = shortage(run, "draft", Estimate(generator=10))
    assert found and found.dimension == "tool_calls"
