"""Gathering: order, gates, retries, scripts, wrong use."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import pytest

from reflect_lab.core.budget import tool_calls
from reflect_lab.core.errors import ModelFailed, WrongUse
from reflect_lab.core.evidence import Finding, Location, Rank, Status
from reflect_lab.core.policy import Limits, Policy
from reflect_lab.core.run import Draft
from reflect_lab.core.task import CheckSpec
from reflect_lab.evidence.check import Report
from reflect_lab.evidence.gather import Checks
from reflect_lab.evidence.registry import BUILT_IN
from tests.evidence.evidence_support import Remember, evidence_of, gather, run_with, task

TEXT = CheckSpec(name="text", kind="text", options={"max_words": 50})
SYNTAX = CheckSpec(name="python:1/syntax", kind="python_syntax", gate=True)
PYTHON = CheckSpec(name="python:1", kind="python", options={"code": "assert f() == 1"})
FACTS = CheckSpec(name="facts", kind="facts")


@dataclass(frozen=True)
class Line:
    status: Status
    text: str = ""
    findings: tuple[Finding, ...] = ()
    gate: bool = False
    fix: str | None = None


class Script:
    """Lines by name, played in order; None when there is none (left)."""

    def __init__(self, **lines: list[Line]) -> None:
        self.lines = lines

    def __call__(self, name: str) -> Line | None:
        return self.lines[name].pop(0) if self.lines.get(name) else None


class Counting:
    """A check whose reports are given."""

    rank: Rank = "deterministic"

    def __init__(self, *reports: Report | BaseException) -> None:
        self.reports = list(reports)

    async def run(self, draft: Draft) -> Report:
        report = self.reports.pop(0)
        if isinstance(report, BaseException):
            raise report
        return report


async def gather_from(check: Counting) -> tuple[str, int, str]:
    spec = CheckSpec(name="c", kind="counting")
    (evidence,) = await gather(task(spec), "x", kinds={"counting": lambda spec, surroundings: check})
    return evidence.status, evidence.executions, evidence.text


async def test_gates_run_first_and_evidence_keeps_the_order_of_the_task() -> None:
    hooks = Remember()
    evidence = await gather(task(FACTS, SYNTAX, PYTHON, TEXT), "def f(): return 1", hooks)
    assert [e.source for e in evidence] == ["facts", "python:1/syntax", "python:1", "text"]
    assert [t for t in hooks.told if t.startswith("begin")] == [
        "begin python:1/syntax", "begin facts", "begin python:1", "begin text",
    ]  # fmt: skip
    assert hooks.told[:3] == ["begin python:1/syntax", "python:1/syntax passed", "end python:1/syntax"]


async def test_a_check_whose_own_gate_failed_is_not_run_but_others_are() -> None:
    evidence = await gather(task(SYNTAX, PYTHON, TEXT), "def f(:")
    assert [(e.source, e.status, e.executions) for e in evidence] == [
        ("python:1/syntax", "failed", 1), ("python:1", "not_run", 0), ("text", "passed", 1),
    ]  # fmt: skip
    assert "python:1/syntax failed" in evidence[1].text


@pytest.mark.parametrize(("draft", "words"), [
    (Draft(index=0, text="def f(): return", truncated=True), "cut off"),
    (Draft(index=0, text="  \n"), "empty"),
    (Draft(index=0, text="", refused="I can't do that"), "refused"),
])  # fmt: skip
async def test_a_draft_that_is_not_whole_fails_one_built_in_gate_and_nothing_runs(draft: Draft, words: str) -> None:
    hooks = Remember()
    (evidence,) = await gather(task(SYNTAX, PYTHON), draft, hooks)
    assert (evidence.source, evidence.kind, evidence.rank) == ("whole", "whole", "deterministic")
    assert (evidence.status, evidence.gate, evidence.executions) == ("failed", True, 0)
    assert words in evidence.text
    assert hooks.told == ["begin whole", "whole failed", "end whole"]


async def test_a_draft_that_is_not_whole_fails_although_the_task_has_no_check() -> None:
    (evidence,) = await gather(task(), "")
    assert evidence.source == "whole"
    assert await gather(task(), "something") == ()


async def test_competing_blocks_fail_the_gate_format_and_nothing_runs() -> None:
    draft = Draft(index=0, text="two blocks", ambiguous="2 python blocks")
    evidence = await gather(task(SYNTAX, PYTHON), draft)
    assert [(e.source, e.status, e.gate, e.executions) for e in evidence] == [
        ("format", "failed", True, 0), ("python:1/syntax", "not_run", True, 0), ("python:1", "not_run", False, 0),
    ]  # fmt: skip
    assert evidence[0].text == "2 python blocks"


async def test_an_error_is_tried_once_more() -> None:
    error, passed = Report(status="error", text="no luck"), Report(status="passed")
    assert await gather_from(Counting(error, passed)) == ("passed", 2, "")
    assert await gather_from(Counting(error, error)) == ("error", 2, "no luck")
    assert await gather_from(Counting(passed)) == ("passed", 1, "")


@pytest.mark.parametrize(("limit", "executions"), [(1, [1]), (2, [2]), (3, [2]), (None, [2])])
async def test_an_error_is_tried_again_only_where_a_tool_call_is_left(limit: int | None, executions: list[int]) -> None:
    error = Report(status="error")
    run = run_with(task(CheckSpec(name="c", kind="counting")), "x")
    run = replace(run, policy=Policy(limits=Limits(tool_calls=limit)))
    checks = Checks(run.task, kinds={"counting": lambda spec, surroundings: Counting(error, error)})
    evidence = await checks.gather(run, Remember())
    assert [e.executions for e in evidence] == executions
    assert tool_calls(replace(run, rounds=(replace(run.rounds[0], evidence=evidence),))) <= (limit or 9)


async def test_the_checks_that_follow_keep_their_tool_calls() -> None:
    first, second = CheckSpec(name="a", kind="counting"), CheckSpec(name="b", kind="counting")
    run = replace(run_with(task(first, second), "x"), policy=Policy(limits=Limits(tool_calls=3)))
    error = Report(status="error")
    checks = Checks(run.task, kinds={"counting": lambda spec, surroundings: Counting(error, error)})
    assert [e.executions for e in await checks.gather(run, Remember())] == [2, 1]


async def test_a_fault_of_a_check_is_an_error_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    status, executions, text = await gather_from(Counting(ValueError("boom"), ValueError("boom")))
    assert (status, executions, text) == ("error", 2, "the check c raised ValueError: boom")
    assert "boom" in caplog.text and len(caplog.records) == 1, "told once, though it was tried twice"


FAILED = Finding(id="a", status="failed", message="m")


@pytest.mark.parametrize(("answer", "text"), [
    (True, "the check c answered True, which is no Report"),
    (None, "the check c answered None, which is no Report"),
    (Report(status="fail"), "the check c answered with the status 'fail'; did you mean 'failed'?"),
    (Report(status=["passed"]), "the check c answered with the status ['passed']"),
    (Report(status="passed", rank="certain"), "the check c answered with the rank 'certain'"),
    (Report(status="passed", rank="human"), "the check c answered with the rank 'human'"),
    (Report(status="passed", text=3), "the check c answered with 3 as text"),
    (Report(status="passed", gate="no"), "the check c answered with 'no' as gate"),
    (Report(status="passed", executions=-1), "the check c answered with -1 as executions"),
    (Report(status="passed", executions=0.5), "the check c answered with 0.5 as executions"),
    (Report(status="failed", fix=b"x"), "the check c answered with b'x' as fix"),
    (Report(status="passed", sandbox=3), "the check c answered with 3 as sandbox"),
    (Report(status="passed", provenance={"a": 1}), "answered with a provenance that is no mapping of texts"),
    (Report(status="failed", findings="no"), "answered with 'no' as findings, which is no tuple"),
    (Report(status="failed", findings=("no",)), "the check c answered with a finding (1) that is 'no', no Finding"),
    (Report(status="failed", findings=(FAILED, replace(FAILED, status="denied"))), "(2) of the status 'denied'"),
    (Report(status="failed", findings=(replace(FAILED, message=None),)), "(1) whose id and message are not both texts"),
    (Report(status="failed", findings=(replace(FAILED, requirement=1),)), "(1) whose requirement is 1, no id"),
    (Report(status="failed", findings=(replace(FAILED, location="line 3"),)), "(1) whose location is 'line 3'"),
    (Report(status="failed", findings=(replace(FAILED, location=Location(kind="room")),)), "(1) whose location is "),
    (Report(status="failed", findings=(replace(FAILED, location=Location(kind="line", value=3)),)), "value 3, no"),
    (SystemExit(3), "the check c raised SystemExit: 3"),
])  # fmt: skip
async def test_an_answer_that_is_no_report_is_an_error_that_names_the_check(answer: Any, text: str) -> None:
    status, executions, said = await gather_from(Counting(answer, answer))
    assert (status, executions) == ("error", 2) and text in said


async def test_the_findings_of_a_report_may_be_a_list() -> None:
    assert (await gather_from(Counting(Report(status="failed", findings=[FAILED]))))[0] == "failed"  # type: ignore[arg-type]


@pytest.mark.parametrize("status", ["passed", "failed", "denied", "not_run"])
async def test_a_scripted_check_reports_what_its_line_says(status: Status) -> None:
    finding = Finding(id="quota", status="passed" if status == "passed" else "failed", message="too much")
    spec = CheckSpec(name="quota", kind="custom", requirements=("R1",))
    script = Script(quota=[Line(status, "memory request exceeds the quota", (finding,), True)])
    (evidence,) = await gather(task(spec), "x", scripted=script)
    assert (evidence.source, evidence.status, evidence.gate) == ("quota", status, True)
    assert (evidence.text, evidence.findings) == ("memory request exceeds the quota", (finding,))
    assert evidence.is_authoritative and evidence.requirements == ("R1",)
    assert evidence.executions == (0 if status == "not_run" else 1)


async def test_a_check_that_passes_beside_a_failed_finding_has_failed() -> None:
    finding = Finding(id="quota", status="failed", message="too much")
    script = Script(quota=[Line("passed", "all is well", (finding,))])
    (evidence,) = await gather(task(CheckSpec(name="quota", kind="custom")), "x", scripted=script)
    assert evidence.status == "failed"


async def test_each_execution_of_a_scripted_check_takes_the_next_line() -> None:
    spec = CheckSpec(name="sandbox", kind="scripted")
    script = Script(sandbox=[Line("error"), Line("passed"), Line("failed", "again")])
    checks_task = task(spec)
    (first,) = await gather(checks_task, "x", scripted=script)
    (second,) = await gather(checks_task, "x", scripted=script)
    assert (first.status, first.executions, second.status) == ("passed", 2, "failed")


async def test_a_script_whose_lines_ran_out_is_an_error() -> None:
    def ended(name: str) -> Line | None:
        raise ModelFailed("script_ended", "script.jsonl holds no further line")

    spec = CheckSpec(name="quota", kind="custom")
    for script in (Script(quota=[Line("error")]), Script(), ended):
        (evidence,) = await gather(task(spec), "x", scripted=script)
        assert evidence.status == "error" and "no further line" in evidence.text


async def test_a_scripted_name_replaces_the_real_check_and_others_stay_real() -> None:
    script = Script(text=[Line("failed", "scripted")])
    text, facts = await gather(task(TEXT, FACTS), "INV-55821", scripted=script)
    assert (text.status, text.text) == ("failed", "scripted")
    assert facts.status == "failed" and facts.findings[0].id == "INV-55821"


async def test_a_real_check_beside_a_script_keeps_its_own_rank() -> None:
    (evidence,) = await gather(task(PYTHON), "def f(): return 1", scripted=Script())
    assert (evidence.status, evidence.rank) == ("passed", "executed")


def test_an_unknown_kind_is_wrong_use_with_the_nearest_one() -> None:
    with pytest.raises(WrongUse, match="did you mean 'python'"):
        Checks(task(CheckSpec(name="a", kind="pythn")))


def test_a_name_that_nothing_performs_is_wrong_use_unless_it_is_scripted() -> None:
    spec = task(CheckSpec(name="texts", kind="custom"))
    with pytest.raises(WrongUse, match="no check named 'texts'; did you mean 'text'"):
        Checks(spec)
    with pytest.raises(WrongUse, match="no check named"):
        Checks(spec, scripted=Script(), scripted_names=("quota",))
    Checks(spec, scripted=Script(), scripted_names=("texts",))


def test_two_checks_of_one_name_are_wrong_use() -> None:
    with pytest.raises(WrongUse, match="two checks"):
        Checks(task(FACTS, FACTS))


@pytest.mark.parametrize("kind", sorted(BUILT_IN))
async def test_every_built_in_kind_refuses_an_option_that_it_does_not_have(kind: str) -> None:
    with pytest.raises(WrongUse, match="nonsense"):
        await evidence_of(kind, {"nonsense": 1}, "x")


@pytest.mark.parametrize("draft", ["", " \n\t", "\u200b\u2060\ufeff", "\x00\x1b"])
async def test_a_draft_in_which_nothing_can_be_seen_is_empty(draft: str) -> None:
    (evidence,) = await gather(task(TEXT), draft)
    assert (evidence.source, evidence.status, evidence.text) == ("whole", "failed", "the draft is empty")
