"""Checks that overlap in a real run: their spans nest right, and the run's deadline waits for none of them."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan

from reflect_lab.core.evidence import Rank
from reflect_lab.core.policy import Limits, Policy, Rules
from reflect_lab.core.run import Draft, Run
from reflect_lab.core.task import CheckSpec, Task
from reflect_lab.evidence.check import Check, Report
from reflect_lab.evidence.gather import Checks
from reflect_lab.loop import run_loop
from reflect_lab.tracing import attributes as names
from tests.store.driver import empty_run, roles
from tests.tracing.test_spans import Played, Traced

WAIT_S = 20.0


class Meeting:
    """A check that waits for the others, then says below which span it works."""

    rank: Rank = "deterministic"

    def __init__(self, meet: asyncio.Barrier, status: str) -> None:
        self.meet, self.status = meet, status

    async def run(self, draft: Draft) -> Report:
        async with self.meet:
            span = trace.get_current_span()
            assert isinstance(span, ReadableSpan)
            return Report(status=self.status, text=span.name)  # type: ignore[arg-type]


class Hung:
    rank: Rank = "deterministic"

    async def run(self, draft: Draft) -> Report:
        await asyncio.Event().wait()
        return Report(status="passed")


async def performed(checks: dict[str, Check], limits: Limits = Limits()) -> tuple[Run, Played]:
    specs = tuple(CheckSpec(name=name, kind=name) for name in checks)
    task = Task(text="Describe the sea.", checks=specs)
    policy = Policy(limits=replace(limits, revisions=0), rules=Rules(critic="never"))
    gathering = Checks(task, kinds={name: lambda s, _: checks[s.name] for name in checks}, concurrency=len(checks))
    made = Traced()
    run = replace(empty_run(policy=policy), task=task)
    played = replace(roles(["a sea"], []), evidence=gathering)
    async with asyncio.timeout(WAIT_S):
        ended = await run_loop(run, played, [made.observer])
    return ended, made.played(ended)


async def test_each_check_works_below_its_own_span_and_its_span_says_what_it_found() -> None:
    meet = asyncio.Barrier(3)
    checks: dict[str, Check] = {n: Meeting(meet, s) for n, s in zip("abc", ("passed", "failed", "denied"), strict=True)}
    run, played = await performed(checks)
    (gathered,) = played.named("reflect.evidence")
    assert [e.text for r in run.rounds for e in r.evidence or ()] == [f"execute_tool {name}" for name in "abc"]
    for name, status in zip("abc", ("passed", "failed", "denied"), strict=True):
        span = played.one(f"execute_tool {name}")
        assert span.parent and span.parent.span_id == gathered.context.span_id
        assert span.attributes and span.attributes[names.CHECK_STATUS] == status
    first_end = min(played.one(f"execute_tool {name}").end_time or 0 for name in "abc")
    assert all((played.one(f"execute_tool {name}").start_time or 0) < first_end for name in "abc"), "they overlap"


async def test_the_deadline_ends_a_run_whose_checks_hang() -> None:
    run, played = await performed({"a": Hung(), "b": Hung()}, Limits(elapsed_s=0.2))
    assert run.outcome and (run.outcome.stop_reason, run.outcome.budget_dimension) == ("budget", "elapsed_s")
    assert run.outcome.draft == "a sea" and run.rounds[0].evidence is None
    assert {span.name for span in played.spans} >= {"execute_tool a", "execute_tool b"}, "their spans have ended"
