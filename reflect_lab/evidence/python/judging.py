"""Works out the tests of asserts here, on plain values: literals of the test and what a draft's calls gave.

A small part of Python, read from its syntax tree, so that nothing of a draft and nothing without bound is performed.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from types import MappingProxyType
from typing import Any

from reflect_lab.evidence.python.plain import Malformed, Opaque, collide, shown_value
from reflect_lab.evidence.sandbox.runner import OPERATORS

_LARGEST = 100_000
"""Items that one step may make or walk over; bits of an exponent's result."""


class Asked(ast.expr):
    """A leaf that stands for what a call of the draft gave: the answer of that number."""

    _fields = ()

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number


class CannotJudge(Exception):
    """This is no test that can be worked out here; the text says why."""


class TooLarge(CannotJudge):
    """What the draft gave is larger than the `room` in bytes that there was for it; it looks like `looks`."""

    def __init__(self, room: int, looks: str) -> None:
        super().__init__(f"the value is too large to be compared here: no room for over {room:,} bytes")
        self.room, self.looks = room, looks


class DraftRaised(Exception):
    """The call that the test needs raised, as `answer` says."""

    def __init__(self, answer: Mapping[str, object]) -> None:
        self.answer = answer


class Approx:
    """A number, or a list, tuple or dict of numbers, that equals what is near it (`pytest.approx`): within `rel` (1e-6)
    of the expected value or within `abs` (1e-12), whichever is wider. Infinities equal themselves, nan nothing."""

    def __init__(self, expected: object, rel: float | None = None, abs: float | None = None) -> None:
        self._expected, self._rel, self._abs = expected, rel, abs

    def __repr__(self) -> str:
        return f"approx({shown_value(self._expected)})"

    def __eq__(self, other: object) -> bool:
        return self._near(other, self._expected)

    __hash__ = None  # type: ignore[assignment]

    def _near(self, value: object, expected: object) -> bool:
        if isinstance(expected, list | tuple):
            is_alike = type(value) is type(expected) and len(value) == len(expected)
            return is_alike and all(map(self._near, value, expected))  # type: ignore[call-overload]
        if isinstance(expected, dict):
            is_alike = isinstance(value, dict) and value.keys() == expected.keys()
            return is_alike and all(self._near(value[key], expected[key]) for key in expected)  # type: ignore[index]
        if value == expected:
            return True
        if not isinstance(value, int | float | complex | Fraction) or not isinstance(expected, int | float | complex):
            return False
        least = self._rel if self._rel is not None else 0.0 if self._abs is not None else 1e-6
        allowed = max(least * abs(expected), 1e-12 if self._abs is None else self._abs)
        return not math.isinf(abs(expected)) and abs(value - expected) <= allowed  # type: ignore[operator]


_EQUALITY = (ast.Eq, ast.NotEq, ast.Is, ast.IsNot)

_ARITHMETIC: Mapping[type[ast.operator], Callable[[Any, Any], object]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
}
_UNARY: Mapping[type[ast.unaryop], Callable[[Any], object]] = {
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Invert: operator.invert,
    ast.Not: operator.not_,
}

TYPES: Mapping[str, type[Any]] = MappingProxyType(
    {
        t.__name__: t
        for t in (bool, bytes, bytearray, complex, dict, float, frozenset, int, list, range, set, str, tuple)
    }
)
FUNCTIONS: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {
        **TYPES,
        **{f.__name__: f for f in (abs, all, any, len, max, min, ord, chr, round, sorted, sum)},
        "isclose": math.isclose,
        "math.isclose": math.isclose,
        "math.isnan": math.isnan,
        "math.isinf": math.isinf,
        "math.sqrt": math.sqrt,
        "approx": Approx,
        "pytest.approx": Approx,
    }
)
METHODS = frozenset({"startswith", "endswith"})
"""Of text, worked out here: what they ask is a comparison."""
CONSTANTS: Mapping[str, float] = MappingProxyType(
    {f"math.{name}": getattr(math, name) for name in ("pi", "e", "tau", "inf", "nan")}
)


