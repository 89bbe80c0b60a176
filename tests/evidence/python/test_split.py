"""The python check against drafts that would like to judge themselves, and on a machine with no time for them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from reflect_lab.core.evidence import Evidence
from reflect_lab.core.run import Draft
from reflect_lab.core.task import CheckSpec, Task
from reflect_lab.evidence.check import Surroundings
from reflect_lab.evidence.python.check import PythonCheck
from reflect_lab.evidence.sandbox import cage, runner, selftest
from reflect_lab.evidence.sandbox.caged import Caged
from reflect_lab.evidence.sandbox.limits import Limits
from tests.evidence.evidence_support import evidence_of

ADD = "assert add(2, 3) == 5\nassert add(-1, 1) == 0\nassert add(10, 20) == 30"

PRINTS_ALL_IT_CAN_READ = r"""
import gc, glob, os, re, sys
def add(a, b):
    digits = set()
    def note(data):
        digits.update(re.findall(rb"[0-9]{5,}", data))
    frame = sys._getframe()
    while frame is not None:
        note(repr([frame.f_locals, frame.f_code.co_consts]).encode("utf-8", "replace"))
        frame = frame.f_back
    for thing in gc.get_objects():
        if isinstance(thing, (list, tuple, dict, set)) and len(thing) < 10000:
            try: note(repr(thing).encode("utf-8", "replace"))
            except Exception: pass
    for path in ["/proc/self/environ", "/proc/self/cmdline", *glob.glob("**", recursive=True), sys.argv[0]]:
        try: note(open(path, "rb").read())
        except OSError: pass
    with open("/proc/self/maps") as maps, open("/proc/self/mem", "rb", 0) as memory:
        for line in maps:
            start, end = (int(part, 16) for part in line.split()[0].split("-"))
            if " rw" in line:
                try:
                    memory.seek(start)
                    note(memory.read(end - start))
                except (OSError, ValueError, OverflowError): pass
    for number in digits:
        sys.stdout.write(number.decode() + "\n")
    return 0
"""


def check(code: str, **options: object) -> PythonCheck:
    spec = CheckSpec(name="python", kind="python", options={"code": code, **options})
    return PythonCheck(spec, Surroundings(task=Task(text="-"), code_is_trusted=True))


async def python(draft: str, code: str = ADD, **options: object) -> Evidence:
    return await evidence_of("python", {"code": code, **options}, draft)


@pytest.mark.parametrize(("code", "is_found"), [
    ("# 9182736455\nassert add(123456, 1) == 9182736455, 'not 9182736455'", False),
    ("want = [9182736455]\nassert add(123456, 1) in want\nassert abs(add(123456, 2) - 9182736455.0) < 1", False),
    ("for a, want in [(123456, 9182736455)]:\n    assert add(a, 1) == want", False),
    ("with raises(ValueError, match='9182736455'):\n    add(123456, 1)", False),
    ("assert add(123456, 1) == other(9182736455)", True),  # can't be split: what is asked for can be read
])  # fmt: skip
def test_a_program_that_prints_all_it_can_read_never_prints_an_expected_value(code: str, is_found: bool) -> None:
    job = check(code)._job(Draft(index=0, text=PRINTS_ALL_IT_CAN_READ))
    caged = cage.run_blocking(
        Path(runner.__file__), job, Limits(wall_s=60, cpu_s=60, output_bytes=64 << 20), selftest.strongest()
    )
    assert caged.end == "exited" and "123456" in caged.output.split()  # its own argument it does find
    assert ("9182736455" in caged.output.split()) is is_found


@pytest.mark.parametrize(("code", "integrity", "said"), [
    (ADD, "split", ""),
    (f"assert add(1, 1) == add(2, 0)\n{ADD}", "in_process", "1 could not be split and was judged in the draft's"),
    ("assert add(1, 1) == add(2, 0)\nassert add(1, 2) == add(2, 1)", "in_process", "2 could not be split and were"),
    ("add(1, 1)", "in_process", "1 could not be split"),
])  # fmt: skip
async def test_the_evidence_is_split_only_where_all_its_cases_are(code: str, integrity: str, said: str) -> None:
    evidence = await python("def add(a, b): return a + b", code)
    assert evidence.status == "passed" and evidence.sandbox is not None
    assert evidence.sandbox.verdict_integrity == integrity
    assert said in evidence.text and ("split" in evidence.text) is bool(said)


FORGERS = {
    "equals everything": """
