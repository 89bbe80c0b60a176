"""Explains each step of a run before its result is shown. It never waits for input."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

from reflect_lab.core.critique import Critique
from reflect_lab.core.events import CriticAnswered, Decided, DraftWritten, Event, EvidenceGathered
from reflect_lab.core.evidence import Evidence
from reflect_lab.core.observer import Observer
from reflect_lab.core.run import Decision, Draft, Run
from reflect_lab.core.steps import AskCritic, Decide, GatherEvidence, Step, WriteDraft
from reflect_lab.documents.visible import visible_line


class Explainer(Observer):
    """Prints what a step is for, then what came of it."""

    def around_step(self, run: Run, step: Step) -> AbstractContextManager[object]:
        print(f"\n{explain(step)}", flush=True)  # noqa: T201
        return nullcontext()

    def on_event(self, run: Run, event: Event) -> None:
        print(f"  → {result(run, event)}", flush=True)  # noqa: T201


def explain(step: Step) -> str:
    """What a step is for."""
    match step:
        case WriteDraft(index=0):
            return "Draft 0. The generator sees the task, its requirements and facts, and writes a first answer."
        case WriteDraft(index=index, issues=issues):
            return (
                f"Draft {index}. The generator sees the task, its last draft and {_count(len(issues), 'issue')}, the "
                "most important first. It sees no earlier drafts: the prompt does not grow with the rounds."
            )
        case GatherEvidence():
            return (
                "Evidence. Checks outside the model look at the draft. What they report can't be talked away: a failed "
                "check becomes a blocking issue of its own."
            )
        case AskCritic(repair=0):
            return (
                "Critique. The critic lists problems, each with a quote. Code looks the quote up in the task, the "
                "facts and the evidence: an issue without a ground is discarded, and the record says why."
            )
        case AskCritic():
            return "Repair. The critic's answer could not be read; it is asked once more, and told what was wrong."
        case Decide():
            return "Decision. Ordinary code decides, by rules in a fixed order: stop, or revise."
        case _:
            return "The run is over."


def result(run: Run, event: Event) -> str:
    """What came of a step, in one line."""
    current = run.round
    match event:
        case DraftWritten() if current is not None:
            return _draft(current.draft)
        case EvidenceGathered(evidence=evidence):
            return _evidence(evidence)
        case CriticAnswered() if current is not None and current.critique is not None:
            return _critique(current.critique)
        case Decided(decision=decision):
            return _decision(decision)
        case _:
            return visible_line(run.outcome.message if run.outcome else type(event).__name__)


def _draft(draft: Draft) -> str:
    lines = draft.text.count("\n") + 1
    return f"draft {draft.index}: {_count(lines, 'line')}, taken from the reply by the rule {draft.extraction!r}"


def _evidence(evidence: tuple[Evidence, ...]) -> str:
    if not evidence:
        return "no check looked at this draft"
    others = [f"{e.source} {e.status.replace('_', ' ')}" for e in evidence if e.status != "passed"]
    counted = [_passed(kind, name) for kind, name in ((_gates(evidence), "gate"), (_checks(evidence), "check")) if kind]
    return visible_line("; ".join([" and ".join(counted), *others]))


def _gates(evidence: tuple[Evidence, ...]) -> list[Evidence]:
    return [e for e in evidence if e.gate]


def _checks(evidence: tuple[Evidence, ...]) -> list[Evidence]:
    return [e for e in evidence if not e.gate]


def _passed(evidence: list[Evidence], name: str) -> str:
    passed = sum(e.status == "passed" for e in evidence)
    return f"{passed} of {_count(len(evidence), name)} passed"


def _critique(critique: Critique) -> str:
    if critique.validity != "ok":
        return visible_line(f"the critique is {critique.validity}: {critique.problem}")
    kept = sum(i.source == "critic" for i in critique.issues)
    score = "no score" if critique.score is None else f"score {critique.score:.2f}"
    return f"{_count(kept, 'issue')} kept, {len(critique.discarded)} discarded, {score}"


def _decision(decision: Decision) -> str:
    return visible_line(f"{decision.action}: {decision.reason} ({decision.message})", 300)


def _count(number: int, name: str) -> str:
    return f"{number} {name}{'' if number == 1 else 's'}"
