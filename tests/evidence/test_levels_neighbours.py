"""RLIMIT_NPROC counts a user's processes everywhere: what others of the user do must not change a verdict."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from reflect_lab.evidence.sandbox import selftest
from reflect_lab.evidence.sandbox.levels import PROCESS, Level
from tests.evidence.evidence_support import evidence_of, isolated_levels

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


@pytest.mark.slow
@pytest.mark.parametrize("level", [PROCESS, *isolated_levels()], ids=lambda level: str(level.number))
async def test_fifty_checks_in_parallel_and_a_neighbour_under_pressure_change_no_verdict(
    level: Level, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(selftest, "strongest", lambda: level)
    options = {"code": "assert add(2, 3) == 5", "timeout_s": 120.0}
    with another_group_under_pressure():
        gathered = await asyncio.gather(
            *(evidence_of("python", options, RIGHT if n % 2 else WRONG, code_is_trusted=True) for n in range(50))
        )
    assert [e.status for e in gathered] == ["passed" if n % 2 else "failed" for n in range(50)]
    assert {e.executions for e in gathered} == {1}
