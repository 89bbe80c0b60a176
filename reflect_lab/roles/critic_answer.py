"""What a critic's answer says, whatever its form."""

from __future__ import annotations

from dataclasses import dataclass

from reflect_lab.core.critique import RaisedIssue

NOTHING_FOUND = "No problems found."
"""The agreed sentence of the forms without JSON."""


class Unreadable(Exception):
    """Why an answer is not in the agreed form."""


@dataclass(frozen=True, kw_only=True)
class CriticAnswer:
    issues: tuple[RaisedIssue, ...] = ()
    score: float | None = None
    requirements_checked: tuple[str, ...] = ()
