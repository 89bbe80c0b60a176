"""Where nothing isolates, a live model's code runs only after the user's word, and once for each word."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from reflect_lab.core.evidence import Evidence, active_seconds
from reflect_lab.core.policy import Policy
from reflect_lab.core.run import Run
from reflect_lab.core.task import CheckSpec
from reflect_lab.evidence.gather import Checks
from reflect_lab.evidence.sandbox import cage
from reflect_lab.watch import CheckWatch, Watch
from tests.evidence.evidence_support import Remember, gather, run_with, task

SPEC = CheckSpec(name="p", kind="python", options={"code": "assert f() == 1"})

pytestmark = pytest.mark.usefixtures("no_isolation")


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """The levels of all cages that were started."""
    levels: list[object] = []
    run_blocking = cage.run_blocking

    def counted(*arguments: object, **named: object) -> object:
        caged = run_blocking(*arguments, **named)  # type: ignore[arg-type]
        levels.append(caged.level.number)
        return caged

    monkeypatch.setattr(cage, "run_blocking", counted)
    return levels


def leaves_a_trace(folder: Path) -> str:
    return f"open({str(folder / 'ran')!r}, 'a').write('x')\ndef f(): return 1\n"


def traces(folder: Path) -> int:
    file = folder / "ran"
    return len(file.read_text()) if file.exists() else 0


def answers(*words: bool) -> Callable[[str], object]:
    said = iter(words)

    async def consent(check: str) -> bool:
        return next(said)

    return consent


async def live(folder: Path, **options: object) -> Evidence:
    (evidence,) = await gather(task(SPEC), leaves_a_trace(folder), code_is_trusted=False, **options)
    return evidence


async def test_where_nobody_can_be_asked_nothing_is_started(tmp_path: Path, started: list[object]) -> None:
    evidence = await live(tmp_path)
    assert (evidence.status, evidence.executions, started, traces(tmp_path)) == ("not_run", 0, [], 0)
    assert "--sandbox process" in evidence.text and "doctor" in evidence.text
    assert evidence.sandbox is not None and evidence.sandbox.level == 0
    assert evidence.sandbox.name == "nothing ran"  # nobody said "off"


async def test_no_child_is_started_before_consent_and_exactly_one_after_it(
    tmp_path: Path, started: list[object]
) -> None:
    asked, answer = asyncio.Event(), asyncio.get_running_loop().create_future()

    async def consent(check: str) -> bool:
        assert check == "p"
        asked.set()
        return await answer  # type: ignore[no-any-return]

    hooks = Remember()
    checks = Checks(task(SPEC), consent=consent)
    gathering = asyncio.ensure_future(checks.gather(run_with(task(SPEC), leaves_a_trace(tmp_path)), hooks))
    await asyncio.wait_for(asked.wait(), 5)
    assert (started, traces(tmp_path), gathering.done()) == ([], 0, False)
    answer.set_result(True)
    (evidence,) = await gathering
    assert (evidence.status, started, traces(tmp_path)) == ("passed", [1], 1)
    assert evidence.sandbox is not None and evidence.sandbox.name == "process limits (no isolation)"
    assert hooks.told == ["begin p", "asks", "answered", "p passed", "end p"]


async def test_a_no_is_not_run_with_the_reason(tmp_path: Path, started: list[object]) -> None:
    evidence = await live(tmp_path, consent=answers(False))
    assert (evidence.status, started, traces(tmp_path)) == ("not_run", [], 0)


async def test_once_means_once(tmp_path: Path, started: list[object]) -> None:
    checks = Checks(task(SPEC), consent=answers(True, False))  # type: ignore[arg-type]
    run = run_with(task(SPEC), leaves_a_trace(tmp_path))
    first, second = [(await checks.gather(run, Remember()))[0].status for _ in range(2)]
    assert (first, second, started, traces(tmp_path)) == ("passed", "not_run", [1], 1)


@pytest.mark.parametrize("options", [{"sandbox": "process"}, {"code_is_trusted": True}])
async def test_nobody_is_asked_where_it_was_said_or_the_code_is_the_users_own(
    tmp_path: Path, started: list[object], options: dict[str, object]
) -> None:
    (evidence,) = await gather(task(SPEC), leaves_a_trace(tmp_path), **{"code_is_trusted": False, **options})
    assert (evidence.status, started) == ("passed", [1])


async def test_what_the_user_takes_to_answer_is_not_the_checks_time(tmp_path: Path) -> None:
    async def slow(check: str) -> bool:
        await asyncio.sleep(0.5)
        return False

    start = time.monotonic()
    evidence = await live(tmp_path, consent=slow)
    assert evidence.seconds <= time.monotonic() - start - 0.5


async def test_a_deadline_stands_still_while_a_person_is_asked() -> None:
    start = time.monotonic()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.2) as deadline:
            hooks = CheckWatch(Run(run_id="r", task=task(), policy=Policy()), Watch([]), deadline)
            with hooks.pausing():
                await asyncio.sleep(0.4)
            paused = time.monotonic() - start
            await asyncio.sleep(10)
    assert paused >= 0.4 and 0.5 < time.monotonic() - start < 5


async def test_checks_that_run_at_the_same_time_ask_one_after_the_other(tmp_path: Path, started: list[object]) -> None:
    open_questions, most, words = 0, 0, iter([True, False])

    async def consent(check: str) -> bool:
        nonlocal open_questions, most
        open_questions += 1
        most = max(most, open_questions)
        await asyncio.sleep(0.05)  # another question has its chance
        open_questions -= 1
        return next(words)

    both = task(SPEC, replace(SPEC, name="q"))
    hooks = Remember()
    checks = Checks(both, consent=consent, concurrency=2)
    first, second = await checks.gather(run_with(both, leaves_a_trace(tmp_path)), hooks)
    assert (most, started, traces(tmp_path)) == (1, [1], 1)
    assert {first.status, second.status} == {"passed", "not_run"}
    assert [t for t in hooks.told if t in ("asks", "answered")] == ["asks", "answered"] * 2


async def test_waiting_for_anothers_answer_is_not_a_checks_time_either(tmp_path: Path) -> None:
    async def slow(check: str) -> bool:
        await asyncio.sleep(0.4)
        return False

    both = task(SPEC, replace(SPEC, name="q"))
    start = time.monotonic()
    gathered = await Checks(both, consent=slow, concurrency=2).gather(run_with(both, "x = 1"), Remember())
    seconds = time.monotonic() - start
    assert all(evidence.seconds <= seconds - 0.4 for evidence in gathered) and active_seconds(gathered) <= seconds - 0.8


async def test_a_deadline_holds_again_after_two_checks_have_asked() -> None:
    both = task(SPEC, CheckSpec(name="q", kind="python", options={"code": "assert f() == 1"}))

    async def slow(check: str) -> bool:
        await asyncio.sleep(0.2)
        return True

    with pytest.raises(TimeoutError):
        async with asyncio.timeout(1.0) as deadline:
            hooks = CheckWatch(Run(run_id="r", task=both, policy=Policy()), Watch([]), deadline)
            hangs = run_with(both, "while True: pass")
            await Checks(both, consent=slow, concurrency=2).gather(hangs, hooks)
