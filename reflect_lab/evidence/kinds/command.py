"""The `command` check: a program of the user's own judges the draft: a tool that is trusted, no sandbox."""

from __future__ import annotations

import asyncio
import json
import os
import re
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import get_args

from reflect_lab.core.evidence import Finding, Location, LocationKind, Rank
from reflect_lab.core.run import Draft
from reflect_lab.core.task import CheckSpec, text_sha256
from reflect_lab.documents.suggest import did_you_mean
from reflect_lab.documents.suggest import shown as shown_option
from reflect_lab.evidence.check import Options, Report, Surroundings, capped, one_requirement, status_of, weight
from reflect_lab.evidence.kinds.tool import FLOOD, KEPT, Tool, ToolEnded, run_tool
from reflect_lab.evidence.wording import counted, shown

TRUSTED = "trusted: a command of the user's, limited and ended with all that it started, not confined"
_FILE = "{file}"
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_BARE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
PROSE = "text"
"""The `language` of a draft that is taken whole."""

_SUFFIXES = {".py": "python", ".sql": "sql", ".json": "json", ".yaml": "yaml", ".yml": "yaml"}
_KEYS = ("id", "message", "status", "requirement", "location", "line", "path")


class CommandCheck:
    """A program judges the draft: exit code 0 passed, 1 failed, anything else (a signal, the deadline) is an `error`.

    Options: `argv` (a list: the program and its arguments, no shell), `file` (the draft is written to a file of this
    name and `{file}` in `argv` stands for its path; without it the draft comes on standard input), `language` (the one
    that the draft is written in, so that it is taken from its fence; by `file` where that ends in .py, .sql, .json,
    .yaml or .yml and no other check says otherwise; `text` means prose), `output: json`
    (standard output is a list of findings `{id, message, status, requirement, line or path}`, or `{findings, fix}`,
    `fix` being the whole draft mended), `env` (names of variables that it gets beside a few usual ones),
    `timeout_s` (default 60).

    It starts in an empty folder of its own that is removed afterwards. A program with a slash in its name is found from
    the task's folder, and so is an argument that has a slash or a suffix and is a file there (`tool.py`). Not more than
    256 kB of what it prints are kept, over 64 MB end it, and with it ends all that it started. It is confined by
    nothing but that: the command is the user's, and so is the trust in it; the evidence says so.

    >>> print(look("command", "a TODO", {"argv": ["grep", "-q", "-v", "TODO"]}).summary)
    failed
    - failed exit: grep ended with code 1
    >>> look("command", "all done", {"argv": ["grep", "-q", "-v", "TODO"]}).status
    'passed'
    """

    rank: Rank = "executed"

    def __init__(self, spec: CheckSpec, surroundings: Surroundings) -> None:
        options = Options(spec, ("argv", "file", "language", "output", "env", "timeout_s"))
        argv = options.value("argv")
        if not isinstance(argv, list | tuple) or not argv or not all(isinstance(a, str) and a for a in argv):
            hint = f"write [{', '.join(argv.split())}]" if isinstance(argv, str) and argv.split() else "as in [ruff, -]"
            raise options.wrong(f"argv must be a list of texts, the program first; there is no shell: {hint}")
        if any("\0" in word for word in argv):
            raise options.wrong("argv holds a NUL character")
        self._file = options.text("file", "")
        if self._file and not _BARE_NAME.fullmatch(self._file):
            raise options.wrong(f"file must be a bare name such as draft.yaml, not {shown_option(self._file)}")
        if not self._file and any(_FILE in word for word in argv):
            raise options.wrong("{file} in argv needs the option file, the name of the draft's file")
        if not _BARE_NAME.fullmatch(language := options.text("language", PROSE)):
            raise options.wrong(f"language must be a word such as python, not {shown_option(language)}")
        self._output = options.text("output", "text")
        if self._output not in ("text", "json"):
            raise options.wrong(f"output {shown_option(self._output)}; {did_you_mean(self._output, ('text', 'json'))}")
        names = options.texts("env")
        for name in names:
            if not _VARIABLE.fullmatch(name):
                raise options.wrong(f"env: {shown_option(name)} is no name of a variable; values are not written here")
        self._argv, self._env = _placed(argv, surroundings.folder or Path.cwd()), names
        self._timeout_s = options.seconds("timeout_s", 60.0)
        self._requirement = one_requirement(spec)
        self._requirements = [requirement.id for requirement in surroundings.task.requirements]

    async def run(self, draft: Draft) -> Report:
        with tempfile.TemporaryDirectory(prefix="reflect-lab-", ignore_cleanup_errors=True) as folder:
            argv, text = self._argv, draft.text.encode("utf-8", "replace")
            if self._file:
                path = os.path.join(folder, self._file)
                await asyncio.to_thread(Path(path).write_bytes, text)
                argv, text = [word.replace(_FILE, path) for word in argv], b""
            tool = Tool(argv=argv, input=text, folder=folder, env=self._env, timeout_s=self._timeout_s)
            return self._reported(await run_tool(tool), draft)

    def _reported(self, ended: ToolEnded, draft: Draft) -> Report:
        provenance = {
            "argv": shown(json.dumps(self._argv), 400),
            "exit": str(ended.code) if ended.why is None else ended.why,
            "code_sha256": text_sha256(draft.text),
            "is_output_cut": str(ended.is_cut).lower(),
            "trust": TRUSTED,
            "limits": f"{self._timeout_s:g} s, {KEPT >> 10} KiB of output kept, ended over {FLOOD >> 20} MiB of it",
        }
        name = shown(os.path.basename(self._argv[0]), 80)
        if ended.why is not None or ended.code not in (0, 1):
            why = ended.why or f"ended with code {ended.code}"
            said = _said(ended)
            return Report(status="error", text=f"{name} {why}{f': {said}' if said else ''}", provenance=provenance)
        try:
            findings, fix = self._printed(ended) if self._output == "json" else ((), None)
        except ValueError as error:
            text = f"{name} printed no list of findings: {error}"
            return Report(status="error", text=text, provenance=provenance)
        status = status_of(findings)
        if ended.code == 1 and status == "passed":
            findings = (*findings, self._exit(name, ended))
        if ended.code == 0 and status != "passed":
            text = f"{name} ended with code 0, which means passed, and printed a finding that is {status}"
            return Report(status="error", text=text, provenance=provenance)
        failed = sum(finding.status == "failed" for finding in findings)
        summary = f"{name}: {counted(failed, 'problem')}" if failed else f"{name} ended with code 0"
        mended = fix if failed and fix != draft.text else None
        told = Report.of(summary, findings)
        return replace(told, findings=capped(findings), provenance=provenance, fix=mended)

    def _exit(self, name: str, ended: ToolEnded) -> Finding:
        said = "" if self._output == "json" else _said(ended)
        message = f"{name} ended with code 1" + (f": {said}" if said else "")
        place = Location(kind="whole")
        return Finding(id="exit", status="failed", message=message, requirement=self._requirement, location=place)

    def _printed(self, ended: ToolEnded) -> tuple[tuple[Finding, ...], str | None]:
        """The findings that the program printed, and its fix, read strictly. Raises ValueError."""
        if ended.is_cut:
            raise ValueError("it is too long")
        try:
            given = json.loads(ended.output or "[]")
        except RecursionError:
            raise ValueError("it is nested too deeply") from None
        fix = None
        if isinstance(given, dict) and "findings" in given and given.keys() <= {"findings", "fix"}:
            given, fix = given["findings"], given.get("fix")
        if fix is not None and not isinstance(fix, str):
            raise ValueError("fix must be the whole draft, as text")
        if not isinstance(given, list):
            raise ValueError("it must be a list in [ ]")
        found: dict[str, Finding] = {}
        for number, one in enumerate(given, 1):
            finding = self._finding(one, number)
            known = found.setdefault(finding.id, finding)
            if weight(finding) < weight(known):  # of two with one id the one that says more against the draft
                found[finding.id] = finding
        return tuple(found.values()), fix

    def _finding(self, given: object, number: int) -> Finding:
        if not isinstance(given, Mapping):
            raise ValueError(f"item {number} is no object")
        unknown = next((key for key in given if key not in _KEYS), None)
        if unknown is not None:
            raise ValueError(f"item {number} has the unknown key {shown_option(unknown)}")
        for key in ("id", "message"):
            if not isinstance(given.get(key), str) or not given[key].strip():
                raise ValueError(f"item {number}: {key} must be text")
        status, requirement = given.get("status", "failed"), given.get("requirement", self._requirement)
        if status not in ("passed", "failed", "advisory"):
            raise ValueError(f"item {number}: status is passed, failed or advisory")
        if requirement is not None and requirement not in self._requirements:
            raise ValueError(f"item {number}: there is no requirement {shown_option(requirement)}")
        return Finding(
            id=shown(given["id"], 120),
            status=status,
            message=shown(given["message"], 400),
            requirement=requirement,
            location=_location(given, number),
        )


