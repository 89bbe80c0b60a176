"""Checks run beside each other: overlap, order, slots, second tries, deadlines, spans."""

from __future__ import annotations

import asyncio
import contextvars
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from reflect_lab.core.budget import checking_seconds, run_usage, tool_calls
from reflect_lab.core.evidence import Evidence, Rank, active_seconds, sound
from reflect_lab.core.policy import Limits, Policy
from reflect_lab.core.run import Draft, Run
from reflect_lab.core.task import CheckSpec
from reflect_lab.evidence import turns
from reflect_lab.evidence.check import Check, Report
from reflect_lab.evidence.gather import Checks
from reflect_lab.evidence.sandbox import cage
from reflect_lab.evidence.sandbox.levels import PROCESS
from reflect_lab.evidence.sandbox.limits import Limits as CageLimits
from tests.evidence.evidence_support import Remember, is_alive, run_with, task, wait_for

WAIT_S = 20.0
PASSED, ERROR = Report(status="passed"), Report(status="error", text="no luck")


class Acting:
    """A check that does what a coroutine function of the test does."""

    rank: Rank = "deterministic"

    def __init__(self, act: object) -> None:
        self.act = act

    async def run(self, draft: Draft) -> Report:
        return await self.act(draft)  # type: ignore[no-any-return, operator]


def made(
    checks: dict[str, Check], *, gates: tuple[str, ...] = (), concurrency: int | None = None
) -> tuple[Checks, Run]:
    specs = [CheckSpec(name=name, kind=name, gate=name in gates) for name in checks]
    kinds = {name: lambda spec, surroundings: checks[spec.name] for name in checks}
    a_task = task(*specs)
    return Checks(a_task, kinds=kinds, concurrency=concurrency), run_with(a_task, "x")


def with_tool_calls(run: Run, limit: int | None) -> Run:
    return replace(run, policy=Policy(limits=Limits(tool_calls=limit)))


PROGRAM = """
import json, os, socket, sys
job = json.loads(sys.stdin.buffer.read())
with socket.create_connection(("127.0.0.1", job["port"])) as peer:
    peer.sendall(b"here\\n")
    peer.recv(1)
line = {"nonce": job["nonce"], "done": True}
os.write(int(sys.argv[1]), json.dumps(line).encode() + b"\\n")
"""


