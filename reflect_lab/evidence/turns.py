"""Who may run at the same time, and who may try once more: the two things that checks of one draft share."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Coroutine, Sequence
from typing import Any, TypeVar

T = TypeVar("T")

log = logging.getLogger(__name__)

LEAVE_S = 6.0
"""Seconds that checks get to end what they started when the gathering is cancelled: a caged process takes up to 4."""


def default_concurrency() -> int:
    """As many checks at once as this process may use processors, and at least two: one that only waits for somebody
    must not hold up all others."""
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(2, usable)


class Retries:
    """The second tries that the budget allows to a group of checks that run at the same time.

    Where fewer are left than there are checks, they go to the first in the order of the group, whoever fails first in
    time: a run must not depend on that. Then a check that ended as an error waits until those before it are decided.
    """

    def __init__(self, spare: int | None, size: int) -> None:
        self._spare = spare
        self._wants: list[asyncio.Future[bool]] = [asyncio.get_running_loop().create_future() for _ in range(size)]

    async def asked(self, number: int, *, wants: bool) -> bool:
        """Says whether the check of this number wants a second try; True where it gets it. To be called once by each
        check, whatever became of it."""
        self._wants[number].set_result(wants)
        if not wants or self._spare is None or self._spare >= len(self._wants):
            return wants
        earlier = await asyncio.gather(*self._wants[:number])
        return sum(earlier) < self._spare

    @property
    def left(self) -> int | None:
        """What of the spare is left when all are decided."""
        if self._spare is None:
            return None
        return max(0, self._spare - sum(w.result() for w in self._wants if w.done() and not w.cancelled()))


async def side_by_side(work: Sequence[Coroutine[Any, Any, T]]) -> list[T]:
    """The results in the order of `work`. A fault, or a cancellation from outside, ends all of it before it goes on;
    work that does not end within `LEAVE_S` is left behind, with a line in the log, so that no deadline waits for it."""
    tasks = [asyncio.ensure_future(one) for one in work]
    try:
        if tasks:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
        for failed in (task for task in tasks if task.done() and (task.cancelled() or task.exception())):
            failed.result()  # raises
        return [task.result() for task in tasks]
    finally:
        await _end(tasks)


async def _end(tasks: Sequence[asyncio.Future[T]]) -> None:
    for task in tasks:
        task.cancel()
    running = {task for task in tasks if not task.done()}
    if running:
        _, running = await asyncio.wait(running, timeout=LEAVE_S)
    for task in tasks:
        if task.done() and not task.cancelled():
            task.exception()  # the gathering is over and nobody wants to know
    if running:
        log.warning("%d checks did not end within %g s of being cancelled and were left behind", len(running), LEAVE_S)
