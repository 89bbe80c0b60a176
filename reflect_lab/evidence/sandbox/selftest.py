"""Which levels really hold on this machine: a probe runs in each and says what it could reach."""

from __future__ import annotations

import functools
import os
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path

from reflect_lab.evidence.sandbox import cage, probe
from reflect_lab.evidence.sandbox.caged import Caged
from reflect_lab.evidence.sandbox.levels import PROCESS, Level, found
from reflect_lab.evidence.sandbox.limits import Limits

_LIMITS = Limits(wall_s=10.0)
PASSED = "passed"


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
    """Runs the self-test of a level: the probe must fail to read or write a canary, to open a socket and to signal its
    parent, and must be able to keep a file, start a child and a thread."""
    started = time.monotonic()
    try:
        with tempfile.TemporaryDirectory(prefix="reflect-lab-canary-") as folder:
            canary = Path(folder, "canary")
            canary.write_text("canary")
            job = {"canary": str(canary), "namespace": _namespace()}
            why = _verdict(cage.run_blocking(Path(probe.__file__), job, _LIMITS, level=level))
            if why is None and canary.read_text() != "canary":
                why = "the probe wrote a file outside"
    except OSError as error:
        why = f"the probe could not be made: {error}"
    return SelfTest(level=replace(level, selftest=why or PASSED), why=why, seconds=time.monotonic() - started)


def _verdict(caged: Caged) -> str | None:
    """What the probe reached that it must not, or missed that it needs; None where all is as it must be."""
    if not caged.answers or caged.malformed is not None:
        return f"the probe did not run: {_reason(caged.problem, caged.output) or caged.end}"
    for key, words in (("reached", "the probe reached"), ("missing", "the probe had no")):
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


def _namespace() -> str:
    try:
        return os.readlink("/proc/self/ns/pid")
    except OSError:
        return ""


def _reason(problem: str | None, output: str) -> str:
    """The last line that bubblewrap or Python printed, else what the warden said."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    return lines[-1][:200] if lines else (problem or "")
