"""The `ruff` check: what the linter finds in a draft in Python."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from reflect_lab.core.evidence import Finding, Location, Rank
from reflect_lab.core.run import Draft
from reflect_lab.core.task import CheckSpec
from reflect_lab.documents.suggest import did_you_mean
from reflect_lab.documents.suggest import shown as shown_option
from reflect_lab.evidence.check import Options, Report, Surroundings, one_requirement
from reflect_lab.evidence.sandbox import strongest, text_runner
from reflect_lab.evidence.sandbox.caged import Caged
from reflect_lab.evidence.sandbox.limits import Limits
from reflect_lab.evidence.wording import counted, report, shown

_RULES = ("E4", "E7", "E9", "F")
"""What is wrong rather than unusual: imports, statements, syntax, names. Named here, for ruff's own default changes."""
_ASKED_S = 5.0
_LEVELS = ("failed", "advisory")


class RuffCheck:
    r"""Findings of `ruff check`, with their lines. Nothing of the draft is executed, no configuration file is read, and
    the draft's own comments that switch rules off (`noqa`) excuse nothing.

    Options: `select` and `ignore` (lists of rules; `select` is E4, E7, E9 and F by default), `level` (`failed`, or
    `advisory`: told, but nothing fails). A draft that ruff's safe fixes mend wholly is offered mended. Where ruff is
    not installed the check is `not_run`.

    >>> print(look("ruff", "import os\nprint(1)\n").summary)
    failed
    - failed F401:1: F401 `os` imported but unused (line 1)
    >>> look("ruff", "import os\nprint(1)\n").evidence.fix
    'print(1)\n'
    """

    rank: Rank = "deterministic"
    language = "python"

    def __init__(self, spec: CheckSpec, surroundings: Surroundings) -> None:
        options = Options(spec, ("select", "ignore", "level"))
        self._select = options.texts("select") or _RULES
        self._ignore = options.texts("ignore")
        self._level = options.text("level", "failed")
        if self._level not in _LEVELS:
            raise options.wrong(f"level {shown_option(self._level)}; {did_you_mean(self._level, _LEVELS)}")
        for rule in (*self._select, *self._ignore):
            if not rule.isalnum():
                raise options.wrong(f"{shown_option(rule)} is no rule of ruff; a rule looks like F401 or E7")
        refused = _refused({"select": options.texts("select"), "ignore": self._ignore})
        if refused is not None:
            raise options.wrong(f"ruff refuses its rules: {refused}")
        self._requirement = one_requirement(spec)

    async def run(self, draft: Draft) -> Report:
        program = find_ruff()
        if program is None:
            return Report(status="not_run", text="ruff is not installed here (pip install ruff)", executions=0)
        limits = Limits()
        rules = ["--select", ",".join(self._select), *(["--ignore", ",".join(self._ignore)] if self._ignore else [])]
        job = {"mode": "ruff", "program": program, "rules": rules, "text": draft.text}
        caged = await strongest.run(Path(text_runner.__file__), job, limits, readable=(program,))
        answer = next((one for one in caged.answers if "findings" in one), None)
        sandbox, provenance = caged.sandbox(None), caged.provenance(draft.text)
        if answer is None or caged.is_environments_fault or caged.malformed:
            return Report(status="error", text=_fault(caged), sandbox=sandbox, provenance=provenance)
        findings = self._findings(answer["findings"])
        total = answer["total"] if isinstance(answer["total"], int) else len(findings)
        fix = answer.get("fix")
        return Report(
            status="failed" if findings and self._level == "failed" else "passed",
            text=report(f"ruff found {counted(total, 'problem')}" if total else "ruff found nothing", findings),
            findings=findings,
            sandbox=sandbox,
            provenance={
                "ruff": shown(str(answer.get("version")), 40),
                "rules": ",".join(self._select),
                **provenance,
            },
            fix=fix if isinstance(fix, str) and self._level == "failed" else None,
        )

    def _findings(self, found: object) -> tuple[Finding, ...]:
        """Numbered within their rule, in the order of the lines, so that ids stay when other rules' problems go."""
        seen: Counter[str] = Counter()
        findings = []
        for one in found if isinstance(found, Sequence) else ():
            code, line, message = _parts(one)
            seen[code] += 1
            findings.append(
                Finding(
                    id=f"{code}:{seen[code]}",
                    status="advisory" if self._level == "advisory" else "failed",
                    message=shown(f"{code} {message}"),
                    requirement=self._requirement,
                    location=Location(kind="line", value=str(line)),
                )
            )
        return tuple(findings)


def find_ruff() -> str | None:
    """The `ruff` beside this interpreter, else the one on the path."""
    return shutil.which("ruff", path=str(Path(sys.executable).parent)) or shutil.which("ruff")


def _refused(rules: Mapping[str, Sequence[str]]) -> str | None:
    """Why the ruff that is here refuses these rules, which it is asked about with an empty program; None where it takes
    them, where none are named, and where it can't be asked."""
    named = [word for key, some in rules.items() if some for word in (f"--{key}", ",".join(some))]
    program = find_ruff() if named else None
    if program is None:
        return None
    try:
        asked = subprocess.run(
            [program, "check", "--isolated", "--no-cache", *named, "-"],
            stdin=subprocess.DEVNULL, capture_output=True, timeout=_ASKED_S, check=False,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return None
    said = shown(asked.stderr.decode("utf-8", "replace").removeprefix("ruff failed"))
    return said.removeprefix("Cause: ") if asked.returncode == 2 else None


def _parts(one: object) -> tuple[str, object, object]:
    assert isinstance(one, Mapping)
    return str(one["code"]), one["line"], one["message"]


def _fault(caged: Caged) -> str:
    """Why there is no verdict: ruff's own words where it has some (an unknown rule), else how its process ended."""
    said = next((str(one["problem"]) for one in caged.answers if "problem" in one), None)
    return f"ruff gave no verdict: {shown(said or caged.malformed or caged.problem or caged.end)}"
