"""Tests that would accept any draft are refused when the check is made."""

from __future__ import annotations

import pytest

from reflect_lab.core.errors import WrongUse
from tests.evidence.evidence_support import evidence_of

UNITTEST = """import unittest
class TestMean(unittest.TestCase):
    def test_two(self):
        self.assertEqual(mean([2, 4]), 3)
if __name__ == "__main__":
    unittest.main()"""

UNCALLED = {
    "pytest's way": ("def test_mean(): assert mean([2, 4]) == 3", "test_mean"),
    "unittest's way": (UNITTEST, "TestMean"),
    "with parameters": ("@pytest.mark.parametrize('x', [1])\ndef test_it(x): assert mean([x]) == x", "test_it"),
    "by a helper": ("def demand(x):\n    assert x\ndef test_mean(): demand(mean([2]) == 2)", "test_mean"),
    "with raises": ("def test_none():\n    with pytest.raises(ValueError):\n        mean([])", "test_none"),
    "beside one that is called": ("def a(): assert mean([1]) == 1\ndef b(): assert mean([2]) == 2\na()", "b"),
    "in a branch": ("if True:\n    def test_mean(): assert mean([2]) == 2", "test_mean"),
}


@pytest.mark.parametrize(("code", "name"), UNCALLED.values(), ids=UNCALLED)
async def test_asserts_in_a_function_or_class_that_nothing_calls_are_refused_by_its_name(code: str, name: str) -> None:
    with pytest.raises(WrongUse) as refused:
        await evidence_of("python", {"code": code}, "def mean(xs): return 7")
    assert str(refused.value) == (
        f"check python: it defines {name} but never calls it; write its asserts at the top level"
    )


@pytest.mark.parametrize(
    "code",
    [
        "\nmean([2, 4]) == 3",
        "\nmean([1]) == 1 and mean([2, 4]) == 3",
        "\nnot mean([2, 4])",
        "\nisinstance(mean([2, 4]), int)",
        "for x in [1, 2]:\n    mean([x]) == x",
        "def check(f):\n    f([2, 4]) == 3\ncheck(mean)",
    ],
)
async def test_a_comparison_without_assert_is_refused_with_its_line(code: str) -> None:
    with pytest.raises(WrongUse, match="line 2 compares and does nothing with it; write assert …"):
        await evidence_of("python", {"code": code}, "def mean(xs): return 7")


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("assert (mean([2, 4]) == 3, 'the mean')", "line 1 asserts a tuple, which always holds"),
        ("def t(): assert mean([2]) == 3\nif __name__ == '__main__': t()", "line 2: what stands under `if __name__"),
    ],
)
async def test_what_always_holds_or_is_never_performed_is_refused(code: str, said: str) -> None:
    with pytest.raises(WrongUse, match=said):
        await evidence_of("python", {"code": code}, "def mean(xs): return 7")


ASSERTING = {
    "a function that is called": "def check(f):\n    assert f([2, 4]) == 3\ncheck(mean)",
    "one that is handed on": "def one(): assert mean([2, 4]) == 3\nfor case in [one]:\n    case()",
    "an assert of a library": "import unittest\nunittest.TestCase().assertEqual(mean([2, 4]), 3)",
    "a decorator of its own": "def now(f): f()\n@now\ndef _():\n    assert mean([2, 4]) == 3",
    "a function of the set-up": "demand(mean([2, 4]) == 3)",
}


@pytest.mark.parametrize("code", ASSERTING.values(), ids=ASSERTING)
async def test_asserts_that_are_performed_may_stand_anywhere(code: str) -> None:
    options = {"code": code, "setup": "def demand(x):\n    assert x"}
    wrong = await evidence_of("python", options, "def mean(xs): return 7")
    right = await evidence_of("python", options, "def mean(xs): return sum(xs) / len(xs)")
    assert (wrong.status, right.status) == ("failed", "passed")
    assert "nothing is asserted" not in right.text


async def test_a_comparison_that_must_raise_is_a_test() -> None:
    code = "import pytest\nwith pytest.raises(TypeError):\n    mean([2]) < 'a'"
    assert (await evidence_of("python", {"code": code}, "def mean(xs): return 7")).status == "passed"


async def test_code_without_any_assert_must_merely_not_raise_and_the_evidence_says_so() -> None:
    options = {"code": "mean([2, 4])"}
    passed = await evidence_of("python", options, "def mean(xs): return 7")
    assert passed.status == "passed"
    assert passed.text.startswith("1 of 1 case passed; nothing is asserted: it only must not raise")
    raised = await evidence_of("python", options, "def mean(xs): return 1 / 0")
    assert raised.status == "failed" and "nothing is asserted: it only must not raise" in raised.text
