"""What the generator is sent: unique issues, blocking first, capped (DESIGN 4.2)."""

from __future__ import annotations

from reflect_lab.core.critique import SEVERITIES, Critique, Issue
from reflect_lab.core.policy import Rules
from reflect_lab.core.run import Feedback


def ordered(critique: Critique) -> tuple[Issue, ...]:
    """The issues in the order in which they are sent: by severity, within it checks first, then as raised."""
    return tuple(sorted(critique.issues, key=lambda i: (SEVERITIES.index(i.severity), i.source == "critic")))


def feedback(critique: Critique, rules: Rules) -> Feedback | None:
    """The feedback for a revision, or None where there is nothing to send."""
    issues = ordered(critique)
    if not issues:
        return None
    ids = tuple(i.id for i in issues)
    return Feedback(mode="rewrite", sent=ids[: rules.max_issues], withheld=ids[rules.max_issues :])
