"""What stands against a draft: issues made of failed evidence, the critic's grounded issues, and a score."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from reflect_lab.core.critique import (
    SEVERITIES,
    CriticReply,
    Critique,
    Discarded,
    Ground,
    Issue,
    RaisedIssue,
    ScoreKind,
)
from reflect_lab.core.evidence import Evidence, Finding, Location
from reflect_lab.core.grounding import Sources
from reflect_lab.core.policy import Policy
from reflect_lab.core.progress import TOLERANCE
from reflect_lab.core.run import Draft
from reflect_lab.core.task import Task


def assess(
    task: Task,
    policy: Policy,
    draft: Draft,
    evidence: Sequence[Evidence],
    reply: CriticReply | None,
    repairs: int = 0,
) -> Critique:
    """The critique of one draft from its evidence and, where a critic was asked, its last answer.

    What checks found stands whatever the critic says. A low score of which no issue stands is `contradictory`: dropping
    ungrounded issues must not turn a bad mark into a clean bill.
    """
    own = tuple(check_issues(evidence))
    reply = None if reply is None else _with_a_real_score(reply)
    if reply is None:
        score = share_of_checks(task, evidence)
        return Critique(validity="not_asked", score=score, score_kind=_kind(score), issues=own)
    kept, discarded = judge(task, policy, draft, evidence, reply.issues)
    validity = reply.validity
    problem = reply.problem
    failed = any(e.status == "failed" and e.is_authoritative for e in evidence)
    if validity == "ok" and not kept and not failed and _is_low(reply.score, policy):
        validity = "contradictory"
        problem = f"score {reply.score:g} is under the pass score {policy.rules.pass_score:g} but no issue is kept"
    is_valid = validity == "ok"
    score = reply.score if is_valid else share_of_checks(task, evidence)
    return Critique(
        validity=validity,
        score=score,
        score_kind="critic" if is_valid else _kind(score),
        issues=own + kept,
        discarded=discarded,
        requirements_checked=reply.requirements_checked,
        problem=problem,
        protocol=reply.protocol,
        repairs=repairs,
        critic_score=reply.score,
        text=reply.text if reply.protocol == "text" and reply.validity == "ok" else None,
    )


def check_issues(evidence: Sequence[Evidence]) -> Iterator[Issue]:
    """Failed authoritative evidence as blocking issues: one for each failed finding, else one for the check. Findings
    with one id are one issue, with the first one's words."""
    for piece in evidence:
        if piece.status != "failed" or not piece.is_authoritative:
            continue
        firsts: dict[str, Finding] = {}
        for finding in piece.failed_findings:
            firsts.setdefault(finding.id, finding)
        for finding in firsts.values():
            name = f"{piece.source}/{finding.id}"
            yield _check_issue(piece, name, finding.message, finding.requirement, finding.location)
        if not piece.failed_findings:
            yield _check_issue(piece, piece.source, piece.text, None, None)


def _check_issue(piece: Evidence, name: str, message: str, requirement: str | None, location: Location | None) -> Issue:
    at = piece.text.find(message) if message else -1
    return Issue(
        key=f"check:{name}",
        id=name,
        severity="blocking",
        source=piece.source,
        requirement=requirement,
        location=location,
        evidence=message,
        ground=Ground(
            kind="evidence",
            source=f"evidence:{piece.source}",
            start=at if at >= 0 else None,
            end=at + len(message) if at >= 0 else None,
        ),
    )


def judge(
    task: Task, policy: Policy, draft: Draft, evidence: Sequence[Evidence], raised: Sequence[RaisedIssue]
) -> tuple[tuple[Issue, ...], tuple[Discarded, ...]]:
    """The critic's issues, split into kept and discarded. Ground is decided first; then issues with one id are merged
    (highest severity, first text) and the rest are discarded as duplicates."""
    sources = Sources(task, draft, evidence, policy)
    checks = {c.name for c in task.checks} | {e.source for e in evidence}
    kept: dict[str, Issue] = {}
    discarded: list[Discarded] = []
    for one in raised:
        issue_id = critic_id(one.id, checks)
        location = locate(one.location, draft)
        grounded = sources.ground(one)
        if isinstance(grounded, str):
            discarded.append(_discard(one, issue_id, location, grounded))
        elif issue_id in kept:
            first = kept[issue_id]
            kept[issue_id] = replace(first, severity=min(first.severity, one.severity, key=SEVERITIES.index))
            discarded.append(_discard(one, issue_id, location, "duplicate: an earlier issue has the same id"))
        else:
            kept[issue_id] = Issue(
                key=grounded.key,
                id=issue_id,
                severity=one.severity,
                source="critic",
                requirement=grounded.requirement,
                location=location,
                evidence=one.evidence,
                suggestion=one.suggestion,
                ground=grounded.ground,
            )
    return tuple(kept.values()), tuple(discarded)


def critic_id(raised: str, checks: set[str]) -> str:
    """The critic's id; one that could be taken for a check's gets a prefix."""
    is_a_checks = any(raised == name or raised.startswith(f"{name}/") for name in checks)
    return f"critic:{raised}" if is_a_checks else raised


def locate(location: str | None, draft: Draft) -> Location | None:
    """A critic's words for a place: a quote if they stand in the draft, else words without a kind."""
    if not location or not location.strip():
        return None
    return Location(kind="quote" if location in draft.text else None, value=location)


def share_of_checks(task: Task, evidence: Sequence[Evidence]) -> float | None:
    """The share of passed checks: 0 when a gate failed; over all non-gate checks that the task names, or over the
    gates where there are no others; None where the task names no check, or none of them ran."""
    status = {e.source: e.status for e in evidence}
    named = [c for c in task.checks if not c.gate] or list(task.checks)
    if not named:
        return None
    if any(e.gate and e.status == "failed" for e in evidence):
        return 0.0
    if all(status.get(c.name) in (None, "not_run", "error") for c in named):
        return None
    return sum(status.get(c.name) == "passed" for c in named) / len(named)


def _with_a_real_score(reply: CriticReply) -> CriticReply:
    """A reply whose score is no finite number in 0..1 is invalid, whoever read it: NaN would pass every comparison."""
    if reply.score is None or 0 <= reply.score <= 1:
        return reply
    problem = f"`score` is {reply.score}, not in 0..1"
    return CriticReply(validity="invalid", problem=problem, text=reply.text, protocol=reply.protocol)


def _is_low(score: float | None, policy: Policy) -> bool:
    return score is not None and score < policy.rules.pass_score - TOLERANCE


def _kind(score: float | None) -> ScoreKind | None:
    return None if score is None else "checks"


def _discard(one: RaisedIssue, issue_id: str, location: Location | None, reason: str) -> Discarded:
    return Discarded(
        id=issue_id,
        severity=one.severity,
        reason=reason,
        requirement=one.requirement,
        location=location,
        evidence=one.evidence,
        suggestion=one.suggestion,
    )
