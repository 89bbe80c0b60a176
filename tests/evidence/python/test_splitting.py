"""What of a check's asserts is sent to the draft's process, and what its answers are worth."""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from reflect_lab.evidence.python.plain import Malformed
from reflect_lab.evidence.python.splitting import Plan, plan
from reflect_lab.evidence.python.statements import split_cases
from reflect_lab.evidence.python.verdicts import Verdict, verdict
from reflect_lab.evidence.sandbox import runner
from reflect_lab.evidence.wording import shown


def sent(code: str) -> str:
    return plan(code).code


@pytest.mark.parametrize(("code", "calls"), [
    ("assert f(2) == 1234", "(f(2),)"),
    ("assert 1234 == f(2)", "(f(2),)"),
    ("assert f(2) != 1234 and g(3) < 1234", "(f(2), g(3))"),
    ("assert f(2) is None or f(2) > 1234", "(f(2), f(2))"),
    ("assert 0 < f(2) <= 1234", "(f(2),)"),
    ("assert f(2) in (1234, [1234], {1234: 1234})", "(f(2),)"),
    ("assert 1234 not in f(2)", "(f(2),)"),
    ("assert not f(2)", "(f(2),)"),
    ("assert f(2, key=[3])", "(f(2, key=[3]),)"),
    ("assert f(2) is True", "(f(2),)"),
    ("assert abs(f(2) - 1234.5) < 1e-6", "(f(2),)"),
    ("assert abs(1234.5 - f(2)) <= 1e-6, 'not 1234'", "(f(2),)"),
    ("assert -f(2) == 1234", "(f(2),)"),
    ("assert math.isclose(f(2), 1234.5, rel_tol=1e-9)", "(f(2),)"),
    ("import pytest\nassert f(2) == pytest.approx(1234.5)", "(f(2),)"),
    ("from pytest import approx\nassert f(2) == approx([1234.5], abs=1)", "(f(2),)"),
    ("assert round(f(2), 2) == 1234.5", "(round(f(2), 2),)"),
    ("assert list(f(2)) == [1234]", "(list(f(2)),)"),
    ("assert len(f(2)) == 1234", "(len(f(2)),)"),
    ("assert set(f(2)) == set([1234])", "(set(f(2)),)"),
    ("assert f(2) == frozenset({1234})", "(f(2),)"),
    ("assert f(2) == list(range(1234))", "(f(2),)"),
    ("assert f(2) == 2 ** 10 + 1234", "(f(2),)"),
    ("assert f(2) == float('inf')", "(f(2),)"),
    ("assert f(2)[0]['a'] == 1234", "(f(2)[0]['a'],)"),
    ("assert f(2).total == 1234", "(f(2).total,)"),
    ("assert f(g(2), 3) == 1234", "(f(g(2), 3),)"),
    ("assert f(2) + f(3) == 1234", "(f(2) + f(3),)"),
    ("assert f(2) * 3 == 1234", "(f(2),)"),
    ("assert (f(2), g(3)) == (1234, 1234)", "(f(2), g(3))"),
    ("assert f(lambda x: x > 2) == 1234", "(f(lambda x: x > 2),)"),
    ("assert isinstance(f(2), (int, str))", "(f(2),)"),
    ("assert f(2).startswith('1234')", "(f(2),)"),
    ("assert max([1, 2]) == 1234", "(max([1, 2]),)"),
    ("assert f(-2.5, 2 * 'a', [1] * 3) == 1234", "(f(-2.5, 2 * 'a', [1] * 3),)"),
    ("want = 1234\nassert f(2) == want", "(f(2),)"),
    ("given, want = 2, 1234\nassert f(given) == want", "given = 2\n(f(given),)"),
    ("'it is 1234'\nassert f(2) == 1234", "(f(2),)"),
    ("x = 1234\nassert f(2) == x\nx = 3\nassert f(x) == 1234", "(f(2),)\nx = 3\n(f(x),)"),
    ("x = float('nan')\nassert f(x) == 1234", "x = float('nan')\n(f(x),)"),
    ("given = 2\nassert f(given) == 1234", "given = 2\n(f(given),)"),
    ("got = f(2)\nassert got == 1234", "got = f(2)\n(got,)"),
    ("xs = [3, 1]\nf(xs)\nassert xs == [1234]", "xs = [3, 1]\nf(xs)\n(xs,)"),
    ("s = Stack()\ns.push(3)\nassert s.pop() == 1234", "s = Stack()\ns.push(3)\n(s.pop(),)"),
    ("for x, want in [(1, 1234), (2, 1234)]:\n    assert f(x) == want", "x = 1\n(f(x),)\nx = 2\n(f(x),)"),
    ("for x in range(2):\n    assert f(x) == x + 1234", "x = 0\n(f(x),)\nx = 1\n(f(x),)"),
    ("xs = []\nfor i in range(3):\n    xs.append(i)\nassert f(xs) == 1234",
     "xs = []\nfor i in range(3):\n    xs.append(i)\n(f(xs),)"),
    ("with raises(ValueError, match='1234'):\n    f(-1)", "if True:\n    f(-1)"),
    ("try:\n    f(-1)\n    assert False, '1234'\nexcept KeyError:\n    pass", "if True:\n    f(-1)"),
    ("try:\n    f(-1)\nexcept KeyError:\n    pass\nelse:\n    raise AssertionError('1234')", "if True:\n    f(-1)"),
    ("import io\nfrom contextlib import redirect_stdout\nout = io.StringIO()\nwith redirect_stdout(out):\n    f(2)\n"
     "assert out.getvalue() == '1234'",
     "import io\nfrom contextlib import redirect_stdout\nout = io.StringIO()\nwith redirect_stdout(out):\n    f(2)\n"
     "(out.getvalue(),)"),
])  # fmt: skip
def test_only_the_calls_are_sent_and_never_what_they_should_give(code: str, calls: str) -> None:
    made = plan(code)
    assert made.code == calls and all(case.is_split for case in made.cases)
    assert "1234" not in made.code and "Error" not in made.code


