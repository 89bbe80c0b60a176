"""The parts of a run that a role may see, as prompt text. Foreign text stands behind marks that it can't forge."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence

from reflect_lab.core.chat import Message
from reflect_lab.core.critique import Issue
from reflect_lab.core.evidence import Evidence, Location
from reflect_lab.core.feedback import ordered
from reflect_lab.core.policy import Section
from reflect_lab.core.run import Candidate, Round, Run
from reflect_lab.core.steps import WriteDraft
from reflect_lab.documents.visible import visible
from reflect_lab.roles.patch import DIVIDER, REPLACE, SEARCH

MAX_EVIDENCE = 2_000
"""Characters of one check's report in a prompt."""
MAX_FACTS = 8_000
MAX_DRAFT = 60_000
MAX_QUOTE = 600


PATCH_FORM = f"""\
Answer with changes to the draft and nothing else, each one a block of this form:
{SEARCH}
lines copied exactly from the draft, enough of them that they stand there only once
{DIVIDER}
the lines that take their place
{REPLACE}
What no block names stays as it is. Blocks must not overlap."""


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


def generator_messages(run: Run, step: WriteDraft) -> tuple[Message, ...]:
    """What the generator is told: its view of the run, in the policy's order. Under `draft_role: assistant` the draft
    is its own earlier answer, between what stands before it in the view and what stands after it."""
    before = run.rounds[step.index - 1] if step.index else None
    makers = {
        **_of_the_run(run, () if before is None else run.rounds[: before.index]),
        "feedback": lambda: _feedback(step.issues, run.salt),
    }
    if before is not None:
        makers |= _of_the_round(before, run.salt, peers=before.others)
    view = run.policy.views.generator
    if run.policy.views.draft_role == "user" or before is None or "draft" not in view:
        return (Message(role="user", content=_joined(makers, view, _form(run, step))),)
    at = view.index("draft")
    return (
        Message(role="user", content=_joined(makers, view[:at])),
        Message(role="assistant", content=clipped(before.draft.text, MAX_DRAFT)),
        Message(role="user", content=_joined(makers, view[at + 1 :], _form(run, step))),
    )


def critic_sections(run: Run, index: int) -> str:
    """The critic's user message: its view of the run, in the policy's order. It never holds any reasoning."""
    current = run.rounds[index]
    makers = {
        **_of_the_run(run, run.rounds[:index]),
        **_of_the_round(current, run.salt, peers=current.others),
        "critique": lambda: "",  # there is none of this draft yet: what checks found stands in the evidence
    }
    return _joined(makers, run.policy.views.critic)


Makers = Mapping[Section, Callable[[], str]]


def _of_the_run(run: Run, earlier: Sequence[Round]) -> Makers:
    """Sections that every role and every round may have."""
    return {
        "task": lambda: f"# Task\n{run.task.text}",
        "requirements": lambda: _requirements(run),
        "facts": lambda: _facts(run),
        "lessons": lambda: _lessons(run),
        "history": lambda: _history(earlier, run.salt),
    }


def _of_the_round(round_: Round, salt: str, *, peers: Sequence[Candidate]) -> Makers:
    """Sections about one draft and what was said of it."""
    return {
        "draft": lambda: f"# The draft\n{quoted('draft', round_.draft.text, salt, MAX_DRAFT)}",
        "evidence": lambda: _evidence(round_.evidence or (), salt),
        "critique": lambda: _critique(round_, salt),
        "peers": lambda: _peers(peers, salt),
    }


def _joined(makers: Makers, view: Sequence[Section], last: str = "") -> str:
    """The sections of a view; one that there is nothing for (yet) is left out."""
    parts = [makers[section]() for section in view if section in makers]
    return "\n\n".join(part for part in [*parts, last] if part)


def _form(run: Run, step: WriteDraft) -> str:
    """The form of the answer that is asked for."""
    if step.feedback is not None and step.feedback.mode == "patch":
        return PATCH_FORM
    language = run.task.language
    return f"Answer with one fenced ```{language} block and no other block." if language else ""


def _requirements(run: Run) -> str:
    lines = [f"{r.id}: {r.text}" for r in run.task.requirements]
    return "\n".join(["# Requirements", *lines]) if lines else ""


def _facts(run: Run) -> str:
    text = "\n".join(f.text for f in run.task.facts)
    return f"# Facts\n{quoted('facts', text, run.salt, MAX_FACTS)}" if text else ""


def _lessons(run: Run) -> str:
    lessons = [quoted("lesson", one, run.salt, MAX_QUOTE) for one in run.lessons]
    return "\n".join(["# Lessons from earlier trials", *lessons]) if lessons else ""


def _history(earlier: Sequence[Round], salt: str) -> str:
    """All earlier drafts with what was said of each: the one section that grows with the number of rounds."""
    parts = [f"# Draft {r.index} and what was said of it\n{_turn(r, salt)}" for r in earlier]
    return "\n\n".join(parts)


def _turn(round_: Round, salt: str) -> str:
    said = _critique(round_, salt)
    return "\n".join(part for part in (quoted("draft", round_.draft.text, salt, MAX_DRAFT), said) if part)


def _critique(round_: Round, salt: str) -> str:
    """What was said of a draft: the critic's free text, or the issues that stand."""
    critique = round_.critique
    if critique is None:
        return ""
    if critique.text:
        return f"# The critique\n{quoted('critique', critique.text, salt, MAX_EVIDENCE)}"
    return _feedback(ordered(critique), salt)


def _peers(others: Sequence[Candidate], salt: str) -> str:
    answers = [quoted("answer", one.draft.text, salt, MAX_DRAFT) for one in others]
    return "\n".join(["# Other answers to the task", *answers]) if answers else ""


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
