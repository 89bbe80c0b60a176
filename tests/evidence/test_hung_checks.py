"""A check that hangs never delays a run's deadline, whoever wrote it; and it takes no other check's result away."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import pytest

from reflect_lab.core.policy import Limits, Policy, Rules
from reflect_lab.core.run import Run
from reflect_lab.core.task import CheckSpec, Task
from reflect_lab.evidence.gather import Checks
from reflect_lab.evidence.kinds.custom import CustomCheck, check
from reflect_lab.evidence.named import CheckRegistry
from reflect_lab.loop import run_loop
from tests.evidence.evidence_support import Remember, is_alive, run_with, wait_for
from tests.store.driver import empty_run, roles

DEADLINE_S = 1.5
WITHIN_S = 3.0
DRAFT = "def f():\n    while True: pass\n"
SLEEPS = "trap '' TERM; sleep 600 & echo $$ $! > \"$0\"; wait"


@contextmanager
def hanging() -> Iterator[dict[str, CustomCheck]]:
    """A plain function that hangs, and a coroutine that hangs and will not be cancelled; let go at the end."""
    let_go = threading.Event()

    @check(timeout_s=600)
    def plain(draft: str) -> bool:
        return let_go.wait(60)

    @check(timeout_s=600)
    async def coroutine(draft: str) -> bool:
        while not let_go.is_set():
            with suppress(asyncio.CancelledError):
                await asyncio.sleep(0.2)
        return True

    try:
        yield {"plain": plain, "coroutine": coroutine}
    finally:
        let_go.set()


def specs(pid: Path) -> dict[str, CheckSpec]:
    return {
        "plain": CheckSpec(name="plain", kind="custom"),
        "coroutine": CheckSpec(name="coroutine", kind="custom"),
        "command": CheckSpec(
            name="command",
            kind="command",
            options={"argv": ["/bin/sh", "-c", SLEEPS, str(pid)], "timeout_s": 600},
        ),
        "python": CheckSpec(name="python", kind="python", options={"code": "assert f() == 1", "timeout_s": 600}),
    }


async def run_until_its_deadline(task: Task, checks: Checks) -> tuple[Run, float]:
    policy = Policy(limits=Limits(revisions=0, elapsed_s=DEADLINE_S), rules=Rules(critic="never"))
    started = time.monotonic()
    run = replace(empty_run(policy=policy), task=task)
    ended = await run_loop(run, replace(roles([DRAFT], []), evidence=checks), [])
    return ended, time.monotonic() - started


@pytest.mark.parametrize("hung", [["plain"], ["coroutine"], ["command"], ["python"], ["command", "python", "plain"]])
async def test_the_deadline_of_a_run_holds_whatever_hangs(hung: list[str], tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    task = Task(text="Write f.", checks=tuple(specs(pid)[name] for name in hung), language="python")
    with hanging() as functions:
        resolved = CheckRegistry(functions).resolve(task)
        checks = Checks(resolved.task, code_is_trusted=True, kinds=resolved.kinds, named=resolved.named, concurrency=3)
        ended, seconds = await run_until_its_deadline(resolved.task, checks)
    assert ended.outcome and (ended.outcome.stop_reason, ended.outcome.budget_dimension) == ("budget", "elapsed_s")
    assert ended.outcome.draft == DRAFT.strip() and ended.rounds[0].evidence is None
    assert seconds < WITHIN_S
    if "command" in hung:
        pids = [int(word) for word in pid.read_text().split()]
        gone = await asyncio.to_thread(wait_for, lambda: not any(map(is_alive, pids)))
        assert len(pids) == 2 and gone, "the command ends with its run, and what it started too"


async def test_a_check_that_hangs_until_its_own_deadline_is_an_error_and_the_others_keep_theirs() -> None:
    options = {"argv": ["/bin/sh", "-c", "sleep 600"], "timeout_s": 0.3}
    some = (
        CheckSpec(name="slow", kind="command", options=options),
        CheckSpec(name="short", kind="text", options={"max_words": 9}),
        CheckSpec(name="loops", kind="python", options={"code": "assert f() == 1", "timeout_s": 3}),
        CheckSpec(name="parses", kind="python_syntax"),
    )
    task = Task(text="Write f.", checks=some)
    hooks = Remember()
    gathered = await Checks(task, code_is_trusted=True, concurrency=2).gather(run_with(task, DRAFT), hooks)
    assert [e.source for e in gathered] == [s.name for s in some], "in the order of the task"
    assert [e.status for e in gathered] == ["error", "passed", "failed", "passed"]
    assert "no answer within 0.3 s" in gathered[0].text and "no answer within 3 s" in gathered[2].text
