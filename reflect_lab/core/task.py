"""What is asked: the task, its requirements, its facts and the checks that it names."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Self

from reflect_lab.core.errors import WrongUse

SIGNALS = ("requirements", "facts", "checks")
"""What a draft can be judged by."""


@dataclass(frozen=True, kw_only=True)
class Requirement:
    """One thing that the answer must do; `id` is `R1`, `R2`, … or the user's own."""

    id: str
    text: str


@dataclass(frozen=True, kw_only=True)
class Fact:
    """One source line that the answer must agree with; `index` counts from 0."""

    index: int
    text: str


@dataclass(frozen=True, kw_only=True)
class CheckSpec:
    """A check that the task names.

    `name` is unique within the task, `kind` says which code performs it (`python`, `python_syntax`, `text`,
    `json_schema`, `facts`, …). A `gate` is structural: when it fails, no critic call is spent. `requirements` are the
    ids that the check covers; `options` is what that kind of check needs (plain JSON values).
    """

    name: str
    kind: str
    gate: bool = False
    requirements: tuple[str, ...] = ()
    options: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Task:
    """The whole of what the roles may see. Labels (truth for measuring) are never part of it.

    `language` is the wanted language of the draft (`python`, `json`, `sql`, …) or None for prose; it decides how a
    draft is taken from a reply.
    """

    text: str
    requirements: tuple[Requirement, ...] = ()
    facts: tuple[Fact, ...] = ()
    checks: tuple[CheckSpec, ...] = ()
    language: str | None = None
    name: str | None = None
    sha256: str = ""

    def __post_init__(self) -> None:
        if not self.sha256:
            object.__setattr__(self, "sha256", content_sha256(self._content()))

    def only(self, *signals: str) -> Self:
        """The same task with these signals alone, to compare what each of them finds: `requirements`, `facts` (with the
        check that compares them) and `checks` (all others). Raises WrongUse for any other name."""
        for name in signals:
            if name not in SIGNALS:
                raise WrongUse(f"a task has no signal {name!r}; its signals are {', '.join(SIGNALS)}")
        requirements = self.requirements if "requirements" in signals else ()
        known = {requirement.id for requirement in requirements}
        checks = tuple(
            replace(check, requirements=tuple(id for id in check.requirements if id in known))
            for check in self.checks
            if ("facts" if check.kind == "facts" else "checks") in signals
        )
        facts = self.facts if "facts" in signals else ()
        return replace(self, requirements=requirements, facts=facts, checks=checks, sha256="")

    def _content(self) -> object:
        return [
            self.text,
            [[r.id, r.text] for r in self.requirements],
            [f.text for f in self.facts],
            [[c.name, c.kind, c.gate, list(c.requirements), dict(c.options)] for c in self.checks],
            self.language,
        ]


def text_sha256(text: str) -> str:
    """The SHA-256 of a text's UTF-8 bytes, as hex. Lone surrogates are kept apart by their escapes."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def content_sha256(content: object) -> str:
    """The SHA-256 of plain JSON values in their canonical form (sorted keys, no spaces)."""
    return text_sha256(json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False))