@pytest.mark.parametrize("code", [
    "assert f(2) == f(3)",
    "assert f(2) == Decimal('1234')",
    "assert f(2) is f(3)",
    "assert f(2) is 1234",
    "assert close(f(2), 1234)",
    "assert np.allclose(f(2), [1234])",
    "assert '1234'.startswith(f(2))",
    "assert f(2).equals(1234)",
    "assert abs(f(2) - Decimal('1234')) < 1",
    "assert all(f(x) == y for x, y in [(1, 1234)])",
    "assert any(x == 1234 for x in f(2))",
    "assert isinstance(f(2), Wanted)",
    "assert (f(2) if f(3) else 4) == 1234",
    "assert (x := f(2)) == 1234",
    "def close(a):\n    return abs(a - 1234) < 1\nassert close(f(2))",
    "def check(g):\n    assert g(2) == 1234\ncheck(f)\nassert f(2) == 4",
    "ok = f(2) == 1234\nassert ok",
    "left = f(2) - 1234\nassert left == 0",
    "for x in f(3):\n    assert x == 1234",
    "while True:\n    assert f(2) == 1234\n    break",
    "if f(2):\n    assert f(2) == 1234",
    "with raises(Wanted):\n    f(2)",
    "with raises(ValueError) as e:\n    f(2)",
    "with raises(ValueError, match='1+'):\n    f(2)",
    "with open('x') as file:\n    assert f(file) == 1234",
    "try:\n    f(2)\n    assert False\nexcept Exception:\n    pass",
    "try:\n    f(2)\nexcept ValueError as e:\n    assert str(e) == '1234'",
    "f(2)",
    "assert f(2) == " + "+".join(["1"] * 500),
    "assert " + "not " * 300 + "f(2)",
])  # fmt: skip
def test_what_cannot_be_split_is_sent_whole_and_marked(code: str) -> None:
    made = plan(code)
    assert not made.cases[0].is_split
    assert "1234" in made.code or "1234" not in code


