"""A finished run read back as the events that made it, for a replay under another policy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import cast

from reflect_lab.core.assessment import assess
from reflect_lab.core.budget import output_room, run_usage, shortage
from reflect_lab.core.controller import decide, next_step
from reflect_lab.core.critique import CriticReply, Critique, Discarded, Issue, Protocol, RaisedIssue
from reflect_lab.core.events import CriticAnswered, DraftWritten, Event, EvidenceGathered, NotAfforded
from reflect_lab.core.policy import Policy, Section, Views
from reflect_lab.core.reducer import ended
from reflect_lab.core.run import Candidate, Estimate, LedgerRow, Role, Round, Run, Shortage, Usage
from reflect_lab.core.selection import candidates, next_candidate, unchecked_candidate
from reflect_lab.core.steps import AskCritic, Decide, GatherEvidence, Step, Stop, WriteDraft
from reflect_lab.core.stop_rules import has_critic, stop

BEFORE_ANY_DRAFT: frozenset[Section] = frozenset({"task", "requirements", "facts", "lessons"})
"""What a generator can be shown of before it has written anything."""


class NotInRecord(Exception):
    """What a record can't say, in one line."""


class Record:
    """What a run recorded, asked for step by step by a controller that obeys `policy`."""

    def __init__(self, run: Run, policy: Policy) -> None:
        self.run = run
        self.policy = policy
        self._limits_differ = policy.limits != run.policy.limits
        self._broke_off_at = _broke_off_at(run)

    def beginning(self) -> Run:
        """The run before its first step; a fork begins with its parent's rounds."""
        run = replace(self.run, policy=self.policy, rounds=(), outcome=None, review=None)
        carried = tuple(row for row in self.run.ledger if row.paid_by is not None)
        run = replace(run, ledger=carried, notices=())
        run = replace(run, usage=run_usage(run))
        at = self.run.forked_at
        if at is None:
            return run
        rounds = [unpaid(run, r) for r in self.run.rounds[: at + 1]]
        if rounds:
            rounds[-1] = reopened(run, rounds[-1], recritique=bool(self._rows("critic", at)))
        return replace(run, rounds=tuple(rounds))

    def broke_off_at(self, step: Step) -> bool:
        """Whether the recorded run ended within this very step: by a fault, an interrupt or the deadline."""
        return self._broke_off_at is not None and _place(step) == _place(self._broke_off_at)

    def broken_off(self, state: Run) -> Run:
        """The run ended as the record was."""
        outcome, last = self.run.outcome, self.run.rounds[-1].decision if self.run.rounds else None
        assert outcome is not None
        numbers = last.numbers if last is not None and last.reason == outcome.stop_reason else {}
        decision = stop(outcome.stop_reason, outcome.message, numbers, outcome.budget_dimension)
        state = replace(state, ledger=(*state.ledger, *self.run.ledger[len(state.ledger) :]))
        return self.finished(ended(state, decision, outcome.error))

    def finished(self, state: Run) -> Run:
        """An ended replay with what the record says beside its events."""
        assert state.outcome is not None
        is_recorded = self.run.outcome is None or self.run.outcome.recorded
        return replace(
            state,
            models=self.run.models,
            notices=self.run.notices,
            review=self.run.review if self.policy == self.run.policy else None,
            outcome=replace(state.outcome, recorded=is_recorded),
        )

    def event(self, state: Run, step: Step) -> Event:
        """How the step was answered. Raises NotInRecord."""
        match step:
            case WriteDraft():
                return self._draft(state, step)
            case GatherEvidence(index=index, candidate=number):
                evidence = self._candidate(index, number).evidence
                if evidence is None:
                    raise NotInRecord(f"no check was run on {_name(index, number)}")
                return EvidenceGathered(evidence=evidence, candidate=number, ledger=self._rows("evidence", index))
            case AskCritic():
                return self._critique(state, step)
            case Decide(index=index):
                sizes = self.run.rounds[index].quote
                return decide(state, None if sizes is None else lambda _: sizes)
            case Stop():
                raise AssertionError("a run that is over asks for nothing")

    def _draft(self, state: Run, step: WriteDraft) -> Event:
        short = self._shortage_of_candidate(step)
        if short is not None:
            return NotAfforded(shortage=short)
        candidate = self._candidate(step.index, step.candidate)
        name = _name(step.index, step.candidate)
        if _shown(self.policy.views, step.index) != _shown(self.run.policy.views, step.index):
            raise NotInRecord(f"{name} was written by another view of the run")
        if step.index:
            sent = self.run.rounds[step.index - 1].feedback
            if sent != step.feedback:
                raise NotInRecord(f"{name} was written on other feedback")
        if (step.fixed is not None) != (candidate.draft.mode == "fixed"):
            raise NotInRecord(f"{name} was {'not ' if step.fixed else ''}mended by a check")
        rows = self._rows_of_draft(step.index, step.candidate)
        if self._limits_differ and (step.candidate or not step.index):
            short = shortage(state, "candidate" if step.candidate else "draft", Estimate(generator=_prompt(rows)))
            if short is not None:
                return NotAfforded(shortage=short)
        self._check_room(state, rows, Estimate(generator=_prompt(rows)), name)
        return DraftWritten(draft=candidate.draft, ledger=rows)

    def _shortage_of_candidate(self, step: WriteDraft) -> Shortage | None:
        """Why a further candidate was not written, where the record says so. A round keeps the shortage of its critique
        where there was one too; that one follows when the critic is asked."""
        if not step.candidate or self._limits_differ or step.index >= len(self.run.rounds):
            return None
        recorded = self.run.rounds[step.index]
        is_written = step.candidate <= len(recorded.others)
        return None if is_written or not recorded.shortage else replace(recorded.shortage, step="candidate")

    def _critique(self, state: Run, step: AskCritic) -> Event:
        recorded, name = self.run.rounds[step.index], f"draft {step.index}"
        critique, rules = recorded.critique, self.policy.rules
        same_judge = rules.critique == self.run.policy.rules.critique
        if recorded.draft.candidate != state.rounds[-1].draft.candidate:
            raise NotInRecord(f"another candidate of round {step.index} was shown to the critic")
        if not same_judge or self.policy.views.critic != self.run.policy.views.critic:
            raise NotInRecord(f"the critic saw {name} by another view, or answered in another form")
        if critique is None or critique.validity == "not_asked" or critique.repairs < step.repair:
            if recorded.shortage is not None and not self._limits_differ:
                return NotAfforded(shortage=recorded.shortage)
            raise NotInRecord(f"no critic was asked about {name}" + (" once more" if step.repair else ""))
        if critique.repairs and not step.repair and rules != self.run.policy.rules:
            raise NotInRecord(f"only the repaired critique of {name} is in the record")
        calls = self._calls("critic", step.index)
        is_repaired_later = critique.repairs > 0 and not step.repair
        rows = sum(calls[:1] if is_repaired_later else calls[step.repair :], ())
        if self._limits_differ:
            sizes = Estimate(critic=_prompt(rows))
            short = shortage(state, "repair" if step.repair else "critique", sizes)
            if short is not None:
                return NotAfforded(shortage=short)
            self._check_room(state, rows, sizes, f"the critique of {name}")
        if is_repaired_later:
            # Whatever it was, it left no requirement unchecked, or no repair would have been requested.
            covered = tuple(r.id for r in state.task.requirements)
            first = CriticReply(validity="invalid", problem="repaired", requirements_checked=covered)
            return CriticAnswered(reply=first, ledger=rows)
        return CriticAnswered(reply=raised(critique), ledger=rows)

    def _candidate(self, index: int, number: int) -> Candidate:
        written = candidates(self.run.rounds[index]) if index < len(self.run.rounds) else ()
        found = next((c for c in written if c.draft.candidate == number), None)
        if found is None:
            raise NotInRecord(f"{_name(index, number)} was never written")
        return found

    def _check_room(self, state: Run, rows: Sequence[LedgerRow], sizes: Estimate, name: str) -> None:
        """A longer reply than the other budget leaves room for would have been cut; where, nobody knows."""
        room = output_room(state, sizes) if self._limits_differ else None
        if room is not None and any((row.output_tokens or 0) > room for row in rows):
            raise NotInRecord(f"{name} is longer than this budget leaves room for")

    def _rows(self, role: Role, index: int) -> tuple[LedgerRow, ...]:
        return tuple(row for row in self.run.ledger if row.paid_by is None and (row.role, row.round) == (role, index))

    def _calls(self, role: Role, index: int) -> list[tuple[LedgerRow, ...]]:
        """The attempts of a role in a round, call by call."""
        rows = self._rows(role, index)
        return [tuple(r for r in rows if r.call == call) for call in dict.fromkeys(row.call for row in rows)]

    def _rows_of_draft(self, index: int, number: int) -> tuple[LedgerRow, ...]:
        """The attempts that wrote one candidate: a call each; what is left over (a patch asked for again) belongs to
        the last one."""
        calls = self._calls("generator", index)
        is_last = number == len(self.run.rounds[index].others)
        return sum(calls[number:] if is_last else calls[number : number + 1], ())


