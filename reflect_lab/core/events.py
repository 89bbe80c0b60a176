"""What happened. `run.after(event)` folds events into a run; the event log holds nothing else that decides."""

from __future__ import annotations

from dataclasses import dataclass

from reflect_lab.core.critique import CriticReply
from reflect_lab.core.evidence import Evidence
from reflect_lab.core.run import Decision, Draft, Estimate, Feedback, LedgerRow, Notice, RunError, Shortage


@dataclass(frozen=True, kw_only=True)
class DraftWritten:
    draft: Draft
    ledger: tuple[LedgerRow, ...] = ()
    notices: tuple[Notice, ...] = ()


@dataclass(frozen=True, kw_only=True)
class EvidenceGathered:
    evidence: tuple[Evidence, ...]
    candidate: int = 0
    ledger: tuple[LedgerRow, ...] = ()
    notices: tuple[Notice, ...] = ()


@dataclass(frozen=True, kw_only=True)
class CriticAnswered:
    reply: CriticReply
    ledger: tuple[LedgerRow, ...] = ()
    notices: tuple[Notice, ...] = ()


@dataclass(frozen=True, kw_only=True)
class NotAfforded:
    """A call that the budget does not allow. `ledger` holds what its step had cost by then: a patch that did not apply
    and whose rewrite can't be afforded, or attempts after which another one can't be."""

    shortage: Shortage
    ledger: tuple[LedgerRow, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Decided:
    decision: Decision
    feedback: Feedback | None = None
    quote: Estimate | None = None


@dataclass(frozen=True, kw_only=True)
class StepFailed:
    """A role failed for good. What its attempts cost stands in `ledger`."""

    error: RunError
    ledger: tuple[LedgerRow, ...] = ()
    notices: tuple[Notice, ...] = ()


@dataclass(frozen=True, kw_only=True)
class DeadlinePassed:
    """The run's own time ran out within a call or a check."""

    seconds: float
    limit: float
    ledger: tuple[LedgerRow, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Cancelled:
    """The user interrupted. What the open call had cost by then stands in `ledger`."""

    ledger: tuple[LedgerRow, ...] = ()


Event = (
    DraftWritten | EvidenceGathered | CriticAnswered | NotAfforded | Decided | StepFailed | DeadlinePassed | Cancelled
)
