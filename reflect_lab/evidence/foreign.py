"""Checks of somebody else: what a plug-in brings is a check, and what a check answered is a report."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, get_args

from reflect_lab.core.errors import WrongUse
from reflect_lab.core.evidence import Finding, Location, LocationKind, Sandbox, Status
from reflect_lab.core.task import CheckSpec
from reflect_lab.documents.suggest import did_you_mean, shown
from reflect_lab.evidence.check import RANKS, Check, Report, Surroundings
from reflect_lab.evidence.wording import raised

_STATUSES = get_args(Status)
_FOUND = ("passed", "failed", "error", "not_run", "advisory")
_FIELDS: Mapping[str, Any] = {
    "text": str, "gate": bool | None, "fix": str | None, "sandbox": Sandbox | None, "executions": int,
}  # fmt: skip


@dataclass(frozen=True)
class PlugIn:
    """A factory that a plug-in brings, `where` being its name and its package's. Makes checks as any factory does, and
    raises WrongUse for all that could only fail later: a rank that nobody knows, a `run` that is no coroutine."""

    made: Callable[..., Any]
    where: str

    def __post_init__(self) -> None:
        try:
            inspect.signature(self.made).bind(None, None)
        except TypeError:
            if inspect.isclass(self.made):
                raise self._wrong("its constructor must take (spec, surroundings)") from None
            raise self._wrong("it is a function, but no check: decorate it with @rl.check") from None
        except ValueError:
            pass  # it has no signature to be read; calling it will show
        if not isinstance(self.language, str | None):
            raise self._wrong(f"its language is a text such as 'json', not {shown(self.language)}")

    @property
    def is_gate(self) -> bool:
        return bool(getattr(self.made, "is_gate", False))

    @property
    def language(self) -> str | None:
        return getattr(self.made, "language", None)

    def __call__(self, spec: CheckSpec, surroundings: Surroundings) -> Check:
        try:
            check = self.made(spec, surroundings)
        except WrongUse:
            raise
        except (Exception, SystemExit) as error:
            raise self._wrong(f"it can't be made: {raised(error)}") from None
        hint = f"give its class one: rank = {RANKS[0]!r} (or {', '.join(RANKS[1:])})"
        rank = getattr(check, "rank", None)
        if rank is None:
            raise self._wrong(f"it has no rank; {hint}")
        if rank not in RANKS:
            raise self._wrong(f"its rank is {shown(rank)}; {did_you_mean(str(rank), RANKS)}")
        run = getattr(check, "run", None)
        if not inspect.iscoroutinefunction(run):
            raise self._wrong("it has no coroutine run; write: async def run(self, draft), which returns a Report")
        try:
            inspect.signature(run).bind(None)
        except TypeError:
            raise self._wrong("its run must take the draft and nothing else: async def run(self, draft)") from None
        return check  # type: ignore[no-any-return]

    def _wrong(self, why: str) -> WrongUse:
        return WrongUse(f"{self.where}: {why}")


def problem_of(answer: object) -> str | None:
    """What is wrong with the answer of a check, which should be a report that a record can hold; None where it is."""
    if not isinstance(answer, Report):
        return f"answered {shown(answer)}, which is no Report"
    return next(_problems(answer), None)


def _problems(report: Report) -> Iterator[str]:
    if report.status not in _STATUSES:
        yield f"answered with the status {shown(report.status)}; {did_you_mean(str(report.status), _STATUSES)}"
    if report.rank is not None and report.rank not in RANKS:
        yield f"answered with the rank {shown(report.rank)}; {did_you_mean(str(report.rank), RANKS)}"
    for key, kinds in _FIELDS.items():
        value = getattr(report, key)
        if not isinstance(value, kinds) or (key == "executions" and (isinstance(value, bool) or value < 0)):
            yield f"answered with {shown(value)} as {key}"
    said = report.provenance
    if not isinstance(said, Mapping) or not all(isinstance(x, str) for pair in said.items() for x in pair):
        yield "answered with a provenance that is no mapping of texts"
    if not isinstance(report.findings, tuple | list):
        yield f"answered with {shown(report.findings)} as findings, which is no tuple of Findings"
        return
    for number, finding in enumerate(report.findings, 1):
        for why in _problems_of_finding(finding):
            yield f"answered with a finding ({number}) {why}"


def _problems_of_finding(finding: object) -> Iterator[str]:
    if not isinstance(finding, Finding):
        yield f"that is {shown(finding)}, no Finding"
        return
    if not isinstance(finding.id, str) or not isinstance(finding.message, str):
        yield "whose id and message are not both texts"
    if finding.status not in _FOUND:
        yield f"of the status {shown(finding.status)}; {did_you_mean(str(finding.status), _FOUND)}"
    if not isinstance(finding.requirement, str | None):
        yield f"whose requirement is {shown(finding.requirement)}, no id"
    place = finding.location
    if place is None:
        return
    if not isinstance(place, Location) or place.kind not in (None, *get_args(LocationKind)):
        yield f"whose location is {shown(place)}; it is a Location of a kind among {', '.join(get_args(LocationKind))}"
    elif not isinstance(place.value, str | None):
        yield f"whose location has the value {shown(place.value)}, no text"