def unpaid(run: Run, round_: Round) -> Round:
    """A round as its parent's: what it took stands there, what was said of it is judged under the run's policy. Where
    that calls for no critic, the checks alone count, as in a run under it."""
    critique = round_.critique
    if critique is not None:
        was_asked = critique.validity != "not_asked" and has_critic(run)
        reply = raised(critique) if was_asked else None
        critique = assess(run.task, run.policy, round_.draft, round_.evidence or (), reply, critique.repairs)
    return replace(round_, critique=critique, usage=Usage())


def reopened(run: Run, round_: Round, *, recritique: bool) -> Round:
    """A round before it was decided; with `recritique`, before a critic was asked about its draft."""
    open_ = replace(round_, decision=None, feedback=None, shortage=None, quote=None)
    if not recritique or open_.critique is None:
        return open_
    return replace(open_, critique=assess(run.task, run.policy, open_.draft, open_.evidence or (), None))


def raised(critique: Critique) -> CriticReply:
    """A critic's reply as the record has it: every issue that it raised, kept or discarded, and its own score."""
    said: list[Issue | Discarded] = [i for i in critique.issues if i.source == "critic"]
    is_read = critique.validity in ("ok", "contradictory")
    return CriticReply(
        validity="ok" if is_read else critique.validity,
        issues=tuple(
            RaisedIssue(
                id=i.id,
                severity=i.severity,
                evidence=i.evidence,
                suggestion=i.suggestion,
                location=i.location.value if i.location else None,
                requirement=i.requirement,
            )
            for i in [*said, *critique.discarded]
        ),
        score=critique.critic_score,
        requirements_checked=critique.requirements_checked,
        problem=None if is_read else critique.problem,
        text=critique.text or "",
        protocol=cast(Protocol, critique.protocol or "json"),
    )


