"""The limits of a caged process, and how they are recorded with the evidence."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Literal

from reflect_lab.core.evidence import Sandbox

LEVEL_NAMES = {0: "off", 1: "process limits (no isolation)"}


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What a caged process may use. `wall_s` counts from its start, interpreter included.

    `cpu_s`, `memory_bytes` (address space), `file_bytes` (one file) and `open_files` hold for each process;
    `processes` for all together. Of what is printed, `output_bytes` are kept; over `flood_bytes` ends the process.
    """

    wall_s: float = 10.0
    cpu_s: int = 10
    memory_bytes: int = 1 << 30
    file_bytes: int = 64 << 20
    open_files: int = 128
    processes: int = 64
    output_bytes: int = 256 * 1024
    flood_bytes: int = 64 << 20


def process_limits(limits: Limits, integrity: Literal["split", "in_process"] | None) -> Sandbox:
    """Level 1 as it is recorded: it stops accidents and runaways, it does not isolate."""
    return Sandbox(
        level=1,
        name=LEVEL_NAMES[1],
        limits={
            "wall_s": limits.wall_s,
            "cpu_s": limits.cpu_s,
            "memory_bytes": limits.memory_bytes,
            "file_bytes": limits.file_bytes,
            "open_files": limits.open_files,
            "processes": limits.processes,
            "output_bytes": limits.output_bytes,
            "user": "root" if os.name == "posix" and os.geteuid() == 0 else "ordinary",
        },
        verdict_integrity=integrity,
    )


def switched_off() -> Sandbox:
    """Level 0: nothing of the draft runs."""
    return Sandbox(level=0, name=LEVEL_NAMES[0])
