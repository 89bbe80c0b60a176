"""A split case means what its assert means in Python; where that is not sure, it is not split."""

from __future__ import annotations

import time

import pytest

from reflect_lab.core.evidence import Evidence
from reflect_lab.evidence.python.names import names_of
from reflect_lab.evidence.python.splitting import plan
from tests.evidence.evidence_support import evidence_of


async def python(draft: str, code: str, **options: object) -> Evidence:
    return await evidence_of("python", {"code": code, **options}, draft)


SORTS_IN_PLACE = "def mysorted(xs):\n    xs.sort()\n    return xs"


@pytest.mark.parametrize(("draft", "code"), [
    ("def f(xs: List[int]) -> int:\n    return sum(xs)", "assert f([1, 2]) == 3"),
    ("def sorted(xs): return xs", "got = sorted([3, 1, 2])\nassert got == [1, 2, 3]"),
    ("def isclose(a, b): return False", "assert isclose(0.1 + 0.2, 0.3)"),
    ("def sum(xs): return 0", "assert sum([1, 2]) == len([1, 2, 3])"),
    ("def any(xs): return False", "r = any([0, 1])\nassert r is True"),
    ("def len(s): return 0", "n = len('abc')\nassert n == 3"),
    ("def round(x): return 99", "for x, y in [(2.4, 2), (2.6, 3)]:\n    r = round(x)\n    assert r == y"),
    ("def half(x): return x / 2 + 1e-7", "assert half(3) == approx(1.5, rel=0)"),
    (SORTS_IN_PLACE, "xs = [3, 1]\nys = xs\nassert mysorted(ys) == [1, 3]\nassert xs == [3, 1]"),
    ("def add(x):\n    global basket_\n    basket_ = [x]\n    return basket_",
     "basket_ = []\nassert add('x') == ['x']\nassert basket_ == []"),
    (SORTS_IN_PLACE, "rows = [[3, 1]]\nfor xs in rows:\n    assert mysorted(xs) == [1, 3]\nassert rows == [[3, 1]]"),
    ("def f(n): return [0] * n", "assert f(5000) != [0] * 5000"),
    ("base = Exception\nfor n in ('KeyError', 'ValueError'):\n"
     "    base = type(n, (base,), {'__module__': 'builtins'})\ndef f(x): raise base('')",
     "with raises(ValueError):\n    f(1)"),
    ("class ValueError(Exception): pass\ndef f(x): raise KeyError", "with raises(ValueError):\n    f(1)"),
])  # fmt: skip
async def test_a_wrong_draft_does_not_pass_for_what_stays_here(draft: str, code: str) -> None:
    assert (await python(draft, code)).status == "failed"


@pytest.mark.parametrize(("draft", "code"), [
    ("import inspect\ndef f(x: int): return x\ndef g(): return inspect.signature(f).parameters['x'].annotation is int",
     "assert g() is True"),
    ("def s(xs): xs.sort()", "xs = [3, 1]\nys = xs\ns(ys)\nassert xs == [1, 3]"),
    ("def f(g): g[0][0] = 1", "row = [0]\ngrid = [row, row]\nf(grid)\nassert grid == [[1], [1]]"),
    ("counter = 0\ndef inc():\n    global counter\n    counter += 1", "counter = 0\ninc()\nassert counter == 1"),
    ("LIMIT = 3\ndef f(): return LIMIT", "LIMIT = 5\nassert f() == 5"),
    ("def f(n): return list(range(n))", "assert f(5000) == list(range(5000))"),
    ("def f(n): return 'x' * n", "assert f(70000) == 'x' * 70000"),
    ("def f(x): return x", "total = 0\ntotal += f(2)\ntotal += f(3)\nassert total == 5"),
    ("def f(x): return x", "d = {'a': 1, 'b': 2}\ndel d['a']\nassert f(d) == {'b': 2}"),
    ("def f(xs): raise ValueError(f'{xs!r} holds a negative number')",
     "with raises(ValueError, match='negative'):\n    f(list(range(100)))"),
])  # fmt: skip
async def test_a_right_draft_passes_with_what_stays_here(draft: str, code: str) -> None:
    evidence = await python(draft, code)
    assert evidence.status == "passed" and evidence.sandbox and evidence.sandbox.verdict_integrity == "split"


