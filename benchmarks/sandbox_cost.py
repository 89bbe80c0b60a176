"""What a check costs at each level of the sandbox, over a bare start of Python on the same machine.

`python benchmarks/sandbox_cost.py [RUNS]` (default 50). The ways take turns, so that what else the machine does touches
all alike. A check is a whole one: a warden, limits, isolation, a draft of one function, its tests, clean-up.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from reflect_lab.evidence.sandbox import cage, runner, selftest
from reflect_lab.evidence.sandbox.levels import PROCESS, Level
from reflect_lab.evidence.sandbox.limits import Limits

GOAL_MS = {2: 60, 3: 120}
JOB = {
    "mode": "python", "draft": "def add(a, b):\n    return a + b\n", "setup": "", "code": "assert add(2, 3) == 5",
    "cases": [[0, 1]], "asked": [], "raising": [], "room": [1 << 16, 1 << 19],
}  # fmt: skip


def bare() -> None:
    subprocess.run([sys.executable, "-I", "-c", "pass"], check=True)


def check(level: Level) -> Callable[[], None]:
    def perform() -> None:
        caged = cage.run_blocking(Path(runner.__file__), JOB, Limits(), level=level)
        assert caged.answers[-2:] == ({"case": 0, "said": None, "line": None, "values": []}, {"done": True}), caged

    return perform


def milliseconds(perform: Callable[[], None]) -> float:
    start = time.perf_counter()
    perform()
    return (time.perf_counter() - start) * 1000


def main(runs: int) -> None:
    levels = [PROCESS, *(test.level for test in reversed(selftest.machine().tests) if test.why is None)]
    ways = {"python -I -c pass": bare, **{f"level {each.number}": check(each) for each in levels}}
    times: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(runs):
        for name, perform in ways.items():
            times[name].append(milliseconds(perform))
    base = statistics.median(times["python -I -c pass"])
    print(f"median of {runs}, in ms (fastest in brackets)")
    for name, measured in times.items():
        added = statistics.median(measured) - base
        goal = GOAL_MS.get(int(name[-1])) if name.startswith("level") else None
        print(f"{name:20} {added + base:6.1f} ({min(measured):.1f})" + (f"  adds {added:5.1f}" if added else "")
              + (f", at most {goal} wanted" if goal else ""))  # fmt: skip


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 50)
