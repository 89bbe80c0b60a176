"""The limits of a caged process, and how they are recorded with the evidence."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Literal

from reflect_lab.core.evidence import Sandbox
from reflect_lab.evidence.sandbox.levels import LEVEL_NAMES, Level


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What a caged process may use. `wall_s` counts from its start, interpreter included.

    `cpu_s`, `memory_bytes` (address space), `file_bytes` (one file) and `open_files` hold for each process. All of them
    together may be `processes`, hold `memory_bytes` in memory, and have `disk_bytes` in `files`: a look several times
    a second ends what is over (level 3 has a disk of that size). Of what is printed, `output_bytes` are kept; over
    `flood_bytes` ends the process. `heap_bytes` are for all values of level W's interpreter.
    """

    wall_s: float = 10.0
    cpu_s: int = 10
    memory_bytes: int = 1 << 30
    file_bytes: int = 64 << 20
    disk_bytes: int = 128 << 20
    files: int = 20_000
    open_files: int = 128
    processes: int = 64
    output_bytes: int = 256 * 1024
    flood_bytes: int = 64 << 20
    heap_bytes: int = 256 << 20

    @property
    def of_processes(self) -> dict[str, int]:
        """Those that the warden holds."""
        return {
            "cpu_s": self.cpu_s,
            "memory_bytes": self.memory_bytes,
            "file_bytes": self.file_bytes,
            "disk_bytes": self.disk_bytes,
            "files": self.files,
            "open_files": self.open_files,
            "processes": self.processes,
        }


def recorded(level: Level, limits: Limits, integrity: Literal["split", "in_process"] | None) -> Sandbox:
    """A level and its limits as they are recorded with the evidence."""
    return Sandbox(
        level=level.number,
        name=level.name,
        abi=level.abi,
        limits=_held(level, limits),
        selftest=level.selftest,
        verdict_integrity=integrity,
    )


def _held(level: Level, limits: Limits) -> dict[str, float | int | str]:
    """The limits that hold at a level."""
    if level.number == "W":
        return {"wall_s": limits.wall_s, "heap_bytes": limits.heap_bytes}
    if level.number == "X":
        return {"wall_s": limits.wall_s, "processes": limits.processes, "output_bytes": limits.output_bytes}
    held: dict[str, float | int | str] = {
        "wall_s": limits.wall_s,
        **limits.of_processes,
        "output_bytes": limits.output_bytes,
        "user": "root" if os.name == "posix" and os.geteuid() == 0 else "ordinary",
    }
    return held


def nothing_ran(choice: str) -> Sandbox:
    """Where nothing of the draft was run, by what the user asked for (`--sandbox`): the level that was named, though it
    is missing or does not serve; else level 0, which is called `off` where that was said, and nowhere else."""
    if choice == "interpreter":
        return Sandbox(level="W", name=f"{LEVEL_NAMES['W']} (nothing ran)")
    if choice == "external":
        return Sandbox(level="X", name=f"{LEVEL_NAMES['X']} (nothing ran)")
    return Sandbox(level=0, name=LEVEL_NAMES[0] if choice == "off" else "nothing ran")
