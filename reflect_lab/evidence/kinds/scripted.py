"""Scripted checks: reports that a script file gives instead of a check that looks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Protocol

from reflect_lab.core.errors import ModelFailed
from reflect_lab.core.evidence import Finding, Rank, Status
from reflect_lab.core.run import Draft
from reflect_lab.core.task import CheckSpec
from reflect_lab.evidence.check import Check, Report
from reflect_lab.evidence.wording import shown


class ScriptedCheck(Protocol):
    """What a script says that one execution of a check reports."""

    @property
    def status(self) -> Status: ...
    @property
    def text(self) -> str: ...
    @property
    def findings(self) -> Sequence[Finding]: ...
    @property
    def gate(self) -> bool: ...
    @property
    def fix(self) -> str | None: ...


Script = Callable[[str], ScriptedCheck | None]
"""The next line of a check by its name; None where the name is not scripted (or, after that, has no line left)."""


class PlayedCheck:
    """Plays a script's lines of one name, each execution the next; a name without lines is the real check, if any."""

    rank: Rank = "deterministic"

    def __init__(self, spec: CheckSpec, script: Script, real: Check | None) -> None:
        self._name, self._script, self._real = spec.name, script, real
        self._has_played = False

    async def run(self, draft: Draft) -> Report:
        try:
            line = self._script(self._name)
        except ModelFailed as ended:
            return Report(status="error", text=shown(str(ended)))
        if line is not None:
            self._has_played = True
            return Report(
                status=line.status,
                text=line.text,
                findings=tuple(line.findings),
                gate=line.gate or None,
                executions=0 if line.status == "not_run" else 1,
                fix=line.fix,
            )
        if self._real is None or self._has_played:
            return Report(status="error", text=f"the script holds no further line for the check {shown(self._name)}")
        return replace(await self._real.run(draft), rank=self._real.rank)