def test_a_block_may_hold_both_and_only_the_marked_cases_are_sent_whole() -> None:
    made = plan("assert f(1) == 1234\nassert f(2) == g(5678)\nassert f(3) == 1234")
    assert [case.is_split for case in made.cases] == [True, False, True]
    assert "1234" not in made.code and "5678" in made.code


def test_names_of_literals_follow_what_happens_to_them() -> None:
    assert sent("x = 1\nassert f(2) == x\nx = 2\nassert f(3) == x\nx = f(4)\nassert x == 5") == (
        "(f(2),)\n(f(3),)\nx = f(4)\n(x,)"
    )
    assert not plan("xs = [1]\ng(xs)\nassert f(2) == xs").cases[0].is_split  # `g` may have changed it
    assert not plan("n = 1\ng(n)\nassert f(2) == n").cases[0].is_split  # the draft can read `n`


@pytest.mark.parametrize("code", [
    "assert f(1) == 1\nassert f(2) == 2\nx = 3",
    "for x in (1, 2):\n    assert f(x) == 1\nassert f(3) == 3",
    "x = 1",
    "with raises(ValueError):\n    f(1)\ntry:\n    f(2)\n    assert False\nexcept ValueError:\n    pass\nf(3)",
])  # fmt: skip
def test_cases_keep_their_places_whether_they_are_split_or_not(code: str) -> None:
    made = plan(code)
    assert len(made.cases) == len(split_cases(ast.parse(code).body)) == len(made.ranges)
    assert [start for start, _ in made.ranges[1:]] == [end for _, end in made.ranges[:-1]]
    assert made.ranges[-1][1] == len(ast.parse(made.code).body)


@pytest.mark.parametrize("code", [
    "x = 'é'; assert f('ü') == 1; assert (g(\r\n 1) ==\n 2)\n\f\nassert 1",
    "assert f(\"\"\"x\ny\"\"\")\r\nif 1:\n    assert g('a\x0cb')",
])  # fmt: skip
def test_a_case_is_titled_by_its_own_text(code: str) -> None:
    statements = [s for s in ast.parse(code).body if not isinstance(s, ast.Assign)]
    assert [case.title for case in plan(code).cases] == [
        shown(ast.get_source_segment(code, s) or "", 200) for s in statements
    ]


def answers(made: Plan, draft: str) -> list[Mapping[str, Any]]:
    """What a draft's process answers, performed here: these drafts are our own."""
    out: list[str] = []
    job = {
        "draft": draft, "setup": "", "code": made.code, "cases": made.ranges, "asked": made.asked,
        "raising": made.raising, "room": (1 << 16, 1 << 20),
    }  # fmt: skip
    runner.python(job, lambda **answer: out.append(json.dumps(answer)))
    return [answer for answer in map(json.loads, out) if "case" in answer]


def verdicts(code: str, draft: str) -> list[Verdict]:
    made = plan(code)
    return [verdict(case, answer) for case, answer in zip(made.cases, answers(made, draft), strict=True)]


DRAFT = """
def same(x): return x
def twice(x): return x * 2
def half(x): return x / 2
def none(x): pass
def first(x): return x[0]
def sort(x):
    x.sort()
def each(x):
    for part in x: yield part
def odd(x):
    if x: raise ValueError("odd one")
    return []
class Box:
    def __init__(self): self.held = []
    def put(self, x): self.held.append(x)
    def get(self): return self.held.pop()
"""

LITERALS = st.recursive(
    st.integers(-3, 3) | st.sampled_from([0.5, 1.5, -0.0, True, False, None, "", "a", "ab", 2**70, b"x", 1j]),
    lambda s: (
        st.lists(s, max_size=3) | st.tuples(s, s) | st.dictionaries(st.sampled_from(["a", 1, (1, 2)]), s, max_size=2)
    ),
    max_leaves=4,
)
FUNCTIONS = st.sampled_from(["same", "twice", "half", "none", "first", "odd", "len", "sorted", "list", "str", "abs"])
SIGNS = st.sampled_from(["==", "!=", "<", "<=", ">", ">=", "in", "not in"])


