"""Free-text critiques, as in Self-Refine (Madaan et al. 2023): prose is one problem, the agreed sentence is none."""

from __future__ import annotations

from reflect_lab.core.critique import RaisedIssue
from reflect_lab.roles.critic_answer import NOTHING_FOUND, CriticAnswer

MAX_CRITIQUE = 8_000
"""Characters of a critique in prose that are kept."""


def read_text(answer: str) -> CriticAnswer:
    """One blocking issue `critique` whose evidence is the whole text, judged by the usual grounds; none where the
    answer is the agreed sentence alone. There is no score."""
    text = answer.strip()
    if text == NOTHING_FOUND:
        return CriticAnswer()
    return CriticAnswer(issues=(RaisedIssue(id="critique", severity="blocking", evidence=text[:MAX_CRITIQUE]),))
