"""What the tests of evidence share: a run with a draft, hooks that remember, and a look at processes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from reflect_lab.core.evidence import Evidence
from reflect_lab.core.policy import Policy
from reflect_lab.core.run import Draft, Round, Run
from reflect_lab.core.task import CheckSpec, Fact, Requirement, Task
from reflect_lab.evidence.gather import Checks
from reflect_lab.evidence.sandbox import selftest
from reflect_lab.evidence.sandbox.levels import Level

T = TypeVar("T")

MEAN_WRONG = "def mean(xs):\n    return sum(xs) / len(xs)\n"
MEAN_RIGHT = "def mean(xs):\n    return sum(xs) / len(xs) if xs else 0.0\n"


class Remember:
    """Hooks that note what they are told, in order."""

    def __init__(self) -> None:
        self.told: list[str] = []

    @contextmanager
    def check(self, spec: CheckSpec) -> Iterator[None]:
        self.told.append(f"begin {spec.name}")
        yield
        self.told.append(f"end {spec.name}")

    def evidence(self, evidence: Evidence) -> None:
        self.told.append(f"{evidence.source} {evidence.status}")

    @contextmanager
    def pausing(self) -> Iterator[None]:
        self.told.append("asks")
        yield
        self.told.append("answered")


def task(
    *checks: CheckSpec, text: str = "Write it.", facts: tuple[str, ...] = (), requirements: Mapping[str, str] = {}
) -> Task:
    return Task(
        text=text,
        checks=checks,
        facts=tuple(Fact(index=n, text=t) for n, t in enumerate(facts)),
        requirements=tuple(Requirement(id=i, text=t) for i, t in requirements.items()),
    )


def run_with(a_task: Task, draft: str | Draft) -> Run:
    one = draft if isinstance(draft, Draft) else Draft(index=0, text=draft)
    return Run(run_id="r", task=a_task, policy=Policy(), rounds=(Round(index=0, draft=one),))


async def gather(
    a_task: Task, draft: str | Draft, hooks: Remember | None = None, **options: object
) -> tuple[Evidence, ...]:
    checks = Checks(a_task, **{"code_is_trusted": True, **options})  # type: ignore[arg-type]
    return await checks.gather(run_with(a_task, draft), hooks or Remember())


async def evidence_of(kind: str, options: Mapping[str, object], draft: str, **more: object) -> Evidence:
    """The evidence of one check on a draft."""
    spec = CheckSpec(name=kind, kind=kind, options=options, requirements=tuple(more.pop("covers", ())))  # type: ignore[call-overload]
    kept = {key: more.pop(key) for key in ("text", "facts", "requirements") if key in more}
    (evidence,) = await gather(task(spec, **kept), draft, **more)  # type: ignore[arg-type]
    return evidence


def is_alive(pid: int) -> bool:
    """Whether a process runs: a zombie does not, unless its first thread left and others did not."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return False
    return fields[0] not in "ZX" or int(fields[17]) > 1


def wait_for(look: Callable[[], T], seconds: float = 20.0) -> T:
    """Looks until it sees something or the time is over; the last look is the answer."""
    end = time.monotonic() + seconds
    while not (seen := look()) and time.monotonic() < end:
        time.sleep(0.005)
    return seen


def isolated_levels() -> list[Level]:
    """The levels above 1 that hold on this machine, strongest first; of one level that is there twice the first."""
    held = [test.level for test in selftest.machine().tests if test.why is None]
    return list({level.number: level for level in reversed(held)}.values())[::-1]
