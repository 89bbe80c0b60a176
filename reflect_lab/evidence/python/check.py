"""The `python_syntax` gate and the `python` check: asserts whose calls a caged process performs."""

from __future__ import annotations

import ast
import asyncio
import re
import warnings
from collections.abc import Mapping
from copy import copy
from dataclasses import replace
from pathlib import Path

from reflect_lab.core.evidence import Finding, Location, Rank
from reflect_lab.core.run import Draft
from reflect_lab.core.task import CheckSpec
from reflect_lab.evidence.check import Options, Report, Surroundings, one_requirement, status_of
from reflect_lab.evidence.permission import consented, permitted
from reflect_lab.evidence.python.idle import asserts_anything, idle_test
from reflect_lab.evidence.python.names import EVERY, names_of
from reflect_lab.evidence.python.plain import Malformed
from reflect_lab.evidence.python.splitting import Case, plan
from reflect_lab.evidence.python.verdicts import Verdict, verdict
from reflect_lab.evidence.sandbox import cage, interpreter, runner, selftest, strongest, text_runner
from reflect_lab.evidence.sandbox.caged import Caged
from reflect_lab.evidence.sandbox.levels import Level
from reflect_lab.evidence.sandbox.limits import Limits, nothing_ran, recorded
from reflect_lab.evidence.wording import counted, report, shown

BUSY = "the machine was too busy: the draft waited for a processor until its time was over"
_VALUES_BYTES = 700_000
"""Of the values that the draft's process sends: well below what the cage reads of its answers."""


class PythonSyntaxCheck:
    """The draft compiles. It happens in a caged process, since compiling hostile text can end an interpreter; nothing
    of the draft is executed, so no consent is needed. No options.

    >>> print(look("python_syntax", "x = = 1").summary)
    failed
    - failed syntax: does not compile: invalid syntax (line 1)
    """

    rank: Rank = "deterministic"
    is_gate = True
    language = "python"

    def __init__(self, spec: CheckSpec, surroundings: Surroundings) -> None:
        Options(spec, ())
        self._requirement = one_requirement(spec)

    async def run(self, draft: Draft) -> Report:
        limits = Limits()
        job = {"mode": "syntax", "draft": draft.text}
        instead = None if cage.has_process_limits() else await asyncio.to_thread(selftest.interpreted)
        if isinstance(instead, selftest.SelfTest):
            caged = await interpreter.run(job, limits, instead.level)
        else:
            caged = await strongest.run(Path(text_runner.__file__), job, limits)
        answers = [a for a in caged.answers if "problem" in a]
        sandbox, provenance = caged.sandbox(None), caged.provenance(draft.text)
        # Compiling is quick whatever the text: what takes long is a busy machine.
        if caged.is_environments_fault or caged.malformed or caged.end == "timeout":
            return Report(status="error", text=_fault(caged), sandbox=sandbox, provenance=provenance)
        problem, line = (answers[0]["problem"], answers[0]["line"]) if answers else (_ended(caged, limits), None)
        if problem is None:
            return Report(status="passed", text="the draft compiles", sandbox=sandbox, provenance=provenance)
        finding = Finding(
            id="syntax",
            status="failed",
            message=f"does not compile: {shown(str(problem))}",
            requirement=self._requirement,
            location=_at(line),
        )
        text = report("the draft is not valid Python", [finding])
        return Report(status="failed", text=text, findings=(finding,), sandbox=sandbox, provenance=provenance)


