"""The `json_schema` check, a gate: the draft is JSON and fits a schema."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from reflect_lab.core.evidence import Finding, Location, Rank
from reflect_lab.core.run import Draft
from reflect_lab.core.task import CheckSpec
from reflect_lab.evidence.check import Options, Report, Surroundings, one_requirement
from reflect_lab.evidence.kinds import json_mend
from reflect_lab.evidence.sandbox import strongest, text_runner
from reflect_lab.evidence.sandbox.caged import Caged
from reflect_lab.evidence.sandbox.limits import Limits
from reflect_lab.evidence.wording import counted, report, shown

_LIMITS = Limits(wall_s=10.0, cpu_s=10)
_MOST = 50


class SchemaCheck:
    """Option: `schema` (a JSON Schema; draft 2020-12 unless it says otherwise). Nothing is ever fetched.

    The schema is applied in a process that can be ended: its patterns may take exponential time on some text.

    >>> schema = {"type": "object", "required": ["total"], "properties": {"total": {"minimum": 0}}}
    >>> print(look("json_schema", '{"total": -1}', {"schema": schema}).summary)
    failed
    - failed $.total:minimum: $.total: -1 is less than the minimum of 0 (path $.total)
    >>> look("json_schema", '{"total": 1,}', {"schema": schema}).evidence.fix
    '{"total": 1}'
    """

    rank: Rank = "deterministic"
    is_gate = True
    language = "json"

    def __init__(self, spec: CheckSpec, surroundings: Surroundings) -> None:
        options = Options(spec, ("schema",))
        self._schema = options.plain("schema")
        self._requirement = one_requirement(spec)
        if isinstance(self._schema, str):
            try:
                self._schema = json.loads(self._schema)
            except ValueError as error:
                raise options.wrong(f"the schema is not JSON: {error}") from None
        if not isinstance(self._schema, Mapping | bool):
            raise options.wrong("the schema must be an object, or true or false")
        caged = strongest.run_blocking(Path(text_runner.__file__), {"mode": "schema", "schema": self._schema}, _LIMITS)
        for answer in caged.answers:
            if "schema" in answer:
                raise options.wrong(f"the schema is not valid: {shown(str(answer['schema']))}")
        for reference in _references(self._schema):
            if "://" in reference and not _is_embedded(self._schema, reference):
                raise options.wrong(f"the schema refers to {shown(reference)}; nothing is fetched: copy it into $defs")

    async def run(self, draft: Draft) -> Report:
        """What is wrong with the draft. One that is JSON but for a slip of its form is offered mended, if it fits the
        schema then."""
        report = await self._looked_at(draft.text)
        mended = json_mend.mended(draft.text) if report.status == "failed" else None
        if mended is None or (await self._looked_at(mended)).status != "passed":
            return report
        return replace(report, fix=mended)

    async def _looked_at(self, text: str) -> Report:
        job = {"mode": "schema", "schema": self._schema, "text": text}
        caged = await strongest.run(Path(text_runner.__file__), job, _LIMITS)
        return replace(self._told(caged), sandbox=caged.sandbox(None), provenance=caged.provenance(text))

    def _told(self, caged: Caged) -> Report:
        problems: list[Mapping[str, object]] = []
        for answer in caged.answers:
            if "unresolved" in answer:
                missing = shown(str(answer["unresolved"]))
                return Report(status="error", text=f"the schema refers to {missing}, which is not there")
            if "unreadable" in answer:
                line = answer["line"]
                location = Location(kind="line", value=str(line)) if line is not None else None
                message = f"not JSON: {shown(str(answer['unreadable']))}"
                return self._failed([self._finding("parse", message, location)])
            if "rule" in answer:
                problems.append(answer)
        if caged.malformed or {"done": True} not in caged.answers:
            return Report(status="error", text=f"the schema could not be applied ({caged.end})")
        if not problems:
            return Report(status="passed", text="JSON that fits the schema")
        return self._failed(self._findings(problems[:_MOST]))

    def _failed(self, findings: Sequence[Finding]) -> Report:
        summary = f"{counted(len(findings), 'problem')} with the schema"
        return Report(status="failed", text=report(summary, findings), findings=tuple(findings))

    def _findings(self, problems: Sequence[Mapping[str, object]]) -> list[Finding]:
        findings: dict[str, Finding] = {}
        for problem in problems:
            parts = problem["path"]
            path = json_path(parts if isinstance(parts, list) else [])
            said = shown(str(problem["said"]))
            name = f"{path}:{problem['rule']}"
            if problem["rule"] == "required":  # several properties of one object may be missing
                name = f"{name}:{said.split(' is a required', 1)[0].strip(chr(39))}"
            finding = self._finding(name, f"{path}: {said}", Location(kind="path", value=path))
            findings.setdefault(finding.id, finding)
        return list(findings.values())

    def _finding(self, name: str, message: str, location: Location | None) -> Finding:
        return Finding(
            id=shown(name, 120), status="failed", message=message, requirement=self._requirement, location=location
        )


def json_path(parts: Sequence[object]) -> str:
    """`$.items[2].total`; names that are no plain words in quotes."""
    path = "$"
    for part in parts:
        if isinstance(part, int):
            path += f"[{part}]"
        else:
            name = str(part)
            path += f".{name}" if name.isidentifier() else f"[{json.dumps(name)}]"
    return shown(path, 120)


def _references(schema: object) -> list[str]:
    found: list[str] = []
    todo = [schema]
    while todo:
        part = todo.pop()
        if isinstance(part, Mapping):
            found += [v for k, v in part.items() if k in ("$ref", "$dynamicRef") and isinstance(v, str)]
            todo += part.values()
        elif isinstance(part, list):
            todo += part
    return found


def _is_embedded(schema: object, reference: str) -> bool:
    base = reference.partition("#")[0]
    todo = [schema]
    while todo:
        part = todo.pop()
        if isinstance(part, Mapping):
            if str(part.get("$id", "")).partition("#")[0] == base:
                return True
            todo += part.values()
        elif isinstance(part, list):
            todo += part
    return False
