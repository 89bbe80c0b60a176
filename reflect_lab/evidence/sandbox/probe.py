"""The self-test's own program: it tries to get out of the cage, and then does what honest code does.

A script of its own like the runner (`python -s -P probe.py DESCRIPTOR`). It answers with two lists: `reached`, what it
must not reach, and `missing`, what it must be able to do.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from functools import partial
from typing import Any


def opens(path: str) -> None:
    with open(path, "rb"):
        pass


def writes(path: str) -> None:
    with open(path, "a", encoding="utf-8") as file:
        file.write("x")


def writes_one_of(paths: list[str]) -> None:
    if not any(works(partial(writes, path)) for path in paths):
        raise PermissionError("none can be written")


def opens_a_socket(family: str) -> None:
    import socket

    socket.socket(getattr(socket, family), socket.SOCK_DGRAM).close()


def signals_its_parent(namespace: str) -> None:
    if os.readlink("/proc/self/ns/pid") != namespace:
        raise PermissionError("our process ids mean nothing here")
    os.kill(os.getppid(), 0)


def keeps_a_file() -> None:
    import tempfile

    with tempfile.TemporaryFile("w+") as file:
        file.write("kept")
        file.seek(0)
        if file.read() != "kept":
            raise OSError("a file lost what was written")


def opens_a_device() -> None:
    with open("/dev/null", "r+b", buffering=0) as device:
        device.write(b"x")


def starts_a_child() -> None:
    import subprocess

    # Of a program we know but this one's path; PATH may hold none.
    subprocess.run([sys.executable, "-I", "-S", "-c", ""], check=True, timeout=5)


def starts_a_thread() -> None:
    import threading

    thread = threading.Thread(target=int)
    thread.start()
    thread.join()


def works(attempt: Callable[[], None]) -> bool:
    try:
        attempt()
    except Exception:
        return False
    return True


def tried(job: dict[str, Any]) -> dict[str, list[str]]:
    """What was reached and what is missing, in words."""
    forbidden: dict[str, Callable[[], None]] = {
        **{name: partial(opens, path) for name, path in job["canaries"].items()},
        "writing a file outside": lambda: writes_one_of(job["made"]),
        "its parent, by a signal": lambda: signals_its_parent(job["namespace"]),
        **{f"a socket ({f})": partial(opens_a_socket, f) for f in ("AF_INET", "AF_INET6", "AF_UNIX")},
    }
    needed = {
        "files": keeps_a_file,
        "/dev/null": opens_a_device,
        "child processes": starts_a_child,
        "threads": starts_a_thread,
    }
    return {
        "reached": [name for name, attempt in forbidden.items() if works(attempt)],
        "missing": [name for name, attempt in needed.items() if not works(attempt)],
    }


def main() -> None:
    job = json.loads(sys.stdin.buffer.read())
    answer = {"nonce": job["nonce"], **tried(job)}
    os.write(int(sys.argv[1]), json.dumps(answer).encode() + b"\n")


if __name__ == "__main__":
    main()
