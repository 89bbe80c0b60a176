"""What became of a caged program: how it ended, what it answered, what it printed."""

from __future__ import annotations

import json
import platform
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from reflect_lab.core.evidence import Sandbox
from reflect_lab.core.task import text_sha256
from reflect_lab.evidence.sandbox.levels import PROCESS, Level
from reflect_lab.evidence.sandbox.limits import Limits, recorded

End = Literal["exited", "signal", "timeout", "flood", "processes", "memory", "disk", "stopped", "not_started", "lost"]


@dataclass(frozen=True, kw_only=True)
class Caged:
    """What became of a caged program.

    `code` is its exit code, negative for a signal, None where it never ended by itself. `answers` are its JSON lines;
    `malformed` says why they can't be trusted to be whole. `output` is what it printed, capped. Times are in seconds:
    `cpu_s` of the whole tree, `waited_s` the longest that one of its threads was ready to run and got no processor (0
    where the system does not tell). `level` and `limits` are those that it was run under, `python` and `interpreter`
    the version and the program.
    """

    end: End
    code: int | None = None
    answers: tuple[Mapping[str, object], ...] = ()
    malformed: str | None = None
    output: str = ""
    is_output_cut: bool = False
    problem: str | None = None
    seconds: float = 0.0
    cpu_s: float = 0.0
    waited_s: float = 0.0
    peak_rss_bytes: int = 0
    left_behind: int = 0
    level: Level = PROCESS
    limits: Limits = field(default_factory=Limits)
    python: str = field(default_factory=platform.python_version)
    interpreter: str = sys.executable

    @property
    def is_environments_fault(self) -> bool:
        """Whether this says nothing about the draft: nothing started, or we lost or stopped it."""
        return self.end in ("not_started", "lost", "stopped")

    @property
    def is_near_its_limit(self) -> bool:
        """Whether half of the wall time or of the CPU time was used, or all of it: another run may end otherwise."""
        limits = self.limits
        return self.end == "timeout" or self.seconds >= limits.wall_s / 2 or self.cpu_s >= limits.cpu_s / 2

    @property
    def stability(self) -> Literal["stable", "unstable"]:
        """How a verdict that stands on this run is marked."""
        return "unstable" if self.is_near_its_limit else "stable"

    @property
    def is_starved(self) -> bool:
        """Whether the time ran out on a busy machine, so that it is not known what the program would have done: its
        process waited for a processor for three quarters of its time or more, and all that it started had less than a
        quarter of it as CPU time; or what watches over it had no time to report these. So a draft that needs less than
        a quarter of its time never fails for the machine's sake; every verdict of a timeout is marked unstable."""
        wall_s = self.limits.wall_s
        is_kept_waiting = self.waited_s >= 0.75 * wall_s and self.cpu_s < 0.25 * wall_s
        return self.end == "timeout" and (is_kept_waiting or self.problem is not None)

    def sandbox(self, integrity: Literal["split", "in_process"] | None) -> Sandbox:
        """Where it ran, as it is recorded with the evidence; `integrity` says who compared (None: nothing was)."""
        return recorded(self.level, self.limits, integrity)

    def provenance(self, code: str, tests: str | None = None) -> dict[str, str]:
        """What is recorded of a run: its Python, what it was given (as hashes), how it ended, what it took, and what
        confined it. `code` is the draft, `tests` all that judged it."""
        return {
            "python": self.python,
            "interpreter": self.interpreter,
            "code_sha256": text_sha256(code),
            **({"tests_sha256": text_sha256(tests)} if tests is not None else {}),
            "exit": str(self.code) if self.end in ("exited", "signal") else self.end,
            "cpu_s": f"{self.cpu_s:.3f}",
            "peak_rss_bytes": str(self.peak_rss_bytes),
            "stability": self.stability,
            "is_output_cut": str(self.is_output_cut).lower(),
            **self.level.provenance,
        }


def with_report(caged: Caged, report: list[str]) -> Caged:
    """`caged` with what the warden reported: how it ended, code, CPU seconds, peak memory in KiB, processes
    left, seconds of waiting for a processor."""
    if report[:1] == ["not_started"]:
        return replace(caged, end="not_started", problem=" ".join(report[1:]))
    if len(report) != 6:
        return replace(caged, problem="the process that watches over the check was lost")
    how, code = report[0], int(report[1])
    ended = replace(caged, cpu_s=float(report[2]), peak_rss_bytes=int(report[3]) * 1024, left_behind=int(report[4]))
    ended = replace(ended, waited_s=float(report[5]))
    if caged.end != "lost":
        return ended
    if how in ("processes", "memory", "disk"):
        return replace(ended, end=how)  # type: ignore[arg-type]
    return replace(ended, end="signal" if code < 0 else "exited", code=code)


def read_answers(data: bytes, nonce: str, is_cut: bool = False) -> tuple[tuple[Mapping[str, object], ...], str | None]:
    """The program's JSON lines, and why they are not to be trusted, if so. Total: any bytes have an answer."""
    answers: list[Mapping[str, object]] = []
    if is_cut:
        return (), "the answer is too long"
    for line in data.split(b"\n"):
        if not line:
            continue
        try:
            answer = json.loads(line)
        except (ValueError, RecursionError):
            return tuple(answers), "an answer is not JSON"
        if not isinstance(answer, dict) or answer.pop("nonce", None) != nonce:
            return tuple(answers), "an answer does not carry this run's mark"
        answers.append(answer)
    return tuple(answers), None
