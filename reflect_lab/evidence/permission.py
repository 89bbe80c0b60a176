"""Whether a draft's code may run, and at which level of the sandbox. Never a silent downgrade."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager

from reflect_lab.core.roles import CheckHooks
from reflect_lab.evidence.check import Surroundings
from reflect_lab.evidence.sandbox import selftest
from reflect_lab.evidence.sandbox.levels import PROCESS, Level

NEEDS_CONSENT = (
    "this code was written by a live model and only process limits are there, which do not isolate it; "
    "`--sandbox process` lets it run, `reflect-lab doctor` says what to install for isolation"
)
SWITCHED_OFF = "the sandbox is off, so no code of the draft runs"
NO_QUERY = "the interpreter of --sandbox interpreter runs no queries"


class Asking:
    """Asks the user on behalf of one check. The time that the answer takes is not the run's."""

    def __init__(self, consent: Callable[[], Awaitable[bool]] | None = None) -> None:
        self._consent = consent
        self._turn: tuple[CheckHooks, asyncio.Lock] | None = None
        self.waited_s = 0.0
        """How long the present turn waited for an answer, and before that for answers to other checks."""

    @contextmanager
    def through(self, hooks: CheckHooks, questions: asyncio.Lock) -> Iterator[None]:
        """Around one turn of the check: what stops the run's clock meanwhile, and what checks that run at the same time
        share, so that no two of them ask (and stop the clock) at once."""
        self._turn, self.waited_s = (hooks, questions), 0.0
        try:
            yield
        finally:
            self._turn = None

    async def __call__(self) -> bool:
        if self._consent is None or self._turn is None:
            return False
        hooks, questions = self._turn
        started = time.monotonic()
        try:
            async with questions:
                with hooks.pausing():
                    return await self._consent()
        finally:
            self.waited_s += time.monotonic() - started


async def permitted(surroundings: Surroundings) -> Level | str:
    """The level at which code of the draft may run now, or why it does not run.

    `process` is level 1 by the user's own word, and so are `interpreter` (W) and `external` (X), which must pass their
    self-test. By default it is the strongest level that passes its self-test; where that is level 1, code of a live
    model runs at level W if it is there, which confines it. What W can't run, and anything where W is not there, runs
    only if the user consents (`consented`).
    """
    choice = surroundings.sandbox
    if choice == "process":
        return PROCESS
    if choice in ("interpreter", "external"):
        return await _named(surroundings)
    if choice != "auto":
        return SWITCHED_OFF
    level = await asyncio.to_thread(selftest.strongest)
    if level.is_isolated or surroundings.code_is_trusted:
        return level
    test = await asyncio.to_thread(selftest.interpreted)
    if isinstance(test, selftest.SelfTest) and test.why is None:
        return test.level
    return await consented(surroundings)


async def consented(surroundings: Surroundings, reason: str = "") -> Level | str:
    """Level 1 if the user says so now, each time anew; else why the code does not run, after the `reason` why it could
    not run where nobody need be asked."""
    if surroundings.consent is not None and await surroundings.consent():
        return PROCESS
    return f"{reason}; {NEEDS_CONSENT}" if reason else NEEDS_CONSENT


async def permitted_query(surroundings: Surroundings) -> Level | str:
    """As `permitted`, for a query: one SELECT on a copy reaches nothing else, so it needs no consent and runs at the
    strongest level. It runs no interpreter of ours, so there is none at level W."""
    if surroundings.sandbox == "interpreter":
        return NO_QUERY
    if surroundings.sandbox == "external":
        return await _named(surroundings)
    return SWITCHED_OFF if surroundings.sandbox == "off" else await asyncio.to_thread(selftest.strongest)


async def _named(surroundings: Surroundings) -> Level | str:
    """The level that was asked for by name, never another one."""
    if surroundings.sandbox == "interpreter":
        test, name = await asyncio.to_thread(selftest.interpreted), "interpreter"
    else:
        test, name = await asyncio.to_thread(selftest.commanded, surroundings.sandbox_command), "external"
    if isinstance(test, str):
        return f"--sandbox {name}: {test}"
    return test.level if test.why is None else f"--sandbox {name}: its self-test failed, {test.why}"
