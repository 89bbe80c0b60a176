"""The values of a policy file, each read strictly: nothing is coerced, and an error says where, what, and what to do.

A reader takes the value and the place where it stands (for messages) and answers with what the policy holds. It
raises WrongUse.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast, get_args

from reflect_lab.core.errors import WrongUse
from reflect_lab.core.policy import Section
from reflect_lab.documents.suggest import did_you_mean, shown

Reader = Callable[[object, str], Any]
"""Checks one value; its second argument says where the value stands. Raises WrongUse."""


def mapping(value: object, where: str) -> dict[str, object]:
    if not isinstance(value, Mapping):
        raise WrongUse(f"{where} must hold `key: value` lines, not {shown(value)}")
    return dict(value)


def count(least: int, *, optional: bool = False) -> Reader:
    """A whole number from `least` on; None means "no limit" where that is allowed."""

    def read(value: object, where: str) -> int | None:
        if value is None and optional:
            return None
        if isinstance(value, bool) or not isinstance(value, int):
            raise WrongUse(f"{where} must be a whole number, not {shown(value)}")
        if value < least:
            raise WrongUse(f"{where} must be at least {least}, not {shown(value)}")
        return value

    return read


def attempts(value: object, where: str) -> int:
    """Drafts, the first one included, as the revisions after it."""
    return cast(int, count(1)(value, where)) - 1


def flag(value: object, where: str) -> bool:
    if not isinstance(value, bool):
        raise WrongUse(f"{where} must be true or false, not {shown(value)}")
    return value


def share(value: object, where: str) -> float:
    number = _number(value, where)
    if not 0 <= number <= 1:
        raise WrongUse(f"{where} must be in 0..1, not {shown(value)}")
    return number


def seconds(value: object, where: str) -> float | None:
    return None if value is None else _not_negative(value, where, " seconds")


def milliseconds(value: object, where: str) -> float | None:
    """Milliseconds as seconds."""
    return None if value is None else _not_negative(value, where, " milliseconds") / 1000


def cost(value: object, where: str) -> float | None:
    return None if value is None else _not_negative(value, where)


def text(value: object, where: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise WrongUse(f"{where} must be text, not {shown(value)}")
    return value.strip()


def currency(value: object, where: str) -> str | None:
    if value is None:
        return None
    code = text(value, where)
    if len(code) != 3 or not (code.isascii() and code.isalpha() and code.isupper()):
        raise WrongUse(f"{where} must be a currency code such as USD, not {shown(value)}")
    return code


def rates(value: object, where: str) -> dict[str, float]:
    found: dict[str, float] = {}
    for code, rate in mapping(value, where).items():
        name = currency(code, f"{where}: a key")
        number = _number(rate, f"{where}.{code}")
        if number <= 0:
            raise WrongUse(f"{where}.{code} must be above 0, not {shown(rate)}")
        found[cast(str, name)] = number
    return found


def one_of(options: Sequence[str], aliases: Mapping[str, str] | None = None) -> Reader:
    """One of some words; `aliases` are other words for them."""
    meanings = {option: option for option in options} | dict(aliases or {})

    def read(value: object, where: str) -> str:
        # YAML 1.1 reads a bare `off` as false; no option here is called so, and the message shows what was read.
        if not isinstance(value, str) or value not in meanings:
            raise WrongUse(f"{where} is {shown(value)}; {did_you_mean(str(value), meanings)}")
        return meanings[value]

    return read


def sections(value: object, where: str) -> tuple[Section, ...]:
    """What a role sees, in order: names of sections, each at most once."""
    known = get_args(Section)
    if not isinstance(value, list | tuple):
        raise WrongUse(f"{where} must be a list of sections, not {shown(value)}; known are {', '.join(known)}")
    if not value:
        raise WrongUse(f"{where} is empty: this role would see nothing; leave the line out for the default")
    for number, name in enumerate(value):
        if not isinstance(name, str) or name not in known:
            raise WrongUse(f"{where}: there is no section {shown(name)}; {did_you_mean(str(name), known)}")
        if name in value[:number]:
            raise WrongUse(f"{where}: {shown(name)} stands there twice")
    return tuple(value)


def exhaustion(value: object, where: str) -> str:
    if isinstance(value, str) and value.startswith("model:"):
        name = value.removeprefix("model:").strip()
        if not name:
            raise WrongUse(f"{where}: name the model that takes over: model:NAME")
        return f"model:{name}"
    return cast(str, one_of(("review", "stop", "model:NAME"), {"human_review": "review"})(value, where))


def _number(value: object, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise WrongUse(f"{where} must be a number, not {shown(value)}")
    try:
        number = float(value)
    except OverflowError:
        raise WrongUse(f"{where} is too large") from None
    if not math.isfinite(number):
        raise WrongUse(f"{where} must be a finite number, not {value}")
    return number


def _not_negative(value: object, where: str, unit: str = "") -> float:
    number = _number(value, where)
    if number < 0:
        raise WrongUse(f"{where} must be at least 0{unit}, not {shown(value)}")
    return number
