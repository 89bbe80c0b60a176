"""The `facts` check: dates, amounts and identifiers of a draft that no source holds, compared as values."""

from __future__ import annotations

import asyncio

from reflect_lab.core.evidence import Finding, Location, Rank
from reflect_lab.core.run import Draft
from reflect_lab.core.task import CheckSpec
from reflect_lab.core.values import KnownValues, Value, find_values
from reflect_lab.evidence.check import Options, Report, Surroundings, one_requirement
from reflect_lab.evidence.wording import counted, shown

_MOST = 50
"""Findings of each kind that are kept: a hostile draft may hold a million values."""


class FactsCheck:
    """The sources are the task's facts, its text and requirements (what they name may be said), and `options.facts`.

    Dates, amounts and identifiers that no source holds are failed findings; bare counts and durations are advisory.

    >>> task = Task(text="Confirm the refund.", facts=(Fact(index=0, text="Invoice INV-55821 of 25 August 2026."),))
    >>> print(look("facts", "Invoice INV-55821 of 2026-08-25: 3,499 INR in 5 days.", task=task).summary)
    failed
    - failed 3499 INR: the amount 3499 INR stands in no fact, requirement or task text (quote 3,499 INR)
    - advisory 5: the count or duration 5 stands in no fact, requirement or task text (quote 5)
    """

    rank: Rank = "deterministic"

    def __init__(self, spec: CheckSpec, surroundings: Surroundings) -> None:
        task = surroundings.task
        more = Options(spec, ("facts",)).texts("facts")
        self._sources = [*(f.text for f in task.facts), task.text, *(r.text for r in task.requirements), *more]
        self._requirement = one_requirement(spec)

    async def run(self, draft: Draft) -> Report:
        return await asyncio.to_thread(self._compare, draft.text)

    def _compare(self, text: str) -> Report:
        known = KnownValues(self._sources)
        unknown: dict[str, Value] = {}
        count = 0
        for value in find_values(text):
            count += 1
            if value not in known:
                unknown.setdefault(f"{value.kind != 'number'}:{value.canonical}", value)
        invented = [v for v in unknown.values() if v.kind != "number"]
        bare = [v for v in unknown.values() if v.kind == "number"]
        findings = tuple(self._finding(value) for value in (*invented[:_MOST], *bare[:_MOST]))
        summary = (
            f"{counted(len(invented), 'value')} of the draft stand{'s' if len(invented) == 1 else ''} in no source"
            if invented
            else f"no invented date, amount or identifier among {counted(count, 'value')}"
        )
        return Report.of(summary, findings)

    def _finding(self, value: Value) -> Finding:
        is_bare = value.kind == "number"
        name = shown(value.canonical, 80)
        kind = "count or duration" if is_bare else value.kind
        return Finding(
            id=name,
            status="advisory" if is_bare else "failed",
            message=f"the {kind} {name} stands in no fact, requirement or task text",
            requirement=self._requirement,
            location=Location(kind="quote", value=value.text[:200]),
        )