def language_by_file(options: Mapping[str, object]) -> str | None:
    """The language of a draft that is written to a file of this name, where the option `language` does not say it."""
    return None if "language" in options else _SUFFIXES.get(os.path.splitext(str(options.get("file", "")))[1])


def _location(given: Mapping[str, object], number: int) -> Location | None:
    said = [key for key in ("location", "line", "path") if given.get(key) is not None]
    if not said:
        return None
    if len(said) > 1:
        raise ValueError(f"item {number} has two places: {' and '.join(said)}")
    kind, value = said[0], given[said[0]]
    if kind == "location":
        if not isinstance(value, Mapping) or value.get("kind") not in get_args(LocationKind):
            raise ValueError(f"item {number}: location must be a kind and a value")
        kind, value = str(value["kind"]), value.get("value")
    if isinstance(value, bool) or not isinstance(value, str | int | None):
        raise ValueError(f"item {number}: {kind} must be text or a number")
    return Location(kind=kind, value=None if value is None else shown(str(value), 200))  # type: ignore[arg-type]


def _placed(argv: Sequence[str], folder: Path) -> list[str]:
    """The command with its relative paths as ones from the task's folder: that of the program, where it has a slash (a
    bare name is looked up on the PATH), and each argument that has a slash or a suffix and is a file there."""
    program, *arguments = argv
    if os.sep in program and not os.path.isabs(program):
        program = str(folder / program)
    return [program, *(str(folder / word) if _is_file(word, folder) else word for word in arguments)]


def _is_file(word: str, folder: Path) -> bool:
    looks_like_one = not word.startswith("-") and (os.sep in word or os.path.splitext(word)[1] != "")
    return looks_like_one and os.path.isfile(folder / word)


def _said(ended: ToolEnded) -> str:
    """The first line that was printed, as one safe line."""
    lines = [line for line in (ended.output or ended.errors).splitlines() if line.strip()]
    return shown(lines[0], 300) if lines else ""
