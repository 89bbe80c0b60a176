"""Plain values on their way out of a draft's process."""

from __future__ import annotations

import json
import math
from collections import OrderedDict, namedtuple
from decimal import Decimal
from enum import IntEnum
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reflect_lab.evidence.python.plain import Malformed, Opaque, decoded, shown_value
from reflect_lab.evidence.sandbox.runner import Room, answered

NUMBERS = (
    st.integers() | st.integers(-(10**400), 10**400) | st.floats() | st.complex_numbers() | st.booleans() | st.none()
)
TEXTS = st.text() | st.text(st.characters(min_codepoint=0xD7F0, max_codepoint=0xE010)) | st.binary()
RANGES = st.builds(range, st.integers(), st.integers(), st.integers(1))
HASHABLE = st.recursive(
    NUMBERS | TEXTS | RANGES | st.fractions(), lambda s: st.tuples(s, s) | st.frozensets(s, max_size=4), max_leaves=8
)
VALUES = st.recursive(
    HASHABLE | st.builds(bytearray, st.binary()),
    lambda s: (
        st.lists(s, max_size=5)
        | st.tuples(s)
        | st.dictionaries(HASHABLE, s, max_size=4)
        | st.sets(HASHABLE, max_size=4)
    ),
    max_leaves=20,
)


def sent(value: object) -> object:
    """The value after its way through JSON."""
    return decoded(json.loads(json.dumps(answered(value, Room(1 << 20, 1 << 20))["value"])))


def same(one: object, two: object) -> bool:
    """Equal in value and in type, at every depth; nan is itself and the zeros differ."""
    if type(one) is not type(two):
        return False
    if isinstance(one, float):
        assert isinstance(two, float)
        return math.isnan(two) if math.isnan(one) else one == two and math.copysign(1, one) == math.copysign(1, two)
    if isinstance(one, complex):
        assert isinstance(two, complex)
        return same(one.real, two.real) and same(one.imag, two.imag)
    if isinstance(one, list | tuple):
        return len(one) == len(two) and all(map(same, one, two))  # type: ignore[arg-type]
    if isinstance(one, dict):
        assert isinstance(two, dict)
        return same(list(one.items()), list(two.items()))
    if isinstance(one, set | frozenset):
        assert isinstance(two, set | frozenset)
        return len(one) == len(two) and all(any(same(a, b) for b in two) for a in one)
    return one == two


@settings(max_examples=120, deadline=None)
@given(VALUES)
def test_plain_values_come_out_as_they_went_in(value: object) -> None:
    assert same(sent(value), value)


class Colour(IntEnum):
    RED = 3


class Liar(int):
    def __eq__(self, other: object) -> bool:
        return True

    def __index__(self) -> int:
        return 5

    __hash__ = int.__hash__


Point = namedtuple("Point", "x y")


@pytest.mark.parametrize(("value", "out"), [
    (Colour.RED, 3),
    (Liar(4), 4),
    (Point(1, 2), (1, 2)),
    (OrderedDict(a=1), {"a": 1}),
    ({"a": 1}.keys(), {"a"}),
    (np.int64(7), 7),
    (np.float32(0.5), 0.5),
    (np.bool_(True), 1),
    (np.str_("a"), "a"),
    (Fraction(1, 3), Fraction(1, 3)),
    (Decimal("1.10"), Decimal("1.10")),
])  # fmt: skip
def test_a_subclass_comes_out_as_the_built_in_value_that_it_holds(value: object, out: object) -> None:
    assert same(sent(value), out)


class Any:
    def __eq__(self, other: object) -> bool:
        return True

    def __ne__(self, other: object) -> bool:
        return False

    def __hash__(self) -> int:
        return 0

    def __repr__(self) -> str:
        return "4"


@pytest.mark.parametrize("other", [4, "4", None, True, [Any()], object()])
def test_an_object_that_equals_everything_equals_nothing_when_it_is_out(other: object) -> None:
    out = sent(Any())
    assert isinstance(out, Opaque) and shown_value(out) == "4"
    assert out != other
    assert sent([Any()]) != [4] and sent({"a": Any()}) != {"a": 4}