def dotted(node: ast.expr) -> str | None:
    """`math.isclose` of a name or a name's attribute; None of anything else."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return f"{node.value.id}.{node.attr}"
    return None


def value_of(node: ast.expr, known: Mapping[str, object], answers: Iterable[Mapping[str, object]] = ()) -> object:
    """The value of an expression whose names are `known` and whose `Asked` leaves are `answers`, decoded.

    Raises CannotJudge, DraftRaised, or what Python itself would raise (TypeError, ZeroDivisionError, …).
    """
    return _Worker(known, tuple(answers)).work(node)


class _Worker:
    def __init__(self, known: Mapping[str, object], answers: tuple[Mapping[str, object], ...]) -> None:
        self._known, self._answers = known, answers

    def work(self, node: ast.expr) -> Any:
        method = getattr(self, f"_{type(node).__name__}", None)
        if method is None:
            raise CannotJudge(f"{type(node).__name__} is not worked out here")
        return method(node)

    def _Asked(self, node: Asked) -> object:
        answer = self._answers[node.number]
        if "raised" in answer:
            raise DraftRaised(answer)
        if "value" not in answer:
            raise too_large(answer)
        return answer["value"]

    def _Constant(self, node: ast.Constant) -> object:
        return node.value

    def _Name(self, node: ast.Name) -> object:
        if node.id not in self._known:
            raise CannotJudge(f"{node.id} is not known here")
        return self._known[node.id]

    def _Attribute(self, node: ast.Attribute) -> object:
        name = dotted(node) or ""
        if name not in CONSTANTS:
            raise CannotJudge("an attribute is not known here")
        return CONSTANTS[name]

    def _Tuple(self, node: ast.Tuple) -> tuple[object, ...]:
        return tuple(map(self.work, node.elts))

    def _List(self, node: ast.List) -> list[object]:
        return list(map(self.work, node.elts))

    def _Set(self, node: ast.Set) -> set[object]:
        return set(map(self.work, node.elts))

    def _Dict(self, node: ast.Dict) -> dict[object, object]:
        if None in node.keys:
            raise CannotJudge("** is not worked out here")
        return {self.work(key): self.work(value) for key, value in zip(node.keys, node.values, strict=True) if key}

    def _UnaryOp(self, node: ast.UnaryOp) -> object:
        value = self.work(node.operand)
        if not isinstance(node.op, ast.Not):
            _refuse_opaque(value)
        return _UNARY[type(node.op)](value)

    def _BinOp(self, node: ast.BinOp) -> object:
        left, right = self.work(node.left), self.work(node.right)
        _refuse_opaque(left, right)
        if type(node.op) not in _ARITHMETIC:
            raise CannotJudge("this operator is not worked out here")
        _refuse_large(node.op, left, right)
        return _ARITHMETIC[type(node.op)](left, right)

    def _BoolOp(self, node: ast.BoolOp) -> object:
        value: object = None
        for part in node.values:
            value = self.work(part)
            if bool(value) is isinstance(node.op, ast.Or):
                break
        return value

    def _Compare(self, node: ast.Compare) -> object:
        left = self.work(node.left)
        for sign, part in zip(node.ops, node.comparators, strict=True):
            right = self.work(part)
            if not compare(sign, left, right):
                return False
            left = right
        return True

    def _Subscript(self, node: ast.Subscript) -> object:
        value, index = self.work(node.value), self.work(node.slice)
        _refuse_opaque(value, index)
        return value[index]

    def _Slice(self, node: ast.Slice) -> slice:
        return slice(*(None if part is None else self.work(part) for part in (node.lower, node.upper, node.step)))

    def _Call(self, node: ast.Call) -> object:
        name = dotted(node.func) or ""
        if any(k.arg is None for k in node.keywords) or any(isinstance(a, ast.Starred) for a in node.args):
            raise CannotJudge("* is not worked out here")
        if name == "isinstance" and len(node.args) == 2 and not node.keywords:
            return isinstance(self.work(node.args[0]), built_in_types(node.args[1]))
        if isinstance(node.func, ast.Attribute) and node.func.attr in METHODS:
            return self._method(self.work(node.func.value), node.func.attr, node.args)
        if name not in FUNCTIONS or name in self._known:
            raise CannotJudge(f"{name or 'a call'} is not worked out here")
        arguments = [self.work(argument) for argument in node.args]
        options = {keyword.arg: self.work(keyword.value) for keyword in node.keywords if keyword.arg}
        _refuse_opaque(*arguments, *options.values())
        if any(isinstance(a, range) and len(a) > _LARGEST for a in arguments) or (
            name in ("bytes", "bytearray") and any(isinstance(a, int) and a > _LARGEST for a in arguments)
        ):
            raise CannotJudge("it would be too large")
        if name in ("set", "frozenset") and any(isinstance(a, list | tuple) and collide(a) for a in arguments):
            raise CannotJudge("too many of its items have the same hash")
        return FUNCTIONS[name](*arguments, **options)

    def _method(self, receiver: object, name: str, arguments: list[ast.expr]) -> object:
        if not isinstance(receiver, str | bytes):
            raise CannotJudge(f"got {shown_value(receiver)}, which is no text")
        return getattr(receiver, name)(*map(self.work, arguments))


def too_large(answer: Mapping[str, object]) -> TooLarge:
    """Of an answer that says that a value did not fit."""
    room, looks = answer.get("full"), answer.get("looks")
    if not isinstance(room, int) or not isinstance(looks, str):
        raise Malformed("no value")
    return TooLarge(room, looks)


def compare(sign: ast.cmpop, left: object, right: object) -> bool:
    """A comparison by Python's rules. What is no plain value can only be told equal or not: it equals none."""
    if not isinstance(sign, _EQUALITY):
        _refuse_opaque(right)
        if not isinstance(sign, ast.In | ast.NotIn):
            _refuse_opaque(left)
        elif isinstance(right, range) and not isinstance(left, int) and len(right) > _LARGEST:
            raise CannotJudge("the range is too long to look through")
    return bool(OPERATORS[type(sign)][1](left, right))


