"""The `python_syntax` gate and the `python` check: asserts that run beside the draft's code in a caged process."""

from __future__ import annotations

import ast
import platform
import warnings
from collections.abc import Mapping
from pathlib import Path

from reflect_lab.core.evidence import Finding, Location, Rank
from reflect_lab.core.run import Draft
from reflect_lab.core.task import CheckSpec, text_sha256
from reflect_lab.evidence.check import Options, Report, Surroundings, one_requirement, status_of
from reflect_lab.evidence.sandbox import cage, runner
from reflect_lab.evidence.sandbox.caged import Caged
from reflect_lab.evidence.sandbox.limits import Limits, process_limits, switched_off
from reflect_lab.evidence.wording import counted, report, shown

_NEEDS_CONSENT = (
    "this code was written by a live model and only process limits are there, which do not isolate it; "
    "`--sandbox process` lets it run"
)


class PythonSyntaxCheck:
    """The draft compiles. It happens in a caged process, since compiling hostile text can end an interpreter; nothing
    of the draft is executed, so no consent is needed. No options."""

    rank: Rank = "deterministic"

    def __init__(self, spec: CheckSpec, surroundings: Surroundings) -> None:
        Options(spec, ())
        self._requirement = one_requirement(spec)

    async def run(self, draft: Draft) -> Report:
        limits = Limits()
        caged = await cage.run(Path(runner.__file__), {"mode": "syntax", "draft": draft.text}, limits)
        answers = [a for a in caged.answers if "problem" in a]
        sandbox, provenance = process_limits(limits, None), _provenance(caged, draft.text)
        if caged.is_environments_fault or caged.malformed:
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

    Every top-level `assert` (and every loop, `with` or `try` that holds one) is a case, together with the statements
    before it; a block without any is one case, which must not raise. All cases run in one process.
    """

    rank: Rank = "executed"

    def __init__(self, spec: CheckSpec, surroundings: Surroundings) -> None:
        options = Options(spec, ("code", "setup", "timeout_s"))
        self._code, self._setup = options.text("code"), options.text("setup", "")
        self._limits = Limits(wall_s=options.seconds("timeout_s", Limits.wall_s))
        body = _parsed(self._code, options, "the check's code")
        _parsed(self._setup, options, "its set-up")
        if not body:
            raise options.wrong("the check's code is empty")
        self._cases = split_cases(body)
        self._titles = [_title(self._code, body[start:end]) for start, end in self._cases]
        self._requirement = one_requirement(spec)
        self._surroundings = surroundings

    async def run(self, draft: Draft) -> Report:
        refused = self._refused()
        if refused is not None:
            return Report(status="not_run", text=refused, sandbox=switched_off(), executions=0)
        job = {"mode": "python", "draft": draft.text, "setup": self._setup, "code": self._code, "cases": self._cases}
        caged = await cage.run(Path(runner.__file__), job, self._limits)
        sandbox = process_limits(self._limits, "in_process")
        provenance = _provenance(caged, draft.text, self._setup + self._code)
        fault = self._fault(caged)
        if fault is not None:
            return Report(status="error", text=fault, sandbox=sandbox, provenance=provenance)
        findings = self._findings(caged)
        passed = sum(f.status == "passed" for f in findings)
        return Report(
            status=status_of(findings),
            text=report(f"{passed} of {counted(len(findings), 'case')} passed", findings),
            findings=findings,
            sandbox=sandbox,
            provenance=provenance,
        )

    def _refused(self) -> str | None:
        """Why no code runs; None only where that was said, or where the code is no live model's."""
        if self._surroundings.sandbox == "process":
            return None
        if self._surroundings.sandbox == "auto":
            return None if self._surroundings.code_is_trusted else _NEEDS_CONSENT
        return "the sandbox is off, so no code of the draft runs"

    def _fault(self, caged: Caged) -> str | None:
        """Why this execution says nothing about the draft, if so."""
        if caged.is_environments_fault or caged.malformed:
            return _fault(caged)
        for answer in caged.answers:
            if "setup" in answer:
                return f"the check's own set-up failed: {shown(str(answer['setup']))}"
        numbers = [answer["case"] for answer in caged.answers if "case" in answer]
        is_done = bool(caged.answers) and caged.answers[-1] == {"done": True}
        stopped_early = any(a.get("draft") is not None for a in caged.answers)
        if numbers != list(range(len(numbers))) or (is_done and not stopped_early and len(numbers) != len(self._cases)):
            return "the answers of the check's process contradict each other"
        return None

    def _findings(self, caged: Caged) -> tuple[Finding, ...]:
        answers = {answer["case"]: answer for answer in caged.answers if "case" in answer}
        loading = next((a for a in caged.answers if a.get("draft") is not None), None)
        why, line = _ended(caged, self._limits), None
        if loading is not None:
            why, line = f"not reached, the draft raised {shown(str(loading['draft']))}", loading["line"]
        elif answers or any("draft" in a for a in caged.answers):
            why = f"not finished, {why}"
        return tuple(
            self._finding(number, title, answers.get(number, {"said": why, "line": line}))
            for number, title in enumerate(self._titles)
        )

    def _finding(self, number: int, title: str, answer: Mapping[str, object]) -> Finding:
        said = answer["said"]
        return Finding(
            id=f"case:{number + 1}",
            status="passed" if said is None else "failed",
            message=title if said is None else f"{title}: {shown(str(said), 400)}",
            requirement=self._requirement,
            location=_at(answer["line"]),
        )


