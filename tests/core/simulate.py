"""A loop without models: plays drafts, evidence and critic replies through the pure core."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from reflect_lab.core.budget import shortage
from reflect_lab.core.controller import decide, next_step
from reflect_lab.core.critique import CriticReply, RaisedIssue, Severity
from reflect_lab.core.events import CriticAnswered, DraftWritten, Event, EvidenceGathered, NotAfforded, StepFailed
from reflect_lab.core.evidence import Evidence, Finding, Status
from reflect_lab.core.policy import Limits, Policy, Rules
from reflect_lab.core.reducer import after
from reflect_lab.core.run import Draft, Estimate, LedgerRow, Role, Run, RunError
from reflect_lab.core.steps import AskCritic, GatherEvidence, Stop, WriteDraft
from reflect_lab.core.stop_rules import has_critic
from reflect_lab.core.task import CheckSpec, Requirement, Task

REQUIREMENTS = (
    Requirement(id="R1", text="names the menu where the button lives"),
    Requirement(id="R2", text="says which file formats are offered"),
    Requirement(id="R3", text="warns that long books export slowly"),
)
TASK = Task(text="Write a release note.", requirements=REQUIREMENTS)
CHECK = CheckSpec(name="tests", kind="custom")
CHECKED_TASK = Task(text="Write a release note.", requirements=REQUIREMENTS, checks=(CHECK,))


@dataclass(frozen=True)
class Turn:
    """What happens in one round: the draft, its evidence, the critic's replies; `others` are further candidates."""

    draft: str
    evidence: tuple[Evidence, ...] = ()
    replies: tuple[CriticReply, ...] = ()
    truncated: bool = False
    others: tuple[Turn, ...] = ()

    @property
    def candidates(self) -> tuple[Turn, ...]:
        return (self, *self.others)


def issue(requirement: str, severity: Severity = "blocking", name: str = "a", evidence: str = "") -> RaisedIssue:
    return RaisedIssue(id=name, severity=severity, requirement=requirement or None, evidence=evidence)


def reply(*issues: RaisedIssue, score: float | None = 0.9) -> CriticReply:
    return CriticReply(validity="ok", issues=issues, score=score)


def report(*failing: str, source: str = "tests", status: Status | None = None, gate: bool = False) -> Evidence:
    """A check's report in which the named findings fail."""
    findings = tuple(Finding(id=name, status="failed", message=f"{name} is wrong") for name in failing)
    return Evidence(
        source=source,
        kind="custom",
        rank="deterministic",
        status=status or ("failed" if failing else "passed"),
        gate=gate,
        text="\n".join(f.message for f in findings),
        findings=findings,
    )


def policy(**values: object) -> Policy:
    """A policy from limits and rules by name."""
    limits = {k: v for k, v in values.items() if k in Limits.__dataclass_fields__}
    rules = {k: v for k, v in values.items() if k in Rules.__dataclass_fields__}
    rest = {k: v for k, v in values.items() if k not in limits and k not in rules}
    return Policy(limits=Limits(**limits), rules=Rules(**rules), **rest)  # type: ignore[arg-type]


def play(turns: Sequence[Turn], task: Task = TASK, under: Policy | None = None) -> tuple[Run, list[Event]]:
    """The finished run and its events. A script that runs out ends the run with `script_ended`."""
    events: list[Event] = []
    run = go_on(Run(run_id="test", task=task, policy=under or Policy()), turns, events)
    return run, events


def go_on(run: Run, turns: Sequence[Turn], events: list[Event] | None = None) -> Run:
    """The run played to its end from where it is; its events are added to `events`."""
    left = [list(turn.replies)[_asked(run, index) :] for index, turn in enumerate(turns)]
    while not isinstance(step := next_step(run), Stop):
        event = _perform(run, step, turns, left)
        if events is not None:
            events.append(event)
        run = after(run, event)
    return run


def _asked(run: Run, index: int) -> int:
    """How many of a round's replies the run has used up."""
    critique = run.rounds[index].critique if index < len(run.rounds) else None
    return 0 if critique is None or critique.validity == "not_asked" else 1 + critique.repairs


def sizes(run: Run, step: WriteDraft) -> Estimate:
    """What a draft and, but for the very first one, the critique after it take: 10 tokens for each prompt."""
    is_first = step.index == step.candidate == 0
    return Estimate(
        generator=10 if step.fixed is None else None, critic=10 if has_critic(run) and not is_first else None
    )


def _perform(run: Run, step: object, turns: Sequence[Turn], left: list[list[CriticReply]]) -> Event:
    match step:
        case WriteDraft(index=index, fixed=str(text)):
            return DraftWritten(draft=Draft(index=index, text=text, mode="fixed", extraction="fix"))
        case WriteDraft(index=index, candidate=candidate):
            if candidate or index == 0:
                short = shortage(run, "candidate" if candidate else "draft", sizes(run, step))
                if short:
                    return NotAfforded(shortage=short)
            if index >= len(turns) or candidate >= len(turns[index].candidates):
                return StepFailed(error=RunError(kind="script_ended", message="no draft is left"))
            turn = turns[index].candidates[candidate]
            draft = Draft(index=index, text=turn.draft, truncated=turn.truncated, candidate=candidate)
            return DraftWritten(draft=draft, ledger=(row(run, "generator", index),))
        case GatherEvidence(index=index, candidate=candidate):
            if index >= len(turns):
                return StepFailed(error=RunError(kind="script_ended", message="no report is left"))
            return EvidenceGathered(evidence=turns[index].candidates[candidate].evidence, candidate=candidate)
        case AskCritic(index=index):
            short = shortage(run, "repair" if step.repair else "critique", Estimate(critic=10))
            if short:
                return NotAfforded(shortage=short)
            if index >= len(left) or not left[index]:
                return StepFailed(error=RunError(kind="script_ended", message="no reply is left"))
            return CriticAnswered(reply=left[index].pop(0), ledger=(row(run, "critic", index),))
        case _:
            return decide(run, lambda revision: sizes(run, revision))


def row(run: Run, role: Role, index: int, tokens: tuple[int | None, int | None] = (100, 50)) -> LedgerRow:
    return LedgerRow(
        role=role, round=index, call=run.usage.calls + 1, attempt=1, model="m", status="ok",
        input_tokens=tokens[0], output_tokens=tokens[1], reserved_tokens=500, seconds=0.5,
    )  # fmt: skip


def prefixes(run: Run, events: Sequence[Event]) -> Iterator[Run]:
    """The run after each prefix of its events."""
    state = Run(run_id=run.run_id, task=run.task, policy=run.policy)
    yield state
    for event in events:
        state = after(state, event)
        yield state
