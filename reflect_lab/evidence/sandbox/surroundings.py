"""What surrounds a caged process: its environment, its private folder, the mark by which it can be found again."""

from __future__ import annotations

import importlib.util
import logging
import os
import shutil
import signal
import struct
import subprocess
import time
from contextlib import suppress
from pathlib import Path

from reflect_lab.evidence.sandbox import warden

log = logging.getLogger(__name__)

_REMOVE_S = 30.0
_PATIENCE_S = 0.1
_SMALL = 200
_ALLOWED_ENVIRONMENT = ("PATH", "LD_LIBRARY_PATH")
_MARKER = "REFLECT_LAB_CAGE"


def environment(home: str, marker: str) -> dict[str, str]:
    """The whole environment of a caged process: an allow-list, so that no key can be in it. Language and time zone are
    the same everywhere, so that a draft is judged alike on every machine."""
    kept = {name: os.environ[name] for name in _ALLOWED_ENVIRONMENT if name in os.environ}
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    return {
        "PATH": os.defpath,
        **kept,
        "LANG": "C.UTF-8",
        "LC_ALL": "C.UTF-8",
        "TZ": "UTC",
        **threads,
        "HOME": home,
        "TMPDIR": home,
        "PYTHONHASHSEED": "0",
        "PYTHONUTF8": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        _MARKER: marker,
    }


def compiled(program: Path) -> Path:
    """The form of a program that Python left behind when it compiled it, which starts faster; the program itself where
    there is none or it is of another text."""
    try:
        path = Path(importlib.util.cache_from_source(str(program)))
        of, text = _head(path), program.stat()
    except (OSError, NotImplementedError):
        return program
    changed, size = int(text.st_mtime) & 0xFFFFFFFF, text.st_size & 0xFFFFFFFF
    wanted = importlib.util.MAGIC_NUMBER + struct.pack("<3L", 0, changed, size)
    return path if of == wanted else program


def _head(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(16)


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


def remove_folder(folder: str, until: float = float("inf")) -> None:
    """Removes a private folder, whatever a draft made of it: locked folders, links out, a thousand levels.

    A folder that holds much is removed by a process of its own, which goes on where it is not done at the moment
    `until` (of the monotonic clock; a little later where that is near): no verdict waits for it."""
    if _is_small(folder):
        with suppress(RecursionError):
            shutil.rmtree(folder, ignore_errors=True)
    if not os.path.lexists(folder):
        return
    # Neither command follows symbolic links on its way down.
    script = 'rm -rf -- "$1" || { chmod -R u+rwX -- "$1"; rm -rf -- "$1"; }'
    try:
        removal = subprocess.Popen(
            ["/bin/sh", "-c", script, "sh", folder],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        removal.wait(min(max(until - time.monotonic(), _PATIENCE_S), _REMOVE_S))
    except subprocess.TimeoutExpired:
        log.debug("the temporary folder %s is still being removed", folder)
    except OSError as error:
        log.warning("the temporary folder %s could not be removed: %s", folder, error)
    else:
        if os.path.lexists(folder):
            log.warning("the temporary folder %s could not be removed", folder)


def _is_small(folder: str) -> bool:
    """Whether there is little in it, and nothing deep."""
    seen, folders = 0, [folder]
    while folders and seen < _SMALL:
        try:
            with os.scandir(folders.pop()) as entries:
                for entry in entries:
                    seen += 1
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(entry.path)
                    if seen >= _SMALL:
                        return False
        except OSError:
            return False
    return seen < _SMALL
