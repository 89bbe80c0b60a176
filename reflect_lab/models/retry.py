"""One retry policy for every client: when a failed attempt is tried again, and what a logical call ends as.

The decisions are pure functions; `perform` drives them and reports each attempt as exactly one ledger row.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import Literal

from reflect_lab.core.chat import CallHooks, ChatReply, ChatRequest
from reflect_lab.core.errors import ModelFailed
from reflect_lab.core.run import ErrorKind, LedgerRow, LedgerStatus

RETRIED_STATUS = frozenset({408, 409, 429})


@dataclass(frozen=True, kw_only=True)
class Fault:
    """Why one attempt failed. `kind` is what the call ends as when it is not tried again.

    `again` says which allowance another try is taken from: `fault` (connection faults, 408, 409, 429, 5xx),
    `bad_body` (an answer that is no completion), `adjusted` (the next request differs, so it is no repetition) or
    `never`. `retry_after` is the server's own wish in seconds. `is_free`: the attempt cost nothing (never connected,
    or rejected with an HTTP error), else the provider may have charged for it.
    """

    kind: ErrorKind
    message: str
    again: Literal["fault", "bad_body", "adjusted", "never"] = "never"
    retry_after: float | None = None
    is_free: bool = False


class AttemptFailed(Exception):
    """One attempt failed. Never leaves `perform`."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.message)
        self.fault = fault


@dataclass(frozen=True, kw_only=True)
class RetryPolicy:
    """Seconds and counts. The waits are those of the OpenAI SDK, which users of such servers are used to.

    `longest_retry_after` applies where nobody said how much time the run has left.
    """

    faults: int = 2
    bad_bodies: int = 1
    first_wait: float = 0.5
    longest_wait: float = 8.0
    jitter: float = 0.25
    longest_retry_after: float = 120.0


@dataclass(frozen=True, kw_only=True)
class Tally:
    """How many further tries of each sort a call has taken so far."""

    faults: int = 0
    bad_bodies: int = 0


@dataclass(frozen=True, kw_only=True)
class TryAgain:
    """Try again after `wait` seconds."""

    wait: float
    tally: Tally


@dataclass(frozen=True, kw_only=True)
class GiveUp:
    """The call failed for good."""

    kind: ErrorKind
    message: str


def next_try(
    fault: Fault, tally: Tally, *, policy: RetryPolicy, chance: float, seconds_left: float | None
) -> TryAgain | GiveUp:
    """What follows a failed attempt. `chance` is in 0..1 and shortens the back-off by up to `policy.jitter`."""
    if fault.again == "adjusted":
        return TryAgain(wait=0.0, tally=tally)
    if fault.again == "bad_body" and tally.bad_bodies < policy.bad_bodies:
        return TryAgain(wait=0.0, tally=replace(tally, bad_bodies=tally.bad_bodies + 1))
    if fault.again == "fault":
        limit = policy.longest_retry_after if seconds_left is None else seconds_left
        if fault.retry_after is not None and fault.retry_after > limit:
            return GiveUp(kind="rate_limited", message=_too_long(fault, limit))
        if tally.faults < policy.faults:
            wait = fault.retry_after if fault.retry_after is not None else back_off(tally.faults, policy, chance)
            return TryAgain(wait=wait, tally=replace(tally, faults=tally.faults + 1))
    tries = 1 + (tally.faults if fault.again == "fault" else tally.bad_bodies if fault.again == "bad_body" else 0)
    return GiveUp(kind=fault.kind, message=fault.message + (f" ({tries} tries)" if tries > 1 else ""))


def back_off(tries: int, policy: RetryPolicy, chance: float) -> float:
    """Seconds to wait after `tries` earlier waits: doubled each time, shortened by chance so that callers spread."""
    return min(policy.first_wait * 2.0**tries, policy.longest_wait) * (1.0 - policy.jitter * chance)


def _too_long(fault: Fault, limit: float) -> str:
    return f"{fault.message}; it asks to wait {fault.retry_after:g} s, {max(limit, 0.0):.0f} s are left"


def is_retried_status(status: int) -> bool:
    """Whether an HTTP status may go away by itself."""
    return status in RETRIED_STATUS or status >= 500


def parse_retry_after(seconds: str | None, milliseconds: str | None, now: datetime) -> float | None:
    """Seconds that a server asks to wait, from `Retry-After` (seconds or an HTTP date) or `retry-after-ms`.

    None where neither header holds anything readable. `now` must have a time zone.
    """
    for text, unit in ((milliseconds, 1000.0), (seconds, 1.0)):
        try:
            value = float(text) / unit if text else None
        except ValueError:
            continue
        if value is not None and 0.0 <= value < float("inf"):
            return value
    if not seconds:
        return None
    try:
        return max(0.0, (parsedate_to_datetime(seconds) - now).total_seconds())
    except (TypeError, ValueError):
        return None