def test_deep_endless_and_huge_values_are_cut_and_cost_little() -> None:
    nested: list[object] = []
    for _ in range(200):
        nested = [nested]
    endless: list[object] = []
    endless += [endless, endless]
    for value in (nested, endless, "a" * 10**7, [0] * 10**6, 1 << 10**7, range(10**30), {"a": [nested] * 50}):
        answer = answered(value, Room(1 << 16, 1 << 20))
        assert len(json.dumps(answer)) < 3 << 16
        assert "full" in answer or decoded(answer["value"])
    assert answered([0] * 10**6, Room(1 << 16, 1 << 20))["full"] == 1 << 16  # no value at all, so it equals none


def test_what_has_no_room_left_is_told_from_what_is_too_large() -> None:
    room = Room(1000, 1500)
    assert "value" in answered("a" * 900, room)
    assert answered("a" * 900, room)["full"] == 1500 - 916


def test_a_set_or_dict_of_values_with_one_hash_is_refused_before_it_costs_a_minute() -> None:
    colliding = [{"i": format(k * (2**61 - 1) + 1, "x")} for k in range(20_000)]
    for answer in ({"S": colliding}, {"F": colliding}, {"d": [[key, None] for key in colliding]}):
        with pytest.raises(Malformed):
            decoded(answer)
    assert decoded({"S": [{"i": "1"}] * 20_000}) == {1}
    assert decoded({"S": [{"t": [{"i": "1"}, {"i": format(k, "x")}]} for k in range(2000)]}) == {
        (1, k) for k in range(2000)
    }


def test_items_that_no_set_can_hold_are_opaque() -> None:
    assert isinstance(sent({1: [2]}.items()), Opaque) and sent({1: 2}.items()) == {(1, 2)}


def test_where_an_object_lies_in_memory_is_not_shown() -> None:
    assert shown_value(sent(object())) == "<object object>"


class Hostile:
    shape = ()

    def item(self) -> object:
        raise ValueError

    def __repr__(self) -> str:
        raise RuntimeError

    def __bool__(self) -> bool:
        raise RuntimeError


Hostile.__module__ = "numpy"


def test_a_value_whose_own_methods_fail_is_opaque() -> None:
    out = sent([Hostile(), 1])
    assert isinstance(out, list) and isinstance(out[0], Opaque) and not out[0] and out[1] == 1


TAGS = st.sampled_from([*"ifcsbyrltSFdo", "Decimal", "Fraction"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda s: st.lists(s, max_size=3) | st.dictionaries(TAGS, s, max_size=2),
    max_leaves=12,
)


@settings(max_examples=120, deadline=None)
@given(JSON)
def test_any_json_is_a_value_or_malformed(junk: object) -> None:
    try:
        value = decoded(junk)
    except Malformed:
        return
    assert isinstance(shown_value(value), str)


def test_values_that_would_be_costly_to_make_are_malformed() -> None:
    deep: object = None
    for _ in range(500):
        deep = {"l": [deep]}
    for junk in (deep, {"Fraction": "1e999999999"}, {"Fraction": "1/0"}, {"S": [{"l": []}]}, {"i": "zz"}, {"i": 5}):
        with pytest.raises(Malformed):
            decoded(junk)


@pytest.mark.parametrize(("value", "text"), [
    ([1, (2,), {"b", "a"}], "[1, (2,), {'a', 'b'}]"),
    ({"a": [1]}, "{'a': [1]}"),
    (set(), "set()"),
    ((), "()"),
    (frozenset({2, 1}), "frozenset({1, 2})"),
    ("a" * 500, "'" + "a" * 199 + "…"),
])  # fmt: skip
def test_a_value_is_shown_in_one_short_line(value: object, text: str) -> None:
    assert shown_value(value) == text


def test_a_number_that_python_will_not_write_down_is_described() -> None:
    assert shown_value([10**5000]) == "a list that can't be shown (ValueError)"


@settings(max_examples=60, deadline=None)
@given(VALUES)
def test_no_value_is_shown_at_length(value: object) -> None:
    assert len(shown_value(value)) <= 201
