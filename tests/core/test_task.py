"""A task can be reduced to some of its signals."""

from __future__ import annotations

import pytest

import reflect_lab as rl
from reflect_lab.core.errors import WrongUse
from reflect_lab.core.task import CheckSpec, Fact, Requirement, Task

TASK = Task(
    text="Write it.",
    requirements=(Requirement(id="R1", text="short"),),
    facts=(Fact(index=0, text="It cost 3."),),
    checks=(
        CheckSpec(name="tests/syntax", kind="python_syntax", gate=True),
        CheckSpec(name="tests", kind="python", requirements=("R1",)),
        CheckSpec(name="facts", kind="facts"),
    ),
    language="python",
)


def test_a_task_with_some_signals_alone_is_another_task() -> None:
    listed, compared, checked = (TASK.only(name) for name in ("requirements", "facts", "checks"))
    assert (listed.requirements, listed.facts, listed.checks) == (TASK.requirements, (), ())
    assert (compared.requirements, compared.facts, compared.checks) == ((), TASK.facts, TASK.checks[2:])
    assert [check.name for check in checked.checks] == ["tests/syntax", "tests"]
    assert len({task.sha256 for task in (TASK, listed, compared, checked, TASK.only())}) == 5
    assert all(task.text == TASK.text and task.language == "python" for task in (listed, compared, checked))


def test_a_check_no_longer_names_a_requirement_that_is_gone() -> None:
    assert [check.requirements for check in TASK.only("checks").checks] == [(), ()]
    assert TASK.only("requirements", "checks").checks[1].requirements == ("R1",)


def test_all_signals_are_the_whole_task() -> None:
    assert TASK.only("requirements", "facts", "checks") == TASK


def test_a_task_that_was_read_stays_one() -> None:
    assert isinstance(rl.Task.from_markdown("Write it.\n\n- [ ] short").only(), rl.Task)


def test_another_word_is_refused() -> None:
    with pytest.raises(WrongUse, match="no signal 'tests'; its signals are requirements, facts, checks"):
        TASK.only("tests")
