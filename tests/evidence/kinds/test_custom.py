"""Checks that users write as functions: what they may answer, their deadline, their trust, their names."""

from __future__ import annotations

import asyncio
import itertools
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import numpy
import pytest

from reflect_lab.core.errors import WrongUse
from reflect_lab.core.evidence import Evidence, Finding, Location
from reflect_lab.core.task import CheckSpec, Requirement, Task
from reflect_lab.evidence.check import Report
from reflect_lab.evidence.gather import Checks
from reflect_lab.evidence.kinds.custom import CustomCheck, check
from reflect_lab.evidence.named import CheckRegistry
from tests.evidence.evidence_support import Remember, run_with

WAIT_S = 20.0
FINDING = Finding(id="day", status="failed", message="no day", location=Location(kind="line", value="1"))


async def evidence(custom: CustomCheck, draft: str = "x", **options: object) -> Evidence:
    task = Task(text="Write.", requirements=(Requirement(id="R1", text="be brief"),))
    registry = CheckRegistry()
    spec = CheckSpec(name=registry.register(custom), kind="custom", options=options)
    resolved = registry.resolve(Task(text=task.text, requirements=task.requirements, checks=(spec,)))
    (found,) = await Checks(resolved.task, kinds=resolved.kinds, named=resolved.named).gather(
        run_with(resolved.task, draft), Remember()
    )
    return found


def answering(answer: object) -> CustomCheck:
    @check
    def one(draft: str) -> object:
        """It is fine."""
        return answer

    return one


@pytest.mark.parametrize(("answer", "status", "messages"), [
    (True, "passed", []),
    (False, "failed", ["not the case: It is fine."]),
    ("", "passed", []),
    ("no day is named", "failed", ["no day is named"]),
    ([], "passed", []),
    (["one", "two"], "failed", ["one", "two"]),
    (FINDING, "failed", ["no day"]),
    ((FINDING,), "failed", ["no day"]),
    (Report(status="passed", text="well"), "passed", []),
    (Report(status="denied", text="not yours"), "denied", []),
    (Report(status="failed", findings=(FINDING,), fix="y"), "failed", ["no day"]),
    (numpy.bool_(True), "passed", []),
    (numpy.bool_(False), "failed", ["not the case: It is fine."]),
])  # fmt: skip
@pytest.mark.parametrize("is_async", [False, True])
async def test_what_a_function_may_answer(answer: object, status: str, messages: list[str], is_async: bool) -> None:
    custom = answering(answer)
    if is_async:

        @check
        async def custom(draft: str) -> object:
            """It is fine."""
            await asyncio.sleep(0)
            return answer

    found = await evidence(custom)
    assert (found.status, [f.message for f in found.findings]) == (status, messages)


@pytest.mark.parametrize("answer", [
    None, 3, 0, {"a": 1}, b"no", object, [FINDING, 3], Report(status="great"), Report(status="passed", findings=("x",)),  # type: ignore[arg-type]
])  # fmt: skip
async def test_an_answer_that_is_no_verdict_is_an_error_never_a_pass(answer: object) -> None:
    found = await evidence(answering(answer))
    assert (found.status, found.executions) == ("error", 2)
    assert "gave no verdict" in found.text


@pytest.mark.parametrize("fault", [
    ValueError("boom"), AssertionError(), SystemExit(0), KeyboardInterrupt(), asyncio.CancelledError(), StopIteration(),
])  # fmt: skip
@pytest.mark.parametrize("is_async", [False, True])
async def test_an_exception_is_an_error_and_never_ends_the_run(fault: BaseException, is_async: bool) -> None:
    @check
    def plain(draft: str) -> bool:
        raise fault

    @check
    async def coroutine(draft: str) -> bool:
        raise fault

    if is_async and isinstance(fault, StopIteration):
        return  # Python itself forbids it in a coroutine
    found = await evidence(coroutine if is_async else plain)
    assert found.status == "error" and type(fault).__name__ in found.text


async def test_the_evidence_says_that_a_trusted_function_of_this_process_said_it() -> None:
    found = await evidence(answering(["one"]))
    assert found.provenance["trust"].startswith("trusted: a function of this process")
    assert "answering.<locals>.one" in found.provenance["function"] and len(found.provenance["source_sha256"]) == 64
    assert "trusted" in found.text and found.rank == "deterministic" and found.is_authoritative
    own = await evidence(answering(Report(status="passed", provenance={"trust": "sandboxed", "tool": "mine"})))
    assert own.provenance["trust"].startswith("trusted") and own.provenance["tool"] == "mine"


async def test_a_rank_and_a_gate_and_requirements_are_those_of_the_decorator() -> None:
    @check(name="tone", gate=True, requirements=["R1"], rank="model")
    def judged(draft: str) -> str:
        return "too harsh"

    found = await evidence(judged)
    assert (found.source, found.gate, found.rank, found.requirements) == ("tone", True, "model", ("R1",))
    assert not found.is_authoritative and found.findings[0].requirement == "R1"