class Any:
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __hash__(self): return 0
    def __bool__(self): return True
def add(a, b): return Any()
""",
    "an integer that equals everything": """
class Any(int):
    def __eq__(self, other): return True
    __hash__ = int.__hash__
def add(a, b): return Any(7)
""",
    "code in its pickle": """
class P:
    def __reduce__(self): return (exec, ("raise SystemExit",))
def add(a, b): return P()
""",
    "notes a pass wherever it can": """
import sys
def add(a, b):
    frame = sys._getframe()
    while frame is not None:
        for value in list(frame.f_locals.values()):
            if isinstance(value, list): value.clear()
            if isinstance(value, dict) and "said" in value: value.update(said=None)
        frame = frame.f_back
    return a - b - 1
""",
    "answers for itself": """
import json, os, sys
def add(a, b):
    frame = sys._getframe()
    while "nonce" not in frame.f_locals: frame = frame.f_back
    nonce, descriptor = frame.f_locals["nonce"], frame.f_locals["descriptor"]
    def send(**answer): os.write(descriptor, json.dumps({"nonce": nonce, **answer}).encode() + b"\\n")
    for case in range(3): send(case=case, said=None, line=None, values=[[{"value": True}]])
    send(done=True)
    os._exit(0)
""",
    "answers without values": """
import json, os, sys
def add(a, b):
    frame = sys._getframe()
    while "nonce" not in frame.f_locals: frame = frame.f_back
    nonce, descriptor = frame.f_locals["nonce"], frame.f_locals["descriptor"]
    def send(**answer): os.write(descriptor, json.dumps({"nonce": nonce, **answer}).encode() + b"\\n")
    for case in range(3): send(case=case, said=None, line=None)
    send(done=True)
    os._exit(0)
""",
    "makes every comparison true": """
