"""What surrounds a caged process: its environment, its private folder, the mark by which it can be found again."""

from __future__ import annotations

import importlib.util
import logging
import os
import shutil
import signal
import struct
import subprocess
from contextlib import suppress
from pathlib import Path

from reflect_lab.evidence.sandbox import warden

log = logging.getLogger(__name__)

_REMOVE_S = 30.0
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


def remove_folder(folder: str) -> None:
    """Removes a private folder, whatever a draft made of it: locked folders, links out, a thousand levels."""
    try:
        shutil.rmtree(folder, ignore_errors=True)
    except RecursionError:
        log.debug("%s is nested too deeply for Python", folder)
    if not os.path.lexists(folder):
        return
    for command in (["chmod", "-R", "u+rwX"], ["rm", "-rf"]):
        # Neither follows symbolic links on its way down.
        with suppress(subprocess.TimeoutExpired):  # what is left is reported below
            subprocess.run([*command, "--", folder], stderr=subprocess.DEVNULL, timeout=_REMOVE_S, check=False)
    if os.path.lexists(folder):
        log.warning("the temporary folder %s could not be removed", folder)
