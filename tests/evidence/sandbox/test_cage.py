"""The caged process at level 1: limits, and nothing left behind."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from reflect_lab.core.task import CheckSpec
from reflect_lab.evidence.gather import Checks
from reflect_lab.evidence.sandbox import cage, runner
from reflect_lab.evidence.sandbox.caged import Caged, read_answers
from reflect_lab.evidence.sandbox.levels import PROCESS
from reflect_lab.evidence.sandbox.limits import Limits
from reflect_lab.evidence.sandbox.surroundings import environment, kill_marked
from tests.evidence.evidence_support import Remember, gather, is_alive, run_with, task, wait_for

RUNNER = Path(runner.__file__)


def job(draft: str) -> dict[str, object]:
    return {"mode": "python", "draft": draft, "setup": "", "code": "pass", "cases": [[0, 1]]}


def run(draft: str, limits: Limits = Limits()) -> Caged:
    return cage.run_blocking(RUNNER, job(draft), limits, level=PROCESS)


def pid_in(file: Path) -> int:
    """The process id that a draft wrote, once it is there."""
    text = wait_for(lambda: file.read_text() if file.exists() else "")
    return int(text)


def writes_its_pid(file: Path, then: str = "time.sleep(60)") -> str:
    part = f"{file}.part"
    return f"import os, time\nopen({part!r}, 'w').write(str(os.getpid()))\nos.rename({part!r}, {str(file)!r})\n{then}\n"


async def test_cancelling_ends_the_child_before_the_cancellation_goes_on(tmp_path: Path) -> None:
    spec = CheckSpec(name="python", kind="python", options={"code": "pass"})
    a_task = task(spec)
    work = asyncio.create_task(
        Checks(a_task, sandbox="process").gather(run_with(a_task, writes_its_pid(tmp_path / "pid")), Remember())
    )
    pid = await asyncio.to_thread(pid_in, tmp_path / "pid")
    assert is_alive(pid)
    start = time.monotonic()
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work
    assert not is_alive(pid) and time.monotonic() - start < 1.0


async def test_the_event_loop_goes_on_while_a_check_runs() -> None:
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            await asyncio.sleep(0.01)
            ticks += 1

    ticking = asyncio.create_task(tick())
    spec = CheckSpec(name="python", kind="python", options={"code": "import time; time.sleep(0.5)"})
    await gather(task(spec), "x = 1")
    ticking.cancel()
    assert ticks > 20


def forks_a_daemon(folder: Path, then: str) -> str:
    """A draft whose grandchild leaves session and group, writes its process id and stays; then the draft goes on."""
    return f"""
import os, signal, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.setsid()
        open({str(folder / "part")!r}, "w").write(str(os.getpid()))
        os.rename({str(folder / "part")!r}, {str(folder / "pid")!r})
        time.sleep(60)
    os._exit(0)
