"""What a critic said, and what code made of it: raised issues, grounds, kept and discarded issues."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from reflect_lab.core.evidence import Location

Severity = Literal["blocking", "major", "minor"]
Validity = Literal["ok", "refused", "truncated", "invalid", "contradictory", "not_asked"]
GroundKind = Literal["requirement", "task", "fact", "evidence", "absent", "draft"]
ScoreKind = Literal["critic", "checks"]
Protocol = Literal["schema", "json", "lines", "text"]
"""How a critic was asked: JSON that the server enforces, JSON mode, `PROBLEM:` lines, prose."""

SEVERITIES: tuple[Severity, ...] = ("blocking", "major", "minor")


@dataclass(frozen=True, kw_only=True)
class RaisedIssue:
    """An issue as a critic worded it, before any ground was looked for."""

    id: str
    severity: Severity
    evidence: str = ""
    suggestion: str = ""
    location: str | None = None
    requirement: str | None = None


@dataclass(frozen=True, kw_only=True)
class CriticReply:
    """A critic's answer, read strictly. With a validity other than `ok` there are no issues and no score.

    `problem` says in one line why an answer is not valid. `text` is the raw answer (a repair request quotes it); of a
    valid one in prose (`protocol` is `text`) what was said, without the reasoning.
    """

    validity: Validity
    issues: tuple[RaisedIssue, ...] = ()
    score: float | None = None
    requirements_checked: tuple[str, ...] = ()
    problem: str | None = None
    text: str = ""
    protocol: Protocol = "json"


@dataclass(frozen=True, kw_only=True)
class Ground:
    """Why an issue may be believed. `source` is `task`, `R3`, `fact:2`, `evidence:NAME` or `draft`.

    `start` and `end` are Unicode code points into that source's own text; None where an issue names a requirement
    without quoting it.
    """

    kind: GroundKind
    source: str
    start: int | None = None
    end: int | None = None


@dataclass(frozen=True, kw_only=True)
class Issue:
    """A problem of one draft. `key` is made by code and carries the issue across rounds; `id` is the critic's label
    or the check's `name` or `name/finding`. `source` is `critic` or the check's name."""

    key: str
    id: str
    severity: Severity
    source: str
    requirement: str | None = None
    location: Location | None = None
    evidence: str = ""
    suggestion: str = ""
    ground: Ground | None = None


@dataclass(frozen=True, kw_only=True)
class Discarded:
    """A critic's issue that changes nothing, kept in the record with the reason."""

    id: str
    severity: Severity
    reason: str
    requirement: str | None = None
    location: Location | None = None
    evidence: str = ""
    suggestion: str = ""


@dataclass(frozen=True, kw_only=True)
class Critique:
    """What stands against one draft: issues of checks and of the critic, discarded ones, a score and its kind.

    `score` is in 0..1 or None for unknown; scores of two kinds are never compared. `problem` says why a critique is
    not valid. `repairs` counts repair requests. `critic_score` is the critic's own, also where it did not become the
    score (a contradictory critique), so that a replay under another policy can judge anew. `text` is a critique in free
    text.
    """

    validity: Validity
    score: float | None
    score_kind: ScoreKind | None
    issues: tuple[Issue, ...] = ()
    discarded: tuple[Discarded, ...] = ()
    requirements_checked: tuple[str, ...] = ()
    problem: str | None = None
    protocol: str | None = None
    repairs: int = 0
    critic_score: float | None = None
    text: str | None = None

    @property
    def blocking(self) -> tuple[Issue, ...]:
        return tuple(i for i in self.issues if i.severity == "blocking")