async def test_the_deadline_holds_for_a_coroutine_and_its_work_is_cancelled() -> None:
    ended = asyncio.Event()

    @check(timeout_s=0.05)
    async def hung(draft: str) -> bool:
        try:
            return await asyncio.Event().wait()
        finally:
            ended.set()

    found = await evidence(hung)
    assert found.status == "error" and "no answer within 0.05 s" in found.text and ended.is_set()


async def test_the_deadline_holds_for_a_plain_function_whose_thread_is_left_behind() -> None:
    let_go = threading.Event()

    @check(timeout_s=0.05)
    def hung(draft: str) -> bool:
        return let_go.wait(WAIT_S)

    started = time.monotonic()
    found = await evidence(hung)
    assert found.status == "error" and time.monotonic() - started < WAIT_S / 2
    threads = [t for t in threading.enumerate() if t.name == "reflect-lab-check"]
    assert threads and all(t.daemon for t in threads), "they keep no process alive"
    let_go.set()


async def test_a_coroutine_that_refuses_to_be_cancelled_holds_up_nobody() -> None:
    let_go = asyncio.Event()

    @check(timeout_s=0.05)
    async def stubborn(draft: str) -> bool:
        while not let_go.is_set():
            try:
                await let_go.wait()
            except asyncio.CancelledError:
                continue
        return True

    async with asyncio.timeout(WAIT_S):
        found = await evidence(stubborn)
    assert found.status == "error" and "no answer" in found.text
    let_go.set()


@pytest.mark.parametrize("is_async", [False, True])
async def test_a_run_that_is_cancelled_waits_for_no_function(is_async: bool) -> None:
    let_go, running = threading.Event(), threading.Event()

    @check
    def plain(draft: str) -> bool:
        running.set()
        return let_go.wait(WAIT_S)

    @check
    async def coroutine(draft: str) -> bool:
        running.set()
        return await asyncio.Event().wait()

    work = asyncio.ensure_future(evidence(coroutine if is_async else plain))
    await asyncio.to_thread(running.wait, WAIT_S)
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        async with asyncio.timeout(WAIT_S / 2):
            await work
    let_go.set()


async def test_the_loop_goes_on_while_a_plain_function_works() -> None:
    ticked = threading.Event()

    @check
    def waits_for_the_loop(draft: str) -> bool:
        return ticked.wait(WAIT_S)

    work = asyncio.ensure_future(evidence(waits_for_the_loop))
    await asyncio.sleep(0)
    asyncio.get_running_loop().call_later(0.01, ticked.set)
    assert (await work).status == "passed"


async def test_options_are_keyword_arguments_and_the_task_is_given_where_it_is_asked_for() -> None:
    seen: list[tuple[str, Task, int]] = []

    @check
    def long_enough(draft: str, task: Task, least: int = 3) -> bool:
        seen.append((draft, task, least))
        return len(draft) >= least

    assert (await evidence(long_enough, "ab")).status == "failed"
    assert (await evidence(long_enough, "ab", least=2)).status == "passed"
    assert [(draft, task.text, least) for draft, task, least in seen] == [("ab", "Write.", 3), ("ab", "Write.", 2)]
    with pytest.raises(WrongUse, match="unknown option 'lest'; did you mean 'least'"):
        await evidence(long_enough, "ab", lest=2)
    with pytest.raises(WrongUse, match="unknown option 'task'"):
        await evidence(long_enough, "ab", task="mine")


def test_a_decorated_function_can_be_called_as_before() -> None:
    @check
    def is_short(draft: str, most: int = 3) -> bool:
        return len(draft) <= most

    assert is_short("abc") and not is_short("abcd") and is_short("abcd", most=4)


@pytest.mark.parametrize(("decorate", "message"), [
    (lambda: check(name="two words"), "can't be the name of a check"),
    (lambda: check(name="text"), "text is a built-in kind"),
    (lambda: check(rank="human"), "rank 'human'"),
    (lambda: check(timeout_s=0), "timeout_s must be seconds"),
    (lambda: check(timeout_s=True), "timeout_s must be seconds"),
    (lambda: check(timeout_s=float("nan")), "timeout_s must be seconds"),
    (lambda: check(gate="no"), "@check mine: gate is True or False, not 'no'"),  # type: ignore[call-overload]
    (lambda: check(requirements=5), "@check mine: requirements are ids"),  # type: ignore[call-overload]
    (lambda: check(requirements=["R1", 5]), "@check mine: requirements are ids"),
    (lambda: check(rank=["model"]), r"rank \['model'\]"),  # type: ignore[call-overload]
    (lambda: check(name=5), "5 can't be the name"),  # type: ignore[call-overload]
    (lambda: lambda mine: check(5), "decorates a function, not 5"),
    (lambda: lambda mine: check()("x"), "decorates a function, not 'x'"),  # type: ignore[arg-type]
])  # fmt: skip
def test_what_the_decorator_can_not_use_is_wrong_use(decorate: Callable[[], Any], message: str) -> None:
    def mine(draft: str) -> bool:
        return True

    with pytest.raises(WrongUse, match=message):
        decorate()(mine)


