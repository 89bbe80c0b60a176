"""Level W: drafts in an interpreter of their own. What it can't do is never held against a draft."""

from __future__ import annotations

import asyncio
import os
import tempfile
import time
from pathlib import Path

import pytest

from reflect_lab.core.evidence import Evidence
from reflect_lab.core.run import Draft
from reflect_lab.core.task import CheckSpec, Task
from reflect_lab.evidence.check import Surroundings
from reflect_lab.evidence.python.check import PythonCheck, PythonSyntaxCheck
from reflect_lab.evidence.sandbox import cage, interpreter, runner, selftest
from reflect_lab.evidence.sandbox.levels import PROCESS, Level
from reflect_lab.evidence.sandbox.limits import Limits
from tests.evidence.evidence_support import evidence_of, is_alive, wait_for

ADD = "assert add(2, 3) == 5\nassert add(0, 0) == 0"
SUBSET = "this interpreter runs a subset of Python"


async def judged(draft: str, code: str = ADD, timeout_s: float = 10.0, setup: str = "") -> Evidence:
    options = {"code": code, "timeout_s": timeout_s, "setup": setup}
    return await evidence_of("python", options, draft, sandbox="interpreter")


def level_w() -> Level:
    test = selftest.interpreted()
    assert isinstance(test, selftest.SelfTest) and test.why is None
    return test.level


async def test_a_pure_function_is_judged_and_the_record_says_where() -> None:
    evidence = await judged("def add(a, b):\n    return a + b")
    assert (evidence.status, evidence.executions) == ("passed", 1)
    assert evidence.sandbox is not None and evidence.sandbox.verdict_integrity == "split"
    assert (evidence.sandbox.level, evidence.sandbox.selftest) == ("W", "passed")
    assert evidence.sandbox.name == f"interpreter-only (monty {interpreter.metadata.version('pydantic-monty')})"
    assert set(evidence.sandbox.limits) == {"wall_s", "heap_bytes"}
    assert evidence.provenance["python"].startswith("monty ") and len(evidence.provenance["code_sha256"]) == 64


async def test_cases_after_the_one_that_took_all_memory_are_not_blamed_for_it() -> None:
    draft = "def add(a, b):\n    return len([0] * 10**10) if a == 2 else a + b"
    evidence = await judged(draft, "assert add(0, 0) == 0\nassert add(2, 3) == 5\nassert add(1, 1) == 2")
    assert [f.message.partition(": ")[2] for f in evidence.findings] == [
        "",
        "not finished, it needs over 256 MiB",
        "not reached: case 2 gave no answer",
    ]


FAILURES = {
    "a wrong value": ("def add(a, b): return a - b", "got -1"),
    "None in a sum": ("def add(a, b):\n    return a + None", "raised TypeError"),
    "an exception by name": ("def add(a, b):\n    raise TypeError('no')", "raised TypeError: no"),
    "a name that nobody knows": ("def add(a, b):\n    return c", "raised NameError"),
    "an index too far": ("def add(a, b):\n    return [a][b + 1]", "raised IndexError"),
    "its own assert": ("def add(a, b):\n    assert a == 9\n    return 5", "AssertionError"),
    "a stub": ("def add(a, b):\n    raise NotImplementedError", "raised NotImplementedError"),
    "no end of recursion": ("def add(a, b):\n    return add(a, b)", "raised RecursionError"),
    "too much memory": ("def add(a, b):\n    return len([0] * 10**10)", "over 256 MiB"),
    "an object that is no number": ("class N: pass\ndef add(a, b):\n    return N()", "got <N object"),
}


@pytest.mark.parametrize("draft, said", FAILURES.values(), ids=FAILURES)
async def test_what_python_would_hold_against_it_fails(draft: str, said: str) -> None:
    evidence = await judged(draft)
    assert evidence.status == "failed" and said in evidence.findings[0].message


async def test_the_line_of_the_draft_that_raised_is_told() -> None:
    (finding,) = (await judged("def add(a, b):\n    c = a\n    return c / 0", "assert add(2, 3) == 5")).findings
    assert finding.location is not None and finding.location.value == "3"


UNFIT = {
    "a library": "import numpy\ndef add(a, b): return a + b",
    "a module of the standard library": "import heapq\ndef add(a, b): return a + b",
    "inheritance": "class E(Exception): pass\ndef add(a, b): return a + b",
    "a generator": "def each(): yield 1\ndef add(a, b): return a + b",
    "del": "def add(a, b):\n    c = a\n    del c\n    return a + b",
    "a method that is missing": "def add(a, b):\n    return (a + b).bit_length()",
    "a built-in that is missing": "def add(a, b):\n    return a + b if callable(add) else 0",
    "an encoding": "def add(a, b):\n    return len('a'.encode('latin1'))",
    "files": "def add(a, b):\n    return open('/etc/passwd').read()",
    "the environment": "import os\ndef add(a, b):\n    return os.environ['HOME']",
    "its own equality": "class E:\n    def __eq__(self, other): return True\ndef add(a, b): return E()",
    "an iterator instead of a list": "def add(a, b):\n    return map(int, [a, b])",
    "a built-in by another name": "m = map\ndef add(a, b): return a + b",
    "an exception in a list that python would not finish": "def add(a, b): return any(1 / x for x in [1, 0])",
}


