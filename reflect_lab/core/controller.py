"""The controller: what comes next, and after a round whether to stop or to revise (DESIGN 4.1, 4.5).

`next_step(run)` asks, a role performs the step and answers with an event, `reducer.after(run, event)` folds it in.
Everything here is pure: no clock, no randomness, no I/O, and no way to see a label.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from reflect_lab.core import progress
from reflect_lab.core.budget import shortage
from reflect_lab.core.events import Decided
from reflect_lab.core.evidence import Evidence
from reflect_lab.core.feedback import feedback, ordered
from reflect_lab.core.fixes import offered_fix
from reflect_lab.core.run import Decision, Estimate, Feedback, Round, Run
from reflect_lab.core.selection import next_candidate, unchecked_candidate
from reflect_lab.core.steps import AskCritic, Decide, GatherEvidence, Step, Stop, WriteDraft
from reflect_lab.core.stop_rules import (
    RULES,
    has_critic,
    over_budget,
    repeats_draft,
    score_numbers,
    unaffordable,
    unchecked,
)

Quote = Callable[[WriteDraft], Estimate]
"""Says how large the prompts of a revision and of the critique after it would be."""


def next_step(run: Run) -> Step:
    """What the loop must do next."""
    if run.outcome is not None:
        return Stop(outcome=run.outcome)
    current = run.round
    if current is None:
        return WriteDraft(index=0)
    if current.decision is not None:
        return _revision(run, current, current.feedback)
    candidate = next_candidate(run)
    if candidate is not None:
        return _further_draft(run, candidate)
    to_check = unchecked_candidate(run)
    if to_check is not None or current.evidence is None:
        return GatherEvidence(index=current.index, candidate=current.draft.candidate if to_check is None else to_check)
    if unaffordable(current) is None and wants_critic(run):
        return AskCritic(index=current.index)
    if unaffordable(current) is None and wants_repair(run):
        critique = current.critique
        assert critique is not None
        return AskCritic(index=current.index, repair=critique.repairs + 1, problem=critique.problem)
    return Decide(index=current.index)


def wants_critic(run: Run) -> bool:
    """Whether the current draft still has to be shown to the critic."""
    current = run.rounds[-1]
    if not has_critic(run) or current.critique is None or current.critique.validity != "not_asked":
        return False
    if repeats_draft(run, current.draft) is not None:
        return False
    evidence = current.evidence or ()
    if not progress.is_whole(current) or any(e.status == "denied" for e in evidence):
        return False
    gate_failed = any(e.gate and e.status == "failed" for e in evidence)
    return not gate_failed or run.policy.rules.critic == "always"


def wants_repair(run: Run) -> bool:
    """Whether one repair request is due: the critique is not valid, nothing failed on which to revise instead, and
    `unverified` would not be the answer anyway."""
    current = run.rounds[-1]
    critique = current.critique
    if critique is None or critique.validity in ("ok", "not_asked") or critique.repairs or not has_critic(run):
        return False
    return not progress.failed_evidence(current) and not unchecked(run, current)


def decide(run: Run, quote: Quote | None = None) -> Decided:
    """The answer after a round: the first rule that applies, in the order of DESIGN 4.1, else revise.

    `quote` sizes the prompts of a revision; without it only the counted dimensions of the budget can stop the run.
    """
    current = run.rounds[-1]
    for rule in RULES:
        decision = rule(run, current)
        if decision is not None:
            return Decided(decision=decision)
    fix = offered_fix(run, current)  # nobody is sent anything then
    sent = feedback(current.critique, run.policy.rules) if current.critique and fix is None else None
    step = _revision(run, current, sent)
    sizes = quote(step) if quote else None
    short = shortage(run, "revision", sizes or _unsized(run, step))
    if short is not None:
        return Decided(decision=over_budget(short), quote=sizes)
    return Decided(decision=_revise(current, fix), feedback=sent, quote=sizes)


def _revision(run: Run, before: Round, sent: Feedback | None) -> WriteDraft:
    """The first draft of the round after `before`, on the feedback that was sent, or as a check mended it."""
    if sent is None and (fix := offered_fix(run, before)):
        return WriteDraft(index=before.index + 1, fixed=fix.fix)
    by_id = {i.id: i for i in ordered(before.critique)} if before.critique else {}
    # A fork's policy may keep fewer of its parent's issues than were sent there.
    issues = tuple(by_id[i] for i in sent.sent if i in by_id) if sent else ()
    return WriteDraft(index=before.index + 1, feedback=sent, issues=issues)


def _further_draft(run: Run, candidate: int) -> WriteDraft:
    """A further draft of the current round, asked for as the first one was."""
    if len(run.rounds) == 1:
        return WriteDraft(index=0, candidate=candidate)
    before = run.rounds[-2]
    return replace(_revision(run, before, before.feedback), candidate=candidate)


def _unsized(run: Run, step: WriteDraft) -> Estimate:
    return Estimate(generator=0 if step.fixed is None else None, critic=0 if has_critic(run) else None)


def _revise(current: Round, fix: Evidence | None) -> Decision:
    failed = progress.failed_count(current)
    blocking = len(current.critique.blocking) if current.critique else 0
    reason = "failed_evidence" if failed else "blocking" if blocking else "low_score"
    words = {
        "failed_evidence": f"{failed} finding{'s' * (failed != 1)} of checks failed",
        "blocking": f"{blocking} blocking issue{'s' * (blocking != 1)} stand{'s' * (blocking == 1)}",
        "low_score": "the score is under the pass score",
    }
    mending = {} if fix is None else {"fixed_by": fix.source}
    return Decision(
        action="revise",
        reason=reason,
        message=words[reason] + (f"; {fix.source} mends the draft itself" if fix else ""),
        numbers={"failed": failed, "blocking": blocking, **score_numbers(current), **mending},
    )
