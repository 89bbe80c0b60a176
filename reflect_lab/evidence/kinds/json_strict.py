"""What Python's JSON reader lets through and JSON does not mean: a key twice, numbers without a finite value."""

from __future__ import annotations

import json
import math


class NotStrict(ValueError):
    """Why a text that reads as JSON has no one meaning."""


def endless_number(text: str) -> str | None:
    """Which number of a JSON text has no finite value, in words; None where there is none, or where it is no JSON."""
    try:
        json.loads(text, parse_float=_finite, parse_int=str, parse_constant=no_constant)
    except NotStrict as problem:
        return str(problem)
    except (ValueError, RecursionError):
        return None
    return None


def unique_pairs(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """An object's members. Raises NotStrict for a key that stands there twice."""
    found: dict[str, object] = {}
    for key, value in pairs:
        if key in found:
            raise NotStrict(f"the key {key[:80]} stands there twice")
        found[key] = value
    return found


def no_constant(name: str) -> object:
    """Raises NotStrict: NaN and Infinity are no JSON."""
    raise NotStrict(f"{name} is no JSON number")


def _finite(text: str) -> str:
    if math.isinf(float(text)):
        raise NotStrict(f"the number {text[:80]} is too large")
    return text
