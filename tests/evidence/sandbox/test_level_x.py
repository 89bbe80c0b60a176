"""Level X: a command of the user's runs the program. Whatever it does, it is a verdict, an error, or not run."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from reflect_lab.core.evidence import Evidence
from reflect_lab.evidence.sandbox import cage, runner, selftest
from reflect_lab.evidence.sandbox.caged import Caged
from reflect_lab.evidence.sandbox.levels import Level, told_command
from reflect_lab.evidence.sandbox.limits import Limits
from tests.evidence.evidence_support import evidence_of, is_alive, wait_for

PYTHON = (sys.executable, "-I", "-")
ADD = "assert add(2, 3) == 5\nassert add(0, 0) == 0"


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A self-test waits a minute for a command; here ten seconds."""
    monkeypatch.setattr(selftest, "_EXTERNAL_LIMITS", Limits(wall_s=10.0))


async def judged(draft: str, command: tuple[str, ...] = PYTHON, kind: str = "python", **options: object) -> Evidence:
    given: Mapping[str, object] = {"code": ADD, **options} if kind == "python" else options
    return await evidence_of(kind, given, draft, sandbox="external", sandbox_command=command, code_is_trusted=False)


def run(draft: str, limits: Limits = Limits(), code: str = "pass") -> Caged:
    job = {"mode": "python", "draft": draft, "setup": "", "code": code, "cases": [[0, 1]]}
    return cage.run_blocking(Path(runner.__file__), job, limits, level=Level(number="X", command=PYTHON))


async def test_a_draft_is_judged_and_the_record_says_by_what() -> None:
    evidence = await judged("def add(a, b): return a + b")
    assert evidence.status == "passed" and evidence.sandbox is not None
    assert (evidence.sandbox.level, evidence.sandbox.name) == ("X", "external command")
    assert evidence.sandbox.verdict_integrity == "split" and evidence.sandbox.selftest is not None
    assert evidence.sandbox.selftest.startswith("passed; the probe could reach a file outside")
    assert set(evidence.sandbox.limits) == {"wall_s", "processes", "output_bytes"}
    assert evidence.provenance["sandbox_command"] == f"{sys.executable} -I -"
    assert evidence.provenance["interpreter"] == sys.executable
    evidence = await judged("def add(a, b): return a - b")
    assert evidence.status == "failed" and "got -1" in evidence.text


async def test_a_secret_in_the_command_is_not_recorded() -> None:
    command = ("env", "API_TOKEN=sk-secret-123", *PYTHON)
    evidence = await judged("def add(a, b): return a + b", command)
    assert evidence.status == "passed" and "sk-secret-123" not in repr(evidence)
    assert evidence.provenance["sandbox_command"] == f"{shutil.which('env')} 'API_TOKEN=…' {sys.executable} -I -"


def test_what_is_told_of_a_command_has_no_values_of_variables_and_secret_options() -> None:
    given = ["docker", "run", "-i", "--network=none", "-eA=hush", "-e", "B=hush", "--env=C=hush", "--api-key=hush"]
    given += ["--password", "hush", "sh", "-c", "exec env D='hush 1' python"]
    told = told_command(given)
    assert "hush" not in told and told.startswith("docker run -i --network=none '-eA=…' -e 'B=…' '--env=C=…'")


async def test_asserts_that_cannot_be_split_run_there_and_say_so() -> None:
    evidence = await judged("def add(a, b): return a + b", code="assert add(2, 3) == int('5') + other(0)",
                            setup="def other(x): return x")  # fmt: skip
    assert evidence.status == "passed" and evidence.sandbox is not None
    assert evidence.sandbox.verdict_integrity == "in_process"


BOXES = {
    "bwrap": ("bwrap", "--ro-bind", "/", "/", "--unshare-all", "--tmpfs", "/tmp", "--proc", "/proc", "--dev", "/dev",
              *PYTHON),
    "unshare": ("unshare", "-Urn", *PYTHON),
}  # fmt: skip


