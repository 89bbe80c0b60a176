"""Gathers evidence on a draft: the built-in gates, the task's gates, then its other checks."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path

from reflect_lab.core.budget import spare_tool_calls
from reflect_lab.core.errors import WrongUse
from reflect_lab.core.evidence import Evidence, Status
from reflect_lab.core.roles import CheckHooks
from reflect_lab.core.run import Draft, Run
from reflect_lab.core.task import CheckSpec, Task
from reflect_lab.documents.suggest import did_you_mean, shown
from reflect_lab.evidence.check import Check, Consent, Factory, Report, SandboxChoice, Surroundings
from reflect_lab.evidence.permission import Asking
from reflect_lab.evidence.registry import BUILT_IN
from reflect_lab.evidence.scripted import PlayedCheck, Script

log = logging.getLogger(__name__)

NAMED_ONLY = ("custom", "scripted")
"""Kinds of checks that front matter names without saying what performs them."""


class Checks:
    """All checks of a task. Raises WrongUse at once for a check that can't be used.

    `code_is_trusted` is False where a live model writes the drafts: with `sandbox="auto"` their code runs isolated, and
    where the machine can't isolate it only if `consent` says so.
    `folder` is where relative paths start from.
    `scripted` gives the next line of a scripted check, `scripted_names` the names that it knows (None: unknown).
    """

    def __init__(
        self,
        task: Task,
        *,
        sandbox: SandboxChoice = "auto",
        code_is_trusted: bool = False,
        consent: Consent | None = None,
        scripted: Script | None = None,
        scripted_names: Collection[str] | None = None,
        kinds: Mapping[str, Factory] = BUILT_IN,
        folder: Path | None = None,
    ) -> None:
        surroundings = Surroundings(task=task, sandbox=sandbox, code_is_trusted=code_is_trusted, folder=folder)
        self._asking = {spec.name: Asking(consent) for spec in task.checks if consent is not None}
        self._checks: dict[str, Check] = {}
        for spec in task.checks:
            if spec.name in self._checks:
                raise WrongUse(f"two checks have the name {shown(spec.name)}; give one of them another")
            is_scripted = scripted is not None and (scripted_names is None or spec.name in scripted_names)
            surroundings = replace(surroundings, consent=self._asking.get(spec.name))
            real = _real(spec, surroundings, kinds, is_scripted)
            self._checks[spec.name] = PlayedCheck(spec, scripted, real) if is_scripted and scripted else _known(real)

    async def gather(self, run: Run, hooks: CheckHooks) -> tuple[Evidence, ...]:
        """The evidence on the run's current draft, in the order of the task's checks.

        A draft that is not whole fails the gate `whole` and nothing else runs; with several competing code blocks it
        fails the gate `format` and the checks are listed as not run.
        """
        assert run.round is not None
        draft = run.round.draft
        problem = _not_whole(draft)
        if problem is not None:
            return (self._built_in("whole", problem, hooks),)
        found: dict[str, Evidence] = {}
        specs, spare = run.task.checks, spare_tool_calls(run)
        if draft.ambiguous is not None:
            built_in = self._built_in("format", draft.ambiguous, hooks)
            unclear = "not run: it is not clear which part of the reply is the draft"
            return (built_in, *[await self._gathered(spec, draft, hooks, unclear, spare) for spec in specs])
        for spec in (*(s for s in specs if s.gate), *(s for s in specs if not s.gate)):
            gates = [e for e in found.values() if e.gate and e.kind == f"{spec.kind}_syntax"]
            failed = next((e.source for e in gates if e.status == "failed"), None)
            reason = None if failed is None else f"not run: its gate {failed} failed"
            found[spec.name] = evidence = await self._gathered(spec, draft, hooks, reason, spare)
            spare = None if spare is None else spare - max(0, evidence.executions - 1)
        return tuple(found[spec.name] for spec in specs)

    def _built_in(self, name: str, problem: str, hooks: CheckHooks) -> Evidence:
        evidence = Evidence(
            source=name, kind=name, rank="deterministic", gate=True, status="failed", text=problem, executions=0
        )
        with hooks.check(CheckSpec(name=name, kind=name, gate=True)):
            hooks.evidence(evidence)
        return evidence

    async def _gathered(
        self, spec: CheckSpec, draft: Draft, hooks: CheckHooks, reason: str | None, spare: int | None
    ) -> Evidence:
        """One check's evidence; a `reason` says why it does not run, `spare` how often more the budget allows."""
        check, asking = self._checks[spec.name], self._asking.get(spec.name, Asking())
        with hooks.check(spec), asking.through(hooks):
            started = time.monotonic()
            if reason is None:
                report = await _performed(spec, check, draft, may_repeat=spare is None or spare > 0)
            else:
                report = Report(status="not_run", text=reason, executions=0)
            evidence = Evidence(
                source=spec.name,
                kind=spec.kind,
                rank=report.rank or check.rank,
                status=_status(report),
                gate=spec.gate if report.gate is None else report.gate,
                text=report.text,
                findings=report.findings,
                requirements=spec.requirements,
                sandbox=report.sandbox,
                provenance=report.provenance,
                seconds=time.monotonic() - started - asking.waited_s,
                executions=report.executions,
                fix=report.fix,
            )
            hooks.evidence(evidence)
        return evidence


async def _performed(spec: CheckSpec, check: Check, draft: Draft, *, may_repeat: bool) -> Report:
    """A check's report; one that ends as `error` is tried once more, where the budget has a tool call for it."""
    first = await _once(spec, check, draft)
    if first.status != "error" or not may_repeat:
        return first
    second = await _once(spec, check, draft)
    return replace(second, executions=first.executions + second.executions)


async def _once(spec: CheckSpec, check: Check, draft: Draft) -> Report:
    try:
        return await check.run(draft)
    except asyncio.CancelledError:
        raise
    except Exception as fault:
        log.exception("the check %s failed for a reason of our own", spec.name)
        return Report(status="error", text=f"the check itself failed: {type(fault).__name__}")


def _not_whole(draft: Draft) -> str | None:
    if draft.refused is not None:
        return "the model refused to answer"
    if draft.truncated:
        return "the draft is cut off"
    # Zero-width and control characters are nothing to look at either.
    is_seen = any(char.isprintable() and not char.isspace() for char in draft.text)
    return None if is_seen else "the draft is empty"


def _real(spec: CheckSpec, surroundings: Surroundings, kinds: Mapping[str, Factory], is_scripted: bool) -> Check | None:
    factory = kinds.get(spec.kind)
    if factory is not None:
        return factory(spec, surroundings)
    if is_scripted:
        return None
    if spec.kind in NAMED_ONLY:
        raise WrongUse(f"there is no check named {shown(spec.name)}; {did_you_mean(spec.name, kinds)}")
    raise WrongUse(f"check {spec.name}: there is no kind {shown(spec.kind)}; {did_you_mean(spec.kind, kinds)}")


def _known(check: Check | None) -> Check:
    assert check is not None
    return check


def _status(report: Report) -> Status:
    """A check that says `passed` beside a failed finding contradicts itself; it has not passed."""
    has_failed = any(finding.status == "failed" for finding in report.findings)
    return "failed" if report.status == "passed" and has_failed else report.status
