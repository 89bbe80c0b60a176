"""The controller: what comes next, and after a round whether to stop or to revise (DESIGN 4.1, 4.5).

`next_step(run)` asks, a role performs the step and answers with an event, `reducer.after(run, event)` folds it in.
Everything here is pure: no clock, no randomness, no I/O, and no way to see a label.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from reflect_lab.core import progress
from reflect_lab.core.budget import shortage
from reflect_lab.core.events import Decided
from reflect_lab.core.evidence import Evidence
from reflect_lab.core.feedback import feedback, ordered
from reflect_lab.core.fixes import offered_fix
from reflect_lab.core.run import Decision, Draft, Estimate, Feedback, Round, Run, Shortage
from reflect_lab.core.selection import next_candidate, unchecked_candidate
from reflect_lab.core.steps import AskCritic, Decide, GatherEvidence, Step, Stop, WriteDraft

Quote = Callable[[WriteDraft], Estimate]
"""Says how large the prompts of a revision and of the critique after it would be."""

Numbers = Mapping[str, float | int | str | None]


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
    unchecked = unchecked_candidate(run)
    if unchecked is not None or current.evidence is None:
        return GatherEvidence(index=current.index, candidate=unchecked or current.draft.candidate)
    if unaffordable(current) is None and wants_critic(run):
        return AskCritic(index=current.index)
    if unaffordable(current) is None and wants_repair(run):
        critique = current.critique
        assert critique is not None
        return AskCritic(index=current.index, repair=critique.repairs + 1, problem=critique.problem)
    return Decide(index=current.index)


def has_signal(run: Run) -> bool:
    """Whether anything outside the model's taste can judge a draft: a check, a requirement, or the user's rubric."""
    critic = run.prompts.get("critic")
    return bool(run.task.checks or run.task.requirements or (critic and critic.rubric))


def has_critic(run: Run) -> bool:
    """Whether the policy calls for a critic in this run."""
    return run.policy.rules.critic != "never" and (has_signal(run) or run.policy.rules.signal == "optional")


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
    if critique is None or critique.validity in ("ok", "not_asked") or critique.repairs:
        return False
    return not progress.failed_evidence(current) and not _unchecked(run, current)


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
        return Decided(decision=_over_budget(short), quote=sizes)
    return Decided(decision=_revise(current, fix), feedback=sent, quote=sizes)


def _revision(run: Run, before: Round, sent: Feedback | None) -> WriteDraft:
    """The first draft of the round after `before`, on the feedback that was sent, or as a check mended it."""
    if sent is None and (fix := offered_fix(run, before)):
        return WriteDraft(index=before.index + 1, fixed=fix.fix)
    by_id = {i.id: i for i in ordered(before.critique)} if before.critique else {}
    issues = tuple(by_id[i] for i in sent.sent) if sent else ()
    return WriteDraft(index=before.index + 1, feedback=sent, issues=issues)


def _further_draft(run: Run, candidate: int) -> WriteDraft:
    """A further draft of the current round, asked for as the first one was."""
    if len(run.rounds) == 1:
        return WriteDraft(index=0, candidate=candidate)
    before = run.rounds[-2]
    return replace(_revision(run, before, before.feedback), candidate=candidate)


def _unsized(run: Run, step: WriteDraft) -> Estimate:
    return Estimate(generator=0 if step.fixed is None else None, critic=0 if has_critic(run) else None)


# The rules of 4.1, one function each, in their order. A rule answers with a stop or with None. Each docstring says the
# rule and then why it is there; `docs/stop-rules.md` shows a run for each.


def denied(run: Run, current: Round) -> Decision | None:
    """An action was refused (authorization, permission): terminal, never fed back.

    A loop that takes a refusal for one more problem to solve asks the model to find a way round it.
    """
    names = [e.source for e in current.evidence or () if e.status == "denied"]
    if not names:
        return None
    return _stop("denied", f"{', '.join(names)} refused the action; this is not repairable by a revision", {})


def repeated_draft(run: Run, current: Round) -> Decision | None:
    """A draft equal to an earlier one, the first included, found before anything was spent on it.

    The same draft gets the same answers, so every further call is wasted. `no_change` (feedback does not get through)
    and `oscillating` (the loop goes in circles) are two problems.
    """
    earlier = repeats_draft(run, current.draft)
    if earlier is None:
        return None
    numbers = {"draft": current.index, "equals": earlier}
    if earlier == current.index - 1:
        return _stop("no_change", f"draft {current.index} is equal to draft {earlier} before it", numbers)
    return _stop("oscillating", f"draft {current.index} returns to draft {earlier}", numbers)


def no_signal(run: Run, current: Round) -> Decision | None:
    """Nothing outside the model's taste could judge the draft, and the policy demands a signal.

    A critic that has nothing but the draft to go by makes right answers wrong about as often as wrong ones right.
    """
    if has_signal(run) or run.policy.rules.signal == "optional":
        return None
    return _stop(
        "no_signal",
        "there is nothing to check the draft against: add a requirement (- [ ] …) or a check, or use --signal optional",
        {},
    )


def passed(run: Run, current: Round) -> Decision | None:
    """Nothing failed, nothing blocks, nothing that the task names stayed unchecked, and somebody looked.

    It is a rule about this very draft: an earlier one with a higher score and a blocking issue is no pass, nor is an
    empty list of issues beside a failed check, an unreadable critique or a low score.
    """
    critique = current.critique
    if critique is None or progress.failed_evidence(current) or critique.blocking or _unchecked(run, current):
        return None
    if has_critic(run) and critique.validity != "ok":
        return None
    if critique.score is not None and critique.score < run.policy.rules.pass_score - progress.TOLERANCE:
        return None
    checks = _passed_checks(current)
    if not checks and critique.validity != "ok":
        return None
    by = [f"{checks} check{'s' * (checks != 1)} passed"] if checks else []
    by += ["the critic found nothing that blocks"] if critique.validity == "ok" else []
    return _stop(
        "pass", " and ".join(by), {"checks_passed": checks, **_score(current), "open_issues": len(critique.issues)}
    )


def unverified(run: Run, current: Round) -> Decision | None:
    """Nothing failed and nothing blocks, but something that the task names was not checked, nobody looked at all, or
    a revision would have nothing to send.

    What nobody checked is not right, and no revision can mend a check that does not run: a person must decide.
    """
    critique = current.critique
    if critique is None or progress.failed_evidence(current) or critique.blocking:
        return None
    names = _unchecked(run, current)
    if names:
        return _stop("unverified", f"not checked: {', '.join(names)}", {"not_checked": len(names)})
    asked = critique.validity != "not_asked"
    looked = asked or any(e.status == "passed" for e in current.evidence or ())
    if not looked and not run.policy.is_off and unaffordable(current) is None:
        return _stop("unverified", "no check and no critic looked at this draft", {})
    if critique.validity == "ok" and not critique.issues:
        return _stop("unverified", "nothing is left to send to a revision, and the draft did not pass", _score(current))
    return None


def invalid_critique(run: Run, current: Round) -> Decision | None:
    """The critic could not be read, one repair did not mend it, and no failed evidence is there to revise on.

    An answer that can't be read says nothing: not "no issues", and not "score 0".
    """
    critique = current.critique
    if critique is None or critique.validity in ("ok", "not_asked"):
        return None
    if progress.failed_evidence(current) or (unaffordable(current) is not None and not critique.repairs):
        return None
    message = f"the critique is {critique.validity}: {critique.problem or 'no reason given'}"
    return _stop("invalid_critique", message, {"repairs": critique.repairs})


def repeated_failure(run: Run, current: Round) -> Decision | None:
    """The same failure in `repeat_limit` rounds running without a gain.

    The model does not know how to mend it, and a further try tells it nothing new. It comes before `stalled` because it
    says more: another model, tool or person is due, not more patience.
    """
    limit = run.policy.rules.repeat_limit
    count = progress.repetitions(run.rounds, run.policy.rules)
    if count < limit:
        return None
    return _stop(
        "repeated_failure",
        f"the same failure stands in {count} rounds running",
        {"rounds": count, "limit": limit, "failing": ", ".join(sorted(progress.blocking_keys(current)))[:200]},
    )


def stalled(run: Run, current: Round) -> Decision | None:
    """No progress against the best round so far in `patience` rounds running.

    Without it a loop rewords until its budget is gone. Against the best round, not the one before: else the recovery
    from a bad revision counts as progress.
    """
    patience = run.policy.rules.patience
    count = progress.rounds_without_progress(run.rounds, run.policy.rules)
    if count < patience:
        return None
    before = progress.best(run.rounds[:-1])
    numbers = {
        "rounds": count,
        "patience": patience,
        "blocking": len(progress.blocking_keys(current)),
        **_score(current),
    }
    if before is not None:
        numbers |= {"best_draft": before.index, "best_blocking": len(progress.blocking_keys(before))}
        numbers |= {"best_score": before.critique.score if before.critique else None}
    return _stop("stalled", f"no progress in {count} round{'s' * (count != 1)} running", numbers)


def unaffordable_critique(run: Run, current: Round) -> Decision | None:
    """The policy calls for a critic whose call can't be afforded: never a pass, never a revision nobody can judge."""
    short = unaffordable(current)
    return None if short is None else _over_budget(short)


