"""The parts of a run that a role may see, as prompt text. Foreign text stands behind marks that it can't forge."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence

from reflect_lab.core.critique import Issue
from reflect_lab.core.evidence import Evidence, Location
from reflect_lab.core.policy import Section
from reflect_lab.core.run import Run
from reflect_lab.core.steps import WriteDraft
from reflect_lab.documents.visible import visible

MAX_EVIDENCE = 2_000
"""Characters of one check's report in a prompt."""
MAX_FACTS = 8_000
MAX_DRAFT = 60_000
MAX_QUOTE = 600


def quoted(name: str, text: str, salt: str, limit: int) -> str:
    """Foreign text as data: capped, control characters shown, between marks derived from its hash and the run's salt
    (the author of the text can't know them, a replay makes the same ones)."""
    code = hashlib.sha256(f"{salt}\0{text}".encode("utf-8", "surrogatepass")).hexdigest()[:10]
    return f"<{name} {code}>\n{visible(clipped(text, limit))}\n</{name} {code}>"


def clipped(text: str, limit: int) -> str:
    """The text, or its head and tail with a note of what was left out."""
    if len(text) <= limit:
        return text
    head, tail = limit * 2 // 3, limit // 3
    return f"{text[:head]}\n[… {len(text) - head - tail:,} characters left out …]\n{text[-tail:]}"


def generator_sections(run: Run, step: WriteDraft) -> str:
    """The generator's user message: its view of the run, in the policy's order."""
    makers: dict[Section, Callable[[], str]] = {
        "task": lambda: f"# Task\n{run.task.text}",
        "requirements": lambda: _requirements(run),
        "facts": lambda: _facts(run),
        "draft": lambda: _draft(run, step.index - 1) if step.feedback else "",
        "feedback": lambda: _feedback(step.issues, run.salt),
        "evidence": lambda: _evidence(run.rounds[-1].evidence or (), run.salt) if step.feedback else "",
    }
    return _joined(makers, run.policy.views.generator, _form(run))


def critic_sections(run: Run, draft: int) -> str:
    """The critic's user message: its view of the run, in the policy's order. It never holds any reasoning."""
    makers: dict[Section, Callable[[], str]] = {
        "task": lambda: f"# Task\n{run.task.text}",
        "requirements": lambda: _requirements(run),
        "facts": lambda: _facts(run),
        "draft": lambda: _draft(run, draft),
        "evidence": lambda: _evidence(run.rounds[draft].evidence or (), run.salt),
        "feedback": lambda: "",
    }
    return _joined(makers, run.policy.views.critic, "")


def _joined(makers: dict[Section, Callable[[], str]], view: Sequence[Section], last: str) -> str:
    parts = [makers[section]() for section in view]
    return "\n\n".join(part for part in [*parts, last] if part)


def _form(run: Run) -> str:
    language = run.task.language
    return f"Answer with one fenced ```{language} block and no other block." if language else ""


def _requirements(run: Run) -> str:
    lines = [f"{r.id}: {r.text}" for r in run.task.requirements]
    return "\n".join(["# Requirements", *lines]) if lines else ""


def _facts(run: Run) -> str:
    text = "\n".join(f.text for f in run.task.facts)
    return f"# Facts\n{quoted('facts', text, run.salt, MAX_FACTS)}" if text else ""


def _draft(run: Run, index: int) -> str:
    text = run.rounds[index].draft.text
    return f"# The draft\n{quoted('draft', text, run.salt, MAX_DRAFT)}"


def _evidence(evidence: Sequence[Evidence], salt: str) -> str:
    if not evidence:
        return ""
    parts = ["# What the checks reported"]
    for piece in evidence:
        parts.append(f"Check {piece.source}: {piece.status.replace('_', ' ')}")
        report = piece.text or "\n".join(f.message for f in piece.findings)
        if report:
            parts.append(quoted("report", report, salt, MAX_EVIDENCE))
    return "\n".join(parts)


def _feedback(issues: Sequence[Issue], salt: str) -> str:
    if not issues:
        return ""
    lines = ["# Problems to solve, the most important first"]
    for number, issue in enumerate(issues, 1):
        about = f", {issue.requirement}" if issue.requirement else ""
        lines.append(f"{number}. {issue.severity}{about}{_place(issue.location)}")
        parts = [issue.evidence, f"Suggestion: {issue.suggestion}" if issue.suggestion else ""]
        lines.append(quoted("problem", "\n".join(p for p in parts if p), salt, MAX_QUOTE))
    return "\n".join(lines)


def _place(location: Location | None) -> str:
    if location is None or location.kind in (None, "whole") or not location.value:
        return ""
    kind = "at" if location.kind == "quote" else f"at {location.kind}"
    return f", {kind} {visible(clipped(location.value, 80))!r}"
