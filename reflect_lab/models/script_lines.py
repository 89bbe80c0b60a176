"""The lines of a script file: JSON Lines, read strictly, so that a slip is a message and not a strange run."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from reflect_lab.core.errors import WrongUse
from reflect_lab.core.evidence import Finding, Location, LocationKind, Status
from reflect_lab.documents.suggest import did_you_mean

ROLES = ("generator", "critic", "evidence", "check")


class ScriptedUsage(BaseModel):
    """What a scripted call is said to have used; a count that is absent is unknown."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    input_tokens: int | None = Field(default=None, ge=0)
    cached_tokens: int | None = Field(default=None, ge=0)
    output_tokens: int | None = Field(default=None, ge=0)
    reasoning_tokens: int | None = Field(default=None, ge=0)
    cost: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    currency: str | None = None


class ScriptedError(BaseModel):
    """An HTTP error; without a `status` a connection that broke. `retry_after` is in seconds."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    status: int | None = Field(default=None, ge=300, le=599)
    retry_after: float | None = Field(default=None, ge=0, allow_inf_nan=False)


class ReplyLine(BaseModel):
    """One attempt's answer: a text (or `json`, which is written out as one), or an error."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    role: Literal["generator", "critic", "evidence"]
    text: str = ""
    usage: ScriptedUsage = ScriptedUsage()
    finish_reason: str | None = "stop"
    refusal: str | None = None
    reasoning: str | None = None
    error: ScriptedError | None = None
    delay_s: float = Field(default=0.0, ge=0, allow_inf_nan=False)
    protocol: Literal["schema", "json", "lines"] | None = None


@dataclass(frozen=True, kw_only=True)
class CheckLine:
    """What a scripted check reports at one execution."""

    name: str
    status: Status
    text: str = ""
    findings: tuple[Finding, ...] = ()
    gate: bool = False
    fix: str | None = None


class _Location(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    kind: LocationKind | None
    value: str | None = None


class _Finding(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    id: str
    status: Literal["passed", "failed", "error", "not_run", "advisory"] = "failed"
    message: str = ""
    requirement: str | None = None
    location: _Location | None = None

    def to_core(self) -> Finding:
        location = Location(kind=self.location.kind, value=self.location.value) if self.location else None
        return Finding(
            id=self.id, status=self.status, message=self.message, requirement=self.requirement, location=location
        )


class _Check(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    role: Literal["check"]
    name: str = Field(min_length=1)
    status: Status
    text: str = ""
    findings: list[_Finding] = []
    gate: bool = False
    fix: str | None = None


def read_script(file: Path) -> list[ReplyLine | CheckLine]:
    """All lines of a script. Raises WrongUse naming the file and the line when the file can't be used."""
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:  # a name with a NUL is a ValueError
        raise WrongUse(f"{file}: the script can't be read: {_reason(error)}") from None
    return [
        _read_line(line, f"{file}, line {number}")
        for number, line in enumerate(text.split("\n"), start=1)
        if line.strip()
    ]


def _reason(error: OSError | ValueError) -> str:
    if isinstance(error, UnicodeDecodeError):
        return "it is not UTF-8"
    return error.strerror or str(error) if isinstance(error, OSError) else str(error)


def _read_line(line: str, where: str) -> ReplyLine | CheckLine:
    try:
        fields = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise WrongUse(f"{where}: not valid JSON: {error}") from None
    if not isinstance(fields, dict):
        raise WrongUse(f'{where}: a line is a JSON object such as {{"role": "generator", "text": "…"}}')
    role = fields.get("role")
    if role not in ROLES:
        raise WrongUse(f"{where}: unknown role {role!r}; roles are generator, critic, evidence and check")
    try:
        if role == "check":
            check = _Check.model_validate(fields)
            findings = tuple(f.to_core() for f in check.findings)
            return CheckLine(
                name=check.name,
                status=check.status,
                text=check.text,
                findings=findings,
                gate=check.gate,
                fix=check.fix,
            )
        return ReplyLine.model_validate(_with_text(fields, where))
    except ValidationError as error:
        raise WrongUse(f"{where}: {_problem(error)}") from None


def _with_text(fields: Mapping[str, Any], where: str) -> dict[str, Any]:
    """The fields with `json` written out as `text`; a text of null is an empty one."""
    if "json" not in fields:
        return {**fields, "text": ""} if fields.get("text") is None else dict(fields)
    if "text" in fields:
        raise WrongUse(f"{where}: a line has either `text` or `json`")
    rest = {key: value for key, value in fields.items() if key != "json"}
    return {**rest, "text": json.dumps(fields["json"], ensure_ascii=False)}


def _problem(error: ValidationError) -> str:
    first = error.errors()[0]
    name = ".".join(str(part) for part in first["loc"])
    if first["type"] != "extra_forbidden":
        return f"`{name}`: {first['msg']}"
    known = [*ReplyLine.model_fields, "json", *_Check.model_fields]
    return f"unknown field `{name}`; {did_you_mean(str(first['loc'][-1]), dict.fromkeys(known))}"
