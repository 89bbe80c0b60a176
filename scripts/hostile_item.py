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
from collections.abc import Iterable
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
MARGIN_S = 0.5
TEXT_OVER = 1 << 20
PORTS = (47811, 47812, 47813)
COMMON = ("/tmp", "/var/tmp", "/dev/shm")
TESTS = "assert add(2, 3) == 5\nassert add(-1, 1) == 0\nassert add(10, 20) == 30\n"


class Hooks:
    """Nobody listens."""

    def check(self, spec: CheckSpec) -> nullcontext[None]:
        return nullcontext()

    def evidence(self, evidence: Evidence) -> None:
        pass


class Outside:
    """What a program must not touch: a home with secrets, listeners, places where every program may write, another
    process of the same user."""

    def __init__(
        self, folder: Path, ports: tuple[int, ...] = PORTS, name: str = "reflect-canary", common: Iterable[str] = ()
    ) -> None:
        self.folder, self.name, self.common = folder, name, common
        for file in (".ssh/id_ed25519", ".config/reflect-lab.toml", ".netrc", "notes.txt", "notebook.ipynb"):
            (folder / "home" / file).parent.mkdir(parents=True, exist_ok=True)
            (folder / "home" / file).write_text("CANARY-SECRET")
        streams = [self._bound(socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", port)) for port in ports]
        self.ports = [stream.getsockname()[1] for stream in streams]
        place = os.open(folder, os.O_PATH)  # a socket's path may not be long
        self.sockets = [
            *streams,
            *(self._bound(socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", port)) for port in self.ports),
            self._bound(socket.AF_UNIX, socket.SOCK_STREAM, f"\0{name}"),
            self._bound(socket.AF_UNIX, socket.SOCK_STREAM, f"/proc/self/fd/{place}/sock"),
        ]
        os.close(place)
        self.bystander = subprocess.Popen(["sleep", "100"], env={"CANARY": "CANARY-BYSTANDER"})
        self.before = self.state()
        self.rank = os.getpriority(os.PRIO_PROCESS, self.bystander.pid), os.sched_getaffinity(self.bystander.pid)

    def _bound(self, family: int, kind: int, address: object) -> socket.socket:
        sock = socket.socket(family, kind)
        sock.bind(address)  # type: ignore[arg-type]
        sock.setblocking(False)
        if kind == socket.SOCK_STREAM:
            sock.listen()
        return sock

    def state(self) -> dict[str, tuple[object, ...]]:
        """All that can be changed of each file: mode, owner, links, time, attributes, content."""
        files = [self.folder, *(p for p in self.folder.rglob("*") if not p.is_socket())]
        return {str(p): self._state(p) for p in files} | {p: (sorted(os.listdir(p)),) for p in self.common}

    def _state(self, path: Path) -> tuple[object, ...]:
        what = path.lstat()
        content = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else None
        return what.st_mode, what.st_uid, what.st_nlink, what.st_mtime_ns, os.listxattr(path), content

    def is_reached(self) -> bool:
        def hit(sock: socket.socket) -> bool:
            try:
                return bool(sock.recv(1) if sock.type == socket.SOCK_DGRAM else sock.accept())
            except BlockingIOError:
                return False

        return any(hit(sock) for sock in self.sockets)

    def close(self) -> None:
        self.bystander.kill()
        self.bystander.wait()
        for sock in self.sockets:
            sock.close()

    def is_bystander_hurt(self) -> bool:
        pid = self.bystander.pid
        is_alive = self.bystander.poll() is None and state_of(pid) != "T"
        return not is_alive or (os.getpriority(os.PRIO_PROCESS, pid), os.sched_getaffinity(pid)) != self.rank

    def is_changed(self) -> bool:
        try:
            return self.state() != self.before
        except OSError:
            return True


def state_of(pid: int) -> str:
    """As /proc says it, but X for what can do nothing any more: a process whose first thread left may have others."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return "X"
    return "X" if fields[0] in "ZX" and int(fields[17]) <= 1 else fields[0]


def survivors(but: int) -> list[int]:
    """The user's processes that are neither this one nor the bystander."""
    pids = [int(entry) for entry in os.listdir("/proc") if entry.isdigit()]
    mine = [p for p in pids if p not in (os.getpid(), but) and state_of(p) != "X"]
    return [p for p in mine if Path(f"/proc/{p}").exists() and os.stat(f"/proc/{p}").st_uid == os.getuid()]


def chosen(name: str, abi: int | None) -> Level:
    if name == "W":
        test = selftest.interpreted()
        assert isinstance(test, selftest.SelfTest) and test.why is None, test
        return test.level
    number = int(name)
    level = PROCESS if number == 1 else next(level for level in found()[0] if level.number == number)
    if number == 2 and abi is not None:
        level = Level(number=2, abi=abi)
    return selftest.tested(level).level


def verdict(evidence: Evidence) -> str:
    """The check's answer in the words of the corpus."""
    ended = evidence.provenance.get("exit", "")
    if evidence.status == "passed":
        return "pass"
    if evidence.status == "not_run":  # level W refuses what it can't run
        return "blocked"
    if evidence.sandbox is not None and evidence.sandbox.level == "W" and ended == "0":  # it ended at its own limit
        for words, of in (("no answer within", "timeout"), ("it needs over", "resource")):
            if words in evidence.text:
                return of
    if ended in ("timeout", "flood", "processes", "memory", "disk"):
        return "timeout" if ended == "timeout" else "resource"
    if ended in ("-24", "-25"):  # CPU time, size of a file
        return "resource"
    if ended.startswith("-"):
        return "crash"
    return "fail" if evidence.status == "failed" else "error"


def looked_at(item: dict[str, str]) -> dict[str, object]:
    level = chosen(str(item["level"]), item["abi"])  # type: ignore[arg-type]
    selftest.strongest = lambda: level  # type: ignore[assignment]
    outside = Outside(Path(item["folder"], "outside"), common=COMMON)
    kept: list[Caged] = []
    seconds: list[float] = []
    blocking = cage.run_blocking

    def watched(*arguments: object, **named: object) -> Caged:
        started = time.monotonic()
        kept.append(blocking(*arguments, **named))  # type: ignore[arg-type]
        seconds.append(time.monotonic() - started)
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
    late = max(seconds, default=0.0) - LIMIT_S
    effects = {
        "secret_out": "CANARY" in said,
        "outside_write": outside.is_changed(),
        "net_hit": outside.is_reached(),
        "survivor": bool(survivors(outside.bystander.pid)),
        "bystander": outside.is_bystander_hurt(),
        "overtime": late > MARGIN_S,
        "output_over": len(said) > TEXT_OVER,
        "left_files": os.listdir(item["folder"]) != ["outside"],
    }
    outside.close()
    return {
        "verdict": verdict(evidence), "effects": [name for name, is_seen in effects.items() if is_seen],
        "name": level.name, "late_s": late, "text_bytes": max((len(c.output.encode()) for c in kept), default=0),
        "text": evidence.text, "executions": evidence.executions,
        "integrity": evidence.sandbox and evidence.sandbox.verdict_integrity,
    }  # fmt: skip


if __name__ == "__main__":
    print(json.dumps(looked_at(json.load(sys.stdin))))
