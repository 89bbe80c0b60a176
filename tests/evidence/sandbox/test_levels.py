"""Levels 2 and 3 on the kernel of this machine: what gets out, what honest code can do, what is recorded."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from textwrap import indent

import pytest

from reflect_lab.evidence.sandbox import cage, landlock, runner, selftest, strongest, text_runner
from reflect_lab.evidence.sandbox.caged import Caged
from reflect_lab.evidence.sandbox.levels import PROCESS, Level, system_paths
from reflect_lab.evidence.sandbox.limits import Limits
from tests.evidence.evidence_support import evidence_of, is_alive, isolated_levels

LEVELS = isolated_levels()
OLD = [pytest.param(Level(number=2, abi=abi), id=f"2 with ABI {abi}") for abi in (1, 3, 5) if abi < landlock.abi()]
NEW = [pytest.param(level, id=str(level.number)) for level in LEVELS]
no_isolation_here = pytest.mark.skipif(not LEVELS, reason="neither Landlock nor bubblewrap works on this machine")
pytestmark = no_isolation_here


def run(draft: str, level: Level, limits: Limits = Limits(), readable: tuple[str, ...] = ()) -> Caged:
    job = {"mode": "python", "draft": draft, "setup": "", "code": "pass", "cases": [[0, 1]]}
    return cage.run_blocking(Path(runner.__file__), job, limits, level=level, readable=readable)


def tries(level: Level, *statements: str) -> list[str]:
    """What became of each statement: `done`, or the exception that stopped it. One process tries them all."""
    draft = "import os, socket, ctypes, resource, signal\n"
    for statement in statements:
        draft += f"try:\n    {statement}\nexcept BaseException as error:\n    print(type(error).__name__)\n"
        draft += "else:\n    print('done')\n"
    return run(draft, level).output.split()


@pytest.fixture
def outside() -> Iterator[Path]:
    """A folder of the user, beside the cage's."""
    folder = Path(tempfile.mkdtemp(prefix="reflect-lab-outside-"))
    (folder / "notes.txt").write_text("private")
    yield folder
    shutil.rmtree(folder)


@pytest.mark.parametrize("level", [*NEW, *OLD])
def test_the_self_test_passes_where_the_level_holds(level: Level) -> None:
    test = selftest.tested(level)
    assert test.why is None and test.level.selftest == "passed"


