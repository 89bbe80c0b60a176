"""The embedded model's child process: a real llama.cpp server on a free port of 127.0.0.1.

Its settings, the API key among them, come as one JSON line on standard input, so that no key stands in an argument list
or an environment. It prints `READY url` on standard output once it answers. It ends when standard input closes or when
its parent is gone, whichever is seen first: a parent that was killed leaves no server behind.

This file is started by its path as well as with `-m`, so it imports nothing of the package.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from typing import Any, NoReturn

CONTEXT_TOKENS = 8192  # shared by the slots
SLOTS = 2
PROMPT_CACHE_MIB = 64  # llama.cpp's own default would grow to 8 GiB
HTTP_THREADS = 4
ERRORS_ONLY = 1
ORPHAN_POLL_S = 0.5


def main() -> None:
    ready = _keep_stdout()
    parent = os.getppid()
    settings = json.loads(sys.stdin.buffer.readline() or b"null")
    if settings is None:
        return
    threading.Thread(target=_end_with_parent, args=(parent,), daemon=True).start()
    server = _serve(settings)
    os.write(ready, f"READY {server.listening_address}\n".encode())
    os.close(ready)
    while sys.stdin.buffer.read(4096):
        continue
    _end()


def _keep_stdout() -> int:
    """A descriptor for the one line that the parent reads; everything else that is printed goes to standard error."""
    ready = os.dup(1)
    os.dup2(2, 1)
    return ready


def _serve(settings: dict[str, Any]) -> Any:
    from xllamacpp import CommonParams, Server

    params = CommonParams()
    params.model.path = settings["model_file"]
    params.model_alias = {settings["model"]}
    params.api_keys = [settings["api_key"]]
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.cors_origins = ""  # the default would let any web page in the user's browser in
    # Two threads on two busy cores were measured to be 20 times slower than one.
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = settings["threads"]
    params.n_threads_http = HTTP_THREADS
    params.n_ctx = CONTEXT_TOKENS
    params.n_parallel = SLOTS
    params.cache_ram_mib = PROMPT_CACHE_MIB
    params.endpoint_metrics = True
    params.endpoint_slots = False
    params.offline = True
    params.ui = False
    params.warmup = False
    params.verbosity = ERRORS_ONLY
    return Server(params)


def _end_with_parent(parent: int) -> None:
    """Ends the process when its parent is another one than at the start.

    Closing standard input says the same at once, but not when a third process holds a copy of the pipe. The kernel's
    own parent-death signal is of no use here: it follows the parent's *thread*, and a worker thread may end early.
    """
    while os.getppid() == parent:
        time.sleep(ORPHAN_POLL_S)
    _end()


def _end() -> NoReturn:
    # An orderly shutdown would wait for the answer that is being written to nobody.
    os._exit(0)


if __name__ == "__main__":
    main()
