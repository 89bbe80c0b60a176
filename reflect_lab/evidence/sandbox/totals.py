"""What the processes of a caged program use together: their memory, and the disk below their home folder.

The kernel limits each process, not their sum (control groups could, but are not ours to write in most places). The
warden asks here while a program runs. Standard library only.
"""

from __future__ import annotations

import errno
import os
import stat

TYPE_CHECKING = False  # as in the warden
if TYPE_CHECKING:
    import signal
    from collections.abc import Iterable
else:
    import _signal as signal

_PAGE = os.sysconf("SC_PAGE_SIZE")
_BLOCK = 512


def memory_bytes(pids: list[int], limit: int) -> int:
    """What these processes hold in memory; pages that several share are counted once where the sum is over `limit`.

    One process alone is bound by its address space, and not looked at."""
    if len(pids) < 2:
        return 0
    resident = {pid: _resident(pid) for pid in pids}
    if sum(resident.values()) <= limit:
        return sum(resident.values())
    _send(pids, signal.SIGSTOP)  # counting shares takes long, and they would go on filling meanwhile
    held = sum(_proportional(pid, size) for pid, size in resident.items())
    if held <= limit:
        _send(pids, signal.SIGCONT)
    return held


def _send(pids: list[int], number: int) -> None:
    for pid in pids:
        try:
            os.kill(pid, number)
        except (ProcessLookupError, PermissionError):
            continue


def _resident(pid: int) -> int:
    """Of all threads: the first one, whose memory is asked for, may have left before the others."""
    most = 0
    try:
        for place in (f"/proc/{pid}", *(f"/proc/{pid}/task/{thread}" for thread in os.listdir(f"/proc/{pid}/task"))):
            with open(f"{place}/statm", "rb") as line:
                most = int(line.read().split()[1]) * _PAGE
            if most:
                break
    except (OSError, ValueError, IndexError):
        return most  # it ended while we looked
    return most


def _proportional(pid: int, resident: int) -> int:
    """A process's share; all that it holds where it does not let us look."""
    try:
        with open(f"/proc/{pid}/smaps_rollup", "rb") as lines:
            for line in lines:
                if line.startswith(b"Pss:"):
                    return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        pass
    return resident


def is_disk_over(before: os.statvfs_result, pids: list[int], most_bytes: int, most_files: int) -> bool:
    """Whether the files of these processes, in the folder that we are in, take more than that. `before` is what the
    file system was like when they began: others use it, too, so it says only whether it is worth to count ours."""
    now = os.statvfs(".")
    lost_bytes = (before.f_bavail - now.f_bavail) * now.f_frsize
    if lost_bytes > most_bytes or before.f_ffree - now.f_ffree > most_files:
        return _is_over(pids, most_bytes, most_files)
    return False


def _is_over(pids: Iterable[int], most_bytes: int, most_files: int) -> bool:
    used, files, folders = 0, 0, ["."]
    while folders:
        try:
            with os.scandir(folders.pop()) as entries:
                for entry in entries:
                    what = entry.stat(follow_symlinks=False)
                    used, files = used + what.st_blocks * _BLOCK, files + 1
                    if used > most_bytes or files > most_files:
                        return True
                    if stat.S_ISDIR(what.st_mode):
                        folders.append(entry.path)
        except OSError as error:
            if error.errno == errno.ENAMETOOLONG:  # so deep that nobody can look: no honest program goes there
                return True
    return used + _unnamed(pids) > most_bytes


def _unnamed(pids: Iterable[int]) -> int:
    """Bytes of files that were deleted and are open still."""
    here, seen = os.stat(".").st_dev, {}
    for pid in pids:
        try:
            for descriptor in os.listdir(f"/proc/{pid}/fd"):
                what = os.stat(f"/proc/{pid}/fd/{descriptor}")
                if what.st_nlink == 0 and what.st_dev == here and stat.S_ISREG(what.st_mode):
                    seen[what.st_ino] = what.st_blocks * _BLOCK
        except OSError:
            continue  # it ended while we looked
    return sum(seen.values())
