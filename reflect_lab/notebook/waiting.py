"""Waiting for a run in a kernel, so that an interrupt ends the run and not the waiting."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from typing import Any

from reflect_lab.core.observer import Latest
from reflect_lab.core.run import Run
from reflect_lab.notebook.errors import CellError

NOTICE_S = 0.1
"""Seconds after which an interrupt is noticed at the latest."""


def run_in_thread(start: Callable[[Latest], Coroutine[Any, Any, Run]]) -> Run:
    """The run that `start` makes (it is given an observer), in a thread with a loop of its own."""
    latest = Latest()
    loop = asyncio.new_event_loop()
    running = loop.create_task(start(latest))
    ended = threading.Event()
    threading.Thread(target=_run_to_end, args=(loop, running, ended)).start()
    while not ended.is_set():
        try:
            # Not the thread's `join`: interrupted, it takes the thread for ended while it goes on (CPython 3.11).
            ended.wait(NOTICE_S)
        except KeyboardInterrupt:
            loop.call_soon_threadsafe(running.cancel)
    try:
        return running.result()
    except asyncio.CancelledError:
        return _kept(latest)


async def outlive_interrupt(running: asyncio.Future[Run], latest: Latest) -> Run:
    """The finished run. An interrupt or a press of Stop ends the loop, which folds in `cancelled` first.

    The kernel's handler of an interrupt leaves a note for its event loop and does not wake it: a quiet loop would find
    the note when the server answers. Hence the short waits.
    """
    task = asyncio.current_task()
    while not running.done():
        try:
            await asyncio.wait([running], timeout=NOTICE_S)
        except asyncio.CancelledError:
            running.cancel()
            if task is not None:
                task.uncancel()
    try:
        return running.result()
    except asyncio.CancelledError:
        return _kept(latest)


def _run_to_end(loop: asyncio.AbstractEventLoop, running: asyncio.Task[Run], ended: threading.Event) -> None:
    """Runs a loop of its own in this thread. The waiting thread takes result or error from the task."""
    asyncio.set_event_loop(loop)
    try:
        loop.run_until_complete(asyncio.wait([running]))
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.run_until_complete(loop.shutdown_default_executor())
    finally:
        loop.close()
        ended.set()


def _kept(latest: Latest) -> Run:
    """The run as it was when it was interrupted."""
    if latest.ended is None:
        raise CellError("cancelled before the first draft was asked for")
    return latest.ended