def split_cases(body: list[ast.stmt]) -> list[tuple[int, int]]:
    """The ranges of statements that make the cases of a check; what comes after the last assert belongs to it."""
    ends = [number for number, statement in enumerate(body, 1) if _asserts(statement)]
    if not ends:
        return [(0, len(body))]
    ends[-1] = len(body)
    return list(zip([0, *ends[:-1]], ends, strict=True))


def _asserts(statement: ast.stmt) -> bool:
    """Whether performing the statement performs an assert: functions and classes only define."""
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return False
    children = (child for child in ast.iter_child_nodes(statement) if isinstance(child, ast.stmt | ast.ExceptHandler))
    return isinstance(statement, ast.Assert) or any(_asserts(child) for child in children)  # type: ignore[arg-type]


def _title(code: str, statements: list[ast.stmt]) -> str:
    """A case in its own words: its assert, else its first statement."""
    statement = next((s for s in statements if _asserts(s)), statements[0])
    return shown(ast.get_source_segment(code, statement) or ast.unparse(statement), 200)


def _parsed(code: str, options: Options, what: str) -> list[ast.stmt]:
    """The user's own code, parsed here: it is as trusted as the cell that holds it."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(code, "<check>", "exec", dont_inherit=True)
            return ast.parse(code).body
    except SyntaxError as error:
        raise options.wrong(f"{what} is not valid Python, line {error.lineno}: {error.msg}") from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise options.wrong(f"{what} can't be read as Python: {error}") from None


def _at(line: object) -> Location | None:
    return Location(kind="line", value=str(line)) if isinstance(line, int) else None


def _ended(caged: Caged, limits: Limits) -> str:
    """How the draft's process ended without an answer, in words without positions or timings of its own."""
    if caged.end == "timeout":
        return f"no answer within {limits.wall_s:g} s"
    if caged.end == "flood":
        return f"it printed over {limits.flood_bytes >> 20} MiB"
    if caged.end == "processes":
        return f"it started over {limits.processes} processes"
    if caged.end == "signal":
        names = {-9: "killed", -24: f"over {limits.cpu_s} s of CPU time", -25: "a file grew too large"}
        code = caged.code or 0
        return f"its process crashed: {names.get(code, f'signal {-code}')}"
    return f"its process ended with code {caged.code} before an answer"


def _fault(caged: Caged) -> str:
    reason = caged.malformed or caged.problem or caged.end
    return f"the check's process gave no verdict: {shown(reason)}"


def _provenance(caged: Caged, code: str, tests: str | None = None) -> dict[str, str]:
    ended = str(caged.code) if caged.end in ("exited", "signal") else caged.end
    return {
        "python": platform.python_version(),
        "code_sha256": text_sha256(code),
        **({"tests_sha256": text_sha256(tests)} if tests is not None else {}),
        "exit": ended,
        "cpu_s": f"{caged.cpu_s:.3f}",
        "peak_rss_bytes": str(caged.peak_rss_bytes),
        "is_output_cut": str(caged.is_output_cut).lower(),
    }
