"""The stop rules: after a round, the first that applies is the answer (DESIGN 4.1, 4.5; `docs/stop-rules.md`).

A rule is a pure function of the run and its current round; it answers with a stop, or with None. Its docstring says the
rule and then why it is there; the page shows a run for each.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from reflect_lab.core import progress
from reflect_lab.core.run import Decision, Draft, Round, Run, Shortage

Numbers = Mapping[str, float | int | str | None]


def denied(run: Run, current: Round) -> Decision | None:
    """An action was refused (authorization, permission): terminal, never fed back.

    A loop that takes a refusal for one more problem to solve asks the model to find a way round it.
    """
    names = [e.source for e in current.evidence or () if e.status == "denied"]
    if not names:
        return None
    return stop("denied", f"{', '.join(names)} refused the action; this is not repairable by a revision", {})


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
        return stop("no_change", f"draft {current.index} is equal to draft {earlier} before it", numbers)
    return stop("oscillating", f"draft {current.index} returns to draft {earlier}", numbers)


def no_signal(run: Run, current: Round) -> Decision | None:
    """Nothing outside the model's taste could judge the draft, and the policy demands a signal.

    A critic that has nothing but the draft to go by makes right answers wrong about as often as wrong ones right.
    """
    if not lacks_signal(run):
        return None
    return stop(
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
    if critique is None or progress.failed_evidence(current) or critique.blocking or unchecked(run, current):
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
    return stop(
        "pass",
        " and ".join(by),
        {"checks_passed": checks, **score_numbers(current), "open_issues": len(critique.issues)},
    )


def unverified(run: Run, current: Round) -> Decision | None:
    """Nothing failed and nothing blocks, but something that the task names was not checked, nobody looked at all, or
    a revision would have nothing to send.

    What nobody checked is not right, and no revision can mend a check that does not run: a person must decide.
    """
    critique = current.critique
    if critique is None or progress.failed_evidence(current) or critique.blocking:
        return None
    names = unchecked(run, current)
    if names:
        return stop("unverified", f"not checked: {', '.join(names)}", {"not_checked": len(names)})
    asked = critique.validity != "not_asked"
    looked = asked or any(e.status == "passed" and e.rank != "model" for e in current.evidence or ())
    if not looked and not run.policy.is_off and unaffordable(current) is None:
        return stop("unverified", "no check and no critic looked at this draft", {})
    if critique.validity == "ok" and not critique.issues:
        return stop(
            "unverified", "nothing is left to send to a revision, and the draft did not pass", score_numbers(current)
        )
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
    return stop("invalid_critique", message, {"repairs": critique.repairs})


def repeated_failure(run: Run, current: Round) -> Decision | None:
    """The same failure in `repeat_limit` rounds running without a gain.

    The model does not know how to mend it, and a further try tells it nothing new. It comes before `stalled` because it
    says more: another model, tool or person is due, not more patience.
    """
    limit = run.policy.rules.repeat_limit
    count = progress.repetitions(run.rounds, run.policy.rules)
    if count < limit:
        return None
    return stop(
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
        **score_numbers(current),
    }
    if before is not None:
        numbers |= {"best_draft": before.index, "best_blocking": len(progress.blocking_keys(before))}
        numbers |= {"best_score": before.critique.score if before.critique else None}
    return stop("stalled", f"no progress in {count} round{'s' * (count != 1)} running", numbers)


def unaffordable_critique(run: Run, current: Round) -> Decision | None:
    """The policy calls for a critic whose call can't be afforded: never a pass, never a revision nobody can judge."""
    short = unaffordable(current)
    return None if short is None else over_budget(short)


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
"""In the order of 4.1: the first that answers has the last word."""


def unaffordable(current: Round) -> Shortage | None:
    """Why the critic can't be asked; that a further candidate was too dear is no such reason."""
    short = current.shortage
    return None if short is None or short.step == "candidate" else short


def repeats_draft(run: Run, draft: Draft) -> int | None:
    """The index of the latest draft of an earlier round that equals this one in all but line ends and blank space."""
    for earlier in reversed(run.rounds[:-1]):
        if earlier.draft.comparable == draft.comparable:
            return earlier.index
    return None


def unchecked(run: Run, current: Round) -> list[str]:
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
    """How many checks passed, a model's opinion being none; gates are counted only where there are no other checks."""
    evidence = [e for e in current.evidence or () if e.rank != "model"]
    return sum(e.status == "passed" for e in [e for e in evidence if not e.gate] or evidence)


def has_signal(run: Run) -> bool:
    """Whether anything outside the model's taste can judge a draft: a check, a requirement, or the user's rubric."""
    critic = run.prompts.get("critic")
    return bool(run.task.checks or run.task.requirements or (critic and critic.rubric))


def lacks_signal(run: Run) -> bool:
    """Whether nothing can judge a draft although the policy demands it: no call more than the first draft is due."""
    return run.policy.rules.signal == "required" and not has_signal(run)


def has_critic(run: Run) -> bool:
    """Whether the policy calls for a critic in this run."""
    return run.policy.rules.critic != "never" and not lacks_signal(run)


def over_budget(short: Shortage) -> Decision:
    """The stop of a step that can't be afforded."""
    return stop("budget", short.message, {"needed": short.needed, "left": short.left}, short.dimension)


def score_numbers(current: Round) -> dict[str, float | int | str | None]:
    """The round's score and its kind for a decision's numbers; nothing where it is unknown."""
    if current.critique is None or current.critique.score is None:
        return {}
    return {"score": current.critique.score, "score_kind": current.critique.score_kind}


def stop(reason: str, message: str, numbers: Numbers, dimension: str | None = None) -> Decision:
    """A stop, in words and with the numbers that caused it; `dimension` is the budget's."""
    return Decision(action="stop", reason=reason, message=message, numbers=dict(numbers), budget_dimension=dimension)
