"""The YAML front matter of a cell or task file: what the task has beside its text, and options of the run."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from reflect_lab.core.errors import WrongUse
from reflect_lab.documents.policy_file import load_policy
from reflect_lab.documents.strict_yaml import Entry, read_mapping
from reflect_lab.documents.suggest import did_you_mean, shown

KEYS = (
    "name", "tags", "requirements", "facts", "checks", "policy", "preset", "model", "critic", "critic_model",
    "reflection",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class CellOptions:
    """What a cell says about the run rather than about the task; None where it says nothing.

    `policy` is a shipped policy's name, a file, or a mapping in the shape of a policy file (already checked).
    """

    name: str | None = None
    tags: Mapping[str, str] = field(default_factory=dict)
    policy: str | Mapping[str, object] | None = None
    preset: str | None = None
    model: str | None = None
    critic: str | None = None
    critic_model: str | None = None
    reflection: Literal["on", "off"] | None = None


@dataclass(frozen=True, kw_only=True)
class NamedCheck:
    """A check that front matter lists: its name as written, its options and the line."""

    name: str
    options: Mapping[str, object]
    line: int


@dataclass(frozen=True, kw_only=True)
class FrontMatter:
    """The front matter's content; texts come with their line. `body_line` is the first line after it (from 1)."""

    options: CellOptions = CellOptions()
    requirements: tuple[tuple[str, int], ...] = ()
    facts: tuple[tuple[str, int], ...] | None = None
    checks: tuple[NamedCheck, ...] = ()
    body_line: int = 1


def read_front_matter(lines: list[str], where: str, first_line: int = 1) -> FrontMatter:
    """The front matter at the start of a text's lines; an empty one where there is none.

    It opens with `---` in the first line that is not blank and ends with `---` or `...`. Raises WrongUse.
    """
    start = next((i for i, line in enumerate(lines) if line.strip()), len(lines))
    if start == len(lines) or not re.fullmatch(r"---[ \t]*", lines[start].removeprefix("\ufeff")):
        return FrontMatter()
    end = next((i for i in range(start + 1, len(lines)) if re.fullmatch(r"(---|\.\.\.)[ \t]*", lines[i])), None)
    if end is None:
        raise WrongUse(f"{where}, line {start + first_line}: the front matter that opens here has no closing ---")
    text = "\n".join(lines[start + 1 : end])
    entries = read_mapping(text, where=where, first_line=first_line + start + 1) or {}
    for key, entry in entries.items():
        if key not in KEYS:
            raise WrongUse(f"{where}, line {entry.line}: unknown key {shown(key)}; {did_you_mean(key, KEYS)}")
    return FrontMatter(
        options=_options(entries, where),
        requirements=_texts(entries, "requirements", where) or (),
        facts=_texts(entries, "facts", where),
        checks=_checks(entries.get("checks"), where),
        body_line=end + 2,
    )


def _options(entries: Mapping[str, Entry], where: str) -> CellOptions:
    texts = {key: _text(entries.get(key), key, where) for key in ("name", "preset", "model", "critic", "critic_model")}
    return CellOptions(
        tags=_tags(entries.get("tags"), where),
        policy=_policy(entries.get("policy"), where),
        reflection=_reflection(entries.get("reflection"), where),
        **texts,
    )


def _text(entry: Entry | None, key: str, where: str) -> str | None:
    if entry is None:
        return None
    if not isinstance(entry.value, str) or not entry.value.strip():
        raise WrongUse(f"{where}, line {entry.line}: {key} must be text, not {shown(entry.value)}")
    return entry.value.strip()


def _texts(entries: Mapping[str, Entry], key: str, where: str) -> tuple[tuple[str, int], ...] | None:
    entry = entries.get(key)
    if entry is None:
        return None
    if entry.items is None:
        raise WrongUse(f"{where}, line {entry.line}: {key} must be a list of lines of text (`- …`)")
    for text, line in entry.items:
        if not text.strip():
            raise WrongUse(f"{where}, line {line}: an item of {key} is empty")
    return tuple((" ".join(text.split()), line) for text, line in entry.items)


def _tags(entry: Entry | None, where: str) -> dict[str, str]:
    if entry is None:
        return {}
    if isinstance(entry.value, Mapping) and all(isinstance(v, str | int | float) for v in entry.value.values()):
        return {key: str(value) for key, value in entry.value.items()}
    raise WrongUse(f"{where}, line {entry.line}: tags must be `key: value` pairs")


def _policy(entry: Entry | None, where: str) -> str | Mapping[str, object] | None:
    if entry is None or isinstance(entry.value, str):
        return _text(entry, "policy", where)
    if not isinstance(entry.value, Mapping):
        raise WrongUse(f"{where}, line {entry.line}: policy must be a name, a file or `key: value` lines")
    load_policy(entry.value, f"{where}, line {entry.line}: policy")
    return entry.value


def _reflection(entry: Entry | None, where: str) -> Literal["on", "off"] | None:
    if entry is None:
        return None
    # YAML 1.1 reads a bare `off` as false and a bare `on` as true.
    if entry.value is False or entry.value == "off":
        return "off"
    if entry.value is True or entry.value == "on":
        return "on"
    raise WrongUse(f"{where}, line {entry.line}: reflection is on or off, not {shown(entry.value)}")


def _checks(entry: Entry | None, where: str) -> tuple[NamedCheck, ...]:
    if entry is None:
        return ()
    place = f"{where}, line {entry.line}"
    if not isinstance(entry.value, list):
        raise WrongUse(f"{place}: checks must be a list of names or `name: {{options}}`")
    return tuple(_check(item, entry.line, place) for item in entry.value)


def _check(item: object, line: int, place: str) -> NamedCheck:
    if isinstance(item, str) and item.strip():
        return NamedCheck(name=item.strip(), options={}, line=line)
    if isinstance(item, Mapping) and len(item) == 1:
        name, options = next(iter(item.items()))
        if options is None:
            return NamedCheck(name=name, options={}, line=line)
        if isinstance(options, Mapping):
            return NamedCheck(name=name, options=dict(options), line=line)
        raise WrongUse(f"{place}: the options of check {shown(name)} must be `key: value` lines, not {shown(options)}")
    raise WrongUse(f"{place}: a check is a name or `name: {{options}}`, not {shown(item)}")
