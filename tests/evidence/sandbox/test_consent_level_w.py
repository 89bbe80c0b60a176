"""Where only process limits are there beside the interpreter: it judges what it can, the rest needs the user's word."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from reflect_lab.core.evidence import Evidence
from reflect_lab.evidence.sandbox import cage, selftest
from reflect_lab.evidence.sandbox.levels import PROCESS
from tests.evidence.evidence_support import evidence_of

WITH_A_LIBRARY = "import heapq\ndef f(): return 1"


@pytest.fixture(autouse=True)
def only_the_interpreter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selftest, "strongest", lambda: PROCESS)
    assert isinstance(selftest.interpreted(), selftest.SelfTest)


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


def asks(levels: list[object], answer: bool) -> Callable[[], Awaitable[bool]]:
    async def consent(check: str) -> bool:
        levels.append("asked")
        return answer

    return consent


async def live(draft: str, code: str = "assert f() == 1", **options: object) -> Evidence:
    return await evidence_of("python", {"code": code}, draft, code_is_trusted=False, **options)


async def test_a_pure_function_of_a_live_model_is_judged_without_a_question(started: list[object]) -> None:
    evidence = await live("def f(): return 1", consent=asks(started, False))
    assert (evidence.status, started) == ("passed", ["W"])
    assert evidence.sandbox is not None and evidence.sandbox.name.startswith("interpreter-only (monty ")
    assert (await live("def f(): return 2", consent=asks(started, True))).status == "failed"
    assert started == ["W", "W"]


async def test_what_the_interpreter_cannot_run_is_asked_about_and_then_runs_with_process_limits(
    started: list[object],
) -> None:
    evidence = await live(WITH_A_LIBRARY, consent=asks(started, True))
    assert (evidence.status, started) == ("passed", ["W", "asked", 1])
    assert evidence.sandbox is not None and evidence.sandbox.level == 1


@pytest.mark.parametrize("can_be_asked", [True, False])
async def test_without_his_word_it_does_not_run_and_both_reasons_are_told(
    started: list[object], can_be_asked: bool
) -> None:
    more = {"consent": asks(started, False)} if can_be_asked else {}
    evidence = await live(WITH_A_LIBRARY, **more)
    assert (evidence.status, 1 in started) == ("not_run", False)
    assert "No module named 'heapq'" in evidence.text and "--sandbox process" in evidence.text
    assert evidence.sandbox is not None and (evidence.sandbox.level, evidence.executions) == ("W", 1)


async def test_one_case_that_it_cannot_judge_is_the_reason() -> None:
    evidence = await live("def f(): return 'a'.translate({})", "assert f() == 'a'\nassert f() == 'b'")
    first = "level W can't judge it: assert f() == 'a': this interpreter runs a subset of Python: AttributeError"
    assert evidence.status == "not_run" and evidence.text.startswith(first) and "\n" not in evidence.text


async def test_asserts_that_cannot_be_split_are_asked_about_at_once(started: list[object]) -> None:
    evidence = await live("def f(): return 1\ndef g(): return 1", "assert f() == g()", consent=asks(started, True))
    assert (evidence.status, started) == ("passed", ["asked", 1])


async def test_the_users_own_code_runs_as_before(started: list[object]) -> None:
    evidence = await evidence_of("python", {"code": "assert f() == 1"}, "def f(): return 1", code_is_trusted=True)
    assert (evidence.status, started) == ("passed", [1])


async def test_the_interpreter_is_never_taken_where_the_machine_isolates(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    level = selftest.strongest()
    if not level.is_isolated:
        pytest.skip("this machine does not isolate")
    evidence = await live("def f(): return 1")
    assert evidence.sandbox is not None and evidence.sandbox.level == level.number