class PythonCheck:
    """Options: `code` (assert statements), `setup` (runs before the draft), `timeout_s` (wall time, default 10).

    Every top-level `assert` or `with raises(…)` (and every loop, `with` or `try` that holds one) is a case, together
    with the statements before it; a block without any is one case, which must not raise. All cases run in one process.
    Tests that judge nothing (`test_…` functions that nothing calls, comparisons without `assert`) are refused.

    A case is split where that is possible (see `splitting`): the draft's process performs the calls and answers with
    plain values, which are compared here; what is expected never enters it. The evidence is `split` where all its cases
    are, else `in_process`, and then its text says how many are not.

    An execution that used half of its time or more is marked `unstable`: a slower machine could end it otherwise. One
    that ran out of time because the machine was busy is no verdict but an `error` (`Caged.is_starved`).

    >>> print(look("python", "def add(a, b): return a - b", {"code": "assert add(2, 3) == 5"}).summary)
    failed
    - failed case:1: assert add(2, 3) == 5: got -1
    """

    rank: Rank = "executed"
    language = "python"

    def __init__(self, spec: CheckSpec, surroundings: Surroundings) -> None:
        options = Options(spec, ("code", "setup", "timeout_s"))
        self._code, self._setup = options.text("code"), options.text("setup", "")
        self._limits = Limits(wall_s=options.seconds("timeout_s", Limits.wall_s))
        _refuse_invalid(self._setup, options, "its set-up")
        if not _refuse_invalid(self._code, options, "the check's code"):
            raise options.wrong("the check's code is empty")
        if (idle := idle_test(self._code, self._setup)) is not None:
            raise options.wrong(idle)
        self._asserts = asserts_anything(self._code, self._setup)
        self._before = names_of(self._setup)
        self._plan = plan(self._code, self._before)
        self._words = frozenset(re.findall(r"\w+", self._code))
        self._requirement = one_requirement(spec)
        self._surroundings = surroundings

    async def run(self, draft: Draft) -> Report:
        return await self._fitted(draft)._run(draft)

    def _fitted(self, draft: Draft) -> PythonCheck:
        """This check with the plan for a draft that binds or uses names which the check's code holds, too."""
        names = names_of(draft.text)
        shared = (names.bound | names.used) & (self._words | {EVERY})
        if not shared:
            return self
        fitted = copy(self)
        fitted._plan = plan(self._code, self._before | names)
        return fitted

    async def _run(self, draft: Draft) -> Report:
        level = await permitted(self._surroundings)
        if isinstance(level, Level) and level.number == "W":
            report = await self._interpreted(draft, level)
            if report.status != "not_run" or self._surroundings.sandbox != "auto":
                return report
            reason = next((f.message for f in report.findings if f.status == "not_run"), report.text)
            level = await consented(self._surroundings, f"level W can't judge it: {reason}")
            if isinstance(level, str):
                return replace(report, text=level)
        if isinstance(level, str):
            return Report(status="not_run", text=level, sandbox=nothing_ran(self._surroundings.sandbox), executions=0)
        return self._judged(draft, await cage.run(Path(runner.__file__), self._job(draft), self._limits, level))

    async def _interpreted(self, draft: Draft, level: Level) -> Report:
        """At level W, where asserts never run beside a draft, and where much of Python is missing."""
        beside = sum(not case.is_split for case in self._plan.cases)
        if beside:
            text = f"{beside} of {counted(len(self._plan.cases), 'case')} can't be split, and W judges split cases only"
            return Report(status="not_run", text=text, sandbox=recorded(level, self._limits, None), executions=0)
        caged = await interpreter.run(self._job(draft), self._limits, level)
        unfit = next((answer["unfit"] for answer in caged.answers if "unfit" in answer and "case" not in answer), None)
        if caged.end == "timeout" and {"makes_lists": True} in caged.answers:
            unfit = "it took too long to make a list of what Python makes an iterator of"
        if unfit is None:
            return self._judged(draft, caged)
        return Report(
            status="not_run",
            text=f"{interpreter.SUBSET}: {shown(str(unfit))}",
            sandbox=caged.sandbox(None),
            provenance=caged.provenance(draft.text, self._setup + self._code),
        )

    def _judged(self, draft: Draft, caged: Caged) -> Report:
        """What the answers of the draft's process say of it."""
        are_split = all(case.is_split for case in self._plan.cases)
        sandbox = caged.sandbox("split" if are_split else "in_process")
        provenance = caged.provenance(draft.text, self._setup + self._code)
        fault = self._fault(caged)
        try:
            findings = self._findings(caged) if fault is None else ()
        except Malformed as malformed:
            fault = f"the answers of the check's process can't be read: {malformed}"
        if fault is not None:
            return Report(status="error", text=fault, sandbox=sandbox, provenance=provenance)
        return Report(
            status=status_of(findings),
            text=report(self._summary(findings, caged.stability), findings),
            findings=findings,
            sandbox=sandbox,
            provenance=provenance,
        )

    def _job(self, draft: Draft) -> dict[str, object]:
        """What the draft's process is sent. One value may take all the room that those before it left."""
        sent = self._plan
        return {
            "mode": "python",
            "draft": draft.text,
            "setup": self._setup,
            "code": sent.code,
            "cases": sent.ranges,
            "asked": sent.asked,
            "raising": sent.raising,
            "room": (_VALUES_BYTES, _VALUES_BYTES),
        }

    def _summary(self, findings: tuple[Finding, ...], stability: str) -> str:
        passed = sum(f.status == "passed" for f in findings)
        text = f"{passed} of {counted(len(findings), 'case')} passed"
        if not self._asserts:
            text += "; nothing is asserted: it only must not raise"
        beside = sum(not case.is_split for case in self._plan.cases)
        if beside:
            text += (
                f"; {beside} could not be split and {'was' if beside == 1 else 'were'} judged in the draft's process"
            )
        return f"{text}; unstable, near its time limit" if stability == "unstable" else text

    def _fault(self, caged: Caged) -> str | None:
        """Why this execution says nothing about the draft, if so."""
        if caged.is_environments_fault or caged.malformed:
            return _fault(caged)
        if caged.is_starved:
            return caged.problem or BUSY
        if caged.level.number == "W" and caged.end in ("exited", "signal") and not (_is_done(caged) or _over(caged)):
            return f"the interpreter ended with code {caged.code} before an answer"
        for answer in caged.answers:
            if "setup" in answer:
                return f"the check's own set-up failed: {shown(str(answer['setup']))}"
        numbers = [answer["case"] for answer in caged.answers if "case" in answer]
        is_done = _is_done(caged)
        stopped_early = any(a.get("draft") is not None for a in caged.answers)
        is_short = is_done and not stopped_early and len(numbers) != len(self._plan.cases)
        if numbers != list(range(len(numbers))) or len(numbers) > len(self._plan.cases) or is_short:
            return "the answers of the check's process contradict each other"
        return None

    def _findings(self, caged: Caged) -> tuple[Finding, ...]:
        answers = {answer["case"]: answer for answer in caged.answers if "case" in answer}
        loading = next((a for a in caged.answers if a.get("draft") is not None), None)
        why, line, later = _ended(caged, self._limits), None, None
        if loading is not None:
            why, line = f"not reached, the draft raised {shown(str(loading['draft']))}", loading["line"]
        elif answers or any("draft" in a for a in caged.answers):
            # Cases are performed in order: the first that is missing gave no answer, the others had no turn.
            why, later = f"not finished, {why}", f"not reached: case {len(answers) + 1} gave no answer"
        missing = [Verdict(status="failed", said=said, line=line) for said in (why, later or why)]
        return tuple(
            self._finding(
                number, case, _verdict(case, answers[number]) if number in answers else missing[number > len(answers)]
            )
            for number, case in enumerate(self._plan.cases)
        )

    def _finding(self, number: int, case: Case, one: Verdict) -> Finding:
        return Finding(
            id=f"case:{number + 1}",
            status=one.status,
            message=case.title if one.status == "passed" else f"{case.title}: {shown(one.said, 400)}",
            requirement=self._requirement,
            location=_at(one.line),
        )


