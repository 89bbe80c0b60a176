"""Gathers evidence on a draft: the built-in gates, the task's gates, then its other checks.

Gates run beside each other, then all that no failed gate spares, at most `concurrency` at a time. The evidence stands
in the order of the task's checks, whichever was first to end. A gathering that is cancelled (by the run's deadline, by
the user) ends its checks first.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Collection, Iterable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from reflect_lab.core.budget import spare_tool_calls
from reflect_lab.core.errors import WrongUse
from reflect_lab.core.evidence import Evidence, Finding, Status
from reflect_lab.core.roles import CheckHooks
from reflect_lab.core.run import Draft, Run
from reflect_lab.core.task import CheckSpec, Task
from reflect_lab.documents.suggest import did_you_mean, shown
from reflect_lab.evidence.check import Check, Consent, Factory, Report, SandboxChoice, Surroundings
from reflect_lab.evidence.foreign import problem_of
from reflect_lab.evidence.kinds.scripted import PlayedCheck, Script
from reflect_lab.evidence.permission import Asking
from reflect_lab.evidence.registry import BUILT_IN, needed_gates
from reflect_lab.evidence.turns import Retries, default_concurrency, side_by_side
from reflect_lab.evidence.wording import raised

log = logging.getLogger(__name__)

NAMED_ONLY = ("custom", "scripted")
"""Kinds of checks that front matter names without saying what performs them."""
_PLACE = 400
"""Characters of a finding's place at most."""


class Checks:
    """All checks of a task. Raises WrongUse at once for a check that can't be used.

    `code_is_trusted` is False where a live model writes the drafts: with `sandbox="auto"` their code runs isolated, and
    where the machine can't isolate it only if `consent` says so.
    `scripted` gives the next line of a scripted check, `scripted_names` the names that it knows (None: unknown).
    What performs a check is looked up in `named` by its name, else in `kinds` by its kind; `folder` and `objects` are
    those of `Surroundings`. `concurrency` is how many checks run at the same time (`turns.default_concurrency`).
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
        named: Mapping[str, Factory] | None = None,
        objects: Mapping[str, object] | None = None,
        folder: Path | None = None,
        concurrency: int | None = None,
        sandbox_command: tuple[str, ...] = (),
    ) -> None:
        self._concurrency = concurrency or default_concurrency()
        surroundings = Surroundings(
            task=task,
            sandbox=sandbox,
            code_is_trusted=code_is_trusted,
            folder=folder,
            objects=objects or {},
            sandbox_command=sandbox_command,
        )
        self._asking = {spec.name: Asking(partial(consent, spec.name)) for spec in task.checks if consent is not None}
        self._checks: dict[str, Check] = {}
        for spec in task.checks:
            if spec.name in self._checks:
                raise WrongUse(f"two checks have the name {shown(spec.name)}; give one of them another")
            is_scripted = scripted is not None and (scripted_names is None or spec.name in scripted_names)
            performs = (named or {}).get(spec.name) or kinds.get(spec.kind)
            if performs is None and not is_scripted:
                raise _unknown(spec, kinds)
            real = performs(spec, replace(surroundings, consent=self._asking.get(spec.name))) if performs else None
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
        specs, spare = run.task.checks, spare_tool_calls(run)
        turn = partial(_Turn, draft=draft, hooks=hooks, began=time.monotonic(), questions=asyncio.Lock())
        if draft.ambiguous is not None:
            built_in = self._built_in("format", draft.ambiguous, hooks)
            unclear = "not run: it is not clear which part of the reply is the draft"
            return (built_in, *[await self._gathered(turn(spec=spec), unclear) for spec in specs])
        found: dict[str, Evidence] = {}
        for phase in ([s for s in specs if s.gate], [s for s in specs if not s.gate]):
            retries, slots = Retries(spare, len(phase)), asyncio.Semaphore(self._concurrency)
            turns = [turn(spec=s, retries=retries, number=n, slots=slots) for n, s in enumerate(phase)]
            reasons = [_spared(spec, found.values()) for spec in phase]
            gathered = await side_by_side([self._gathered(*each) for each in zip(turns, reasons, strict=True)])
            found |= {evidence.source: evidence for evidence in gathered}
            spare = retries.left
        return tuple(found[spec.name] for spec in specs)

    def _built_in(self, name: str, problem: str, hooks: CheckHooks) -> Evidence:
        evidence = Evidence(
            source=name, kind=name, rank="deterministic", gate=True, status="failed", text=problem, executions=0
        )
        with hooks.check(CheckSpec(name=name, kind=name, gate=True)):
            hooks.evidence(evidence)
        return evidence

    async def _gathered(self, turn: _Turn, reason: str | None) -> Evidence:
        """One check's evidence; a `reason` says why it does not run."""
        spec, check = turn.spec, self._checks[turn.spec.name]
        asking = self._asking.get(spec.name, Asking())
        async with turn.slots or nullcontext():
            with turn.hooks.check(spec), asking.through(turn.hooks, turn.questions):
                started = time.monotonic()
                if reason is None:
                    report = await _performed(check, turn)
                else:
                    report = Report(status="not_run", text=reason, executions=0)
                    await turn.has_ended(report)
                if _is_cancelled():  # a check that would not be cancelled; nobody listens any more
                    raise asyncio.CancelledError
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
                    began=started - turn.began + asking.waited_s,
                    executions=report.executions,
                    fix=report.fix,
                )
                turn.hooks.evidence(evidence)
        return evidence