@pytest.mark.parametrize(("draft", "code", "setup", "status"), [
    ("def f(x): return x", "assert f(2) == approx(2.0)",
     "class approx:\n    def __init__(s, v): s.v = v\n    def __eq__(s, o): return type(o) is type(s.v)", "failed"),
    ("def f(x): return x / 3", "assert isclose(f(1), 0.33)", "def isclose(a, b): return abs(a - b) < 0.01", "passed"),
    ("def f(x): return x", "k = 2\ndef h(x): return x * k\nassert h(f(2)) == 4\nk = 3\nassert h(f(2)) == 6",
     "", "passed"),
])  # fmt: skip
async def test_what_the_set_up_or_the_check_calls_otherwise_is_judged_beside_the_draft(
    draft: str, code: str, setup: str, status: str
) -> None:
    evidence = await python(draft, code, setup=setup)
    assert evidence.status == status and evidence.sandbox
    assert evidence.sandbox.verdict_integrity == "in_process"


@pytest.mark.parametrize("code", [
    "want = 5\nassert f(2) == want\nassert g(want) == 1",
    "assert encode('abc') == 'x7q'\nassert decode('x7q') == 'abc'",
    "assert f(1) == 1234\nassert f(1234) == 2",
    "assert f([1, 2]) == [2, 1]\nassert f([2, 1]) == [1, 2]",
])  # fmt: skip
def test_an_expected_value_that_the_draft_could_read_elsewhere_is_not_split(code: str) -> None:
    assert not plan(code).cases[0].is_split


@pytest.mark.parametrize("code", [
    "assert f(2) == 1\nassert f(1) == 2", "assert f('ab') == 'ab'", "xs = [3, 1]\nf(xs)\nassert xs == [3, 1]",
])  # fmt: skip
def test_what_the_call_itself_is_given_and_what_is_easily_guessed_stay_split(code: str) -> None:
    assert all(case.is_split for case in plan(code).cases)


async def test_a_value_too_large_to_be_compared_is_an_error_or_differs_from_a_small_one() -> None:
    draft = "def f(n): return 'x' * n"
    evidence = await python(draft, "assert f(10**6) != 'y'\nassert f(10**6) == 'y'\nassert f(3) == 'xxx'")
    assert [f.status for f in evidence.findings] == ["error", "failed", "passed"]
    assert "too large to be compared here" in evidence.findings[0].message


async def test_what_lies_elsewhere_in_memory_each_time_reads_the_same() -> None:
    evidence = await python("class A: pass\ndef f(): return A()", "assert f() == 3")
    assert evidence.findings[0].message.endswith("got <draft.A object>")


def test_loops_of_many_asserts_are_not_unrolled_without_end() -> None:
    began = time.process_time()
    (case,) = plan("for a in range(200):\n    for b in range(200):\n        assert add(a, b) == a + b").cases
    assert not case.is_split and time.process_time() - began < 5


def test_the_names_that_a_program_binds_and_uses_are_told_from_its_locals() -> None:
    names = names_of(
        "import math\nfrom math import isclose\ndef f(sum):\n    max = LIMIT\n    global g\n    g = 1\n    return max"
    )
    assert names.bound == {"f", "g"} and {"LIMIT", "g"} <= names.used and "max" not in names.used
    assert names_of("from numpy import isclose, array as sorted").bound == {"isclose", "sorted"}
    assert names_of("from numpy import *").binds("sum") and not names_of("from typing import *").binds("sum")
    assert names_of("x = = 1").bound == frozenset()
    assert names_of("x = " + "-" * 100_000 + "1").binds("x")  # too deep to be parsed: every word counts
