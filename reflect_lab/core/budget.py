"""The budget: what was used, what a step needs, and whether it can be afforded (DESIGN 4.3).

Before each call an estimate is reserved: the prompt's size plus at least `USEFUL_OUTPUT` output tokens, `max_tokens`
being clamped to what is left. A revision is reserved together with the critique that must follow it. Afterwards the
ledger settles it: known usage counts as it is, unknown usage keeps its reservation.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, TypeVar

from reflect_lab.core.evidence import Evidence
from reflect_lab.core.run import Estimate, LedgerRow, Round, Run, Shortage, Usage

Number = TypeVar("Number", int, float)
StepName = Literal["draft", "candidate", "evidence", "critique", "repair", "revision"]
USEFUL_OUTPUT = 64
"""Output tokens without which a call is not started."""


def needed_tokens(estimate: Estimate) -> int:
    """Tokens that must be left for a step to start."""
    return sum(size + USEFUL_OUTPUT for size in (estimate.generator, estimate.critic) if size is not None)


def spent_tokens(ledger: Iterable[LedgerRow]) -> int:
    """Tokens that count against the budget. Unknown usage of a call that may have been charged keeps its reservation;
    an attempt that the server rejected costs nothing."""
    total = 0
    for row in ledger:
        if row.input_tokens is not None and row.output_tokens is not None:
            total += row.input_tokens + row.output_tokens
        elif row.status == "ok" or row.cost_uncertain:
            total += row.reserved_tokens or 0
    return total


def shortage(run: Run, step: StepName, estimate: Estimate) -> Shortage | None:
    """The first dimension, in the order of the policy's limits, in which a step can't be afforded; None if it can.

    `step` is `draft`, `candidate` (a further draft of the round), `evidence` (a model's), `critique`, `repair` or
    `revision`.
    """
    limits = run.policy.limits
    critic_calls = len(_calls(run.ledger, "critic"))
    needs_critic = estimate.critic is not None
    calls = int(estimate.generator is not None) + int(needs_critic)
    tests = len(run.task.checks) if step == "revision" else 0
    tools = sum(e.executions for e in own_evidence(run))
    checks: list[tuple[str, float, float | None, float]] = [
        ("revisions", 1 if step == "revision" else 0, limits.revisions, len(run.rounds) - 1),
        ("model_calls", calls, limits.model_calls, run.usage.calls),
        ("critic_calls", int(needs_critic), limits.critic_calls, critic_calls),
        ("total_tokens", needed_tokens(estimate), limits.total_tokens, spent_tokens(run.ledger)),
        ("elapsed_s", 0.001, limits.elapsed_s, run.usage.seconds),
        ("tool_calls", tests, limits.tool_calls, tools),
    ]
    for dimension, needed, limit, used in checks:
        if needed and limit is not None and needed > limit - used:
            return _short(step, dimension, needed, max(0, limit - used))
    return None


def output_room(run: Run, estimate: Estimate) -> int | None:
    """Output tokens that the next call of a step may use; None where tokens have no limit.

    What the critique after a revision needs is kept back.
    """
    limit = run.policy.limits.total_tokens
    if limit is None:
        return None
    return max(0, limit - spent_tokens(run.ledger) - needed_tokens(estimate)) + USEFUL_OUTPUT


def own_evidence(run: Run) -> Iterator[Evidence]:
    """The evidence that this run gathered, on every draft; a fork's first rounds were checked by its parent."""
    for round_ in run.rounds:
        if is_own(run, round_):
            yield from round_.evidence or ()
            for other in round_.others:
                yield from other.evidence or ()


def is_own(run: Run, round_: Round) -> bool:
    """Whether a round was paid for in this run, not in the one that it was forked from."""
    return run.forked_at is None or round_.index > run.forked_at


def seconds_left(run: Run) -> float | None:
    """Seconds of active work that are left; None where time has no limit."""
    limit = run.policy.limits.elapsed_s
    return None if limit is None else max(0.0, limit - run.usage.seconds)


def usage(rows: Sequence[LedgerRow], evidence: Iterable[Evidence] = ()) -> Usage:
    """The sum of ledger rows and check durations. A part that is unknown makes its total unknown, never zero."""
    charged = [r for r in rows if r.status == "ok" or r.cost_uncertain or r.input_tokens is not None]
    currencies = {r.currency for r in charged if r.cost is not None}
    return Usage(
        calls=len({r.call for r in rows}),
        input_tokens=_total([r.input_tokens for r in charged]),
        cached_tokens=_total([r.cached_tokens for r in charged]) if charged else None,
        output_tokens=_total([r.output_tokens for r in charged]),
        reasoning_tokens=_total([r.reasoning_tokens for r in charged]) if charged else None,
        seconds=sum(r.seconds for r in rows) + sum(e.seconds for e in evidence),
        cost=_total([r.cost for r in charged]) if len(currencies) == 1 else None,
        currency=currencies.pop() if len(currencies) == 1 else None,
    )


def _calls(ledger: Iterable[LedgerRow], role: str) -> set[int]:
    return {row.call for row in ledger if row.role == role}


def _short(step: StepName, dimension: str, needed: float, left: float) -> Shortage:
    what = {
        "draft": "the first draft",
        "candidate": "another draft of this round",
        "evidence": "a model's evidence",
        "critique": "the critique",
        "repair": "the repair request",
        "revision": "the next revision with its critique",
    }[step]
    if dimension == "elapsed_s":
        message = f"{what} can't start: the time limit is used up"
    elif dimension == "revisions":
        message = "no revision is left"
    else:
        unit = {"total_tokens": "tokens", "model_calls": "model calls", "critic_calls": "critic calls"}
        name = unit.get(dimension, "tool calls")
        message = f"{what} needs up to {needed:,.0f} {name}, {left:,.0f} are left"
    return Shortage(step=step, dimension=dimension, needed=needed, left=left, message=message)


def _total(parts: Sequence[Number | None]) -> Number | None:
    known = [p for p in parts if p is not None]
    return sum(known) if len(known) == len(parts) else None
