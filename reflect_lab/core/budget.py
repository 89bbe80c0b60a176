"""The budget: what was used, what a step needs, and whether it can be afforded (DESIGN 4.3).

Before each call an estimate is reserved: the prompt's size plus at least `USEFUL_OUTPUT` output tokens, `max_tokens`
being clamped to what is left; under `strict` a bound of the prompt and the whole of `max_tokens`. A cost limit reserves
the price of the prompt and the whole of `max_tokens`. A revision is reserved together with its checks and the critique
that must follow it. Afterwards the ledger settles it: known usage counts as it is, unknown usage keeps its reservation.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

from reflect_lab.core.evidence import Evidence, active_seconds
from reflect_lab.core.money import in_limit_currency, money_text
from reflect_lab.core.policy import Limits
from reflect_lab.core.run import Estimate, LedgerRow, Notice, PaidStep, Round, Run, Shortage, Usage

Number = TypeVar("Number", int, float)
Need = tuple[str, float, float | None, float]
"""A dimension (the policy's key), what is needed of it, its limit and what was used."""

USEFUL_OUTPUT = 64
"""Output tokens without which a call is not started."""
TOLERANCE = 1e-9
"""Sums of costs are compared with this much to spare, so that 0.1 + 0.2 is 0.3."""
NAMES = {"model_calls": "model call", "critic_calls": "critic call", "total_tokens": "token", "tool_calls": "tool call"}
"""What one of a counted dimension is called."""


def needed_tokens(estimate: Estimate, drafts: int = 1) -> int:
    """Tokens that must be left for a step to start, where its generator is called `drafts` times."""
    generator = 0 if estimate.generator is None else estimate.generator + estimate.generator_output
    critic = 0 if estimate.critic is None else estimate.critic + estimate.critic_output
    return drafts * generator + critic


def needed_cost(estimate: Estimate, drafts: int = 1) -> float:
    """The most that a step may cost, in the limit's currency, where its generator is called `drafts` times."""
    return drafts * (estimate.generator_cost or 0.0) + (estimate.critic_cost or 0.0)


def spent_tokens(ledger: Iterable[LedgerRow]) -> int:
    """Tokens that count against the budget. Unknown usage of a call that may have been charged keeps its reservation;
    an attempt that the server rejected costs nothing."""
    return sum(_row_tokens(row) for row in ledger)


def spent_cost(ledger: Iterable[LedgerRow], limits: Limits) -> float:
    """What counts against the cost limit, in its currency, by the rule of `spent_tokens`."""
    return sum(_row_cost(row, limits) for row in ledger)


def shortage(run: Run, step: PaidStep, estimate: Estimate) -> Shortage | None:
    """The first dimension, in the order of the policy's limits, in which a step can't be afforded; None if it can.

    `step` is `draft`, `candidate` (a further draft of the round), `evidence` (a model's), `critique`, `repair` or
    `revision`. A revision takes as many generator calls as the policy is wide, and the executions of the checks on each
    of its drafts; one by a check's own fix is a single draft and takes no call.
    """
    limits = run.policy.limits
    drafts = run.policy.rules.width if step == "revision" and estimate.generator is not None else 1
    asks_critic = estimate.critic is not None
    calls = drafts * int(estimate.generator is not None) + int(asks_critic)
    tests = drafts * len(run.task.checks) if step in ("draft", "candidate", "revision") else 0
    needs: list[Need] = [
        ("revisions", int(step == "revision"), limits.revisions, len(run.rounds) - 1),
        ("model_calls", calls, limits.model_calls, run.usage.calls),
        ("critic_calls", int(asks_critic), limits.critic_calls, len(_calls(run.ledger, "critic"))),
        ("total_tokens", needed_tokens(estimate, drafts), limits.total_tokens, spent_tokens(run.ledger)),
        ("elapsed_s", 0.001, limits.elapsed_s, run.usage.seconds),
        ("cost", needed_cost(estimate, drafts), limits.cost, spent_cost(run.ledger, limits)),
        ("tool_calls", tests, limits.tool_calls, tool_calls(run)),
    ]
    return _first_short(run, step, _what(step, drafts), needs)


def retry_shortage(run: Run, step: PaidStep, rows: Sequence[LedgerRow]) -> Shortage | None:
    """Why the budget has no room for one more attempt of the call whose attempts so far are `rows`; None if it has.

    What those attempts were charged (or may have been) counts; a further one may be charged as much again.
    """
    limits, last = run.policy.limits, rows[-1]
    spent = [*run.ledger, *rows]
    needs: list[Need] = [
        ("total_tokens", last.reserved_tokens or 0, limits.total_tokens, spent_tokens(spent)),
        ("cost", last.reserved_cost or 0.0, limits.cost, spent_cost(spent, limits)),
    ]
    return _first_short(run, step, f"another try of the {last.role}'s call", needs)


def overshoot(run: Run, rows: Sequence[LedgerRow]) -> tuple[Notice, ...]:
    """What a provider charged beyond the reservation of an attempt, and by how much a limit is passed then.

    `run` is the run before `rows` were added to its ledger. Told for the dimensions that have a limit.
    """
    limits = run.policy.limits
    notices: list[Notice] = []
    tokens, cost = spent_tokens(run.ledger), spent_cost(run.ledger, limits)
    for row in rows:
        tokens, cost = tokens + _row_tokens(row), cost + _row_cost(row, limits)
        call = f"the {row.role}'s call {row.call} was charged"
        over = _row_tokens(row) - (row.reserved_tokens or 0)
        if limits.total_tokens is not None and row.reserved_tokens is not None and over > 0:
            text = f"{call} {_row_tokens(row):,} tokens where {row.reserved_tokens:,} were reserved"
            past = tokens - limits.total_tokens
            text += f"; the limit of {limits.total_tokens:,} tokens is passed by {past:,}" if past > 0 else ""
            notices.append(Notice(kind="overshoot", message=text))
        dear = _row_cost(row, limits) - (row.reserved_cost or 0.0)
        if limits.cost is not None and row.reserved_cost is not None and dear > TOLERANCE:
            unit = limits.cost_currency
            text = f"{call} {money_text(_row_cost(row, limits))} {unit} where {money_text(row.reserved_cost)} {unit} "
            text += "were reserved"
            dear = cost - limits.cost
            text += f"; the limit of {limits.cost:g} {unit} is passed by {money_text(dear)}" if dear > TOLERANCE else ""
            notices.append(Notice(kind="overshoot", message=text))
    return tuple(notices)


def output_room(run: Run, estimate: Estimate, drafts: int = 1) -> int | None:
    """Output tokens that the next call of a step may use; None where tokens have no limit.

    What the step's other calls need is kept back: further drafts (of `drafts` in all) and the critique.
    """
    limit = run.policy.limits.total_tokens
    if limit is None:
        return None
    least = estimate.critic_output if estimate.generator is None else estimate.generator_output
    return max(0, limit - spent_tokens(run.ledger) - needed_tokens(estimate, drafts)) + least


def seconds_left(run: Run) -> float | None:
    """Seconds of active work that are left; None where time has no limit."""
    limit = run.policy.limits.elapsed_s
    return None if limit is None else max(0.0, limit - run.usage.seconds)


def tool_calls(run: Run) -> int:
    """Executions of checks so far, those of a run that handed over to this one included."""
    executions = sum(e.executions for gathered in own_gatherings(run) for e in gathered)
    return executions + (run.carried.tool_calls if run.carried else 0)


def spare_tool_calls(run: Run) -> int | None:
    """Executions that are left when each of the task's checks has run once on the current draft; None: no limit."""
    limit = run.policy.limits.tool_calls
    return None if limit is None else max(0, limit - tool_calls(run) - len(run.task.checks))


def own_gatherings(run: Run) -> Iterator[Sequence[Evidence]]:
    """The evidence that this run gathered, draft by draft; a fork's first rounds were checked by its parent."""
    for round_ in run.rounds:
        if is_own(run, round_):
            yield round_.evidence or ()
            for other in round_.others:
                yield other.evidence or ()


def checking_seconds(run: Run) -> float:
    """Wall time in which this run's checks were at work, without what it was handed over."""
    return sum(active_seconds(gathered) for gathered in own_gatherings(run))


def is_own(run: Run, round_: Round) -> bool:
    """Whether a round was paid for in this run, not in the one that it was forked from."""
    return run.forked_at is None or round_.index > run.forked_at


def own_usage(run: Run) -> Usage:
    """What a run used itself: what a run that handed over to it had used counts there, so that totals never double."""
    rows = [row for row in run.ledger if row.paid_by is None]
    return usage(rows, limits=run.policy.limits, seconds=checking_seconds(run))


def run_usage(run: Run) -> Usage:
    """What a run used in all: its ledger, its checks, and what the run that handed over to it had used."""
    seconds = checking_seconds(run) + (run.carried.seconds if run.carried else 0.0)
    return usage(run.ledger, limits=run.policy.limits, seconds=seconds)


def usage(rows: Sequence[LedgerRow], *, limits: Limits = Limits(), seconds: float = 0.0) -> Usage:
    """The sum of ledger rows, and `seconds` of checks. A part that is unknown makes its total unknown, never zero. The
    cost is in the limits' currency where their rates lead there, else in the one currency used, else None."""
    charged = [r for r in rows if r.status == "ok" or r.cost_uncertain or r.input_tokens is not None]
    cost, currency = _total_cost(charged, limits)
    return Usage(
        calls=len({r.call for r in rows}),
        input_tokens=_total([r.input_tokens for r in charged]),
        cached_tokens=_total([r.cached_tokens for r in charged]) if charged else None,
        output_tokens=_total([r.output_tokens for r in charged]),
        reasoning_tokens=_total([r.reasoning_tokens for r in charged]) if charged else None,
        seconds=sum(r.seconds for r in rows) + seconds,
        cost=cost,
        currency=currency,
    )


def _total_cost(charged: Sequence[LedgerRow], limits: Limits) -> tuple[float | None, str | None]:
    currencies = {r.currency for r in charged if r.cost is not None}
    if not currencies:
        return None, None
    if limits.currency is not None or limits.cost is not None:
        known = [None if r.cost is None else in_limit_currency(r.cost, r.currency, limits) for r in charged]
        reached = all(r.cost is None or part is not None for r, part in zip(charged, known, strict=True))
        if reached:
            return _total(known), limits.cost_currency
    return (_total([r.cost for r in charged]), currencies.pop()) if len(currencies) == 1 else (None, None)


def _may_be_charged(row: LedgerRow) -> bool:
    return row.status == "ok" or row.cost_uncertain


def _row_tokens(row: LedgerRow) -> int:
    if row.input_tokens is not None and row.output_tokens is not None:
        return row.input_tokens + row.output_tokens
    return (row.reserved_tokens or 0) if _may_be_charged(row) else 0


def _row_cost(row: LedgerRow, limits: Limits) -> float:
    cost = None if row.cost is None else in_limit_currency(row.cost, row.currency, limits)
    if cost is not None:
        return cost
    return (row.reserved_cost or 0.0) if _may_be_charged(row) or row.input_tokens is not None else 0.0


def _calls(ledger: Iterable[LedgerRow], role: str) -> set[int]:
    return {row.call for row in ledger if row.role == role}


def _first_short(run: Run, step: PaidStep, what: str, needs: Iterable[Need]) -> Shortage | None:
    for dimension, needed, limit, used in needs:
        tolerance = TOLERANCE if dimension == "cost" else 0
        if needed and limit is not None and needed > limit - used + tolerance:
            left = max(0, limit - used)
            message = _message(run.policy.limits, what, dimension, needed, left)
            return Shortage(step=step, dimension=dimension, needed=needed, left=left, message=message)
    return None


def _what(step: PaidStep, drafts: int) -> str:
    revision = "the next revision" if drafts == 1 else f"the next revision, in {drafts} drafts,"
    return {
        "draft": "the first draft",
        "candidate": "another draft of this round",
        "evidence": "a model's evidence",
        "critique": "the critique",
        "repair": "the repair request",
        "revision": f"{revision} with its critique",
    }[step]


def _message(limits: Limits, what: str, dimension: str, needed: float, left: float) -> str:
    if dimension == "elapsed_s":
        return f"{what} can't start: the time limit of {limits.elapsed_s:g} s is used up"
    if dimension == "revisions":
        return f"no revision is left: the policy allows {limits.revisions}"
    if dimension == "cost":
        unit = limits.cost_currency
        return f"{what} needs up to {money_text(needed)} {unit}, {money_text(left)} {unit} are left"
    name = NAMES[dimension] if needed == 1 else f"{NAMES[dimension]}s"
    return f"{what} needs up to {needed:,.0f} {name}, {left:,.0f} {'is' if left == 1 else 'are'} left"


def _total(parts: Sequence[Number | None]) -> Number | None:
    known = [p for p in parts if p is not None]
    return sum(known) if len(known) == len(parts) else None
