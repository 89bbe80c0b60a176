"""Level X: a command of the user's own that runs a Python program for us, in a container or on another machine.

The command gets the program on standard input, with its job inside (so `docker run -i … python -I -` does, and
`ssh HOST python3 -I -`), and gives back the answers, as lines of JSON, on standard output. All that the code prints
goes to standard error: the program keeps standard output for itself and points its descriptor elsewhere before it
begins.

The command is the user's tool: it has the user's rights and a part of the environment, limits on time and output, and
it ends with all that descends from it. What it starts elsewhere (a container's daemon) is not ours to end, so the
program watches over the deadline where it runs, too.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from reflect_lab.evidence.sandbox.caged import Caged
from reflect_lab.evidence.sandbox.levels import Level
from reflect_lab.evidence.sandbox.limits import Limits

_ENVIRONMENT = (
    "HOME", "USER", "LOGNAME", "SHELL", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "SSH_AUTH_SOCK",
    "DBUS_SESSION_BUS_ADDRESS", "DOCKER_HOST", "DOCKER_CONTEXT", "DOCKER_CONFIG", "DOCKER_CERT_PATH",
    "DOCKER_TLS_VERIFY", "CONTAINER_HOST", "CONTAINER_CONNECTION", "KUBECONFIG", "SYSTEMROOT",
)  # fmt: skip
_BEGUN = "begun"
_JUNK = (
    "the command can't be used: something else than its answers came on standard output, which must be the program's "
    "alone (try it by hand: `echo 'print(1)' | COMMAND` must print 1 and nothing else)"
)

_PROGRAM = """\
import io, json, os, shutil, sys, tempfile, time
ended = time.monotonic() + {wall_s!r}
answers = os.dup(1)
os.dup2(2, 1)
folder = tempfile.mkdtemp()
child = os.fork()
if child:
    while (over := os.waitpid(child, os.WNOHANG)) == (0, 0):
        if time.monotonic() > ended:
            os.kill(child, 9)
        time.sleep(0.01)
    shutil.rmtree(folder, ignore_errors=True)
    code = os.waitstatus_to_exitcode(over[1])
    os._exit(code if code >= 0 else 128 - code)
os.chdir(folder)
os.environ.update({{"TZ": "UTC", "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8"}})
time.tzset()
job = {job!r}
begun = [sys.version.split()[0], sys.executable]
os.write(answers, json.dumps({{"nonce": json.loads(job)["nonce"], {begun!r}: begun}}).encode() + b"\\n")
sys.argv = ["check", str(answers)]
sys.stdin = io.TextIOWrapper(io.BytesIO(job.encode()))
exec(compile({source!r}, "check", "exec"), {{"__name__": "__main__"}})
"""


def level(command: Sequence[str]) -> Level | str:
    """Level X with this command, not tested yet; or why it can't be started."""
    program = shutil.which(command[0])
    if program is None:
        return f"there is no program {command[0]!r}"
    return Level(number="X", command=(os.path.abspath(program), *command[1:]))


def environment() -> dict[str, str]:
    """What such tools need of the user's environment: an allow-list, so that no key of a model is in it."""
    return {name: os.environ[name] for name in _ENVIRONMENT if name in os.environ}


def standard_input(program: Path, job: Mapping[str, object], limits: Limits) -> bytes:
    """The program that the command is to run: `program` with its job."""
    source = program.read_text("utf-8")
    text = _PROGRAM.format(wall_s=limits.wall_s, job=json.dumps(job), begun=_BEGUN, source=source)
    return text.encode("utf-8")


def concluded(caged: Caged) -> Caged:
    """What came of it, without the first answer: that the program began, and with which Python. Where that is missing
    nothing was learned: the fault is the command's, whatever it is."""
    begun = caged.answers[0].get(_BEGUN) if caged.answers else None
    if isinstance(begun, list):
        if caged.end == "exited" and 128 < (caged.code or 0) < 256:  # how the program tells of a signal below it
            caged = replace(caged, end="signal", code=128 - (caged.code or 0))
        version, executable = map(str, begun[:2])
        return replace(caged, answers=caged.answers[1:], python=version, interpreter=executable)
    if caged.malformed is not None:
        return replace(caged, end="not_started", malformed=None, problem=_JUNK)
    lines = [line.strip() for line in caged.output.splitlines() if line.strip()]
    how = f"it ended with code {caged.code}" if caged.end == "exited" else f"it ended as {caged.end}"
    telling = lines[-1] if lines and lines[0].startswith("Traceback") else next(iter(lines), "")
    said = f": {telling[:200]}" if telling else ""
    return replace(caged, end="not_started", problem=f"the command did not run the program: {how}{said}")