@dataclass(frozen=True, kw_only=True)
class _Turn:
    """One check's turn in a gathering that began at `began` (monotonic seconds), whose checks ask the user one after
    the other (`questions`). With `retries` it is the check of this number among those that run beside each other,
    `slots` at a time."""

    spec: CheckSpec
    draft: Draft
    hooks: CheckHooks
    began: float
    questions: asyncio.Lock
    retries: Retries | None = None
    number: int = 0
    slots: asyncio.Semaphore | None = None

    async def has_ended(self, first: Report) -> bool:
        """Whether, after its first execution, it may run once more."""
        return self.retries is not None and await self.retries.asked(self.number, wants=first.status == "error")


async def _performed(check: Check, turn: _Turn) -> Report:
    """A check's report; one that ends as `error` is tried once more, where the budget has a tool call for it."""
    first = await _once(turn.spec, check, turn.draft)
    if not await turn.has_ended(first):
        return first
    second = await _once(turn.spec, check, turn.draft, is_told=False)
    return replace(second, executions=first.executions + second.executions)


async def _once(spec: CheckSpec, check: Check, draft: Draft, is_told: bool = True) -> Report:
    """What a check answered, as long as it is a report; whatever else it does is an `error` that says so. The log is
    told of an exception where `is_told`: once, not again when the check is tried again."""
    try:
        report = await check.run(draft)
        problem = problem_of(report)
    except asyncio.CancelledError as fault:
        if _is_cancelled():
            raise
        return _faulty(spec, fault, is_told)  # a task of the check's own was cancelled, nobody cancelled the check
    except (Exception, SystemExit) as fault:
        return _faulty(spec, fault, is_told)
    if problem is not None:
        return Report(status="error", text=f"the check {spec.name} {problem}")
    return replace(report, findings=tuple(map(_short, report.findings)))


def _short(finding: Finding) -> Finding:
    """The finding with a place that can be shown: a path may be as long as a draft's keys are."""
    place = finding.location
    if place is None or place.value is None or len(place.value) <= _PLACE:
        return finding
    return replace(finding, location=replace(place, value=f"{place.value[: _PLACE - 1]}…"))


def _is_cancelled() -> bool:
    task = asyncio.current_task()
    return task is None or task.cancelling() > 0


def _faulty(spec: CheckSpec, fault: BaseException, is_told: bool) -> Report:
    if is_told:
        log.error("the check %s raised an exception", spec.name, exc_info=fault)
    return Report(status="error", text=f"the check {spec.name} raised {raised(fault)}")


def _spared(spec: CheckSpec, gathered: Iterable[Evidence]) -> str | None:
    """Why a check need not run: a gate that its kind needs has failed."""
    needed = needed_gates(spec.kind)
    failed = next((e.source for e in gathered if e.gate and e.kind in needed and e.status == "failed"), None)
    return None if failed is None else f"not run: its gate {failed} failed"


def _not_whole(draft: Draft) -> str | None:
    if draft.refused is not None:
        return "the model refused to answer"
    if draft.truncated:
        return "the draft is cut off"
    # Zero-width and control characters are nothing to look at either.
    is_seen = any(char.isprintable() and not char.isspace() for char in draft.text)
    return None if is_seen else "the draft is empty"


def _unknown(spec: CheckSpec, kinds: Mapping[str, Factory]) -> WrongUse:
    if spec.kind in NAMED_ONLY:
        return WrongUse(f"there is no check named {shown(spec.name)}; {did_you_mean(spec.name, kinds)}")
    return WrongUse(f"check {spec.name}: there is no kind {shown(spec.kind)}; {did_you_mean(spec.kind, kinds)}")


def _known(check: Check | None) -> Check:
    assert check is not None
    return check


def _status(report: Report) -> Status:
    """A check that says `passed` beside a failed finding contradicts itself; it has not passed."""
    has_failed = any(finding.status == "failed" for finding in report.findings)
    return "failed" if report.status == "passed" and has_failed else report.status
