"""What the controller asks for. A role performs a step and answers with an event."""

from __future__ import annotations

from dataclasses import dataclass

from reflect_lab.core.critique import Issue
from reflect_lab.core.run import Feedback, Outcome


@dataclass(frozen=True, kw_only=True)
class WriteDraft:
    """Write draft `index`; with `feedback` it revises the draft before it. `issues` are the sent ones, in order.

    `candidate` counts the drafts of one round from 0. `fixed` is a check's own mended draft: no model is called.
    """

    index: int
    candidate: int = 0
    feedback: Feedback | None = None
    issues: tuple[Issue, ...] = ()
    fixed: str | None = None


@dataclass(frozen=True, kw_only=True)
class GatherEvidence:
    """Run every check of the task on a draft of the current round."""

    index: int
    candidate: int = 0


@dataclass(frozen=True, kw_only=True)
class AskCritic:
    """Ask the critic about the current draft. `repair` counts repair requests; `problem` is what was wrong before."""

    index: int
    repair: int = 0
    problem: str | None = None


@dataclass(frozen=True, kw_only=True)
class Decide:
    """The round is complete: decide, in ordinary code, whether to stop or to revise."""

    index: int


@dataclass(frozen=True, kw_only=True)
class Stop:
    """The loop is over; nothing follows."""

    outcome: Outcome


Step = WriteDraft | GatherEvidence | AskCritic | Decide | Stop
