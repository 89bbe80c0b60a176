"""What a check is: it looks at one draft and reports. `gather` makes evidence of reports."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

from reflect_lab.core.errors import WrongUse
from reflect_lab.core.evidence import Finding, Rank, Sandbox, Status
from reflect_lab.core.run import Draft
from reflect_lab.core.task import CheckSpec, Task
from reflect_lab.documents.suggest import did_you_mean
from reflect_lab.documents.suggest import shown as shown_option
from reflect_lab.evidence.wording import report

SandboxChoice = Literal["auto", "process", "interpreter", "external", "off"]
RANKS: tuple[Rank, ...] = ("deterministic", "executed", "retrieval", "model")
"""What a check may call itself. Nobody but a person is `human`."""
Consent = Callable[[str], Awaitable[bool]]
"""Asks the user whether a live model's code may run once with process limits only, for the check of this name."""


@dataclass(frozen=True, kw_only=True)
class Report:
    """What one execution of a check found. `executions` is 0 where nothing ran (`not_run`); `gate` and `rank` are said
    only where they differ from those of the spec and the check. `fix` is the whole draft with all that this check found
    mended, where that needs no judgement."""

    status: Status
    text: str = ""
    findings: tuple[Finding, ...] = ()
    gate: bool | None = None
    rank: Rank | None = None
    sandbox: Sandbox | None = None
    provenance: Mapping[str, str] = field(default_factory=dict)
    executions: int = 1
    fix: str | None = None

    @classmethod
    def of(cls, summary: str, findings: Iterable[Finding]) -> Report:
        """The report of these findings: they make its status, and stand after the summary in its text."""
        found = tuple(findings)
        return cls(status=status_of(found), text=report(summary, found), findings=found)


class Check(Protocol):
    """A source of evidence. `run` never blocks the event loop, and ends what it started when it is cancelled."""

    rank: Rank

    async def run(self, draft: Draft) -> Report: ...


@dataclass(frozen=True, kw_only=True)
class Surroundings:
    """What checks may know beside their own options: the task, whether the draft's code may run, the folder that
    relative paths start from, and the user's own objects (model classes) that the task names. `consent` asks the user
    whether this code may run once with process limits only; None where nobody can be asked. `sandbox_command` is what
    level X starts."""

    task: Task
    sandbox: SandboxChoice = "auto"
    code_is_trusted: bool = False
    consent: Callable[[], Awaitable[bool]] | None = None
    folder: Path | None = None
    objects: Mapping[str, object] = field(default_factory=dict)
    sandbox_command: tuple[str, ...] = ()


Factory = Callable[[CheckSpec, Surroundings], Check]
"""Makes a check from its spec; raises WrongUse when the options can't be used.

It may say two things of its kind: `is_gate = True` where the check is structural, and `language`, which the draft is to
be written in (so that it is taken from the one fence of that language).
"""


class Options:
    """A check's options, read strictly: every wrong one is WrongUse that names the check and the option."""

    def __init__(self, spec: CheckSpec, known: Iterable[str]) -> None:
        self._name, self._options = spec.name, spec.options
        options = tuple(known)
        for key in spec.options:
            if key not in options:
                raise self.wrong(f"unknown option {shown_option(key)}; {did_you_mean(key, options)}")

    def wrong(self, message: str) -> WrongUse:
        return WrongUse(f"check {self._name}: {message}")

    def text(self, key: str, default: str | None = None) -> str:
        value = self.value(key) if default is None else self._options.get(key, default)
        if not isinstance(value, str):
            raise self.wrong(f"{key} must be text, not {shown_option(value)}")
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of texts; a single text counts as a list of one."""
        value = self._options.get(key, ())
        items = [value] if isinstance(value, str) else value
        if not isinstance(items, list | tuple) or not all(isinstance(item, str) for item in items):
            raise self.wrong(f"{key} must be a text or a list of texts, not {shown_option(value)}")
        return tuple(items)

    def count(self, key: str) -> int | None:
        value = self._options.get(key)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            raise self.wrong(f"{key} must be a whole number, 0 or more, not {shown_option(value)}")
        return value

    def flag(self, key: str, default: bool = False) -> bool:
        value = self._options.get(key, default)
        if not isinstance(value, bool):
            raise self.wrong(f"{key} must be true or false, not {shown_option(value)}")
        return value

    def seconds(self, key: str, default: float) -> float:
        value = self._options.get(key, default)
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= 600:
            raise self.wrong(f"{key} must be seconds, over 0 and at most 600, not {shown_option(value)}")
        return float(value)

    def value(self, key: str) -> object:
        if key not in self._options:
            raise self.wrong(f"the option {key} is missing; give it as {key}: …")
        return self._options[key]

    def plain(self, key: str) -> object:
        """A value as JSON has it, which can be sent to a process: no dates, no objects."""
        value = self.value(key)
        try:
            json.dumps(value, allow_nan=False)
        except (TypeError, ValueError, RecursionError) as error:
            raise self.wrong(f"{key} must be made of plain values, as JSON has them: {error}") from None
        return value


_WEIGHTIEST: tuple[Status, ...] = ("failed", "error", "not_run")


def one_requirement(spec: CheckSpec) -> str | None:
    """The requirement that a finding belongs to: the check's, where it names exactly one."""
    return spec.requirements[0] if len(spec.requirements) == 1 else None


def capped(findings: Iterable[Finding], most: int = 50) -> tuple[Finding, ...]:
    """At most so many findings, in their order; where there are more, those that fail are kept first. A status is made
    of all of them, before."""
    found = list(findings)
    if len(found) <= most:
        return tuple(found)
    places = sorted(range(len(found)), key=lambda place: (weight(found[place]), place))[:most]
    return tuple(found[place] for place in sorted(places))


def weight(finding: Finding) -> int:
    """How much a finding says against a draft; 0 is the most."""
    order = (*_WEIGHTIEST, "advisory", "passed")
    return order.index(finding.status) if finding.status in order else 0


def status_of(findings: Iterable[Finding]) -> Status:
    """A check's status by its findings: a failure outweighs an error, an error what was not looked at, that a pass."""
    statuses = {finding.status for finding in findings}
    return next((status for status in _WEIGHTIEST if status in statuses), "passed")
