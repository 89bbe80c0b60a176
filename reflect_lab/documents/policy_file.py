"""Policy files: YAML (DESIGN 5.3) read strictly into a `Policy`. Every key that is left out keeps its base's value."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from importlib import resources
from pathlib import Path
from typing import Any, TypeVar, cast, get_args, get_type_hints

from reflect_lab.core.errors import WrongUse
from reflect_lab.core.policy import Limits, Policy, Rules
from reflect_lab.documents.strict_yaml import read_mapping
from reflect_lab.documents.suggest import did_you_mean, shown

Reader = Callable[[object, str], Any]
"""Checks one value; its second argument says where the value stands. Raises WrongUse."""

Section = TypeVar("Section", Limits, Rules)

OUTER_KEY = "reflection_policy"


def load_policy(source: str | Mapping[str, object], where: str = "policy", *, base: Policy | None = None) -> Policy:
    """The policy that a YAML text or a mapping describes; what it leaves out is `base`'s (default: the defaults).

    Raises WrongUse with one line: an unknown key with the nearest right one, a wrong type, a value out of bounds,
    YAML that can't be read (with its line).
    """
    content = _read_text(source, where) if isinstance(source, str) else dict(source)
    if list(content) == [OUTER_KEY]:
        content = _mapping(content[OUTER_KEY], f"{where}: {OUTER_KEY}")
    _refuse_unknown(content, _TOP, where, "")
    policy = base or Policy()
    if "limits" in content:
        policy = replace(policy, limits=_section(policy.limits, content["limits"], _LIMITS, where, "limits"))
    if "rules" in content:
        policy = replace(policy, rules=_section(policy.rules, content["rules"], _RULES, where, "rules"))
    values = {key: read(content[key], f"{where}: {key}") for key, read in _TOP.items() if key in content and read}
    return replace(policy, **values)


def apply_overrides(
    policy: Policy,
    *,
    where: str = "options",
    limits: Mapping[str, object] | None = None,
    rules: Mapping[str, object] | None = None,
    reflection: str | None = None,
) -> Policy:
    """The policy with single values replaced, checked as in a file. `reflection="off"` is one draft, never criticised.

    An override of None is not given, not "no limit".
    """
    given: dict[str, object] = {}
    for section, values in (("limits", limits), ("rules", rules)):
        given[section] = {key: value for key, value in (values or {}).items() if value is not None}
    policy = load_policy(given, where, base=policy)
    if reflection == "off":
        return replace(policy, limits=replace(policy.limits, revisions=0), rules=replace(policy.rules, critic="never"))
    if reflection not in (None, "on"):
        raise WrongUse(f"{where}: reflection is 'on' or 'off', not {shown(reflection)}")
    return policy


def checked_policy(policy: Policy, where: str = "policy") -> Policy:
    """A policy that was made in Python, held to the same rules as a file. Raises WrongUse."""
    content = asdict(policy)
    return load_policy({key: content[key] for key in _TOP}, where, base=policy)


def policy_names() -> tuple[str, ...]:
    """The names of the policies that come with the package."""
    folder = resources.files("reflect_lab.documents") / "policies"
    return tuple(sorted(f.name.removesuffix(".yaml") for f in folder.iterdir() if f.name.endswith(".yaml")))


def named_policy(name: str) -> Policy:
    """A policy that comes with the package. Raises WrongUse with the nearest right name."""
    names = policy_names()
    if name not in names:
        raise WrongUse(f"there is no policy {shown(name)}; {did_you_mean(name, names)}")
    text = (resources.files("reflect_lab.documents") / "policies" / f"{name}.yaml").read_text("utf-8")
    return load_policy(text, f"policy {name}")


def read_policy(name_or_file: str, folder: Path, *, base: Policy | None = None) -> Policy:
    """A shipped policy by its name, else a policy file, relative to `folder`. Raises WrongUse when it is neither."""
    if name_or_file in policy_names():
        return named_policy(name_or_file)
    path = folder / name_or_file
    if not os.path.isfile(path) and path.suffix not in (".yaml", ".yml"):
        return named_policy(name_or_file)
    try:
        text = path.read_text("utf-8-sig")
    except OSError as error:
        raise WrongUse(f"the policy file {name_or_file} can't be read: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise WrongUse(f"the policy file {name_or_file} is not UTF-8 text") from None
    except ValueError as error:
        raise WrongUse(f"the policy file {shown(name_or_file)} can't be read: {error}") from None
    return load_policy(text, name_or_file, base=base)


def _read_text(text: str, where: str) -> dict[str, object]:
    entries = read_mapping(text, where=where)
    if entries is None:
        raise WrongUse(f"{where}: this policy is empty; write `limits:` and `rules:` lines")
    return {key: entry.value for key, entry in entries.items()}


def _section(base: Section, values: object, readers: Mapping[str, Reader], where: str, name: str) -> Section:
    given = {} if values is None else _mapping(values, f"{where}: {name}")
    _refuse_unknown(given, readers, where, f" in {name}")
    read = {key: readers[key](value, f"{where}: {name}.{key}") for key, value in given.items()}
    return replace(base, **read)


def _mapping(value: object, where: str) -> dict[str, object]:
    if not isinstance(value, Mapping):
        raise WrongUse(f"{where} must hold `key: value` lines, not {shown(value)}")
    return dict(value)


def _refuse_unknown(given: Mapping[str, object], known: Mapping[str, object], where: str, section: str) -> None:
    for key in given:
        if key not in known:
            raise WrongUse(f"{where}: unknown key {shown(key)}{section}; {did_you_mean(str(key), known)}")


def _count(least: int, *, optional: bool = False) -> Reader:
    def read(value: object, where: str) -> int | None:
        if value is None and optional:
            return None
        if isinstance(value, bool) or not isinstance(value, int):
            raise WrongUse(f"{where} must be a whole number, not {shown(value)}")
        if value < least:
            raise WrongUse(f"{where} must be at least {least}, not {shown(value)}")
        return value

    return read


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


def _flag(value: object, where: str) -> bool:
    if not isinstance(value, bool):
        raise WrongUse(f"{where} must be true or false, not {shown(value)}")
    return value


def _share(value: object, where: str) -> float:
    number = _number(value, where)
    if not 0 <= number <= 1:
        raise WrongUse(f"{where} must be in 0..1, not {shown(value)}")
    return number


def _seconds(value: object, where: str) -> float | None:
    if value is None:
        return None
    number = _number(value, where)
    if number < 0:
        raise WrongUse(f"{where} must be at least 0 seconds, not {shown(value)}")
    return number


def _cost(value: object, where: str) -> None:
    if value is not None:
        raise WrongUse(f"{where}: a cost limit is not enforced yet, so a run with one is not started; leave it out")


def _text(value: object, where: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise WrongUse(f"{where} must be text, not {shown(value)}")
    return value.strip()


def _currency(value: object, where: str) -> str | None:
    if value is None:
        return None
    code = _text(value, where)
    if len(code) != 3 or not (code.isascii() and code.isalpha() and code.isupper()):
        raise WrongUse(f"{where} must be a currency code such as USD, not {shown(value)}")
    return code


def _rates(value: object, where: str) -> dict[str, float]:
    rates: dict[str, float] = {}
    for code, rate in _mapping(value, where).items():
        currency = _currency(code, f"{where}: a key")
        number = _number(rate, f"{where}.{code}")
        if number <= 0:
            raise WrongUse(f"{where}.{code} must be above 0, not {shown(rate)}")
        rates[cast(str, currency)] = number
    return rates


def _one_of(options: tuple[str, ...]) -> Reader:
    def read(value: object, where: str) -> str:
        # YAML 1.1 reads a bare `off` as false; no option here is called so, and the message shows what was read.
        if not isinstance(value, str) or value not in options:
            raise WrongUse(f"{where} is {shown(value)}; {did_you_mean(str(value), options)}")
        return value

    return read


def _exhaustion(value: object, where: str) -> str:
    if isinstance(value, str) and value.startswith("model:"):
        raise WrongUse(f"{where}: handing over to another model is not supported yet; known are review, stop")
    return cast(str, _one_of(("review", "stop"))(value, where))


_RULE_TYPES = get_type_hints(Rules)

_LIMITS: Mapping[str, Reader] = {
    "revisions": _count(0),
    "model_calls": _count(0, optional=True),
    "critic_calls": _count(0, optional=True),
    "total_tokens": _count(0, optional=True),
    "elapsed_s": _seconds,
    "cost": _cost,
    "currency": _currency,
    "tool_calls": _count(0, optional=True),
    "rates": _rates,
    "strict": _flag,
}


def _revision(value: object, where: str) -> str:
    chosen: str = _one_of(get_args(_RULE_TYPES["revision"]))(value, where)
    if chosen == "patch":
        raise WrongUse(f"{where}: revisions by patch are not built yet; write rewrite or auto")
    return chosen


_CHOICES = ("critic", "coverage", "draft_quotes", "signal", "select", "critique")
_RULES: Mapping[str, Reader] = {
    "min_gain": _share,
    "patience": _count(1),
    "repeat_limit": _count(1),
    "pass_score": _share,
    "max_issues": _count(1),
    **{key: _one_of(get_args(_RULE_TYPES[key])) for key in _CHOICES},
    "revision": _revision,
    "width": _count(1),
}
_TOP: Mapping[str, Reader | None] = {
    "profile": _text,
    "limits": None,
    "rules": None,
    "on_exhaustion": _exhaustion,
    "on_denied": _one_of(("stop",)),
}
