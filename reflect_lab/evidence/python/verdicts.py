"""The verdict of one case: what its process answered, against what the check expects."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from reflect_lab.evidence.python.judging import Asked, CannotJudge, DraftRaised, TooLarge, compare, value_of
from reflect_lab.evidence.python.plain import Malformed, decoded, shown_value
from reflect_lab.evidence.python.splitting import Case, Expectation, Raising
from reflect_lab.evidence.sandbox.runner import OPERATORS, Room, plain
from reflect_lab.evidence.sandbox.runner import TooLarge as Oversized

Answer = Mapping[str, object]


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """`said` is what was there instead of what was expected; `line` is the draft's line that raised."""

    status: Literal["passed", "failed", "error", "not_run"]
    said: str = ""
    line: object = None


PASSED = Verdict(status="passed")


def verdict(case: Case, answer: Answer) -> Verdict:
    """The verdict on a case by its process's answer. Raises Malformed where that is no answer to this case."""
    values = answer.get("values", [])
    if not isinstance(values, list) or len(values) > len(case.expects):
        raise Malformed("other values than asked for")
    for expects, sent in zip(case.expects, values, strict=False):
        answers = _read(sent)
        one = _raised_as_told(expects, answers) if isinstance(expects, Raising) else _holds(expects, answers)
        if one.status != "passed":
            return one
    said = answer.get("said")
    if said is not None:
        return Verdict(status="failed", said=str(said), line=answer.get("line"))
    if len(values) < len(case.expects):
        raise Malformed("fewer values than asked for")
    return PASSED


def _read(sent: object) -> list[Answer]:
    if not isinstance(sent, list) or not all(isinstance(one, dict) for one in sent):
        raise Malformed("no list of answers")
    return [{**one, "value": decoded(one["value"])} if "value" in one else one for one in sent]


def _holds(expects: Expectation, answers: list[Answer]) -> Verdict:
    """Whether an assert holds; if not, with the value that was there where a comparison shows one."""
    if _asked(expects.test) != len(answers):
        raise Malformed("other values than asked for")
    try:
        said = _compared(expects, answers)
    except DraftRaised as raised:
        return _raised(raised.answer, expects.at)
    except CannotJudge as reason:
        return Verdict(status="error", said=f"can't be judged, {reason}")
    except Exception as error:  # as Python would have raised it in the assert itself
        return Verdict(status="failed", said=_with(f"raised {type(error).__name__}: {error}", expects.at))
    if said is None:
        return PASSED
    if expects.message:
        said = f"{said} ({expects.message[:200]})"
    return Verdict(status="failed", said=_with(said, expects.at))


def _compared(expects: Expectation, answers: list[Answer]) -> str | None:
    """None where the test holds; else what was there."""
    test = expects.test
    if not isinstance(test, ast.Compare) or len(test.ops) > 1:
        value = value_of(test, expects.known, answers)
        return None if value else f"got {shown_value(value)}"
    try:
        left = value_of(test.left, expects.known, answers)
        right = value_of(test.comparators[0], expects.known, answers)
    except TooLarge as large:
        if isinstance(test.ops[0], ast.Eq) and _is_small(test, expects, large.room):
            return f"got {large.looks}"
        raise
    if compare(test.ops[0], left, right):
        return None
    if isinstance(test.ops[0], ast.Eq) and _asked(test) and not (_asked(test.left) and _asked(test.comparators[0])):
        return f"got {shown_value(left if _asked(test.left) else right)}"
    return f"{shown_value(left)} {OPERATORS[type(test.ops[0])][0]} {shown_value(right)} does not hold"


def _is_small(test: ast.Compare, expects: Expectation, room: int) -> bool:
    """Whether a call's value is compared with one that takes a quarter of the room at most, so that it can't be equal
    to what is larger than the room."""
    sides = test.left, test.comparators[0]
    expected = [side for side in sides if not _asked(side)]
    if len(expected) != 1 or not all(isinstance(side, Asked) or side is expected[0] for side in sides):
        return False
    try:
        plain(value_of(expected[0], expects.known), Room(room // 4, room // 4))
    except Oversized:
        return False
    return True


def _raised_as_told(expects: Raising, answers: list[Answer]) -> Verdict:
    if len(answers) != 1:
        raise Malformed("other values than asked for")
    (answer,) = answers
    wanted = " or ".join(kind.__name__ for kind in expects.classes)
    if "raised" not in answer:
        return Verdict(status="failed", said=f"did not raise {wanted}")
    classes, text = answer.get("classes"), answer.get("text")
    if not isinstance(classes, list) or not isinstance(text, str):
        raise Malformed("no exception")
    if not any(kind.__name__ in classes for kind in expects.classes):
        return _raised(answer, "")
    if expects.text in text:
        return PASSED
    if answer.get("is_whole") is not True:
        return Verdict(status="error", said="can't be judged, the exception's text is too long to look through")
    return _raised(answer, "")


def _raised(answer: Answer, at: str) -> Verdict:
    return Verdict(status="failed", said=_with(f"raised {answer['raised']}", at), line=answer.get("line"))


def _with(said: str, at: str) -> str:
    return f"{said}, at {at}" if at else said


def _asked(node: ast.AST) -> int:
    return sum(isinstance(part, Asked) for part in ast.walk(node))
