"""Fifty checks in parallel beside another group of processes of the same user; `python neighbours.py LEVEL` says how
each of them ended. A program of its own, so that it can run as another user than the tests."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from reflect_lab.evidence.sandbox import selftest
from tests.evidence.evidence_support import evidence_of, isolated_levels

CHECKS = 50
PRESSURE = """
import os, sys, time
children = []
for _ in range(300):
    child = os.fork()
    if child == 0:
        time.sleep(120)
        os._exit(0)
    children.append(child)
print("there", flush=True)
sys.stdin.read()
for child in children:
    os.kill(child, 9)
"""
RIGHT = """
import subprocess, threading
def add(a, b):
    threads = [threading.Thread(target=int) for _ in range(8)]
    [t.start() for t in threads]
    return a + int(subprocess.check_output(["echo", str(b)]))
"""
WRONG = RIGHT.replace("a + int", "a - int")


@contextmanager
def another_group_under_pressure() -> Iterator[None]:
    """Processes of the same user in another group: more than a check itself may start."""
    other = subprocess.Popen(
        [sys.executable, "-c", PRESSURE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
    )
    assert other.stdin is not None and other.stdout is not None
    try:
        assert other.stdout.readline() == b"there\n"
        yield
    finally:
        other.stdin.close()
        other.wait(30)
        other.stdout.close()


async def judged(number: int) -> list[tuple[str, int, int]]:
    """Status, executions and level of each check."""
    if number > 1:
        level = next(level for level in isolated_levels() if level.number == number)
        selftest.strongest = lambda: level  # type: ignore[assignment]
    options = {"code": "assert add(2, 3) == 5", "timeout_s": 120.0}
    choice = {"sandbox": "process"} if number == 1 else {}
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(CHECKS))  # really all at once
    drafts = [RIGHT if n % 2 else WRONG for n in range(CHECKS)]
    with another_group_under_pressure():
        found = await asyncio.gather(*(evidence_of("python", options, draft, **choice) for draft in drafts))
    return [(e.status, e.executions, e.sandbox.level if e.sandbox else -1) for e in found]


if __name__ == "__main__":
    print(json.dumps(asyncio.run(judged(int(sys.argv[1])))))