def _is_done(caged: Caged) -> bool:
    return bool(caged.answers) and caged.answers[-1] == {"done": True}


def _over(caged: Caged) -> object:
    """The limit of level W's interpreter that ended it, if one did."""
    return next((answer["over"] for answer in caged.answers if "over" in answer), None)


def _verdict(case: Case, answer: Mapping[str, object]) -> Verdict:
    if "unfit" in answer:
        return Verdict(status="not_run", said=f"{interpreter.SUBSET}: {answer['unfit']}")
    return verdict(case, answer)


def _refuse_invalid(code: str, options: Options, what: str) -> bool:
    """Whether there is a statement. The user's own code is parsed here: it is as trusted as the cell that holds it."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(code, "<check>", "exec", dont_inherit=True)
            return bool(ast.parse(code).body)
    except SyntaxError as error:
        raise options.wrong(f"{what} is not valid Python, line {error.lineno}: {error.msg}") from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise options.wrong(f"{what} can't be read as Python: {error}") from None


def _at(line: object) -> Location | None:
    return Location(kind="line", value=str(line)) if isinstance(line, int) else None


def _ended(caged: Caged, limits: Limits) -> str:
    """How the draft's process ended without an answer, in words without positions or timings of its own."""
    over = _over(caged)
    if over == "memory":
        return f"it needs over {limits.heap_bytes >> 20} MiB"
    if over == "time":
        return f"no answer within {limits.wall_s:g} s"
    if caged.end == "timeout":
        return f"no answer within {limits.wall_s:g} s"
    if caged.end == "flood":
        return f"it printed over {limits.flood_bytes >> 20} MiB"
    if caged.end == "processes":
        return f"it started over {limits.processes} processes"
    if caged.end == "memory":
        return f"its processes held over {limits.memory_bytes >> 20:,} MiB of memory together"
    if caged.end == "disk":
        return f"its files were over {limits.disk_bytes >> 20:,} MiB, or over {limits.files:,}"
    if caged.end == "signal":
        names = {-9: "killed", -24: f"over {limits.cpu_s} s of CPU time", -25: "a file grew too large"}
        code = caged.code or 0
        return f"its process crashed: {names.get(code, f'signal {-code}')}"
    return f"its process ended with code {caged.code} before an answer"


def _fault(caged: Caged) -> str:
    reason = caged.malformed or caged.problem or caged.end
    return f"the check's process gave no verdict: {shown(reason)}"