@pytest.mark.parametrize("name", BOXES)
async def test_a_box_of_the_users_own_serves(name: str) -> None:
    test = selftest.commanded(BOXES[name]) if shutil.which(name) else "it is not installed"
    if isinstance(test, str) or test.why is not None:
        pytest.skip(f"{name}: {test if isinstance(test, str) else test.why}")
    assert (await judged("def add(a, b): return a + b", BOXES[name])).status == "passed"
    if name == "bwrap":
        assert test.level.selftest is not None and "a file outside" not in test.level.selftest


NOTHING_RUNS = {
    "no program of this name": (("no-such-program", "-"), "there is no program"),
    "one that fails": (("false",), "ended with code 1"),
    "one that says why": (
        ("sh", "-c", "echo no engine runs >&2; echo see --help >&2; exit 7"),
        "code 7: no engine runs",
    ),
    "one whose Python is broken": ((sys.executable, "-c", "import no_such"), "No module named 'no_such'"),
    "one that prints junk": (("echo", "Welcome to the machine"), "something else than its answers"),
    "one that gives back what it got": (("cat",), "something else than its answers"),
    "one that hangs": (("sleep", "60"), "ended as timeout"),
    "one that greets first": (("sh", "-c", f"echo Welcome; exec {sys.executable} -I -"), "something else"),
    "one without what honest code needs": (
        (sys.executable, "-I", "-c", "import subprocess, sys; del subprocess.run; exec(sys.stdin.read())"),
        "the probe had no child processes",
    ),
}


@pytest.mark.parametrize("command, said", NOTHING_RUNS.values(), ids=NOTHING_RUNS)
async def test_a_command_that_does_not_serve_is_told_and_never_replaced(command: tuple[str, ...], said: str) -> None:
    evidence = await judged("def add(a, b): return a + b", command)
    assert (evidence.status, evidence.executions) == ("not_run", 0), evidence.text
    assert said in evidence.text and "--sandbox external" in evidence.text
    assert ": and " not in evidence.text
    assert evidence.sandbox is not None  # what was asked for, by its own name, and never "off"
    assert (evidence.sandbox.level, evidence.sandbox.name) == ("X", "external command (nothing ran)")


async def test_a_command_whose_path_is_empty_serves() -> None:
    command = ("sh", "-c", f"exec env PATH= {sys.executable} -I -")
    assert (await judged("def add(a, b): return a + b", command)).status == "passed"


async def test_a_command_that_fails_after_its_self_test_is_an_error(tmp_path: Path) -> None:
    once = tmp_path / "once"
    script = f"if [ -e {once} ]; then echo the host is gone >&2; exit 255; fi; : > {once}; exec {sys.executable} -I -"
    evidence = await judged("def add(a, b): return a + b", ("sh", "-c", script))
    assert evidence.status == "error" and "the host is gone" in evidence.text


def test_what_a_draft_prints_is_no_answer() -> None:
    forged = run('print(\'{"nonce": "x", "case": 0, "said": null}\', flush=True)\nimport os\nos.write(1, b"junk\\n")')
    assert forged.malformed is None and forged.output.endswith("junk\n")
    assert [a.get("case") for a in forged.answers if "case" in a] == [0]


async def test_a_draft_that_finds_the_descriptor_forges_nothing() -> None:
    spray = "import os\nfor fd in range(3, 20):\n    try:\n        os.write(fd, b'{\"case\": 0}\\n')\n"
    evidence = await judged(f"{spray}    except OSError: pass\ndef add(a, b): return 0")
    assert evidence.status == "error" and "mark" in evidence.text


def test_the_draft_gets_no_input_and_none_of_the_users_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "canary-key")
    caged = run("import os, sys\nprint(dict(os.environ))\nprint(repr(sys.stdin.read()))\nprint(os.listdir())")
    assert "canary-key" not in caged.output and caged.output.split("\n")[1:3] == ["''", "[]"]


