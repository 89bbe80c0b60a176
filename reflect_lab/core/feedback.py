"""What the generator is sent: unique issues, blocking first, capped (DESIGN 4.2)."""

from __future__ import annotations

from reflect_lab.core.critique import SEVERITIES, Critique, Issue
from reflect_lab.core.evidence import BUILT_IN_GATES
from reflect_lab.core.policy import Rules
from reflect_lab.core.run import Feedback, FeedbackMode


def ordered(critique: Critique) -> tuple[Issue, ...]:
    """The issues in the order in which they are sent: by severity, within it checks first, then as raised."""
    return tuple(sorted(critique.issues, key=lambda i: (SEVERITIES.index(i.severity), i.source == "critic")))


def feedback(critique: Critique, rules: Rules) -> Feedback | None:
    """The feedback for a revision, or None where there is nothing to send.

    Each issue once, and blocking ones before the cap is reached: minor ones must not crowd them out.
    """
    issues = ordered(critique)
    if not issues:
        return None
    ids = tuple(i.id for i in issues)
    mode = revision_mode(critique, rules)
    return Feedback(mode=mode, sent=ids[: rules.max_issues], withheld=ids[rules.max_issues :])


def revision_mode(critique: Critique, rules: Rules) -> FeedbackMode:
    """Whether a revision is asked for as a patch or as a rewrite.

    Always as a rewrite where the draft is not whole (half a draft is nothing to mend) and where nothing blocks (a low
    score says nothing about places). Else as the policy's `revision` says. Where that is `auto`: a patch where every
    blocking issue, withheld ones too, has a place in the draft (what is right then stays as it is); a rewrite where one
    of them concerns the whole or names no place.
    """
    if not critique.blocking or any(issue.source in BUILT_IN_GATES for issue in critique.issues):
        return "rewrite"
    if rules.revision != "auto":
        return rules.revision
    return "patch" if all(_has_place(issue) for issue in critique.blocking) else "rewrite"


def _has_place(issue: Issue) -> bool:
    """Whether an issue says where in the draft it is; a critic's own words for a place count."""
    return issue.location is not None and issue.location.kind != "whole" and bool(issue.location.value)
