"""Which levels really hold on this machine: a probe runs in each and says what it could reach.

Levels W and X, which are beside the order of the others, are asked for by name.
"""

from __future__ import annotations

import functools
import json
import os
import time
from dataclasses import dataclass, replace
from pathlib import Path

from reflect_lab.evidence.sandbox import cage, external, interpreter, probe
from reflect_lab.evidence.sandbox.caged import Caged
from reflect_lab.evidence.sandbox.canaries import Canaries, canaries
from reflect_lab.evidence.sandbox.levels import PROCESS, Level, found
from reflect_lab.evidence.sandbox.limits import Limits

_LIMITS = Limits(wall_s=10.0)
_EXTERNAL_LIMITS = Limits(wall_s=60.0)
"""A container's image may have to be fetched first."""
PASSED = "passed"
REACHED, LACKED = "the probe reached", "the probe had no"
"""How `SelfTest.why` begins where the probe did run: with what it must not reach, or could not do."""

_PROBE = """
def reads(path):
    return open(path).read()

def writes(path):
    with open(path, "a") as file:
        file.write("x")

def lists(path):
    import os
    return os.listdir("/")

def environment(path):
    import os
    return os.environ["PATH"]

def sockets(path):
    import socket

def processes(path):
    import subprocess

def native(path):
    import ctypes

def signals(path):
    import os
    return os.getppid()

def tried(canary, new):
    reached = []
    for name, attempt, path in [("a file", reads, canary), ("writing a file", writes, canary),
                                ("writing a new file", writes, new), ("folders", lists, canary),
                                ("the environment", environment, canary), ("sockets", sockets, canary),
                                ("processes", processes, canary), ("native code", native, canary),
                                ("other processes", signals, canary)]:
        try:
            attempt(path)
            reached.append(name)
        except Exception:
            pass
    if sorted([len(word) for word in "to compute is allowed".split()]) != [2, 2, 7, 7]:
        reached.append("no right result")
    return ", ".join(reached) or "none"
"""
"""Level W's own probe, in the part of Python that its interpreter knows."""


@dataclass(frozen=True, kw_only=True)
class SelfTest:
    """What a self-test of one level said. `why` says what was reached or is missing, None where it passed."""

    level: Level
    why: str | None
    seconds: float


@dataclass(frozen=True, kw_only=True)
class Machine:
    """What this machine has: every level that seemed to be there with its self-test, strongest first, and why the
    others are missing."""

    tests: tuple[SelfTest, ...]
    missing: tuple[str, ...]

    @property
    def strongest(self) -> Level:
        """The strongest level that passed; level 1 where none did."""
        passed = (test.level for test in self.tests if test.why is None)
        return next(passed, PROCESS)


def tested(level: Level) -> SelfTest:
    """Runs the self-test of a level: the probe must fail to read or write the canaries, to open a socket and to signal
    its parent, and must be able to keep a file, open a device, start a child and a thread."""
    started = time.monotonic()
    try:
        with canaries() as outside:
            why = _verdict(cage.run_blocking(Path(probe.__file__), _job(outside), _LIMITS, level=level))
            if why is None and not outside.are_whole:
                why = "the probe wrote a file outside"
    except OSError as error:
        why = f"the probe could not be made: {error}"
    return SelfTest(level=replace(level, selftest=why or PASSED), why=why, seconds=time.monotonic() - started)


def _verdict(caged: Caged) -> str | None:
    """What the probe reached that it must not, or missed that it needs; None where all is as it must be."""
    if not caged.answers or caged.malformed is not None:
        return f"the probe did not run: {_reason(caged.problem, caged.output) or caged.end}"
    for key, words in (("reached", REACHED), ("missing", LACKED)):
        names = caged.answers[0].get(key)
        if not isinstance(names, list):
            return "the probe gave no answer"
        if names:
            return f"{words} {', '.join(map(str, names))}"
    return None


@functools.cache
def machine() -> Machine:
    """This machine's levels, tested once in a process, when they are first asked for."""
    levels, missing = found()
    return Machine(tests=tuple(tested(level) for level in levels), missing=tuple(missing))


@functools.cache
def strongest() -> Level:
    """The strongest level that passes its self-test; weaker ones are not tried then. Level 1 where none passes."""
    return next((test.level for test in map(tested, found()[0]) if test.why is None), PROCESS)


@functools.cache
def interpreted() -> SelfTest | str:
    """Level W, tested once in a process: its probe must reach no file, no socket, no process and no environment, and
    must be able to compute. Text says why it is not there."""
    level = interpreter.found()
    if level is None:
        return interpreter.MISSING
    started = time.monotonic()
    with canaries() as outside:
        canary = outside.made[0]
        call = f"tried({canary!r}, {f'{canary}-new'!r})"
        job = {"mode": "python", "setup": "", "draft": _PROBE, "code": f"({call},)", "cases": [[0, 1]], "asked": [0],
               "raising": [], "room": [1 << 16, 1 << 16]}  # fmt: skip
        why = _interpreters_verdict(interpreter.run_blocking(job, _LIMITS, level))
        if why is None and not outside.are_whole:
            why = "the probe wrote a file"
    return SelfTest(level=replace(level, selftest=why or PASSED), why=why, seconds=time.monotonic() - started)


def _interpreters_verdict(caged: Caged) -> str | None:
    values = next((one["values"] for one in caged.answers if "values" in one), None)
    if values is None or caged.malformed is not None:
        said = next((str(one["unfit"]) for one in caged.answers if "unfit" in one), None)
        return f"the probe did not run: {said or _reason(caged.problem, caged.output) or caged.end}"
    return None if values == [[{"value": "none"}]] else f"the probe reached {json.dumps(values)[:200]}"


@functools.cache
def commanded(command: tuple[str, ...]) -> SelfTest | str:
    """Level X with this command, tested once in a process: honest code must work there. What the probe could reach is
    told in `Level.selftest` and forbids nothing: what the command isolates is the user's to know. Text says why it
    can't be started."""
    level = external.level(command)
    if isinstance(level, str):
        return level
    with canaries() as outside:
        caged = cage.run_blocking(Path(probe.__file__), _job(outside), _EXTERNAL_LIMITS, level=level)
    answer = caged.answers[0] if caged.answers else {}
    honest = replace(caged, answers=({**answer, "reached": []},) if answer else ())
    why = caged.problem if caged.end == "not_started" else _verdict(honest)
    reached = ", ".join(map(str, reach)) if isinstance(reach := answer.get("reached"), list) else ""
    said = why or f"{PASSED}; the probe could reach {reached or 'nothing that it tried'}"
    return SelfTest(level=replace(level, selftest=said), why=why, seconds=caged.seconds)


def _job(outside: Canaries) -> dict[str, object]:
    return {"canaries": outside.files, "made": outside.made, "namespace": _namespace()}


def _namespace() -> str:
    try:
        return os.readlink("/proc/self/ns/pid")
    except OSError:
        return ""


def _reason(problem: str | None, output: str) -> str:
    """The last line that bubblewrap or Python printed, else what the warden said."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    return lines[-1][:200] if lines else (problem or "")
