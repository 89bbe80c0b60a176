"""The lock that tells a running process from one that is gone: held on its log file as long as the process lives."""

from __future__ import annotations

import errno
import os
from pathlib import Path

try:
    import fcntl
except ImportError:  # not a POSIX system: nothing can be told from locks there
    fcntl = None  # type: ignore[assignment]

_UNSUPPORTED = {errno.ENOLCK, errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS}


def hold(descriptor: int) -> bool:
    """Lock an open file until it is closed or the process ends. False where the file system has no locks."""
    if fcntl is None:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
    except OSError as error:
        if error.errno in _UNSUPPORTED:
            return False
        raise
    return True


def is_held(path: Path) -> bool:
    """Whether a live process (this one too) holds the file's lock."""
    if fcntl is None:
        return False
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError as error:
        if error.errno in _UNSUPPORTED:
            return False
        raise
    else:
        return False
    finally:
        os.close(descriptor)
