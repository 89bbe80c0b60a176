"""A run of two rounds: a failing case is quoted, mended, and the run is accepted."""

from __future__ import annotations

from dataclasses import replace

from reflect_lab.core.critique import Critique, Discarded, Issue
from reflect_lab.core.drafts import diff
from reflect_lab.core.evidence import Evidence, Finding, Location, Sandbox
from reflect_lab.core.policy import Policy
from reflect_lab.core.run import (
    Decision,
    Draft,
    Feedback,
    ModelUse,
    Outcome,
    PromptUse,
    Round,
    Run,
    Usage,
)
from reflect_lab.core.task import CheckSpec, Requirement, Task
from tests.frontend.run_parts import calls, quoted

MEAN_TASK = Task(
    text="Write `mean(xs)`: the arithmetic mean of a list of numbers, as a float.",
    requirements=(
        Requirement(id="R1", text="the mean of [2, 4, 6] is 4.0"),
        Requirement(id="R2", text="the empty list gives 0.0, it does not raise"),
        Requirement(id="R3", text="the argument is not changed"),
    ),
    checks=(
        CheckSpec(name="python:1/syntax", kind="python_syntax", gate=True),
        CheckSpec(name="python:1", kind="python", requirements=("R1", "R2", "R3")),
    ),
    language="python",
    name="mean",
)
MEAN_0 = '''def mean(xs):
    """Return the arithmetic mean of xs."""
    total = 0
    count = 0
    for x in xs:
        total += x
        count += 1
    # every value counts the same
    return total / count


def median(xs):
    """Return the middle value of xs."""
    ordered = sorted(xs)
    middle = len(ordered) // 2
    if len(ordered) % 2:
        return ordered[middle]
    return (ordered[middle - 1] + ordered[middle]) / 2
'''
MEAN_1 = MEAN_0.replace(
    "    return total / count\n", "    if count == 0:\n        return 0.0\n    return float(total / count)\n"
)
SANDBOX = Sandbox(
    level=1,
    name="process limits (no isolation)",
    limits={"cpu_s": 5, "memory_mb": 512, "output_kb": 256},
    selftest="passed",
    verdict_integrity="in_process",
)
GATE = Evidence(
    source="python:1/syntax",
    kind="python_syntax",
    rank="deterministic",
    status="passed",
    gate=True,
    text="The draft parses.",
    seconds=0.004,
)