@st.composite
def calls(draw: st.DrawFn) -> str:
    text = f"{draw(FUNCTIONS)}({draw(LITERALS)!r})"
    return f"{draw(FUNCTIONS)}({text})" if draw(st.booleans()) else text


@st.composite
def conditions(draw: st.DrawFn) -> str:
    call, literal = draw(calls()), draw(LITERALS)
    return draw(st.sampled_from([
        f"{call} {draw(SIGNS)} {literal!r}",
        f"{literal!r} {draw(SIGNS)} {call}",
        f"not {call}",
        f"{call} is None",
        f"{call} is not True",
        f"abs({call} - 1.5) < 0.6",
        f"{call} + {literal!r} == {literal!r}",
        f"0 <= {call} < 3",
        f"list(each({literal!r})) == {literal!r}",
        f"{call} == {literal!r} or {draw(calls())} == {draw(LITERALS)!r}",
        f"{call} != {literal!r} and {draw(calls())} != {draw(LITERALS)!r}",
        f"isinstance({call}, (int, str))",
        f"-{call} == {literal!r}",
        f"{call} == {call}",
    ]))  # fmt: skip


@st.composite
def statements(draw: st.DrawFn) -> str:
    literal, test = draw(LITERALS), draw(conditions())
    return draw(st.sampled_from([
        f"assert {test}",
        f"assert {test}, 'why'",
        f"x = {literal!r}\nassert {draw(FUNCTIONS)}(x) {draw(SIGNS)} x",
        f"x = {literal!r}\nassert {draw(calls())} == x",
        f"xs = {draw(st.lists(st.integers(0, 3), max_size=4))}\nsort(xs)\nassert xs == [1, 2]",
        f"b = Box()\nb.put({literal!r})\nassert b.get() == {literal!r}",
        f"for x in [{literal!r}, 1]:\n    assert {draw(FUNCTIONS)}(x) {draw(SIGNS)} x",
        f"for x, y in [({literal!r}, {draw(LITERALS)!r})]:\n    assert {draw(FUNCTIONS)}(x) == y",
        f"try:\n    {draw(calls())}\n    assert False\nexcept (ValueError, TypeError):\n    pass",
        f"y = {draw(calls())}\nassert y == {literal!r}",
    ]))  # fmt: skip


def beside(code: str, draft: str) -> list[bool]:
    """Which cases hold where draft and asserts share one namespace, as anybody would run them."""
    names: dict[str, object] = {}
    exec(draft, names)
    body, held = ast.parse(code).body, []
    for start, end in split_cases(body):
        try:
            exec(compile(ast.Module(body[start:end], []), "<test>", "exec"), names)
        except Exception:
            held.append(False)
        else:
            held.append(True)
    return held


@settings(max_examples=250, deadline=None)
@given(st.lists(statements(), min_size=1, max_size=4))
@example(["assert odd(1) == 1 or same(2) == 2"])
@example(["x = [1]\nassert same(x) == x", "assert twice(x) == [1, 1]"])
def test_split_verdicts_agree_with_asserts_run_beside_the_draft(blocks: list[str]) -> None:
    code = "\n".join(blocks)
    found = verdicts(code, DRAFT)
    assert [one.status for one in found] == ["passed" if held else "failed" for held in beside(code, DRAFT)]