RULES: tuple[Callable[[Run, Round], Decision | None], ...] = (
    denied,
    repeated_draft,
    no_signal,
    passed,
    unverified,
    invalid_critique,
    repeated_failure,
    stalled,
    unaffordable_critique,
)


def unaffordable(current: Round) -> Shortage | None:
    """Why the critic can't be asked; that a further candidate was too dear is no such reason."""
    short = current.shortage
    return None if short is None or short.step == "candidate" else short


def repeats_draft(run: Run, draft: Draft) -> int | None:
    """The index of the latest earlier draft that equals the current one in all but line ends and blank space."""
    for earlier in reversed(run.rounds[:-1]):
        if earlier.draft.comparable == draft.comparable:
            return earlier.index
    return None


def _unchecked(run: Run, current: Round) -> list[str]:
    """What the task names and nobody checked: evidence that neither passed nor failed, checks that nothing was reported
    of, and under `coverage: required` the requirements that no check and no critic covered."""
    evidence = current.evidence or ()
    reported = {e.source for e in evidence}
    names = [f"{check.name} (not run)" for check in run.task.checks if check.name not in reported]
    names += [f"{e.source} ({e.status.replace('_', ' ')})" for e in evidence if e.status not in ("passed", "failed")]
    if run.policy.rules.coverage == "required":
        covered = set(current.critique.requirements_checked) if current.critique else set()
        covered |= {r for e in evidence if e.status in ("passed", "failed") for r in e.requirements}
        names += [f"requirement {r.id}" for r in run.task.requirements if r.id not in covered]
    return names


def _passed_checks(current: Round) -> int:
    """How many checks passed; gates are counted only where there are no other checks."""
    evidence = current.evidence or ()
    return sum(e.status == "passed" for e in [e for e in evidence if not e.gate] or evidence)


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
        numbers={"failed": failed, "blocking": blocking, **_score(current), **mending},
    )


def _over_budget(short: Shortage) -> Decision:
    return _stop("budget", short.message, {"needed": short.needed, "left": short.left}, short.dimension)


def _score(current: Round) -> dict[str, float | int | str | None]:
    if current.critique is None or current.critique.score is None:
        return {}
    return {"score": current.critique.score, "score_kind": current.critique.score_kind}


def _stop(reason: str, message: str, numbers: Numbers, dimension: str | None = None) -> Decision:
    return Decision(action="stop", reason=reason, message=message, numbers=dict(numbers), budget_dimension=dimension)