import builtins, operator
for name in ("eq", "ne", "lt", "le"): setattr(operator, name, lambda *_: True)
for name in ("abs", "isinstance", "bool", "all"): setattr(builtins, name, lambda *_: True)
def add(a, b): return a - b - 1
""",
}


@pytest.mark.parametrize("draft", FORGERS.values(), ids=FORGERS)
async def test_no_draft_forges_a_split_verdict(draft: str) -> None:
    evidence = await python(draft)
    assert evidence.sandbox is not None and evidence.sandbox.verdict_integrity == "split"
    assert evidence.status in ("failed", "error")
    assert not any(finding.status == "passed" for finding in evidence.findings), evidence.text


SERVED = {
    "mutation": ("def f(xs): xs.sort()", "xs = [3, 1]\nf(xs)\nassert xs == [1, 3]"),
    "a generator": ("def f(n): yield from range(n)", "assert list(f(3)) == [0, 1, 2]"),
    "an exception": ("def f(x): raise KeyError(x)", "with raises(LookupError):\n    f(2)"),
    "an exception in a try": (
        "def f(x): return 1 // x",
        "try:\n    f(0)\n    assert False\nexcept ZeroDivisionError:\n    pass",
    ),
    "what it prints": (
        "def f(x): print('hi', x)",
        "import io, contextlib\nout = io.StringIO()\nwith contextlib.redirect_stdout(out):\n    f(2)\n"
        "assert out.getvalue() == 'hi 2\\n'",
    ),
    "an object over several calls": (
        "class S(list):\n    push = list.append\n    def peek(self): return self[-1]",
        "s = S()\ns.push(3)\nassert s.peek() == 3\nassert s == [3]\nassert s.pop() == 3\nassert not s",
    ),
    "a lone surrogate": ("def f(): return '\\ud83d\\ude00'", "assert f() == '\\ud83d\\ude00'\nassert len(f()) == 2"),
    "a number of ten thousand bits": ("def f(n): return 1 << n", "assert f(10_000) == 2 ** 10_000"),
    "not a number": ("def f(): return float('nan')", "assert f() != 1.5\nassert math.isnan(f())"),
    "a set of texts": ("def f(): return {'b', 'a'}", "assert f() == {'a', 'b'}\nassert 'a' in f()"),
    "a numpy number": (
        "import numpy as np\ndef f(): return np.float64(1.5)",
        "assert f() == 1.5\nassert abs(f() - 1.5) < 1e-9",
    ),
    "a named tuple": ("from collections import namedtuple as n\nf = n('P', 'x y')", "assert f(1, 2) == (1, 2)"),
    "approximately": (
        "def f(): return 0.1 + 0.2",
        "import pytest\nassert f() == pytest.approx(0.3)\nassert abs(f() - .3) < 1e-9",
    ),
    "a table": (
        "def f(x): return x * x",
        "table = [(1, 1), (2, 4), (-3, 9)]\nfor x, want in table:\n    assert f(x) == want",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("draft", "code"), SERVED.values(), ids=SERVED)
async def test_all_kinds_of_honest_checks_are_split_and_pass(draft: str, code: str) -> None:
    evidence = await python(draft, code)
    assert evidence.status == "passed", evidence.text
    assert evidence.sandbox is not None and evidence.sandbox.verdict_integrity == "split"


async def test_a_verdict_near_its_time_limit_is_marked_unstable() -> None:
    slow = await python(
        "import time\ndef add(a, b):\n    time.sleep(3.5 if a == 2 else 0)\n    return a + b", timeout_s=6
    )
    quick = await python("def add(a, b): return a + b", timeout_s=60)
    assert (slow.status, slow.provenance["stability"]) == ("passed", "unstable")
    assert slow.text == "3 of 3 cases passed; unstable, near its time limit"
    assert (quick.status, quick.provenance["stability"]) == ("passed", "stable")


@pytest.mark.parametrize(("seconds", "cpu_s", "end", "is_near"), [
    (4.9, 4.9, "exited", False),
    (5.0, 0.1, "exited", True),
    (3.0, 5.5, "exited", True),
    (10.1, 0.1, "timeout", True),
    (2.0, 10.9, "signal", True),
])  # fmt: skip
def test_half_of_a_limit_is_near_it(seconds: float, cpu_s: float, end: str, is_near: bool) -> None:
    assert Caged(end=end, seconds=seconds, cpu_s=cpu_s).is_near_its_limit is is_near  # type: ignore[arg-type]


@pytest.mark.parametrize(("end", "cpu_s", "waited_s", "starved"), [
    ("timeout", 1.0, 8.9, True),
    ("timeout", 9.9, 0.0, False),  # an endless loop
    ("timeout", 0.1, 0.0, False),  # it slept
    ("timeout", 4.0, 6.0, False),  # a busy machine that still gave it a fair part
    ("timeout", 6.0, 8.0, False),  # it kept itself waiting: its own processes used the time
    ("exited", 1.0, 8.9, False),  # an answer is an answer
])  # fmt: skip
def test_cpu_time_and_waiting_tell_a_slow_draft_from_a_busy_machine(
    end: str, cpu_s: float, waited_s: float, starved: bool
) -> None:
    caged = Caged(end=end, seconds=10.0, cpu_s=cpu_s, waited_s=waited_s)  # type: ignore[arg-type]
    assert caged.is_starved is starved
    assert Caged(end="timeout", problem="nobody reported").is_starved  # its times are not known


@contextmanager
def one_busy_processor() -> Iterator[None]:
    """All that is started here shares one processor with programs that never rest."""
    before = os.sched_getaffinity(0)
    with ExitStack() as stack:
        os.sched_setaffinity(0, {min(before)})
        stack.callback(os.sched_setaffinity, 0, before)
        for _ in range(25):
            # A session of its own each: some systems share a processor by session.
            busy = subprocess.Popen([sys.executable, "-S", "-c", "while True: pass"], start_new_session=True)
            stack.callback(busy.wait)
            stack.callback(busy.kill)
        yield


@pytest.mark.skipif(
    not Path("/proc/self/schedstat").exists(), reason="this system does not tell how long a process waited"
)
async def test_a_timeout_on_a_machine_without_time_is_an_error_and_not_a_failure() -> None:
    with one_busy_processor():
        report = await check("assert f(2) == 4", timeout_s=1).run(
            Draft(index=0, text="def f(x):\n    while True: pass")
        )
    assert report.status == "error" and report.findings == (), report.text
    assert "too busy" in report.text or "lost" in report.text  # the watching process had no time to report either
    assert report.provenance["exit"] == "timeout"


async def test_an_endless_loop_with_a_processor_is_a_failure_with_its_cpu_time() -> None:
    evidence = await python("def add(a, b):\n    while True: pass", timeout_s=2)
    assert evidence.status == "failed" and evidence.provenance["stability"] == "unstable"
    assert float(evidence.provenance["cpu_s"]) > 0.1