while not os.path.exists({str(folder / "pid")!r}):
    time.sleep(0.001)
{then}
"""


@pytest.mark.parametrize("leave", ["", "os._exit(0)", "os.kill(os.getpid(), signal.SIGSEGV)"])
def test_a_daemon_does_not_survive_the_check(tmp_path: Path, leave: str) -> None:
    caged = run(forks_a_daemon(tmp_path, leave))
    assert not is_alive(pid_in(tmp_path / "pid")) and caged.left_behind == 1


def test_a_draft_that_kills_its_warden_leaves_nothing_and_gives_no_verdict(tmp_path: Path) -> None:
    caged = run(forks_a_daemon(tmp_path, "os.kill(os.getppid(), signal.SIGKILL)\ntime.sleep(60)"))
    assert caged.end == "lost" and caged.is_environments_fault
    pid = pid_in(tmp_path / "pid")
    assert wait_for(lambda: not is_alive(pid), 1.0)


def test_processes_are_found_again_by_their_mark() -> None:
    command = [sys.executable, "-c", "import time; print(flush=True); time.sleep(60)"]
    marked = subprocess.Popen(command, env=environment("/tmp", "mark-1"), stdout=subprocess.PIPE)
    other = subprocess.Popen(command, env=environment("/tmp", "mark-2"), stdout=subprocess.PIPE)
    try:
        for process in (marked, other):
            assert process.stdout is not None and process.stdout.readline() == b"\n"
        kill_marked("mark-1")
        assert marked.wait(5) == -signal.SIGKILL and other.poll() is None
    finally:
        for process in (marked, other):
            process.kill()
            process.communicate()


def test_a_draft_that_stops_its_warden_ends_at_the_limit() -> None:
    start = time.monotonic()
    caged = run("import os, signal\nos.kill(os.getppid(), signal.SIGSTOP)\nwhile True: pass", Limits(wall_s=1.0))
    assert caged.end == "timeout" and time.monotonic() - start < 2.0


def test_when_we_are_killed_the_child_ends_too(tmp_path: Path) -> None:
    program = (
        "from pathlib import Path\nfrom reflect_lab.evidence.sandbox import cage, runner\n"
        "from reflect_lab.evidence.sandbox.limits import Limits\n"
        "from reflect_lab.evidence.sandbox.levels import PROCESS\n"
        f"job = {job(writes_its_pid(tmp_path / 'pid'))!r}\n"
        "cage.run_blocking(Path(runner.__file__), job, Limits(wall_s=60.0), level=PROCESS)\n"
    )
    ours = subprocess.Popen(
        [sys.executable, "-c", program], env={**os.environ, "PYTHONPATH": os.getcwd(), "TMPDIR": str(tmp_path)}
    )
    try:
        pid = pid_in(tmp_path / "pid")
        ours.send_signal(signal.SIGKILL)
        ours.wait(5)
        assert wait_for(lambda: not is_alive(pid), 3.0)
    finally:
        ours.kill()
        ours.wait()


def test_a_flood_of_output_is_capped_and_does_not_fail_an_honest_draft() -> None:
    caged = run("print('x' * (4 << 20))")
    assert (caged.end, caged.code) == ("exited", 0)
    assert len(caged.output) == Limits().output_bytes and caged.is_output_cut
    assert caged.answers[-1] == {"done": True}


def test_an_endless_flood_of_output_is_ended() -> None:
    caged = run("while True: print('x' * 65536)", Limits(flood_bytes=8 << 20))
    assert caged.end == "flood" and len(caged.output) == Limits().output_bytes


def test_a_grandchild_that_holds_the_pipes_open_delays_nothing() -> None:
    start = time.monotonic()
    caged = run("import subprocess, sys\nsubprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])")
    assert (caged.end, caged.code) == ("exited", 0) and time.monotonic() - start < 5


def test_many_processes_end_the_check() -> None:
    draft = "import os, time\nfor _ in range(40):\n    if os.fork() == 0: time.sleep(30); os._exit(0)\ntime.sleep(30)"
    start = time.monotonic()
    caged = run(draft, Limits(processes=10))
    assert caged.end == "processes" and caged.left_behind > 10 and time.monotonic() - start < 5


def test_limits_hold_for_files_and_cpu_time() -> None:
    big = run(
        "with open('big', 'wb') as f:\n    for _ in range(64): f.write(bytes(1 << 20))", Limits(file_bytes=4 << 20)
    )
    assert "OSError" in str(big.answers[0]["draft"]) or big.code == -signal.SIGXFSZ
    busy = run("while True: pass", Limits(cpu_s=1))
    assert (busy.end, busy.code) == ("signal", -signal.SIGXCPU)


def test_the_environment_is_an_allow_list_without_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-canary-in-the-environment")
    monkeypatch.setenv("PYTHONSTARTUP", "/nowhere")
    caged = run(
        "import os\nprint(sorted(os.environ)); print(dict(os.environ)); print(open('/proc/self/environ').read())"
    )
    assert "HOME" in caged.output and "canary" not in caged.output and "PYTHONSTARTUP" not in caged.output
    assert not any("KEY" in name or "TOKEN" in name for name in environment("/tmp/x", "m"))


def test_the_warden_does_not_show_its_memory_and_has_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-canary-in-the-environment")
    caged = run("import os\nprint(open(f'/proc/{os.getppid()}/environ').read())")
    assert "canary" not in caged.output


def test_home_and_temporary_folder_are_private_and_gone_afterwards() -> None:
    caged = run(
        "import os, tempfile\nhome = os.path.expanduser('~'); print(home, tempfile.gettempdir(), os.getcwd())\n"
        "os.makedirs('a/b'); open('a/b/c', 'w').write('x'); os.chmod('a/b', 0); os.chmod('a', 0)\n"
        "os.symlink('/etc', 'link')\n"
    )
    home, temporary, folder = caged.output.split()
    assert home == temporary == folder and home.startswith(tempfile.gettempdir())
    assert not os.path.exists(home) and os.path.exists("/etc/passwd")


def test_a_folder_of_a_thousand_levels_is_removed() -> None:
    caged = run("import os\nprint(os.getcwd())\nfor _ in range(1500):\n    os.mkdir('d'); os.chdir('d')")
    assert caged.end == "exited" and not os.path.exists(caged.output.strip())


def test_hashes_are_the_same_in_every_run() -> None:
    outputs = {run("print(hash('a'), list({'x', 'y', 'z', 'w'}))").output for _ in range(3)}
    assert len(outputs) == 1 and outputs != {""}


def test_standard_input_is_empty_once_the_job_is_read() -> None:
    caged = run("import sys\nprint(repr(sys.stdin.read()), repr(open(0, closefd=False).read()))")
    assert caged.output.strip() == "'' ''"


def test_modules_that_a_draft_writes_shadow_nothing() -> None:
    caged = run(
        "open('json.py', 'w').write('raise SystemExit(7)')\nimport subprocess, sys\nimport json\nprint(json.__file__)"
    )
    assert "json/__init__" in caged.output


def test_a_program_that_cannot_start_is_the_environments_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    caged = run("x = 1")
    assert caged.end == "not_started" and caged.is_environments_fault and caged.problem


async def test_a_check_that_cannot_start_is_an_error_and_not_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    (evidence,) = await gather(task(CheckSpec(name="p", kind="python", options={"code": "assert x"})), "x = 1")
    assert (evidence.status, evidence.executions) == ("error", 2)


def test_a_job_of_megabytes_arrives_whole() -> None:
    assert run(f"text = {'y' * (3 << 20)!r}\nprint(len(text))").output.strip() == str(3 << 20)


def test_no_descriptor_stays_open() -> None:
    run("x = 1")
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(5):
        run("x = 1")
    assert len(os.listdir("/proc/self/fd")) == before


@pytest.mark.parametrize(("data", "problem"), [
    (b"", None),
    (b'{"nonce": "n", "done": true}\n', None),
    (b'{"nonce": "m", "done": true}\n', "mark"),
    (b'{"done": true}\n', "mark"),
    (b"[1]\n", "mark"),
    (b"\xff\xfe\x00\n", "JSON"),
    (b"[" * 100_000, "JSON"),
    (b'{"nonce": "n"', "JSON"),
])  # fmt: skip
def test_any_bytes_have_an_answer(data: bytes, problem: str | None) -> None:
    _, malformed = read_answers(data, "n")
    assert (malformed is None) == (problem is None) and (problem or "") in (malformed or "")
