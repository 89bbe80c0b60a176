"""Landlock by its three system calls: which files, ports and processes a process may reach; and how a process is put
under a seccomp filter. For level 2.

Standard library only, and little of it: the warden imports it.
Source: Documentation/userspace-api/landlock.rst of the kernel.
"""

from __future__ import annotations

import os
import stat
import struct
import sys

TYPE_CHECKING = False  # as in the warden
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_CREATE, _ADD, _RESTRICT = 444, 445, 446
_VERSION = 1
_EXECUTE, _WRITE, _READ, _LIST, _TRUNCATE, _IOCTL = 1 << 0, 1 << 1, 1 << 2, 1 << 3, 1 << 14, 1 << 15
_OF_A_FILE = _EXECUTE | _WRITE | _READ | _TRUNCATE | _IOCTL
_SCOPES = 0b11
"""No abstract socket and no signal reaches a process outside."""

KNOWS_TRUNCATE, SCOPES_SIGNALS, NEWEST = 3, 6, 7
"""The versions of the interface (ABI) that brought a feature, and the newest that is known here."""


def abi() -> int:
    """The version of the kernel's Landlock, at most the newest known here; 0 where it is missing or switched off."""
    import platform

    if sys.platform != "linux" or platform.machine() not in ("x86_64", "aarch64"):
        return 0
    try:
        return min(_caller()(_CREATE, None, 0, _VERSION), NEWEST)
    except OSError:
        return 0


def restrict(version: int, readable: Iterable[str], writable: Iterable[str], devices: Iterable[str]) -> None:
    """Confines this process, and all that it will start, to these paths: `readable` (and executable) and `writable`
    ones with all below, `devices` to read and write. A path that is not there is left out. With ABI 4 no TCP port can
    be used, with ABI 6 no signal gets out. The process must have given up new privileges. Raises OSError."""
    everything = (1 << 13) - 1
    everything |= sum(1 << bit for bit, since in ((13, 2), (14, 3), (15, 5)) if version >= since)
    parts = [everything, *([0b11] if version >= 4 else []), *([_SCOPES] if version >= SCOPES_SIGNALS else [])]
    attributes = struct.pack(f"={len(parts)}Q", *parts)
    call = _caller()
    ruleset = call(_CREATE, attributes, len(attributes), 0)
    try:
        rights = (
            (readable, _EXECUTE | _READ | _LIST), (writable, everything), (devices, _READ | _WRITE | _TRUNCATE),
        )  # fmt: skip
        for paths, right in rights:
            for path in paths:
                _allow(call, ruleset, path, right & everything)
        call(_RESTRICT, ruleset, 0)
    finally:
        os.close(ruleset)


def install_filter(program: bytes) -> None:
    """Puts this process, and all that it will start, under a filter (see `syscalls`). Raises OSError where the kernel
    refuses."""
    import ctypes

    buffer = ctypes.create_string_buffer(program, len(program))
    described = ctypes.create_string_buffer(struct.pack("@HP", len(program) // 8, ctypes.addressof(buffer)))
    if ctypes.CDLL(None, use_errno=True).prctl(22, 2, ctypes.byref(described), 0, 0):
        code = ctypes.get_errno()
        raise OSError(code, f"seccomp: {os.strerror(code)}")


def _allow(call: Callable[..., int], ruleset: int, path: str, right: int) -> None:
    try:
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return
    try:
        if not stat.S_ISDIR(os.fstat(place).st_mode):
            right &= _OF_A_FILE
        call(_ADD, ruleset, 1, struct.pack("=Qi", right, place), 0)
    finally:
        os.close(place)


def _caller() -> Callable[..., int]:
    """What makes a system call: its number, then whole numbers, bytes or None; it raises OSError."""
    import ctypes

    library = ctypes.CDLL(None, use_errno=True)

    def call(number: int, *arguments: int | bytes | None) -> int:
        words = [ctypes.c_long(a) if isinstance(a, int) else ctypes.c_char_p(a) for a in arguments]
        answer = int(library.syscall(ctypes.c_long(number), *words))
        if answer < 0:
            code = ctypes.get_errno()
            raise OSError(code, f"Landlock: {os.strerror(code)}")
        return answer

    return call
