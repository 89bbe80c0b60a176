"""Whether a draft's code may run, and at which level of the sandbox. Never a silent downgrade."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager

from reflect_lab.core.roles import CheckHooks
from reflect_lab.evidence.check import Consent, Surroundings
from reflect_lab.evidence.sandbox import selftest
from reflect_lab.evidence.sandbox.levels import PROCESS, Level

NEEDS_CONSENT = (
    "this code was written by a live model and only process limits are there, which do not isolate it; "
    "`--sandbox process` lets it run, `reflect-lab doctor` says what to install for isolation"
)
SWITCHED_OFF = "the sandbox is off, so no code of the draft runs"


class Asking:
    """Asks the user on behalf of one check. The time that he takes is not the run's."""

    def __init__(self, consent: Consent | None = None) -> None:
        self._consent = consent
        self._turn: tuple[CheckHooks, asyncio.Lock] | None = None
        self.waited_s = 0.0
        """How long the present turn waited for him, and before that for his answers to other checks."""

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

    `process` is level 1 by the user's own word. By default it is the strongest level that passes its self-test; where
    that is level 1, code of a live model runs only if the user consents, each time anew.
    """
    if surroundings.sandbox == "process":
        return PROCESS
    if surroundings.sandbox != "auto":
        return SWITCHED_OFF
    level = await asyncio.to_thread(selftest.strongest)
    if level.number > 1 or surroundings.code_is_trusted:
        return level
    if surroundings.consent is not None and await surroundings.consent():
        return PROCESS
    return NEEDS_CONSENT