def _broke_off_at(run: Run) -> Step | None:
    """The step within which a run ended, where that was no decision of the controller's."""
    if run.outcome is None or run.outcome.stop_reason not in ("error", "cancelled", "budget"):
        return None
    rounds = run.rounds
    if rounds and rounds[-1].decision is not None and rounds[-1].decision.action == "stop":
        rounds = (*rounds[:-1], replace(rounds[-1], decision=None))
    step = next_step(_before_the_choice(replace(run, outcome=None, rounds=rounds)))
    return None if isinstance(step, Decide) and run.outcome.stop_reason == "budget" else step


def _before_the_choice(run: Run) -> Run:
    """A run that broke off before all candidates of its round were there, without the choice among those that were."""
    if not run.rounds or not run.rounds[-1].others:
        return run
    first, *others = candidates(run.rounds[-1])
    round_ = replace(run.rounds[-1], draft=first.draft, evidence=first.evidence, others=tuple(others), critique=None)
    open_ = replace(run, rounds=(*run.rounds[:-1], round_))
    return run if next_candidate(open_) is None and unchecked_candidate(open_) is None else open_


def _place(step: Step) -> tuple[object, ...]:
    """Which step of a run it is, whatever was sent along."""
    if isinstance(step, Stop):
        return (Stop,)
    return (type(step), step.index, getattr(step, "candidate", 0), getattr(step, "repair", 0))


def _shown(views: Views, index: int) -> tuple[object, ...]:
    """What of a view matters for a draft."""
    if index:
        return (views.generator, views.draft_role)
    return tuple(section for section in views.generator if section in BEFORE_ANY_DRAFT)


def _prompt(rows: Sequence[LedgerRow]) -> int:
    """The prompt's size as the server counted it; what is not known is not counted."""
    return next((row.input_tokens for row in rows if row.input_tokens is not None), 0)


def _name(index: int, candidate: int) -> str:
    return f"candidate {candidate} of draft {index}" if candidate else f"draft {index}"
