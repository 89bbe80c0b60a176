"""A run of prose that stops making progress."""

from __future__ import annotations

from reflect_lab.core.critique import Critique, Issue
from reflect_lab.core.drafts import diff
from reflect_lab.core.evidence import Evidence, Finding, Location, Sandbox
from reflect_lab.core.policy import Policy
from reflect_lab.core.run import Decision, Draft, Feedback, ModelUse, Notice, Outcome, Round, Run, Usage
from reflect_lab.core.task import CheckSpec, Fact, Requirement, Task
from tests.frontend.run_parts import calls, quoted

REPORT_TASK = Task(
    text="Summarise the outage for customers in at most 120 words. Name the cause and the next step.",
    requirements=(
        Requirement(id="R1", text="say that the outage lasted from 09:10 to 11:45 UTC"),
        Requirement(id="R2", text="name the cause in one sentence"),
        Requirement(id="R3", text="at most 120 words"),
    ),
    facts=(
        Fact(index=0, text="The outage began on 3 March at 09:10 UTC."),
        Fact(index=1, text="A certificate of the message broker had expired."),
        Fact(index=2, text="4,200 customers could not sign in until 11:45 UTC."),
    ),
    checks=(
        CheckSpec(name="facts", kind="facts"),
        CheckSpec(name="text:1", kind="text", requirements=("R3",)),
        CheckSpec(name="python:1", kind="python", requirements=("R2",)),
    ),
    name="outage note",
)
REPORTS = (
    "On 3 March our sign-in service was down for about two hours. A certificate of our message broker had run out, "
    "and 5,200 customers could not sign in.\n\nWe are sorry. We now watch the dates of all certificates.\n",
    "On 3 March our sign-in service was down from 09:10 UTC. A certificate of our message broker had run out, "
    "and 5,200 customers could not sign in.\n\nWe are sorry. From now on we watch the dates of all certificates.\n",
    "On 3 March our sign-in service was unavailable from 09:10 UTC. A certificate of the message broker had run out, "
    "and 5,200 customers were not able to sign in.\n\nWe are sorry. From now on we watch all certificates.\n",
)


def stalled() -> Run:
    """Three rounds of prose without progress; a check did not run; one key goes and comes back; usage is unknown."""
    facts_report = "1 value of the draft stands in no source:\n  5,200 (line 1)\n"
    facts_failed = Evidence(
        source="facts",
        kind="facts",
        rank="deterministic",
        status="failed",
        text=facts_report,
        findings=(
            Finding(
                id="5200",
                status="failed",
                message="5,200 stands in no source",
                location=Location(kind="line", value="1"),
            ),
        ),
        seconds=0.002,
    )
    text_passed = Evidence(
        source="text:1",
        kind="text",
        rank="deterministic",
        status="passed",
        text="46 words, at most 120.",
        seconds=0.001,
    )
    not_run = Evidence(
        source="python:1",
        kind="python",
        rank="executed",
        status="not_run",
        text="Code of a live model runs at sandbox level 1 only with --sandbox process.",
        sandbox=Sandbox(level=0, name="off"),
        executions=0,
    )
    number = Issue(
        key="check:facts/5200",
        id="facts/5200",
        severity="blocking",
        source="facts",
        location=Location(kind="line", value="1"),
        evidence="5,200 stands in no source",
        ground=quoted("evidence", "evidence:facts", facts_report, "5,200"),
    )
    end = Issue(
        key="R1",
        id="end-time",
        severity="blocking",
        source="critic",
        requirement="R1",
        evidence="from 09:10 to 11:45 UTC",
        suggestion="Say when it ended.",
        ground=quoted("requirement", "R1", REPORT_TASK.requirements[0].text, "from 09:10 to 11:45 UTC"),
    )
    customers = Issue(
        key="fact:2/1-4",
        id="customers",
        severity="major",
        source="critic",
        evidence="4,200 customers could not sign in",
        suggestion="Use the number of the source.",
        ground=quoted("fact", "fact:2", REPORT_TASK.facts[2].text, "4,200 customers could not sign in"),
    )
    per_round = ((number, end, customers), (number, customers), (number, end))
    scores = (0.3, 0.42, 0.41)
    rounds = tuple(
        Round(
            index=i,
            draft=Draft(
                index=i,
                text=REPORTS[i],
                mode="first" if i == 0 else "rewrite",
                parent=None if i == 0 else i - 1,
                diff=None if i == 0 else diff(REPORTS[i - 1], REPORTS[i]),
            ),
            evidence=(facts_failed, text_passed, not_run),
            critique=Critique(
                validity="ok",
                score=scores[i],
                score_kind="critic",
                issues=per_round[i],
                requirements_checked=("R1", "R3"),
            ),
            feedback=None if i == 2 else Feedback(mode="rewrite", sent=tuple(x.id for x in per_round[i])),
            decision=Decision(
                action="stop" if i == 2 else "revise",
                reason="stalled" if i == 2 else "blocking",
                message=(
                    "No progress in 1 round: score 0.41 against the best 0.42, no blocking issue less."
                    if i == 2
                    else f"{sum(x.severity == 'blocking' for x in per_round[i])} blocking issues are open."
                ),
                numbers={"rounds_without_progress": 1, "score": 0.41, "best_score": 0.42} if i == 2 else {},
            ),
            usage=Usage(calls=2, input_tokens=None if i == 1 else 640, output_tokens=210, seconds=1.9),
        )
        for i in range(3)
    )
    return Run(
        run_id="01K5STALLED00000000000NOTE",
        task=REPORT_TASK,
        policy=Policy(),
        rounds=rounds,
        outcome=Outcome(
            status="escalated",
            stop_reason="stalled",
            draft_index=1,
            draft=REPORTS[1],
            open_blocking=("facts/5200",),
            message="No progress in 1 round: score 0.41 against the best 0.42, no blocking issue less.",
        ),
        usage=Usage(calls=6, input_tokens=None, output_tokens=630, seconds=5.7),
        ledger=tuple(
            calls(("generator", "critic")[n % 2], n // 2, n + 1, (None if n == 3 else 320, 105), 0.95) for n in range(6)
        ),
        models={"generator": ModelUse(requested="writer-small"), "critic": ModelUse(requested="critic-large")},
        notices=(
            Notice(
                kind="prompt_cut",
                message="The server counted 320 prompt tokens where about 640 were sent: it may have cut the prompt.",
            ),
        ),
        name="outage note",
        started_at="2026-02-03T10:00:00Z",
    )
