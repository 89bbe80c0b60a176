"""Write `tests/fixtures/runs/*.json`: runs for looking at and testing the view, built of the core's own dataclasses.

python tests/frontend/make_runs.py
"""

from __future__ import annotations

import difflib
import json
from dataclasses import replace
from pathlib import Path

from reflect_lab.core.critique import Critique, Discarded, Ground, Issue
from reflect_lab.core.evidence import Evidence, Finding, Location, Sandbox
from reflect_lab.core.policy import Policy
from reflect_lab.core.run import (
    Decision, Draft, Feedback, Hunk, LedgerRow, ModelUse, Notice, Outcome, PromptUse, Round, Run, RunError, Usage,
)  # fmt: skip
from reflect_lab.core.task import CheckSpec, Fact, Requirement, Task
from reflect_lab.documents.run_document import dump_run

FOLDER = Path(__file__).resolve().parent.parent / "fixtures" / "runs"

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


def hunks(old: str, new: str) -> tuple[Hunk, ...]:
    """Line hunks; where one line became one line, the changed words are marked."""
    before, after = old.split("\n"), new.split("\n")
    found = []
    for tag, a, b, c, d in difflib.SequenceMatcher(a=before, b=after, autojunk=False).get_opcodes():
        if tag == "equal":
            continue
        old_marks, new_marks = [], []
        for shift in range(min(b - a, d - c)):
            words = difflib.SequenceMatcher(a=before[a + shift], b=after[c + shift], autojunk=False)
            for word_tag, i, j, k, m in words.get_opcodes():
                if word_tag != "equal":
                    old_marks += [(a + shift, i, j)] if j > i else []
                    new_marks += [(c + shift, k, m)] if m > k else []
        found.append(
            Hunk(
                old_start=a,
                old_end=b,
                new_start=c,
                new_end=d,
                old_marks=tuple(old_marks),
                new_marks=tuple(new_marks),
            )
        )
    return tuple(found)


def quoted(kind: str, source: str, text: str, quote: str) -> Ground:
    start = text.index(quote)
    return Ground(kind=kind, source=source, start=start, end=start + len(quote))  # type: ignore[arg-type]