@dataclass(kw_only=True)
class Progress:
    """What is known of an attempt while it runs; filled by the attempt, read when it ends in whatever way."""

    text: list[str] = field(default_factory=list)
    input_tokens: int | None = None
    cached_tokens: int | None = None
    output_tokens: int | None = None
    reasoning_tokens: int | None = None
    cost: float | None = None
    currency: str | None = None
    finish_reason: str | None = None
    answered: str | None = None
    protocol: str | None = None
    dropped_params: tuple[str, ...] = ()
    is_cut: bool = False
    """The answer ended before its usage could arrive."""


@dataclass(frozen=True, kw_only=True)
class Clock:
    """What `perform` takes from outside; tests give their own."""

    now: Callable[[], float] = time.monotonic
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    chance: Callable[[], float] = random.random


async def perform(
    request: ChatRequest,
    hooks: CallHooks,
    attempt: Callable[[Progress], Awaitable[ChatReply]],
    *,
    model: str,
    policy: RetryPolicy = RetryPolicy(),
    clock: Clock = Clock(),
    redact: Callable[[str], str] = str,
) -> ChatReply:
    """One logical call: attempts until one is answered. Raises ModelFailed when it fails for good.

    `attempt` raises AttemptFailed; any other exception is our own fault and ends as `internal`. `hooks.attempt` is
    called once per attempt, also when the task is cancelled within one; a wait counts to the attempt after it.
    `hooks.again` may refuse another one. `redact` takes known keys out of messages.
    """
    started = clock.now()
    tally, number, begun = Tally(), 0, started
    while True:
        number += 1
        progress = Progress()
        end = await _once(attempt, progress, hooks, _row(request, model, number), clock, begun)
        row = _measured(_row(request, model, number), progress, clock.now() - begun)
        if isinstance(end, ChatReply):
            hooks.attempt(replace(row, cost_uncertain=progress.is_cut))
            return end
        end = replace(end, message=redact(end.message))
        left = seconds_left(request)
        step = next_try(
            end,
            tally,
            policy=policy,
            chance=clock.chance(),
            seconds_left=None if left is None else left - (clock.now() - started),
        )
        hooks.attempt(_failed_row(row, progress, end, step))
        if isinstance(step, GiveUp):
            raise ModelFailed(step.kind, step.message)
        hooks.again()
        tally = step.tally
        begun = clock.now()
        if step.wait > 0:
            await clock.sleep(step.wait)


async def _once(
    attempt: Callable[[Progress], Awaitable[ChatReply]],
    progress: Progress,
    hooks: CallHooks,
    row: LedgerRow,
    clock: Clock,
    begun: float,
) -> ChatReply | Fault:
    try:
        return await attempt(progress)
    except AttemptFailed as failed:
        return failed.fault
    except ModelFailed:
        # Not an attempt at all: nothing was sent (a script that ran out).
        raise
    except Exception as error:
        hooks.attempt(_broken_row(_measured(row, progress, clock.now() - begun), progress, "failed", _name(error)))
        raise ModelFailed("internal", f"a fault of reflect-lab's own within a model call: {_name(error)}") from error
    except BaseException as error:
        # Cancelled (or the interpreter is going down) while the request was under way: it may have been charged.
        hooks.attempt(_broken_row(_measured(row, progress, clock.now() - begun), progress, "cancelled", _name(error)))
        raise


def seconds_left(request: ChatRequest) -> float | None:
    """Seconds of the run's time that were left when the call began; None where the loop does not say."""
    return request.seconds_left


def _name(error: BaseException) -> str:
    return type(error).__name__


def _row(request: ChatRequest, model: str, number: int) -> LedgerRow:
    return LedgerRow(
        role=request.role,
        round=request.round,
        call=request.call,
        attempt=number,
        model=model,
        status="ok",
        reserved_tokens=request.reserved_tokens,
        reserved_cost=request.reserved_cost,
    )


def _measured(row: LedgerRow, progress: Progress, seconds: float) -> LedgerRow:
    return replace(
        row,
        seconds=seconds,
        input_tokens=progress.input_tokens,
        cached_tokens=progress.cached_tokens,
        output_tokens=progress.output_tokens,
        reasoning_tokens=progress.reasoning_tokens,
        cost=progress.cost,
        currency=progress.currency,
        finish_reason=progress.finish_reason,
        answered=progress.answered,
        protocol=progress.protocol,
        dropped_params=progress.dropped_params,
    )


def _broken_row(row: LedgerRow, progress: Progress, status: LedgerStatus, error: str) -> LedgerRow:
    return replace(row, status=status, error=error, text="".join(progress.text) or None, cost_uncertain=True)


def _failed_row(row: LedgerRow, progress: Progress, fault: Fault, step: TryAgain | GiveUp) -> LedgerRow:
    status: LedgerStatus = "retried"
    if isinstance(step, GiveUp):
        status = "refused" if step.kind == "provider_refused" else "failed"
    row = replace(row, status=status, error=fault.message, text="".join(progress.text) or None)
    return replace(row, cost_uncertain=not fault.is_free and row.output_tokens is None)
