"""A run is the fold of its events: `after(run, event)` is the next run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import cast

from reflect_lab.core.assessment import assess
from reflect_lab.core.budget import checking_seconds, overshoot, run_usage, usage
from reflect_lab.core.critique import CriticReply, Critique
from reflect_lab.core.drafts import diff
from reflect_lab.core.events import (
    Cancelled,
    CriticAnswered,
    DeadlinePassed,
    Decided,
    DraftWritten,
    Event,
    EvidenceGathered,
    NotAfforded,
    StepFailed,
)
from reflect_lab.core.run import (
    Candidate,
    Decision,
    Draft,
    LedgerRow,
    ModelUse,
    Outcome,
    OutcomeStatus,
    Round,
    Run,
    RunError,
    StopReason,
)
from reflect_lab.core.selection import choose, next_candidate, unchecked_candidate, with_choice
from reflect_lab.core.stop_rules import over_budget, repeats_draft, stop

EXHAUSTION: frozenset[str] = frozenset(
    {"stalled", "budget", "repeated_failure", "oscillating", "no_change", "invalid_critique"}
)
"""Stops that a person must look at under `on_exhaustion: review`; under `model:NAME` that model is tried before."""


def after(run: Run, event: Event) -> Run:
    """The run after an event."""
    run = _settle(run, event)
    match event:
        case DraftWritten():
            run = _add_draft(run, event.draft)
        case EvidenceGathered():
            run = _checked(run, event)
        case CriticAnswered():
            run = _update(run, critique=_criticised(run, event.reply))
        case NotAfforded():
            run = _not_afforded(run, event)
        case Decided():
            run = _decided(run, event)
        case StepFailed():
            run = _end(run, stop("error", event.error.message, {}), event.error)
        case DeadlinePassed():
            message = f"the time limit of {event.limit:g} s passed after {event.seconds:.1f} s"
            numbers = {"seconds": event.seconds, "limit": event.limit}
            run = _end(run, stop("budget", message, numbers, "elapsed_s"))
        case Cancelled():
            run = _end(run, stop("cancelled", "interrupted by the user", {}))
    return _metered(run)


def _settle(run: Run, event: Event) -> Run:
    """Ledger rows and notices of the event, and which model answered."""
    rows: tuple[LedgerRow, ...] = getattr(event, "ledger", ())
    notices = tuple(n for n in (*getattr(event, "notices", ()), *overshoot(run, rows)) if n not in run.notices)
    models: Mapping[str, ModelUse] = run.models
    for row in rows:
        if row.answered and row.role in models and models[row.role].answered != row.answered:
            models = {**models, row.role: replace(models[row.role], answered=row.answered)}
    return replace(run, ledger=run.ledger + rows, notices=run.notices + notices, models=models)


def _add_draft(run: Run, draft: Draft) -> Run:
    """The run with a new draft: that of a new round, or (with a number above 0) a candidate of the open one."""
    index = len(run.rounds) - 1 if draft.candidate else len(run.rounds)
    parent = run.rounds[index - 1].draft if index else None
    changes = diff(parent.text, draft.text) if parent else None
    draft = replace(draft, index=index, parent=parent.index if parent else None, diff=changes)
    if draft.candidate:
        run = _update(run, others=(*run.rounds[-1].others, Candidate(draft=draft)))
    else:
        run = replace(run, rounds=(*run.rounds, Round(index=index, draft=draft)))
    return _chosen(run)


def _chosen(run: Run) -> Run:
    """The run with the draft of its round chosen, as soon as nothing more is due for the choice. A draft that repeats
    an earlier one is found before anything is spent on it."""
    if next_candidate(run) is not None or unchecked_candidate(run) is not None:
        return run
    if run.policy.rules.width > 1 and run.rounds[-1].critique is None:
        run = with_choice(run)
    if run.rounds[-1].evidence is None and repeats_draft(run, run.rounds[-1].draft) is not None:
        run = _update(run, evidence=())
    return run


def _checked(run: Run, event: EvidenceGathered) -> Run:
    """The run with the evidence on one of its round's drafts. It is judged at once, also where the choice among
    candidates comes later: nonsense must be found where it arrives."""
    current = run.rounds[-1]
    critique = assess(run.task, run.policy, current.draft, event.evidence, None)
    if unchecked_candidate(run) is None:
        return _update(run, evidence=event.evidence, critique=critique)
    if event.candidate == current.draft.candidate:
        return _chosen(_update(run, evidence=event.evidence))
    others = tuple(
        replace(c, evidence=event.evidence) if c.draft.candidate == event.candidate else c for c in current.others
    )
    return _chosen(_update(run, others=others))


def _criticised(run: Run, reply: CriticReply) -> Critique:
    current = run.rounds[-1]
    was_asked = current.critique is not None and current.critique.validity != "not_asked"
    repairs = current.critique.repairs + 1 if current.critique and was_asked else 0
    return assess(run.task, run.policy, current.draft, current.evidence or (), reply, repairs)


def _not_afforded(run: Run, event: NotAfforded) -> Run:
    if run.round is not None and run.round.decision is None:
        return _chosen(_update(run, shortage=event.shortage))
    return _end(run, over_budget(event.shortage))


def _decided(run: Run, event: Decided) -> Run:
    if event.decision.action == "revise":
        return _update(run, decision=event.decision, feedback=event.feedback, quote=event.quote)
    return _end(_update(run, quote=event.quote), event.decision)


def _end(run: Run, decision: Decision, error: RunError | None = None) -> Run:
    """Closes the run: the open round (if any) gets the decision, the best draft is returned."""
    if run.round is not None and run.round.decision is None:
        if run.round.others and run.round.critique is None:
            run = with_choice(run)
        run = _update(run, decision=decision)
    reason = cast(StopReason, decision.reason)
    chosen = run.round if reason == "pass" else choose(run.rounds, run.policy.rules.select, run.task)
    outcome = Outcome(
        status=_status(reason, run.policy.on_exhaustion),
        stop_reason=reason,
        budget_dimension=decision.budget_dimension,
        draft_index=chosen.index if chosen else None,
        draft=chosen.draft.text if chosen else None,
        open_blocking=tuple(i.id for i in chosen.critique.blocking) if chosen and chosen.critique else (),
        message=decision.message,
        error=error,
    )
    return replace(run, outcome=outcome)


def _status(reason: StopReason, on_exhaustion: str) -> OutcomeStatus:
    if reason == "pass":
        return "accepted"
    if reason == "unverified" or (reason in EXHAUSTION and on_exhaustion != "stop"):
        return "escalated"
    return "stopped"


def with_rows(run: Run, rows: Sequence[LedgerRow]) -> Run:
    """The run as it stands within a step that has paid for these attempts so far."""
    return _metered(replace(run, ledger=(*run.ledger, *rows)))


def ended(run: Run, decision: Decision, error: RunError | None = None) -> Run:
    """The run ended by a decision that was not the controller's."""
    return _metered(_end(run, decision, error))


def _metered(run: Run) -> Run:
    """The run with its usage, and that of its current round, summed anew from the ledger."""
    run = replace(run, usage=run_usage(run))
    if run.round is None:
        return run
    rows = [row for row in run.ledger if row.round == run.round.index and row.paid_by is None]
    seconds = checking_seconds(replace(run, rounds=run.rounds[-1:]))
    return _update(run, usage=usage(rows, limits=run.policy.limits, seconds=seconds))


def _update(run: Run, **changes: object) -> Run:
    current = replace(run.rounds[-1], **changes)  # type: ignore[arg-type]
    return replace(run, rounds=(*run.rounds[:-1], current))
