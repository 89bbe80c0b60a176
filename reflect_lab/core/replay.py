"""Replay and fork: what the controller would have done under another policy, and a run that goes on from a round.

A replay folds the recorded drafts, evidence and replies through `next_step` and `decide` once more, at zero calls.
Nothing is guessed: where the other policy asks for something that was never recorded, or would have shown a role
something else than it saw, the replay ends and says so.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from reflect_lab.core.controller import next_step
from reflect_lab.core.errors import WrongUse
from reflect_lab.core.policy import Policy
from reflect_lab.core.record import NotInRecord, Record, reopened, unpaid
from reflect_lab.core.reducer import after
from reflect_lab.core.run import Run, Usage
from reflect_lab.core.steps import Stop


@dataclass(frozen=True, kw_only=True)
class Replay:
    """A run replayed under another policy. `run.outcome` is None where the record ends before the answer: `unknown`
    then says what is missing, else it is None."""

    run: Run
    unknown: str | None = None


def replay(run: Run, policy: Policy) -> Replay:
    """The decisions that another policy would have made on what a run recorded (under its own policy: the same ones).

    Prompt sizes are those that the run itself reckoned with. A draft counts as recorded only if it was written on the
    feedback, and by the view, that the other policy would have given.
    """
    record = Record(run, policy)
    state = record.beginning()
    while not isinstance(step := next_step(state), Stop):
        if record.broke_off_at(step):
            return Replay(run=record.broken_off(state))
        try:
            event = record.event(state, step)
        except NotInRecord as missing:
            return Replay(run=replace(state, notices=run.notices), unknown=str(missing))
        state = after(state, event)
    assert state.outcome is not None
    return Replay(run=record.finished(state))


def fork(run: Run, at: int, *, run_id: str, policy: Policy | None = None, recritique: bool = False) -> Run:
    """The beginning of a new run that continues another one from its round `at`, with what the caller changes in it
    (policy, models, prompts). Raises WrongUse where there is no such round.

    The rounds up to `at` are kept as the parent's, unpaid here, and judged anew under the policy; round `at` is open:
    with `recritique` a critic is asked about its draft, else its recorded critique counts and the decision is next.
    """
    if not 0 <= at < len(run.rounds):
        known = "it has no round yet" if not run.rounds else f"its rounds are 0..{len(run.rounds) - 1}"
        raise WrongUse(f"run {run.run_id} has no round {at} to fork from; {known}")
    kept = replace(run, policy=policy or run.policy)
    rounds = [unpaid(kept, r) for r in run.rounds[: at + 1]]
    last = reopened(kept, rounds[-1], recritique=recritique)
    return replace(
        kept,
        run_id=run_id,
        rounds=(*rounds[:-1], last),
        outcome=None,
        review=None,
        usage=Usage(),
        ledger=(),
        notices=(),
        carried=None,
        parent_run=run.run_id,
        forked_at=at if last.evidence is not None else at - 1,
    )