def built_in_types(node: ast.expr) -> tuple[type[Any], ...]:
    """The built-in types that the second argument of `isinstance` names; raises CannotJudge for any other."""
    if isinstance(node, ast.Tuple):
        return tuple(kind for part in node.elts for kind in built_in_types(part))
    if not isinstance(node, ast.Name) or node.id not in TYPES:
        raise CannotJudge("only built-in types are known here")
    return (TYPES[node.id],)


def _refuse_opaque(*values: object) -> None:
    for value in values:
        if isinstance(value, Opaque):
            raise CannotJudge(f"got {shown_value(value)}, which is no plain value")


def _refuse_large(sign: ast.operator, left: object, right: object) -> None:
    """Raises CannotJudge where the result may be too large: a draft's number must not cost us our memory."""
    if isinstance(sign, ast.Pow):
        is_large = not isinstance(left, float) and isinstance(right, int) and _bits(left) * abs(right) > _LARGEST
    elif isinstance(sign, ast.LShift):
        is_large = isinstance(right, int) and right > _LARGEST
    elif isinstance(sign, ast.Mult):
        sizes = [len(v) if hasattr(v, "__len__") else abs(v) if isinstance(v, int) else 1 for v in (left, right)]
        is_sequence = any(hasattr(v, "__len__") for v in (left, right))
        is_large = is_sequence and sizes[0] * sizes[1] > _LARGEST
    elif isinstance(sign, ast.Mod):
        is_large = isinstance(left, str | bytes)  # formatting: "%9999999999d"
    else:
        is_large = False
    if is_large:
        raise CannotJudge("it would be too large")


def _bits(value: object) -> int:
    return value.bit_length() if isinstance(value, int) else 64