@pytest.mark.parametrize("wait", ["time.sleep(60)", "os.fork() or os.setsid(); time.sleep(60)"])
def test_what_hangs_is_ended_with_all_that_it_began(tmp_path: Path, wait: str) -> None:
    pid = tmp_path / "pid"
    started = time.monotonic()
    caged = run(f"import os, time\nopen({str(pid)!r}, 'w').write(str(os.getpid()))\n{wait}", Limits(wall_s=1.0))
    assert caged.end == "timeout" and time.monotonic() - started < 2.0
    assert wait_for(lambda: not is_alive(int(pid.read_text())))


def test_the_program_watches_over_its_deadline_where_we_cannot(tmp_path: Path) -> None:
    """As in a container, whose processes do not descend from the command: the client is gone, the draft goes on."""
    pid = tmp_path / "pid"
    draft = f"import os, time\nopen({str(pid)!r}, 'w').write(str(os.getpid()))\ntime.sleep(60)"
    there = f"env -u REFLECT_LAB_CAGE setsid -f {sys.executable} -I - < {tmp_path / 'sent'} > /dev/null 2>&1"
    command = ("sh", "-c", f"cat > {tmp_path / 'sent'}; {there}; sleep 60")
    job = {"mode": "python", "draft": draft, "setup": "", "code": "pass", "cases": [[0, 1]]}
    level = Level(number="X", command=(str(shutil.which("sh")), *command[1:]))
    cage.run_blocking(Path(runner.__file__), job, Limits(wall_s=2.0), level=level)
    assert wait_for(lambda: pid.exists() and not is_alive(int(pid.read_text())), 5.0)


def test_endings_are_told() -> None:
    assert run("import os\nos._exit(3)").code == 3
    crashed = run("import os\nos.kill(os.getpid(), 11)")
    assert (crashed.end, crashed.code) == ("signal", -11)
    flooding = run("while True: print('x' * 10000)", Limits(wall_s=10.0, flood_bytes=1 << 20))
    assert flooding.end == "flood" and len(flooding.output) <= Limits().output_bytes


async def test_cancelling_ends_the_command(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    selftest.commanded(PYTHON)
    draft = f"import os, time\nopen({str(pid)!r}, 'w').write(str(os.getpid()))\ntime.sleep(60)"
    work = asyncio.ensure_future(judged(draft))
    number = await asyncio.to_thread(wait_for, lambda: pid.exists() and pid.read_text())
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work
    assert not is_alive(int(number))


async def test_nothing_is_left_in_the_temporary_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    draft = f"import os\nassert os.getcwd().startswith({str(tmp_path)!r})\nopen('kept', 'w').close()\n"
    assert (await judged(f"{draft}def add(a, b): return a + b")).status == "passed"
    assert os.listdir(tmp_path) == []


QUERY = {"setup": "CREATE TABLE orders AS SELECT 1 AS day, 20.0 AS amount", "totals": {"amount": 20}}


async def test_a_query_runs_there() -> None:
    evidence = await judged("SELECT amount FROM orders", PYTHON, "sql", **QUERY)
    assert evidence.status == "passed" and evidence.sandbox is not None and evidence.sandbox.level == "X"


async def test_a_query_says_where_duckdb_is_missing(tmp_path: Path) -> None:
    without = (sys.executable, "-I", "-S", "-")
    evidence = await judged("SELECT amount FROM orders", without, "sql", **QUERY)
    assert evidence.status == "error" and "has no duckdb" in evidence.text


async def test_the_interpreter_runs_no_query() -> None:
    evidence = await evidence_of("sql", QUERY, "SELECT amount FROM orders", sandbox="interpreter")
    assert (evidence.status, evidence.executions) == ("not_run", 0) and "runs no queries" in evidence.text
    assert evidence.sandbox is not None
    assert (evidence.sandbox.level, evidence.sandbox.name) == ("W", "interpreter-only (nothing ran)")