@pytest.mark.parametrize("draft", UNFIT.values(), ids=UNFIT)
async def test_what_the_interpreter_cannot_do_is_not_the_drafts_failure(draft: str) -> None:
    evidence = await judged(draft)
    assert evidence.status == "not_run", evidence.text
    assert SUBSET in evidence.text
    assert evidence.sandbox is not None and evidence.sandbox.level == "W"


async def test_an_iterator_that_ends_where_it_stands_is_understood() -> None:
    draft = "def add(a, b):\n    return sum(x for x in list(map(int, [a, b])))"
    assert (await judged(draft)).status == "passed"


async def test_an_expected_exception_must_be_the_drafts_own() -> None:
    code = "with raises(AttributeError):\n    f()"
    assert (await judged("def f(): return 'a'.translate({})", code)).status == "not_run"
    assert (await judged("def f():\n    raise AttributeError('no')", code)).status == "passed"
    assert (await judged("def f(): return 1", code)).status == "failed"


async def test_a_failed_case_counts_beside_one_that_could_not_be_judged() -> None:
    evidence = await judged("def add(a, b):\n    return 1 if a == 2 else 'x'.translate({})")
    assert [f.status for f in evidence.findings] == ["failed", "not_run"] and evidence.status == "failed"
    evidence = await judged("def add(a, b):\n    return 5 if a == 2 else 'x'.translate({})")
    assert [f.status for f in evidence.findings] == ["passed", "not_run"] and evidence.status == "not_run"


async def test_cases_that_cannot_be_split_do_not_run_beside_a_draft() -> None:
    evidence = await judged("def add(a, b): return a + b", "assert add(2, 3) == other(5)")
    assert (evidence.status, evidence.executions) == ("not_run", 0) and "can't be split" in evidence.text


VALUES = [
    "(1, [2.5, None, True], {'a': {3}, 4: b'x'}, 'ä', 10**400, -0.0, 1j)", "range(0, 9, 2)", "frozenset({1, (2,)})",
    "'range(0, 3)'", "[[]]", "{1: {2: {3: 4}}}",
]  # fmt: skip


@pytest.mark.parametrize("value", VALUES)
async def test_plain_values_come_out_as_they_are(value: str) -> None:
    assert (await judged(f"def f(): return {value}", f"assert f() == {value}")).status == "passed"


@pytest.mark.parametrize("value", ["range(0, 3)", "len", "add"])
async def test_a_value_never_passes_for_the_text_that_it_looks_like(value: str) -> None:
    looks = {"range(0, 3)": "range(0, 3)", "len": "<built-in function len>", "add": "<function add at 0x1>"}[value]
    assert (await judged(f"def add(): return {value}", f"assert add() == {looks!r}")).status == "failed"


async def test_arguments_that_are_changed_and_objects_over_several_calls_are_judged() -> None:
    assert (await judged("def f(xs): xs.sort()", "xs = [3, 1]\nf(xs)\nassert xs == [1, 3]")).status == "passed"
    stack = "class Stack:\n    def __init__(self): self.items = []\n    def push(self, x): self.items.append(x)\n"
    assert (await judged(stack, "s = Stack()\ns.push(4)\nassert s.items == [4]")).status == "passed"


@pytest.mark.parametrize("wait", ["while True: pass", "import time\n    time.sleep(60)"])
async def test_what_does_not_end_is_ended_with_all_its_processes(wait: str) -> None:
    started = time.monotonic()
    before = workers()
    evidence = await judged(f"def add(a, b):\n    {wait}", timeout_s=2.0)
    assert evidence.status == "failed" and "no answer within 2 s" in evidence.findings[0].message
    assert time.monotonic() - started < 20 and workers() <= before


@pytest.fixture(autouse=True)
def own_homes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Other test processes use the interpreter, too: what runs below this folder is ours."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


def workers() -> set[int]:
    """Processes of the interpreter that this test started and that run now."""
    found = set()
    for entry in os.listdir("/proc") if os.path.isdir("/proc") else []:
        try:
            command = Path(f"/proc/{entry}/cmdline").read_bytes() if entry.isdigit() else b""
            is_ours = b"monty\0subprocess" in command and os.readlink(f"/proc/{entry}/cwd").startswith(
                tempfile.gettempdir()
            )
        except OSError:
            continue  # it ended while we looked
        if is_ours and is_alive(int(entry)):
            found.add(int(entry))
    return found


