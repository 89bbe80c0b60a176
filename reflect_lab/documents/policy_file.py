"""Policy files: YAML (DESIGN 5.3) read strictly into a `Policy`. Every key that is left out keeps its base's value."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from importlib import resources
from pathlib import Path
from typing import Any

from reflect_lab.core.errors import WrongUse
from reflect_lab.core.policy import Policy
from reflect_lab.documents.policy_keys import BY_NAME, READERS, SECTIONS, Alias, Key, is_key, names_in
from reflect_lab.documents.policy_values import mapping
from reflect_lab.documents.strict_yaml import read_mapping
from reflect_lab.documents.suggest import did_you_mean, nearest, shown

OUTER_KEY = "reflection_policy"
_SLIP = 0.8
"""From this similarity on, a word is a slip of a name in its own section, not a name of another section."""


def load_policy(source: str | Mapping[str, object], where: str = "policy", *, base: Policy | None = None) -> Policy:
    """The policy that a YAML text or a mapping describes; what it leaves out is `base`'s (default: the defaults).

    Raises WrongUse with one line: an unknown key with the nearest right one, a wrong type, a value out of bounds,
    YAML that can't be read (with its line).
    """
    content = _read_text(source, where) if isinstance(source, str) else dict(source)
    if list(content) == [OUTER_KEY]:
        content = mapping(content[OUTER_KEY], f"{where}: {OUTER_KEY}")
    policy = base or Policy()
    found = _read_all(content, where)
    parts: dict[str, Any] = {key.name: value for key, value in found.items() if not key.section}
    for section in SECTIONS:
        given = {key.name: value for key, value in found.items() if key.section == section}
        parts[section] = replace(getattr(policy, section), **given)
    return replace(policy, **parts)


def policy_mapping(policy: Policy) -> dict[str, Any]:
    """A policy in the shape of its file, every key written out under its own name; `load_policy` reads it back."""
    content = asdict(policy)
    del content["sha256"]
    content["views"] = {name: list(v) if isinstance(v, tuple) else v for name, v in content["views"].items()}
    content["limits"]["rates"] = dict(policy.limits.rates)
    return content


def dump_policy(policy: Policy) -> str:
    """A policy as the text of its file (YAML). Loaded again it is the same policy with the same sha256."""
    import yaml

    text: str = yaml.safe_dump(policy_mapping(policy), sort_keys=False, allow_unicode=True)
    return text


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
        rules_off = replace(policy.rules, critic="never", width=1)
        return replace(policy, limits=replace(policy.limits, revisions=0), rules=rules_off)
    if reflection not in (None, "on"):
        raise WrongUse(f"{where}: reflection is 'on' or 'off', not {shown(reflection)}")
    return policy


def checked_policy(policy: Policy, where: str = "policy") -> Policy:
    """A policy that was made in Python, held to the same rules as a file. Raises WrongUse."""
    return load_policy(policy_mapping(policy), where, base=policy)


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


def _read_all(content: Mapping[str, object], where: str) -> dict[Key, object]:
    """Every value that a file gives, under the policy's own keys. Each key is said once, by whatever name."""
    found: dict[Key, object] = {}
    said: dict[Key, Alias | Key] = {}
    for key, value in _entries(content, where):
        alias = BY_NAME.get(key)
        target = alias.of if alias else key
        before = said.get(target)
        if before is not None and not _are_parts(alias, before):
            raise WrongUse(f"{where}: {_name(before)} and {key} are names of the same key; keep one of them")
        said[target] = alias or key
        read = alias.read if alias else READERS[key.section][key.name]
        found[target] = read(value, f"{where}: {key}")
    for name in said.values():
        if isinstance(name, Alias) and found[name.of] is not None:
            _imply(name, found, where)
    return found


def _entries(content: Mapping[str, object], where: str) -> Iterator[tuple[Key, object]]:
    for name, value in content.items():
        if name in SECTIONS:
            given = {} if value is None else mapping(value, f"{where}: {name}")
            yield from ((_known(Key(name, word), where), inner) for word, inner in given.items())
        else:
            yield _known(Key("", name), where), value


def _known(key: Key, where: str) -> Key:
    """The key, if there is such a one. Raises WrongUse with the nearest name, else the section where it belongs."""
    if is_key(key):
        return key
    word, options = str(key.name), names_in(key.section)
    elsewhere = [section for section in READERS if is_key(Key(section, key.name))]
    hint = did_you_mean(word, options)
    if elsewhere and nearest(word, options, cutoff=_SLIP) is None:
        hint = f"it stands under {elsewhere[0]}" if elsewhere[0] else "it stands at the top level"
    place = f" in {key.section}" if key.section else ""
    raise WrongUse(f"{where}: unknown key {shown(key.name)}{place}; {hint}")


def _are_parts(alias: Alias | None, before: Alias | Key) -> bool:
    return alias is not None and alias.part and isinstance(before, Alias) and before.part


def _name(said: Alias | Key) -> str:
    return str(said.key if isinstance(said, Alias) else said)


def _imply(alias: Alias, found: dict[Key, object], where: str) -> None:
    for key, value in alias.implied.items():
        if found.setdefault(key, value) != value:
            raise WrongUse(f"{where}: {alias.key} means {key}: {value}, but {key} is {found[key]}; keep one of them")