class Barrier:
    """A server at which real processes wait until `size` of them are there."""

    def __init__(self, size: int) -> None:
        self.size, self.waiting, self.most = size, 0, 0
        self.writers: list[asyncio.StreamWriter] = []

    async def arrive(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readline()
        self.waiting += 1
        self.most = max(self.most, self.waiting)
        self.writers.append(writer)
        if self.waiting == self.size:
            for one in self.writers:
                one.close()


async def test_real_processes_of_different_checks_are_there_at_the_same_time(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    barrier = Barrier(3)
    server = await asyncio.start_server(barrier.arrive, "127.0.0.1", 0)
    job = {"port": server.sockets[0].getsockname()[1]}

    async def act(draft: Draft) -> Report:
        # At level 1: the barrier is a socket.
        done = await cage.run(program, job, CageLimits(wall_s=WAIT_S), PROCESS)
        return Report(status="passed" if done.answers else "failed", text=done.output)

    checks, run = made({name: Acting(act) for name in "abc"}, concurrency=3)
    evidence = await checks.gather(run, Remember())
    server.close()
    assert [(e.source, e.status) for e in evidence] == [("a", "passed"), ("b", "passed"), ("c", "passed")]
    assert barrier.most == 3


async def test_the_evidence_keeps_the_order_of_the_task_whoever_ends_first() -> None:
    gone = {name: asyncio.Event() for name in "abc"}

    def act(name: str, after: str | None) -> Acting:
        async def acting(draft: Draft) -> Report:
            if after:
                await gone[after].wait()
            gone[name].set()
            return Report(status="passed", text=name)

        return Acting(acting)

    hooks = Remember()
    checks, run = made({"a": act("a", "b"), "b": act("b", "c"), "c": act("c", None)}, concurrency=3)
    evidence = await checks.gather(run, hooks)
    assert [e.source for e in evidence] == ["a", "b", "c"]
    assert [said for said in hooks.told if said.endswith("passed")] == ["c passed", "b passed", "a passed"]


async def test_no_more_run_at_once_than_there_are_slots_and_those_that_wait_take_no_time() -> None:
    here = most = 0

    async def act(draft: Draft) -> Report:
        nonlocal here, most
        here, most = here + 1, max(most, here + 1)
        for _ in range(5):
            await asyncio.sleep(0)
        here -= 1
        return PASSED

    checks, run = made({name: Acting(act) for name in "abcdef"}, concurrency=2)
    evidence = await checks.gather(run, Remember())
    assert most == 2
    begun = [e.began for e in evidence]
    assert begun == sorted(begun) and all(e.began is not None and e.began >= 0 for e in evidence)


def test_there_are_at_least_two_slots(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns.os, "sched_getaffinity", lambda pid: {0}, raising=False)
    assert turns.default_concurrency() == 2
    monkeypatch.setattr(turns.os, "sched_getaffinity", lambda pid: set(range(8)), raising=False)
    assert turns.default_concurrency() == 8


async def test_every_gate_is_over_before_another_check_begins() -> None:
    order: list[str] = []

    def act(name: str) -> Acting:
        async def acting(draft: Draft) -> Report:
            order.append(f"{name} begins")
            await asyncio.sleep(0)
            order.append(f"{name} ends")
            return PASSED

        return Acting(acting)

    checks, run = made({name: act(name) for name in "abcd"}, gates=("b", "d"), concurrency=4)
    evidence = await checks.gather(run, Remember())
    assert order.index("d ends") < order.index("a begins") and order.index("b ends") < order.index("a begins")
    assert [e.source for e in evidence] == ["a", "b", "c", "d"]


@pytest.mark.parametrize("limit", [3, 4, 5, 6, None])
async def test_second_tries_go_to_the_first_of_the_order_not_to_the_fastest(limit: int | None) -> None:
    after: dict[str, asyncio.Event] = {name: asyncio.Event() for name in "abc"}

    def act(name: str, waits_for: str | None) -> Acting:
        async def acting(draft: Draft) -> Report:
            if waits_for:
                await after[waits_for].wait()
            after[name].set()
            return ERROR

        return Acting(acting)

    checks, run = made({"a": act("a", "b"), "b": act("b", "c"), "c": act("c", None)}, concurrency=3)
    run = with_tool_calls(run, limit)
    async with asyncio.timeout(WAIT_S):
        evidence = await checks.gather(run, Remember())
    expected = {3: [1, 1, 1], 4: [2, 1, 1], 5: [2, 2, 1], 6: [2, 2, 2], None: [2, 2, 2]}[limit]
    assert [e.executions for e in evidence] == expected
    assert tool_calls(replace(run, rounds=(replace(run.rounds[0], evidence=evidence),))) <= (limit or 6)


async def test_a_try_that_an_earlier_check_does_not_need_goes_to_a_later_one() -> None:
    reports = {"a": [PASSED], "b": [ERROR, PASSED], "c": [ERROR]}

    def act(name: str) -> Acting:
        async def acting(draft: Draft) -> Report:
            return reports[name].pop(0)

        return Acting(acting)

    checks, run = made({name: act(name) for name in "abc"}, concurrency=1)
    evidence = await checks.gather(with_tool_calls(run, 4), Remember())
    assert [(e.status, e.executions) for e in evidence] == [("passed", 1), ("passed", 2), ("error", 1)]


async def test_tries_that_the_gates_took_are_gone_for_the_others() -> None:
    async def act(draft: Draft) -> Report:
        return ERROR

    checks, run = made({"a": Acting(act), "gate": Acting(act)}, gates=("gate",))
    evidence = await checks.gather(with_tool_calls(run, 3), Remember())
    assert {e.source: e.executions for e in evidence} == {"a": 1, "gate": 2}


SLEEPER = "import os, sys, json\njob = json.loads(sys.stdin.read())\nopen(job['pid'], 'w').write(str(os.getpid()))\n"
SLEEPER += "import signal\nsignal.pause()\n"


async def test_a_deadline_ends_hung_processes_and_is_not_delayed_by_them(tmp_path: Path) -> None:
    program = tmp_path / "sleeper.py"
    program.write_text(SLEEPER)
    pids = [tmp_path / name for name in ("one", "two")]

    def act(pid: Path) -> Acting:
        async def acting(draft: Draft) -> Report:
            job = {"pid": str(pid)}  # at level 1: it tells its own id outside
            return Report(status="passed", text=str(await cage.run(program, job, CageLimits(wall_s=60), PROCESS)))

        return Acting(acting)

    checks, run = made({"a": act(pids[0]), "b": act(pids[1])}, concurrency=2)
    gathering = asyncio.ensure_future(checks.gather(run, Remember()))
    found = await asyncio.to_thread(wait_for, lambda: all(p.exists() and p.read_text() for p in pids), WAIT_S)
    assert found, "both are running"
    before = time.monotonic()
    gathering.cancel()
    with pytest.raises(asyncio.CancelledError):
        await gathering
    assert time.monotonic() - before < turns.LEAVE_S
    assert not any(is_alive(int(p.read_text())) for p in pids)


async def test_a_check_that_refuses_to_end_is_left_behind(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(turns, "LEAVE_S", 0.05)
    let_go = asyncio.Event()

    async def stubborn(draft: Draft) -> Report:
        while not let_go.is_set():
            try:
                await let_go.wait()
            except asyncio.CancelledError:
                continue
        return PASSED

    checks, run = made({"a": Acting(stubborn)})
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await checks.gather(run, Remember())
    assert "left behind" in caplog.text
    let_go.set()


async def test_a_check_whose_own_task_was_cancelled_is_an_error_not_an_interrupt() -> None:
    async def act(draft: Draft) -> Report:
        other = asyncio.ensure_future(asyncio.Event().wait())
        other.cancel()
        await other
        return PASSED

    checks, run = made({"a": Acting(act)})
    (evidence,) = await checks.gather(run, Remember())
    assert (evidence.status, evidence.executions) == ("error", 2) and "CancelledError" in evidence.text


async def test_a_fault_of_the_hooks_ends_all_checks_and_is_raised() -> None:
    ended: list[str] = []

    class Faulty(Remember):
        def evidence(self, evidence: Evidence) -> None:
            raise ValueError("broken")

    async def hung(draft: Draft) -> Report:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("hung")
        return PASSED

    async def quick(draft: Draft) -> Report:
        return PASSED

    checks, run = made({"a": Acting(hung), "b": Acting(quick)}, concurrency=2)
    with pytest.raises(ValueError, match="broken"):
        async with asyncio.timeout(WAIT_S):
            await checks.gather(run, Faulty())
    assert ended == ["hung"]


async def test_context_variables_nest_per_check_where_checks_overlap() -> None:
    current: contextvars.ContextVar[str] = contextvars.ContextVar("current", default="step")
    both = asyncio.Barrier(2)
    seen: list[tuple[str, str]] = []

    class Nesting(Remember):
        @contextmanager
        def check(self, spec: CheckSpec) -> Iterator[None]:
            token = current.set(f"{current.get()}/{spec.name}")
            try:
                yield
            finally:
                current.reset(token)

        def evidence(self, evidence: Evidence) -> None:
            seen.append((evidence.source, current.get()))

    async def act(draft: Draft) -> Report:
        async with both:
            return PASSED

    checks, run = made({"a": Acting(act), "b": Acting(act)}, concurrency=2)
    async with asyncio.timeout(WAIT_S):
        await checks.gather(run, Nesting())
    assert sorted(seen) == [("a", "step/a"), ("b", "step/b")]
    assert current.get() == "step"


def piece(began: float | None, seconds: float) -> Evidence:
    return Evidence(source="c", kind="c", rank="deterministic", status="passed", began=began, seconds=seconds)


@pytest.mark.parametrize(("pieces", "seconds"), [
    ([], 0.0),
    ([(None, 2.0), (None, 3.0)], 5.0),
    ([(0.0, 2.0), (0.0, 3.0)], 3.0),
    ([(0.0, 4.0), (1.0, 1.0), (5.0, 1.0)], 5.0),
    ([(5.0, 1.0), (0.0, 4.0), (3.0, 2.5)], 6.0),
    ([(0.0, 1.0), (None, 2.0)], 3.0),
])  # fmt: skip
def test_time_in_which_checks_overlap_counts_once(pieces: list[tuple[float | None, float]], seconds: float) -> None:
    evidence = tuple(piece(*one) for one in pieces)
    assert active_seconds(evidence) == pytest.approx(seconds)
    run = run_with(task(), "x")
    run = replace(run, rounds=(replace(run.rounds[0], evidence=evidence),) * 2)
    assert checking_seconds(run) == run_usage(run).seconds == pytest.approx(2 * seconds)


@pytest.mark.parametrize("began", [-1.0, float("inf"), float("nan")])
def test_a_beginning_that_is_no_time_is_refused(began: float) -> None:
    with pytest.raises(ValueError, match="says that it took"):
        sound([piece(began, 1.0)])


async def test_the_seconds_of_a_gathering_are_wall_time_not_the_sum() -> None:
    both = asyncio.Barrier(2)

    async def act(draft: Draft) -> Report:
        async with both:
            pass
        async with both:  # both have been at work since the first meeting
            return PASSED

    checks, run = made({"a": Acting(act), "b": Acting(act)}, concurrency=2)
    before = time.monotonic()
    async with asyncio.timeout(WAIT_S):
        evidence = await checks.gather(run, Remember())
    wall = time.monotonic() - before
    assert active_seconds(evidence) <= wall
    assert active_seconds(evidence) < sum(e.seconds for e in evidence)


if sys.platform != "linux":
    pytestmark = pytest.mark.skip(reason="looks at processes by /proc")
