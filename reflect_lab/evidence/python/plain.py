"""Plain values that come out of a draft's process: read strictly, compared by Python's own rules, shown in one line.

What `plain` of `sandbox/runner.py` writes is read here. Nothing of the draft's classes exists in this process, so no
value can say of itself that it equals another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal, DecimalException
from fractions import Fraction
from operator import itemgetter

DEPTH = 64
"""How deep the JSON of a value may be nested; what is sent stops earlier."""
_SHOWN = 200
_COLLISIONS = 100


@dataclass(frozen=True, eq=False)
class Opaque:
    """A value that only the draft's process understands (or that was too large to send): how it looked there, and
    whether it was true there. It equals nothing but itself."""

    looks: str
    is_true: bool

    def __bool__(self) -> bool:
        return self.is_true

    def __repr__(self) -> str:
        return self.looks


class Malformed(Exception):
    """What was sent is no value."""


def decoded(sent: object, depth: int = 0) -> object:
    """The value that was sent; raises Malformed for anything else. Total: any JSON has an answer."""
    if sent is None or isinstance(sent, bool | str):
        return sent
    if depth > DEPTH or not isinstance(sent, dict) or len(sent) != 1:
        raise Malformed("no value")
    ((kind, parts),) = sent.items()
    try:
        return _READERS[kind](parts, depth + 1)
    except (KeyError, TypeError, ValueError, ArithmeticError, DecimalException) as error:
        raise Malformed(f"no {kind}") from error


def _text(parts: object) -> str:
    if not isinstance(parts, str):
        raise TypeError
    return parts


def _items(parts: object, depth: int) -> list[object]:
    if not isinstance(parts, list):
        raise TypeError
    return [decoded(part, depth) for part in parts]


def _hashed(parts: object, depth: int) -> list[object]:
    items = _items(parts, depth)
    if collide(items):
        raise ValueError
    return items


def collide(items: Iterable[object]) -> bool:
    """Whether over 100 different items share a hash, as numbers do that differ by a multiple of 2**61 - 1. A set would
    compare each of them with all others, which takes a minute for as many as fit into an answer."""
    first: object = None
    before, others = None, 0
    for number, item in sorted(((hash(item), item) for item in items), key=itemgetter(0)):
        if number != before:
            first, before, others = item, number, 0
        elif item != first:
            others += 1
            if others > _COLLISIONS:
                return True
    return False


def _pair(parts: object) -> tuple[object, object]:
    if not isinstance(parts, list):
        raise TypeError
    one, two = parts
    return one, two


def _complex(parts: object) -> complex:
    real, imaginary = _pair(parts)
    return complex(float.fromhex(_text(real)), float.fromhex(_text(imaginary)))


def _range(parts: object, depth: int) -> range:
    start, stop, step = _items(parts, depth)
    if not (isinstance(start, int) and isinstance(stop, int) and isinstance(step, int)):
        raise TypeError
    return range(start, stop, step)


def _dict(parts: object, depth: int) -> dict[object, object]:
    if not isinstance(parts, list):
        raise TypeError
    pairs = [(decoded(key, depth), decoded(value, depth)) for key, value in parts]
    if collide([key for key, _ in pairs]):
        raise ValueError
    return dict(pairs)


def _fraction(parts: object) -> Fraction:
    above, _, below = _text(parts).partition("/")  # `Fraction` itself would read 1e999999999 and compute it
    return Fraction(int(above), int(below or "1"))


def _opaque(parts: object) -> Opaque:
    looks, is_true = _pair(parts)
    if not isinstance(is_true, bool):
        raise TypeError
    return Opaque(_text(looks), is_true)


_READERS: Mapping[str, Callable[[object, int], object]] = {
    "i": lambda parts, _: int(_text(parts), 16),
    "f": lambda parts, _: float.fromhex(_text(parts)),
    "c": lambda parts, _: _complex(parts),
    "s": lambda parts, _: bytes.fromhex(_text(parts)).decode("utf-8", "surrogatepass"),
    "b": lambda parts, _: bytes.fromhex(_text(parts)),
    "y": lambda parts, _: bytearray.fromhex(_text(parts)),
    "r": _range,
    "l": _items,
    "t": lambda parts, depth: tuple(_items(parts, depth)),
    "S": lambda parts, depth: set(_hashed(parts, depth)),
    "F": lambda parts, depth: frozenset(_hashed(parts, depth)),
    "d": _dict,
    "Fraction": lambda parts, _: _fraction(parts),
    "Decimal": lambda parts, _: Decimal(_text(parts)),
    "o": lambda parts, _: _opaque(parts),
}


def shown_value(value: object) -> str:
    """A value in one short line: as Python shows it, with sets in an order that is the same everywhere."""
    try:
        text = _shown(value, [_SHOWN])
    except (ValueError, RecursionError) as error:  # an integer with thousands of digits
        return f"a {type(value).__name__} that can't be shown ({type(error).__name__})"
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def _shown(value: object, room: list[int]) -> str:
    """As `repr`, ended early where there is no more room to show it."""
    if room[0] <= 0:
        return ""
    if isinstance(value, list):
        return f"[{_shown_all(value, room)}]"
    if isinstance(value, tuple):
        return f"({_shown_all(value, room)}{',' if len(value) == 1 else ''})"
    if isinstance(value, dict) and value:
        pairs = (f"{_shown(key, room)}: {_shown(held, room)}" for key, held in value.items() if room[0] > 0)
        return f"{{{', '.join(pairs)}}}"
    if isinstance(value, set | frozenset) and value:
        shown = f"{{{', '.join(sorted(_shown(item, [_SHOWN]) for item in value))}}}"
        return shown if isinstance(value, set) else f"frozenset({shown})"
    text = repr(value)
    room[0] -= len(text)
    return text


def _shown_all(values: list[object] | tuple[object, ...], room: list[int]) -> str:
    return ", ".join(_shown(value, room) for value in values if room[0] > 0)
