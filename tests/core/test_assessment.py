"""What stands against a draft: issues of checks and of the critic, and the score."""

from __future__ import annotations

from dataclasses import replace

import pytest

from reflect_lab.core.assessment import assess, share_of_checks
from reflect_lab.core.critique import CriticReply, Critique, RaisedIssue
from reflect_lab.core.evidence import Evidence
from reflect_lab.core.policy import Policy
from reflect_lab.core.run import Draft
from reflect_lab.core.task import CheckSpec, Fact, Task
from tests.core.simulate import CHECKED_TASK, issue, reply, report

GATE = report(source="syntax", gate=True)
TASK = replace(CHECKED_TASK, checks=(CheckSpec(name="syntax", kind="k", gate=True), *CHECKED_TASK.checks), sha256="")


def assessed(said: CriticReply | None, *evidence: Evidence, task: Task = TASK, draft: str = "a draft") -> Critique:
    return assess(task, Policy(), Draft(index=0, text=draft), evidence, said)


@pytest.mark.parametrize(
    ("evidence", "share"),
    [
        ((GATE, report()), 1.0),
        ((GATE, report("a")), 0.0),
        ((report("colon", source="syntax", gate=True), report()), 0.0),
        ((GATE, report(status="not_run")), None),
        ((GATE, report(status="error")), None),
        ((), None),
    ],
)
def test_the_share_of_checks_is_over_those_that_are_no_gates(evidence: tuple[Evidence, ...], share: float) -> None:
    assert share_of_checks(TASK, evidence) == share


def test_gates_alone_are_the_share_where_there_is_nothing_else() -> None:
    gates = replace(TASK, checks=TASK.checks[:1], sha256="")
    assert share_of_checks(gates, (GATE,)) == 1.0 and share_of_checks(replace(TASK, checks=()), (GATE,)) is None


@pytest.mark.parametrize(("status", "rank", "keys"), [
    ("failed", "deterministic", ["check:tests/a"]), ("failed", "model", []), ("passed", "executed", []),
])  # fmt: skip
def test_failed_authoritative_evidence_blocks(status: str, rank: str, keys: list[str]) -> None:
    piece = replace(report("a"), status=status, rank=rank)  # type: ignore[arg-type]
    found = assessed(reply(score=1.0), GATE, piece)
    assert [i.key for i in found.blocking] == keys


def test_a_failed_check_that_names_no_finding_blocks_as_a_whole() -> None:
    assert [i.key for i in assessed(None, report(status="failed")).blocking] == ["check:tests"]


def test_issues_with_one_id_are_merged_with_the_highest_severity_and_the_first_text() -> None:
    said = reply(issue("R1", "minor", "a", "first"), issue("R2", "blocking", "a", "second"), score=0.4)
    found = assessed(said)
    assert [(i.id, i.severity, i.evidence, i.key) for i in found.issues] == [("a", "blocking", "first", "R1")]
    assert [d.reason for d in found.discarded] == ["duplicate: an earlier issue has the same id"]


@pytest.mark.parametrize("name", ["tests", "tests/a", "syntax"])
def test_a_critic_s_issue_never_takes_the_id_of_a_check(name: str) -> None:
    assert [i.id for i in assessed(reply(issue("R1", name=name))).issues] == [f"critic:{name}"]
    assert [i.id for i in assessed(reply(issue("R1", name="testsuite"))).issues] == ["testsuite"]


def test_a_low_score_is_contradictory_only_where_nothing_stands_against_the_draft() -> None:
    low = reply(score=0.1)
    alone, beside = assessed(low, GATE, report()), assessed(low, GATE, report("a"))
    assert (alone.validity, alone.score, alone.score_kind) == ("contradictory", 1.0, "checks")
    assert (beside.validity, beside.score, beside.score_kind) == ("ok", 0.1, "critic")


def test_an_issue_without_a_ground_is_discarded() -> None:
    found = assessed(reply(issue("R9", name="x", evidence="it feels weak"), score=0.9))
    assert found.issues == () and [d.id for d in found.discarded] == ["x"]


def test_the_longest_quote_is_the_ground_and_a_requirement_s_quote_has_its_key() -> None:
    task = Task(text="say where it is kept", facts=(Fact(index=0, text="it is kept in the blue box"),))
    quoting = RaisedIssue(id="a", severity="minor", evidence="where it is kept in the blue box")
    (found,) = assessed(CriticReply(validity="ok", issues=(quoting,)), task=task).issues
    assert found.ground and found.ground.source == "fact:0"
    task = Task(text="it is kept in the blue box", facts=(Fact(index=0, text="say where it is kept"),))
    (found,) = assessed(CriticReply(validity="ok", issues=(quoting,)), task=task).issues
    assert found.ground and found.ground.source == "task"
    named = RaisedIssue(id="a", severity="minor", evidence="it never warns that long books are slow")
    (found,) = assessed(CriticReply(validity="ok", issues=(named,))).issues
    assert (found.key, found.requirement) == ("R3", "R3")


def test_a_value_that_a_fact_holds_is_not_absent() -> None:
    task = Task(text="Write.", facts=(Fact(index=0, text="Number KET-7731."),))
    pointing = [RaisedIssue(id=v, severity="minor", evidence=f"{v} is made up") for v in ("KET-7731", "INV-55821")]
    said = CriticReply(validity="ok", issues=tuple(pointing))
    found = assessed(said, task=task, draft="It is KET-7731, then INV-55821.")
    assert [i.id for i in found.issues] == ["INV-55821"] and [d.id for d in found.discarded] == ["KET-7731"]