def test_an_async_generator_is_wrong_use() -> None:
    with pytest.raises(WrongUse, match="@check each: it is an async generator; collect the findings in a list"):

        @check
        async def each(draft: str) -> AsyncIterator[str]:
            yield "one"


@pytest.mark.parametrize(("given", "said"), [
    ({"executions": -5}, "-5 as executions"), ({"fix": 5}, "5 as fix"), ({"rank": "human"}, "the rank 'human'"),
    ({"findings": None}, "None as findings"), ({"text": None}, "None as text"), ({"gate": "no"}, "'no' as gate"),
])  # fmt: skip
async def test_a_report_that_no_record_can_hold_is_an_error_that_says_why(given: dict[str, Any], said: str) -> None:
    found = await evidence(answering(Report(**{"status": "passed", **given})))
    assert found.status == "error" and found.text.startswith("the function one gave no verdict: it answered with")
    assert said in found.text and found.executions == 2 and found.fix is None


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


@pytest.mark.parametrize("is_async", [False, True])
async def test_an_exception_that_has_no_text_is_told_by_its_name(is_async: bool) -> None:
    @check
    def plain(draft: str) -> bool:
        raise Unspeakable

    @check
    async def coroutine(draft: str) -> bool:
        raise Unspeakable

    found = await evidence(coroutine if is_async else plain)
    assert found.status == "error" and "it raised Unspeakable, whose text can't be made (RuntimeError)" in found.text


class Waits:
    """An object that works when it is read, until it is let go."""

    def __init__(self) -> None:
        self.let_go, self.threads = threading.Event(), set[str]()

    def wait(self) -> str:
        self.threads.add(threading.current_thread().name)
        self.let_go.wait(WAIT_S)
        return "problem"

    def __iter__(self) -> Iterator[str]:
        yield self.wait()

    def __repr__(self) -> str:
        return self.wait()

    __str__ = __repr__


@pytest.mark.parametrize("how", ["generator", "text of an exception", "item", "awaited"])
async def test_the_deadline_holds_while_an_answer_is_read_and_the_loop_goes_on(how: str) -> None:
    slow, ticked = Waits(), asyncio.Event()

    @check(timeout_s=0.2)
    def plain(draft: str) -> object:
        if how == "text of an exception":
            raise ValueError(slow)
        return [slow] if how == "item" else (text for text in slow)

    @check(timeout_s=0.2)
    async def coroutine(draft: str) -> object:
        return slow

    asyncio.get_running_loop().call_later(0.05, ticked.set)
    started = time.monotonic()
    found = await evidence(coroutine if how == "awaited" else plain)
    assert found.status == "error" and "no answer within 0.2 s" in found.text
    assert time.monotonic() - started < WAIT_S / 2 and ticked.is_set()
    assert slow.threads == {"reflect-lab-check"}
    slow.let_go.set()


@pytest.mark.parametrize("fault", [SystemExit(3), KeyboardInterrupt(), ValueError("boom")])
async def test_a_generator_that_raises_ends_nothing_but_itself(fault: BaseException) -> None:
    @check
    def each(draft: str) -> Iterator[str]:
        yield "one"
        raise fault

    found = await evidence(each)
    assert found.status == "error" and f"it raised {type(fault).__name__}" in found.text


async def test_a_generator_without_end_is_read_as_far_as_it_tells_something() -> None:
    @check
    def problems(draft: str) -> Iterator[str]:
        return itertools.repeat("one")

    @check
    def passes(draft: str) -> Iterator[Finding]:
        return itertools.repeat(Finding(id="fine", status="passed", message="fine"))

    found = await evidence(problems)
    assert (found.status, len(found.findings)) == ("failed", 50)
    found = await evidence(passes)
    assert found.status == "error" and "over 1,000 findings" in found.text


async def test_a_function_that_takes_no_draft_is_wrong_use_before_it_runs() -> None:
    @check
    def nothing() -> bool:
        return True

    with pytest.raises(WrongUse, match="can't be called with a draft"):
        await evidence(nothing)


async def test_findings_are_capped_and_shown_safely() -> None:
    found = await evidence(answering(["\x1b[31mred\u202e\n" * 300] * 500))
    assert len(found.findings) == 50
    assert all(len(f.message) <= 400 and "\x1b" not in f.message and "\n" not in f.message for f in found.findings)


async def test_the_status_is_made_of_all_findings_and_those_that_fail_are_kept_first() -> None:
    """Fifty that pass before ten that fail are no pass."""
    many = [Finding(id=f"row:{n}", status="passed" if n < 50 else "failed", message=f"row {n}") for n in range(60)]
    found = await evidence(answering(many))
    assert (found.status, len(found.findings)) == ("failed", 50)
    assert [f.id for f in found.failed_findings] == [f"row:{n}" for n in range(50, 60)]
    reported = await evidence(answering(Report(status="failed", text="some rows", findings=tuple(many))))
    assert len(reported.findings) == 50 and len(reported.failed_findings) == 10
