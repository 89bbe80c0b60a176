"""What runs in this very process, because it is the user's own code: never waited for beyond its deadline."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TypeVar

T = TypeVar("T")

TRUSTED = "trusted: a function of this process, not confined"
_LEAVE_S = 0.25
"""Seconds that a cancelled coroutine gets to end by itself."""


async def in_thread(function: Callable[[], T]) -> tuple[T | None, BaseException | None]:
    """What a function returned or raised, in a thread of its own. When the caller is cancelled the thread is left to
    itself: it can't be ended, but it is a daemon, so that it keeps no process alive."""
    loop, context = asyncio.get_running_loop(), contextvars.copy_context()
    done: asyncio.Future[tuple[T | None, BaseException | None]] = loop.create_future()

    def tell(result: T | None, error: BaseException | None) -> None:
        if not done.done():
            done.set_result((result, error))

    def work() -> None:
        result, fault = None, None
        try:
            result = context.run(function)
        except BaseException as error:
            fault = error
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(tell, result, fault)

    threading.Thread(target=work, daemon=True, name="reflect-lab-check").start()
    return await done


async def guarded(work: Awaitable[T]) -> tuple[T | None, BaseException | None]:
    """What a coroutine returned or raised. SystemExit and the like must not end the loop that runs it."""
    try:
        return await work, None
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise
        return None, error
    except BaseException as error:
        return None, error


async def ended(work: Awaitable[T]) -> T:
    """The result of a coroutine in a task of its own, so that one which refuses to be cancelled holds up nobody."""
    task = asyncio.ensure_future(work)
    try:
        await asyncio.wait({task})
    except asyncio.CancelledError:
        task.cancel()
        await asyncio.wait({task}, timeout=_LEAVE_S)
        raise
    return task.result()