@pytest.mark.parametrize(("code", "said"), [
    ("assert same(2) == 5, 'five'", "got 2 (five)"),
    ("assert abs(same(2) - 1.5) < 0.1", "0.5 < 0.1 does not hold"),
    ("assert none(2) + 1 == 2", "raised TypeError: unsupported operand type(s) for +: 'NoneType' and 'int'"),
    ("assert odd(2) == 1", "raised ValueError: odd one"),
    ("for x in (0, 3):\n    assert odd(x) == []", "raised ValueError: odd one, at x = 3"),
    ("with raises(KeyError):\n    odd(2)", "raised ValueError: odd one"),
    ("with raises(ValueError, match='even'):\n    odd(2)", "raised ValueError: odd one"),
    ("with raises((KeyError, ValueError)):\n    odd(0)", "did not raise KeyError or ValueError"),
    ("assert isinstance(same('a'), int)", "got False"),
    ("assert same(2) == approx(2.5)", "got 2"),
    ("assert same({3, 1, 2}) == {1}", "got {1, 2, 3}"),
])  # fmt: skip
def test_a_failed_case_says_what_was_there(code: str, said: str) -> None:
    (one,) = verdicts(code, DRAFT)
    assert (one.status, one.said) == ("failed", said)


@pytest.mark.parametrize("code", [
    "assert same(0.1) + same(0.2) == approx(0.3)",
    "assert same([0.1, 0.2 + 1e-9]) == approx([0.1, 0.2])",
    "assert same({'a': 1e-13}) == pytest.approx({'a': 0})",
    "assert same(1.2) == approx(1.0, abs=0.25)",
    "assert same(float('inf')) == approx(float('inf'))",
    "assert math.isclose(same(1.0000001), 1, rel_tol=1e-6)",
    "with raises(ArithmeticError):\n    half(1 % 0)\nassert half(1) == 0.5",
])  # fmt: skip
def test_tolerance_is_what_the_test_says(code: str) -> None:
    assert {one.status for one in verdicts(code, DRAFT)} == {"passed"}


@pytest.mark.parametrize("code", [
    "assert same(1.3) == approx(1.0, abs=0.25)",
    "assert same([0.1]) == approx([0.1, 0.2])",
    "assert same(float('nan')) == approx(float('nan'))",
    "assert same(1e300) == approx(float('inf'))",
    "assert same('a') == approx(1.0)",
    "assert none(1) == approx(0.0)",
])  # fmt: skip
def test_what_is_not_near_is_not_approximately_equal(code: str) -> None:
    assert [one.status for one in verdicts(code, DRAFT)] == ["failed"]


def test_what_only_the_draft_could_judge_is_an_error_and_never_a_pass() -> None:
    draft = (
        "class A:\n    def __lt__(self, other): return True\n    __sub__ = __contains__ = __lt__\ndef f(x): return A()"
    )
    for code in ("assert f(2) < 5", "assert f(2) - 1 == 1", "assert 5 in f(2)"):
        (one,) = verdicts(code, draft)
        assert one.status == "error" and "no plain value" in one.said
    assert [one.status for one in verdicts("assert f(2) == 5\nassert f(2) is not None", draft)] == ["failed", "passed"]


def test_more_than_can_be_sent_is_an_error_and_never_a_pass() -> None:
    code = "\n".join(f"assert f({n}) != 1" for n in range(30))
    found = verdicts(code, "def f(x): return 'a' * 60_000")
    assert [one.status for one in found[:3]] == ["passed"] * 3
    assert found[-1].status == "error" and "no room" in found[-1].said


@pytest.mark.parametrize("answer", [
    {"case": 0, "said": None},
    {"case": 0, "said": None, "values": []},
    {"case": 0, "said": None, "values": [[]]},
    {"case": 0, "said": None, "values": [[{"value": None}, {"value": None}]]},
    {"case": 0, "said": None, "values": [[{"value": None}], [{"value": None}]]},
    {"case": 0, "said": None, "values": [[7]]},
    {"case": 0, "said": None, "values": {"0": 1}},
    {"case": 0, "said": None, "values": [[{"value": {"i": "q"}}]]},
])  # fmt: skip
def test_an_answer_to_another_question_is_malformed(answer: dict[str, object]) -> None:
    for code in ("assert f(2) == 4", "with raises(ValueError):\n    f(2)"):
        made = plan(code)
        if "raises" in code and answer.get("values") == [[{"value": None}]]:
            continue
        with pytest.raises(Malformed):
            verdict(made.cases[0], answer)