def calls(role: str, round_index: int, call: int, tokens: tuple[int | None, int | None], seconds: float) -> LedgerRow:
    return LedgerRow(
        role=role,  # type: ignore[arg-type]
        round=round_index,
        call=call,
        attempt=1,
        model="smollm2-135m" if role == "generator" else "critic-large",
        status="ok",
        input_tokens=tokens[0],
        output_tokens=tokens[1],
        seconds=seconds,
        finish_reason="stop",
        reserved_tokens=2900,
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
        draft=Draft(index=1, text=MEAN_1, mode="rewrite", parent=0, extraction="fence", diff=hunks(MEAN_0, MEAN_1)),
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
                diff=None if i == 0 else hunks(REPORTS[i - 1], REPORTS[i]),
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


def cancelled() -> Run:
    """Interrupted while the critic was asked: the round has no critique and no decision."""
    whole = accepted()
    first = replace(whole.rounds[0], critique=None, feedback=None, decision=None)
    return replace(
        whole,
        run_id="01K5CANCELLED000000000MEAN",
        rounds=(replace(first, usage=Usage(calls=2, input_tokens=None, output_tokens=None, seconds=31.2)),),
        outcome=Outcome(
            status="stopped",
            stop_reason="cancelled",
            draft_index=0,
            draft=MEAN_0,
            open_blocking=(),
            message="Interrupted by the user while the critic was asked; the best draft so far is draft 0.",
        ),
        usage=Usage(calls=2, input_tokens=None, output_tokens=None, seconds=31.2),
        ledger=(
            whole.ledger[0],
            replace(
                whole.ledger[1],
                status="cancelled",
                input_tokens=None,
                output_tokens=None,
                cost_uncertain=True,
                seconds=29.9,
                finish_reason=None,
            ),
        ),
    )


def failed() -> Run:
    """The provider refused the very first call: no draft, no round; the recording failed too."""
    whole = accepted()
    message = "The server at 127.0.0.1:8080 answered 401: the key was refused. Check OPENAI_API_KEY."
    return replace(
        whole,
        run_id="01K5ERROR0000000000000MEAN",
        rounds=(),
        outcome=Outcome(
            status="stopped",
            stop_reason="error",
            message=message,
            error=RunError(kind="provider_refused", message=message),
            recorded=False,
        ),
        usage=Usage(calls=1, input_tokens=0, output_tokens=0, seconds=0.21),
        ledger=(replace(whole.ledger[0], status="failed", error="401", input_tokens=0, output_tokens=0, seconds=0.21),),
        notices=(Notice(kind="unrecorded", message="traces/log is not writable: nothing of this run was recorded."),),
    )


PAYLOADS = (
    "<script>window.hit='script'</script>",
    "<img src=//attacker.invalid/a.png onerror=\"window.hit='img'\">",
    "<svg/onload=window.hit='svg'>",
    "<iframe srcdoc=\"<script>parent.hit='frame'</script>\"></iframe>",
    "[link](javascript:window.hit='link') ![i](http://attacker.invalid/md.png)",
    "<a href=\"data:text/html,x\" data-commandlinker-command=\"filebrowser:delete\">press</a>",
    "<form action=http://attacker.invalid/><input id=body name=cookie></form><base href=//attacker.invalid>",
    "<style>*{background:url(http://attacker.invalid/css)}</style><meta http-equiv=refresh content='0;url=//attacker.invalid'>",
    "<noscript><p title=\"</noscript><img src=x onerror=window.hit='m'>\"></textarea></xmp></title>",
    "</script><script>window.hit='close'</script> <!-- ]]> --> ```",
    "\x1b[31mred\x1b]8;;http://attacker.invalid\x07osc\x1b]52;c;aGk=\x07 bell\x07 nul\x00 del\x7f",
    "bidi \u202e}txet\u202c isolate\u2066x\u2069 zero\u200bwidth \ufeffbom soft\u00adhyphen \u061c",
    "$\\href{javascript:window.hit='tex'}{x}$ \\(\\unicode{x202e}\\) $$\\def\\a{\\a\\a}\\a$$",
    "astral \U0001f9ea\U0001f9ea and lone \ud83e end",
)  # fmt: skip


def hostile() -> Run:
    """Every text of the record tries to be more than text."""
    attack = "\n".join(PAYLOADS) + "\n"
    parent = "quiet line\nastral \U0001f9ea before\n" + attack
    revised = "quiet line\nastral \U0001f9ea after\n" + attack + PAYLOADS[1] + "\n"
    task = Task(
        text=attack,
        requirements=tuple(Requirement(id=f"R{i + 1}", text=text) for i, text in enumerate(PAYLOADS[:4])),
        facts=(Fact(index=0, text=PAYLOADS[4]),),
        checks=(CheckSpec(name=PAYLOADS[0], kind="text"),),
        name=PAYLOADS[1],
    )
    evidence = Evidence(
        source=PAYLOADS[0],
        kind="text",
        rank="deterministic",
        status="failed",
        text=attack,
        findings=(
            Finding(id=PAYLOADS[2], status="failed", message=attack, location=Location(kind=None, value=PAYLOADS[3])),
        ),
        sandbox=Sandbox(level=2, name=PAYLOADS[3], verdict_integrity="split"),
        provenance={PAYLOADS[0]: PAYLOADS[1]},
        seconds=0.5,
    )
    issue = Issue(
        key=PAYLOADS[0],
        id=PAYLOADS[1],
        severity="blocking",
        source=PAYLOADS[0],
        requirement="R1",
        location=Location(kind="quote", value=PAYLOADS[2]),
        evidence=attack,
        suggestion=attack,
        ground=Ground(kind="task", source="task", start=3, end=len(attack) - 40),
    )
    critique = Critique(
        validity="ok",
        score=0.1,
        score_kind="critic",
        issues=(issue,),
        discarded=(Discarded(id=PAYLOADS[1], severity="minor", reason=attack, evidence=attack, suggestion=attack),),
    )
    rounds = tuple(
        Round(
            index=i,
            draft=Draft(
                index=i,
                text=text,
                mode="first" if i == 0 else "rewrite",
                parent=None if i == 0 else 0,
                diff=None if i == 0 else hunks(parent, revised),
                raw=attack,
                reasoning=attack,
                refused=attack,
                ambiguous=attack,
            ),
            evidence=(evidence,),
            critique=critique,
            feedback=Feedback(mode="rewrite", sent=(PAYLOADS[1],), withheld=(PAYLOADS[0],)),
            decision=Decision(
                action="revise" if i == 0 else "stop",
                reason="repeated_failure",
                message=attack,
                numbers={PAYLOADS[0]: PAYLOADS[1], "rounds": 2},
            ),
            usage=Usage(calls=2, input_tokens=10, output_tokens=10, seconds=1.0, cost=0.0001, currency="USD"),
        )
        for i, text in enumerate((parent, revised))
    )
    return Run(
        run_id="01K5HOSTILE00000000000XSS",
        task=task,
        policy=Policy(),
        rounds=rounds,
        outcome=Outcome(
            status="escalated",
            stop_reason="repeated_failure",
            draft_index=1,
            draft=revised,
            open_blocking=(PAYLOADS[1],),
            message=attack,
            error=RunError(kind="internal", message=attack),
        ),
        usage=Usage(calls=4, input_tokens=20, output_tokens=20, seconds=2.0, cost=0.0002, currency="USD"),
        ledger=(replace(calls("generator", 0, 1, (10, 10), 1.0), error=attack, model=PAYLOADS[0], text=attack),),
        models={PAYLOADS[0]: ModelUse(requested=PAYLOADS[1], answered=PAYLOADS[2], endpoint=PAYLOADS[4])},
        notices=(Notice(kind=PAYLOADS[0], message=attack),),
        versions={PAYLOADS[0]: PAYLOADS[1]},
        tags={PAYLOADS[0]: PAYLOADS[1]},
        name=PAYLOADS[1],
    )


RUNS = {
    "accepted": accepted,
    "stalled": stalled,
    "cancelled": cancelled,
    "error": failed,
    "hostile": hostile,
}


def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, build in RUNS.items():
        text = json.dumps(dump_run(build()), indent=1, ensure_ascii=True)
        (FOLDER / f"{name}.json").write_text(text + "\n", encoding="ascii")


if __name__ == "__main__":
    main()
