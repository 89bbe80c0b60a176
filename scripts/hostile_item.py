"""One hostile program through the `python` check, watched from outside it: `hostile.py` runs this as a throw-away user.

The item comes as JSON on standard input, what was seen goes to standard output.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import socket
import subprocess
import sys
import time
from contextlib import nullcontext
from pathlib import Path

from reflect_lab.core.evidence import Evidence
from reflect_lab.core.policy import Policy
from reflect_lab.core.run import Draft, Round, Run
from reflect_lab.core.task import CheckSpec, Task
from reflect_lab.evidence.gather import Checks
from reflect_lab.evidence.sandbox import cage, selftest
from reflect_lab.evidence.sandbox.caged import Caged
from reflect_lab.evidence.sandbox.levels import PROCESS, Level, found

LIMIT_S = 3.0
MARGIN_S = 3.0
TEXT_OVER = 1 << 20
PORTS = (47811, 47812, 47813)
TESTS = "assert add(2, 3) == 5\nassert add(-1, 1) == 0\nassert add(10, 20) == 30\n"


class Hooks:
    """Nobody listens."""

    def check(self, spec: CheckSpec) -> nullcontext[None]:
        return nullcontext()

    def evidence(self, evidence: Evidence) -> None:
        pass


class Outside:
    """What a program must not touch: a home with secrets, listeners, another process of the same user."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name in (".ssh/id_ed25519", ".config/reflect-lab.toml", ".netrc", "notes.txt", "notebook.ipynb"):
            file = folder / "home" / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text("CANARY-SECRET")
        self.before = self.state()
        self.sockets = [self._bound(socket.AF_INET, kind, ("127.0.0.1", port))
                        for port in PORTS for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM)]  # fmt: skip
        self.sockets.append(self._bound(socket.AF_UNIX, socket.SOCK_STREAM, "\0reflect-canary"))
        self.sockets.append(self._bound(socket.AF_UNIX, socket.SOCK_STREAM, str(folder / "sock")))
        self.bystander = subprocess.Popen(["sleep", "100"], env={"CANARY": "CANARY-BYSTANDER"})

    def _bound(self, family: int, kind: int, address: object) -> socket.socket:
        sock = socket.socket(family, kind)
        sock.bind(address)  # type: ignore[arg-type]
        sock.setblocking(False)
        if kind == socket.SOCK_STREAM:
            sock.listen()
        return sock

    def state(self) -> dict[str, str]:
        files = [p for p in self.folder.rglob("*") if not p.is_socket()]
        return {
            str(p): f"{p.lstat().st_mode} {p.is_file() and hashlib.sha256(p.read_bytes()).hexdigest()}" for p in files
        }

    def is_reached(self) -> bool:
        def hit(sock: socket.socket) -> bool:
            try:
                return bool(sock.recv(1) if sock.type == socket.SOCK_DGRAM else sock.accept())
            except BlockingIOError:
                return False

        return any(hit(sock) for sock in self.sockets)

    def is_bystander_hurt(self) -> bool:
        return self.bystander.poll() is not None or state_of(self.bystander.pid) == "T"

    def is_changed(self) -> bool:
        try:
            return self.state() != self.before
        except OSError:
            return True


def state_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return "X"


def survivors(but: int) -> list[int]:
    """The user's processes that are neither this one nor the bystander."""
    pids = [int(entry) for entry in os.listdir("/proc") if entry.isdigit()]
    mine = [p for p in pids if p not in (os.getpid(), but) and state_of(p) not in "ZX"]
    return [p for p in mine if Path(f"/proc/{p}").exists() and os.stat(f"/proc/{p}").st_uid == os.getuid()]


def chosen(number: int, abi: int | None) -> Level:
    level = PROCESS if number == 1 else next(level for level in found()[0] if level.number == number)
    if number == 2 and abi is not None:
        level = Level(number=2, abi=abi)
    return selftest.tested(level).level


def verdict(evidence: Evidence) -> str:
    """The check's answer in the words of the corpus."""
    ended = evidence.provenance.get("exit", "")
    if evidence.status == "passed":
        return "pass"
    if ended in ("timeout", "flood", "processes"):
        return "timeout" if ended == "timeout" else "resource"
    if ended in ("-24", "-25"):  # CPU time, size of a file
        return "resource"
    if ended.startswith("-"):
        return "crash"
    return "fail" if evidence.status == "failed" else "error"


def looked_at(item: dict[str, str]) -> dict[str, object]:
    level = chosen(int(item["level"]), item["abi"])  # type: ignore[arg-type]
    selftest.strongest = lambda: level  # type: ignore[assignment]
    outside = Outside(Path(item["folder"], "outside"))
    kept: list[Caged] = []
    blocking = cage.run_blocking

    def watched(*arguments: object, **named: object) -> Caged:
        kept.append(blocking(*arguments, **named))  # type: ignore[arg-type]
        return kept[-1]

    cage.run_blocking = watched  # type: ignore[assignment]
    text = item["text"].replace("@CANARY@", str(outside.folder))
    check = CheckSpec(name="add", kind="python", options={"code": TESTS, "timeout_s": LIMIT_S})
    task = Task(text="add(a, b)", checks=(check,))
    run = Run(run_id="r", task=task, policy=Policy(), rounds=(Round(index=0, draft=Draft(index=0, text=text)),))
    checks = Checks(task, code_is_trusted=True)
    (evidence,) = asyncio.run(checks.gather(run, Hooks()))  # type: ignore[arg-type]
    time.sleep(1)  # the rule of the corpus: nobody may be alive one second later
    said = repr(evidence) + "".join(caged.output for caged in kept)
    late = max((caged.seconds for caged in kept), default=0.0) - LIMIT_S
    effects = {
        "secret_out": "CANARY" in said,
        "outside_write": outside.is_changed(),
        "net_hit": outside.is_reached(),
        "survivor": bool(survivors(outside.bystander.pid)),
        "bystander": outside.is_bystander_hurt(),
        "overtime": late > MARGIN_S,
        "output_over": len(said) > TEXT_OVER,
    }
    outside.bystander.kill()
    return {
        "verdict": verdict(evidence), "effects": [name for name, is_seen in effects.items() if is_seen],
        "name": level.name, "late_s": late, "text_bytes": max((len(c.output.encode()) for c in kept), default=0),
        "text": evidence.text, "executions": evidence.executions,
        "integrity": evidence.sandbox and evidence.sandbox.verdict_integrity,
    }  # fmt: skip


if __name__ == "__main__":
    print(json.dumps(looked_at(json.load(sys.stdin))))