def environment(pid: int) -> bytes:
    return Path(f"/proc/{pid}/environ").read_bytes()


async def test_cancelling_ends_the_interpreter() -> None:
    before = workers()
    work = asyncio.ensure_future(judged("while True: pass", timeout_s=60.0))
    assert await asyncio.to_thread(wait_for, lambda: workers() - before)
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work
    assert workers() <= before


async def test_the_interpreters_processes_hold_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "canary-key")
    before = workers()
    work = asyncio.ensure_future(judged("while True: pass", timeout_s=60.0))
    environ = await asyncio.to_thread(lambda: [environment(pid) for pid in wait_for(lambda: workers() - before)])
    work.cancel()
    await asyncio.wait({work})
    assert environ and not [one for one in environ if b"canary-key" in one]


def test_the_self_test_passes_and_says_what_was_reached_where_the_interpreter_is_open(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert level_w().selftest == "passed"
    monkeypatch.setattr(selftest, "_PROBE", selftest._PROBE.replace("open(path).read()", '"read"'))
    open_ = selftest.interpreted.__wrapped__()
    assert isinstance(open_, selftest.SelfTest) and open_.why is not None and "a file" in open_.why
    monkeypatch.setattr(selftest, "_PROBE", "import numpy")
    broken = selftest.interpreted.__wrapped__()
    assert isinstance(broken, selftest.SelfTest) and "did not run" in str(broken.why)


async def test_a_level_that_is_missing_or_fails_its_self_test_is_never_replaced(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(selftest, "interpreted", lambda: interpreter.MISSING)
    evidence = await judged("def add(a, b): return a + b")
    assert (evidence.status, evidence.executions) == ("not_run", 0) and "reflect-lab[interpreter]" in evidence.text
    failing = selftest.SelfTest(level=Level(number="W"), why="the probe reached a file", seconds=0.0)
    monkeypatch.setattr(selftest, "interpreted", lambda: failing)
    evidence = await judged("def add(a, b): return a + b")
    assert evidence.status == "not_run" and "the probe reached a file" in evidence.text


class TestWithoutProcessLimits:
    """A system that is not POSIX, as far as it can be had here."""

    pytestmark = pytest.mark.usefixtures("elsewhere")

    @pytest.fixture
    def elsewhere(self, monkeypatch: pytest.MonkeyPatch) -> None:
        level = level_w()
        monkeypatch.setattr(cage, "has_process_limits", lambda: False)
        monkeypatch.setattr(selftest, "strongest", lambda: PROCESS)  # what it finds is kept for the whole process
        monkeypatch.setattr(selftest, "interpreted", lambda: selftest.SelfTest(level=level, why=None, seconds=0.0))

    async def test_drafts_are_judged(self) -> None:
        assert (await judged("def add(a, b): return a + b")).status == "passed"
        assert (await judged("def add(a, b): return a - b")).status == "failed"

    async def test_a_deadline_and_a_cancellation_end_it(self) -> None:
        before = workers()
        evidence = await judged("def add(a, b):\n    while True: pass", timeout_s=1.0)
        assert evidence.status == "failed" and "no answer within 1 s" in evidence.findings[0].message
        work = asyncio.ensure_future(judged("while True: pass", timeout_s=60.0))
        assert await asyncio.to_thread(wait_for, lambda: workers() - before)
        work.cancel()
        with pytest.raises(asyncio.CancelledError):
            await work
        assert await asyncio.to_thread(wait_for, lambda: workers() <= before)

    async def test_the_gate_is_looked_at_there_too(self) -> None:
        gate = PythonSyntaxCheck(CheckSpec(name="g", kind="python_syntax"), Surroundings(task=Task(text="-")))
        good = await gate.run(Draft(index=0, text="print(1 / 0)\ndef each():\n    yield 1"))
        assert good.status == "passed" and good.sandbox is not None and good.sandbox.level == "W"
        bad = await gate.run(Draft(index=0, text="x = 1\ny = = 2"))
        assert bad.status == "failed" and bad.findings[0].location is not None
        assert bad.findings[0].location.value == "2"

    def test_the_other_levels_say_why_they_are_not_there(self) -> None:
        caged = cage.run_blocking(Path(runner.__file__), {}, Limits(), PROCESS)
        assert (caged.end, caged.problem) == ("not_started", "process limits need a POSIX system")


def test_a_faulty_interpreter_is_an_error_and_not_the_drafts_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interpreter, "_NEIGHBOURS", ["/nowhere.py", "/nowhere.py"])
    options = {"code": ADD}
    surroundings = Surroundings(task=Task(text="-"), sandbox="interpreter")
    check = PythonCheck(CheckSpec(name="p", kind="python", options=options), surroundings)
    level_w()
    report = asyncio.run(check.run(Draft(index=0, text="def add(a, b): return a + b")))
    assert report.status == "error" and "interpreter ended" in report.text
