"""What surrounds a caged process: its environment, its private folder, the mark by which it can be found again."""

from __future__ import annotations

import os
import shutil
import signal
from contextlib import suppress
from pathlib import Path

from reflect_lab.evidence.sandbox import warden

_ALLOWED_ENVIRONMENT = ("PATH", "LANG", "LC_ALL", "TZ", "LD_LIBRARY_PATH")
_MARKER = "REFLECT_LAB_CAGE"


def environment(home: str, marker: str) -> dict[str, str]:
    """The whole environment of a caged process: an allow-list, so that no key can be in it."""
    kept = {name: os.environ[name] for name in _ALLOWED_ENVIRONMENT if name in os.environ}
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    return {
        "PATH": os.defpath,
        "LANG": "C.UTF-8",
        **kept,
        **threads,
        "HOME": home,
        "TMPDIR": home,
        "PYTHONHASHSEED": "0",
        "PYTHONUTF8": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        _MARKER: marker,
    }


def kill_marked(marker: str) -> None:
    """Ends processes that carry this run's mark in their environment: the last resort when the warden was killed."""
    needle = f"{_MARKER}={marker}".encode()
    for entry in os.listdir("/proc") if os.path.isdir("/proc") else []:
        if not entry.isdigit():
            continue
        try:
            is_marked = needle in Path(f"/proc/{entry}/environ").read_bytes()
        except OSError:
            continue  # another user's, or it ended while we looked
        if is_marked:
            warden.send(int(entry), signal.SIGKILL)


def remove_folder(folder: str) -> None:
    def make_writable(function: object, path: str, _: object) -> None:
        with suppress(OSError):
            os.chmod(os.path.dirname(path), 0o700)
            os.chmod(path, 0o700, follow_symlinks=False) if os.path.islink(path) else os.chmod(path, 0o700)

    for _ in range(2):
        shutil.rmtree(folder, onerror=make_writable)
        if not os.path.exists(folder):
            return