@pytest.mark.parametrize("level", NEW)
def test_the_self_test_does_not_depend_on_programs_in_the_path(level: Level, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", os.path.dirname(sys.executable))
    assert selftest.tested(level).why is None


def test_the_self_test_says_what_the_probe_reached_where_nothing_is_confined() -> None:
    why = selftest.tested(PROCESS).why
    assert why is not None
    for reached in ("a file outside", "writing a file outside", "its parent", "AF_INET", "AF_UNIX"):
        assert reached in why


FILES = (
    "open({path!r}).read()",
    "open({path!r}, 'a')",
    "os.listdir({folder!r})",
    "os.unlink({path!r})",
    "os.rename({path!r}, 'mine')",
    "os.link({path!r}, 'mine')",
    "os.symlink({path!r}, 'link') or open('link').read()",
    "os.mkdir({folder!r} + '/new')",
    "os.rmdir({folder!r} + '/empty')",
    "os.truncate({path!r}, 0)",
    "os.setxattr({path!r}, 'user.x', b'1')",
    "os.chown({path!r}, 1, 1)",
)


@pytest.mark.parametrize("level", [*NEW, *OLD])
def test_files_outside_are_out_of_reach(level: Level, outside: Path) -> None:
    (outside / "empty").mkdir()
    path = outside / "notes.txt"
    before = path.stat()
    said = tries(level, *(s.format(path=str(path), folder=str(outside)) for s in FILES))
    assert len(said) == len(FILES) and set(said) <= {"PermissionError", "FileNotFoundError", "OSError"}, said
    # Landlock leaves modes and times alone; the filter answers success and changes nothing.
    tries(level, f"os.chmod({str(path)!r}, 0o777)", f"os.utime({str(path)!r}, (1, 1))")
    assert path.read_text() == "private" and sorted(os.listdir(outside)) == ["empty", "notes.txt"]
    after = path.stat()
    assert (after.st_mode, after.st_mtime_ns, after.st_uid) == (before.st_mode, before.st_mtime_ns, before.st_uid)


@pytest.mark.parametrize("level", [*NEW, *OLD])
def test_no_socket_can_be_opened(level: Level) -> None:
    sockets = (
        "socket.socket()",
        "socket.socket(type=socket.SOCK_DGRAM)",
        "socket.socket(socket.AF_INET6)",
        "socket.socket(socket.AF_UNIX)",
        "socket.socketpair(type=socket.SOCK_DGRAM)",
        "socket.create_connection(('127.0.0.1', 9), 1)",
        "socket.socketpair()[0].sendto(b'x', '/nowhere')",
    )
    assert tries(level, *sockets) == ["PermissionError"] * len(sockets)


REACHES = (
    "os.kill({pid}, 0)",
    "os.kill({pid}, signal.SIGTERM)",
    "resource.prlimit({pid}, resource.RLIMIT_CPU, (0, 0))",
    "os.sched_setaffinity({pid}, [0])",
    "os.setpriority(os.PRIO_PROCESS, {pid}, 19)",
    "signal.pidfd_send_signal(os.pidfd_open({pid}), signal.SIGTERM)",
    "open('/proc/{pid}/environ').read()",
    "open('/proc/{pid}/mem', 'rb').read(1)",
)


@pytest.mark.parametrize("level", [*NEW, *OLD])
def test_other_processes_of_the_user_are_out_of_reach(level: Level) -> None:
    bystander = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    try:
        said = tries(level, *(how.format(pid=bystander.pid) for how in REACHES))
        assert len(said) == len(REACHES), said
        assert set(said) <= {"PermissionError", "ProcessLookupError", "FileNotFoundError"}, said
        assert is_alive(bystander.pid)
        assert os.getpriority(os.PRIO_PROCESS, bystander.pid) == os.getpriority(os.PRIO_PROCESS, 0)
    finally:
        bystander.kill()
        bystander.wait()


@pytest.mark.parametrize("level", [*NEW, *OLD])
def test_the_process_that_watches_cannot_be_signalled(level: Level) -> None:
    caged = run("import os, signal\ntry:\n    os.kill(os.getppid(), signal.SIGKILL)\nexcept OSError:\n    pass", level)
    assert (caged.end, caged.code) == ("exited", 0)


CALLS = {
    "ptrace": 101, "mount": 165, "unshare": 272, "bpf": 321, "keyctl": 250, "io_uring_setup": 425, "chroot": 161,
    "process_vm_readv": 310, "socket": 41, "pidfd_getfd": 438, "perf_event_open": 298, "add_key": 248, "setns": 308,
    "name_to_handle_at": 303, "shmget": 29, "mq_open": 240, "userfaultfd": 323,
}  # fmt: skip


@pytest.mark.parametrize("level", [*NEW, *OLD])
@pytest.mark.skipif(platform.machine() != "x86_64", reason="the numbers are those of x86_64")
def test_system_calls_that_lead_out_are_refused(level: Level) -> None:
    draft = f"""
import ctypes
c = ctypes.CDLL(None, use_errno=True)
for number in {list(CALLS.values())}:
    c.syscall(number, 0, 0, 0, 0, 0, 0)
    print(ctypes.get_errno())
print(c.syscall(0x40000000 | 41, 2, 1, 0), ctypes.get_errno())  # socket, by its number of the x32 interface
print(c.syscall(56, 0x10000000 | 17, 0, 0, 0, 0), ctypes.get_errno())  # clone into a user namespace
"""
    *refused, x32, namespace = run(draft, level).output.splitlines()
    assert dict(zip(CALLS, refused, strict=True)) == dict.fromkeys(CALLS, "1")
    assert (x32, namespace) == ("-1 38", "-1 1")


HONEST = {
    "a temporary file": "import tempfile\nwith tempfile.NamedTemporaryFile('w+') as f:\n    f.write('x'); f.flush()",
    "a child process": "import subprocess, sys\nsubprocess.run([sys.executable, '-c', 'pass'], check=True)",
    "a shell command": "import subprocess\nassert subprocess.check_output('echo 1 | cat', shell=True) == b'1\\n'",
    "threads": "from concurrent.futures import ThreadPoolExecutor as T\nassert sum(T(4).map(int, '123')) == 6",
    "asyncio": "import asyncio\nassert asyncio.run(asyncio.sleep(0.01, 3)) == 3",
    "numpy": "import numpy as np\nassert np.arange(4).sum() == 6",
    "a copied file": "import shutil\nopen('a', 'w').write('1')\nshutil.copy2('a', 'b')\nassert open('b').read() == '1'",
    "moving between folders": "import os\nos.mkdir('d')\nopen('a', 'w').close()\nos.rename('a', 'd/a')",
    "a database": "import sqlite3\nc = sqlite3.connect('x.db')\nc.execute('create table t (a)')\nc.commit()",
    "time zones": "import zoneinfo, locale\nlocale.setlocale(locale.LC_ALL, 'C.UTF-8')",
}


@pytest.mark.parametrize("level", [*NEW, *OLD])
def test_honest_code_is_served(level: Level) -> None:
    known = {what: code for what, code in HONEST.items() if what != "moving between folders" or level.abi != 1}
    draft = "".join(f"def f{n}():\n{indent(code, '    ')}\n" for n, code in enumerate(known.values()))
    draft += f"for f in ({''.join(f'f{n}, ' for n in range(len(known)))}):\n"
    draft += "    try:\n        f()\n        print('served')\n    except BaseException as e:\n        print(repr(e))\n"
    assert dict(zip(known, run(draft, level).output.splitlines(), strict=True)) == dict.fromkeys(known, "served")


@pytest.mark.parametrize("level", NEW)
def test_a_child_that_hangs_can_be_ended_by_its_own_parent(level: Level) -> None:
    caged = run(
        "import subprocess\np = subprocess.Popen(['sleep', '60'])\np.terminate()\nprint(p.wait())",
        level,
        Limits(wall_s=5),
    )
    assert caged.output.strip() == "-15"


@pytest.mark.parametrize("level", NEW)
def test_files_that_the_check_names_can_be_read_and_not_written(level: Level, outside: Path) -> None:
    path = str(outside / "notes.txt")
    caged = run(f"print(open({path!r}).read())\ntry:\n    open({path!r}, 'a')\nexcept OSError:\n    print('no')", level,
                readable=(path,))  # fmt: skip
    assert caged.output.split() == ["private", "no"]


@pytest.mark.parametrize("level", NEW)
def test_limits_and_endings_are_told_as_without_isolation(level: Level) -> None:
    assert (run("import os\nos.kill(os.getpid(), 11)", level).code, run("import os\nos._exit(3)", level).code) == (
        -11,
        3,
    )
    busy = run("while True: pass", level, Limits(cpu_s=1))
    assert (busy.end, busy.code) == ("signal", -24) and busy.cpu_s >= 0.9
    slow = run("import time\ntime.sleep(60)", level, Limits(wall_s=1.0))
    assert slow.end == "timeout" and slow.seconds < 1.5
    many = "import os, time\nfor _ in range(40):\n    if os.fork() == 0: time.sleep(30); os._exit(0)\ntime.sleep(30)"
    assert run(many, level, Limits(processes=10)).end == "processes"


@pytest.mark.parametrize("level", [PROCESS, *LEVELS], ids=lambda level: str(level.number))
def test_a_daemon_that_is_born_while_the_check_ends_does_not_survive(level: Level) -> None:
    mark = f"reflect-lab-daemon-{os.getpid()}-{level.number}"
    draft = f"""
import os
if os.fork() == 0:
    os.setsid()
    for _ in range(20):  # each of them a child of one that has just ended
        if os.fork() != 0:
            os._exit(0)
    os.execvp('sleep', [{mark!r}, '60'])
"""
    for _ in range(5):
        run(draft, level)
        assert not [p for p in os.listdir("/proc") if p.isdigit() and is_alive(int(p)) and mark in _command(int(p))]


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().decode()
    except OSError:
        return ""


@pytest.mark.skipif(not [level for level in LEVELS if level.number == 3], reason="bubblewrap does not work here")
def test_the_disk_of_level_3_is_sized_and_nothing_else_can_be_written() -> None:
    level = next(level for level in LEVELS if level.number == 3)
    draft = """
import errno
try:
    for n in range(9):
        open(str(n), 'wb').write(bytes(1 << 20))
except OSError as e:
    print(errno.errorcode[e.errno])
"""
    assert run(draft, level, Limits(disk_bytes=4 << 20)).output.split()[-1] == "ENOSPC"
    folders = ("/", "/dev", "/tmp", "/usr", str(Path(runner.__file__).parent))
    said = tries(level, *(f"open({folder + '/new'!r}, 'w')" for folder in folders))
    assert len(said) == len(folders) and "done" not in said, said


@pytest.mark.parametrize("level", NEW)
def test_root_has_no_rights_of_root_inside(level: Level) -> None:
    draft = """
import ctypes
header, data = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
print(ctypes.CDLL(None).capget(header, data), list(data))
"""
    assert run(draft, level).output.strip() == "0 [0, 0, 0, 0, 0, 0]"


@pytest.mark.parametrize("level", NEW)
async def test_the_record_names_the_level_its_parts_and_the_self_test(
    level: Level, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(selftest, "strongest", lambda: selftest.tested(level).level)
    evidence = await evidence_of("python", {"code": "assert f() == 1"}, "def f(): return 1", code_is_trusted=False)
    assert evidence.status == "passed" and evidence.sandbox is not None
    assert (evidence.sandbox.level, evidence.sandbox.selftest) == (level.number, "passed")
    assert evidence.sandbox.abi == (landlock.abi() if level.number == 2 else None)
    assert evidence.sandbox.name.startswith("kernel-confined" if level.number == 2 else "namespaced")
    assert len(evidence.provenance["seccomp_sha256"]) == 64 and evidence.provenance["interpreter"] == sys.executable
    assert ("bwrap" in evidence.provenance) == (level.number == 3)


def test_a_level_that_does_not_start_is_an_error_and_never_a_weaker_level() -> None:
    caged = run("x = 1", Level(number=3, bwrap="/nowhere/bwrap"))
    assert caged.is_environments_fault and caged.level.number == 3
    broken = Level(number=3, bwrap=shutil.which("false"))
    assert "probe did not run" in str(selftest.tested(broken).why)


def test_the_strongest_level_that_passes_is_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    broken, second = Level(number=3, bwrap="/nowhere/bwrap"), LEVELS[-1]
    monkeypatch.setattr(selftest, "found", lambda: ([broken, second], []))
    assert selftest.strongest.__wrapped__() == second
    monkeypatch.setattr(selftest, "found", lambda: ([broken], ["level 2: nothing"]))
    assert selftest.strongest.__wrapped__() == PROCESS
    machine = selftest.machine.__wrapped__()
    assert machine.strongest == PROCESS and machine.missing == ("level 2: nothing",)


def test_what_can_be_read_never_holds_the_home_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "home", classmethod(lambda cls: Path(sys.prefix, "home")))
    assert not any(Path(sys.prefix, "home").is_relative_to(p) for p in system_paths.__wrapped__() if p != "/usr")


async def test_a_check_that_only_looks_runs_isolated_too() -> None:
    caged = await strongest.run(Path(text_runner.__file__), {"mode": "syntax", "draft": "x = 1"}, Limits())
    assert caged.level == LEVELS[0] and caged.answers[-1] == {"done": True}