def accepted() -> Run:
    """Two rounds: a failing case is quoted, fixed, and the run is accepted."""
    report = (
        "3 of 4 cases passed.\ncase:3 failed: mean([]) == 0.0\n  raised ZeroDivisionError: division by zero (line 9)\n"
    )
    failing = Evidence(
        source="python:1",
        kind="python",
        rank="executed",
        status="failed",
        text=report,
        findings=(
            Finding(id="case:1", status="passed", message="mean([2, 4, 6]) == 4.0", requirement="R1"),
            Finding(id="case:2", status="passed", message="mean([5]) == 5.0", requirement="R1"),
            Finding(
                id="case:3",
                status="failed",
                message="mean([]) == 0.0: raised ZeroDivisionError: division by zero",
                requirement="R2",
                location=Location(kind="line", value="9"),
            ),
            Finding(id="case:4", status="passed", message="xs == [2, 4, 6] after the call", requirement="R3"),
        ),
        requirements=("R1", "R2", "R3"),
        sandbox=SANDBOX,
        provenance={"python": "3.11.7", "tests_sha256": "9f2c1b7d"},
        seconds=0.112,
    )
    passing = replace(
        failing,
        status="passed",
        text="4 of 4 cases passed.\n",
        findings=tuple(
            replace(f, status="passed", message=f.message.split(":")[0], location=None) for f in failing.findings
        ),
        seconds=0.098,
    )
    kept = (
        Issue(
            key="check:python:1/case:3",
            id="python:1/case:3",
            severity="blocking",
            source="python:1",
            requirement="R2",
            location=Location(kind="line", value="9"),
            evidence="mean([]) == 0.0\n  raised ZeroDivisionError: division by zero",
            suggestion="",
            ground=quoted("evidence", "evidence:python:1", report, "mean([]) == 0.0"),
        ),
        Issue(
            key="R2",
            id="empty-list",
            severity="blocking",
            source="critic",
            requirement="R2",
            location=Location(kind="quote", value="return total / count"),
            evidence="the empty list gives 0.0",
            suggestion="Return 0.0 before dividing when nothing was counted.",
            ground=quoted("requirement", "R2", MEAN_TASK.requirements[1].text, "the empty list gives 0.0"),
        ),
        Issue(
            key="task:as a float",
            id="float",
            severity="minor",
            source="critic",
            evidence="of a list of numbers, as a float",
            suggestion="Convert the result with float().",
            ground=quoted("task", "task", MEAN_TASK.text, "of a list of numbers, as a float"),
        ),
    )
    discarded = (
        Discarded(
            id="style",
            severity="major",
            reason="no ground: its quote stands in no source",
            evidence="PEP 20 says that flat is better than nested",
            suggestion="Use sum() and len().",
        ),
    )
    first = Round(
        index=0,
        draft=Draft(index=0, text=MEAN_0, extraction="fence", raw="Here it is:\n```python\n" + MEAN_0 + "```"),
        evidence=(GATE, failing),
        critique=Critique(
            validity="ok",
            score=0.4,
            score_kind="critic",
            issues=kept,
            discarded=discarded,
            requirements_checked=("R1", "R2", "R3"),
            protocol="schema",
        ),
        feedback=Feedback(mode="rewrite", sent=("python:1/case:3", "empty-list", "float")),
        decision=Decision(
            action="revise",
            reason="blocking",
            message="2 blocking issues are open and 1 revision can be paid for.",
            numbers={"blocking": 2, "failed_checks": 1, "score": 0.4},
        ),
        usage=Usage(calls=2, input_tokens=812, output_tokens=164, seconds=2.41),
    )
    second = Round(
        index=1,
        draft=Draft(index=1, text=MEAN_1, mode="rewrite", parent=0, extraction="fence", diff=diff(MEAN_0, MEAN_1)),
        evidence=(GATE, passing),
        critique=Critique(
            validity="ok", score=0.95, score_kind="critic", requirements_checked=("R1", "R2", "R3"), protocol="schema"
        ),
        decision=Decision(
            action="stop",
            reason="pass",
            message="All 2 checks passed and the critic kept no blocking issue.",
            numbers={"passed_checks": 2, "failed_checks": 0, "blocking": 0, "score": 0.95, "pass_score": 0.5},
        ),
        usage=Usage(calls=2, input_tokens=1020, output_tokens=158, seconds=2.05),
    )
    return Run(
        run_id="01K5ACCEPTED0000000000MEAN",
        task=MEAN_TASK,
        policy=Policy(),
        rounds=(first, second),
        outcome=Outcome(
            status="accepted",
            stop_reason="pass",
            draft_index=1,
            draft=MEAN_1,
            message="All 2 checks passed and the critic kept no blocking issue.",
        ),
        usage=Usage(calls=4, input_tokens=1832, output_tokens=322, seconds=4.46),
        ledger=(
            calls("generator", 0, 1, (402, 121), 1.3),
            calls("critic", 0, 2, (410, 43), 1.0),
            calls("generator", 1, 3, (560, 128), 1.2),
            calls("critic", 1, 4, (460, 30), 0.7),
        ),
        models={
            "generator": ModelUse(requested="smollm2-135m", answered="smollm2-135m", endpoint="local"),
            "critic": ModelUse(requested="critic-large", answered="critic-large-2", endpoint="http://127.0.0.1:8080"),
        },
        prompts={"critic": PromptUse(name="grounded", sha256="4be1" * 16)},
        versions={"reflect_lab": "0.1.0", "python": "3.11.7"},
        name="mean",
        started_at="2026-02-03T09:30:00Z",
    )
