"""docs/checks.md says what the code does: every kind, its options, rank and gate; its examples are performed."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from reflect_lab.core.errors import WrongUse
from reflect_lab.core.task import CheckSpec, Requirement, Task
from reflect_lab.documents.task_cell import parse_cell
from reflect_lab.evidence.check import Options, Report, Surroundings
from reflect_lab.evidence.gather import Checks
from reflect_lab.evidence.kinds.custom import CustomCheck
from reflect_lab.evidence.kinds.rules import OPERATORS
from reflect_lab.evidence.look import look
from reflect_lab.evidence.named import GROUP, CheckRegistry
from reflect_lab.evidence.registry import BUILT_IN

PAGE = (Path(__file__).parents[2] / "docs" / "checks.md").read_text("utf-8")
ROWS = {
    cells[0].strip("`"): cells
    for line in PAGE.partition("## The kinds")[2].partition("### ")[0].splitlines()
    if line.startswith("| `")
    for cells in [[cell.strip() for cell in line.strip("|").split("|")]]
}
EXAMPLES = re.findall(r"^```yaml\n(checks:\n.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
CODE = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
TASK = Task(text="Write it.", requirements=(Requirement(id="R1", text="x"),))


def test_the_table_holds_every_kind() -> None:
    assert sorted(ROWS) == sorted(BUILT_IN)


@pytest.mark.parametrize("kind", sorted(BUILT_IN))
def test_the_options_of_a_kind_are_those_of_the_code(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    known: list[str] = []
    real = Options.__init__

    def noting(self: Options, spec: CheckSpec, options: Any) -> None:
        known.extend(options := tuple(options))
        real(self, spec, options)

    monkeypatch.setattr(Options, "__init__", noting)
    with pytest.raises(WrongUse, match="nonsense"):
        BUILT_IN[kind](CheckSpec(name=kind, kind=kind, options={"nonsense": 1}), Surroundings(task=TASK))
    assert re.findall(r"`([^`]+)`", ROWS[kind][2]) == known


@pytest.mark.parametrize("kind", sorted(BUILT_IN))
def test_gate_and_rank_are_those_of_the_code(kind: str) -> None:
    factory: Any = BUILT_IN[kind]
    assert (ROWS[kind][1] == "yes") == getattr(factory, "is_gate", False)
    assert ROWS[kind][3] == factory.rank


def test_every_kind_has_a_section_that_says_what_it_catches_and_misses() -> None:
    sections = PAGE.partition("## The kinds")[2].partition("## Your own")[0].split("### ")[1:]
    named = [name for section in sections for name in re.findall(r"`([^`]+)`", section.splitlines()[0])]
    assert sorted(named) == sorted(BUILT_IN)
    for section in sections:
        assert "- Catches: " in section and "- Misses: " in section, section.splitlines()[0]


@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_is_front_matter_that_makes_checks(example: str) -> None:
    from pydantic import BaseModel

    class Invoice(BaseModel):
        total: int

    task = parse_cell(f"---\n{example}---\nWrite it.\n- [ ] x\n").task
    resolved = CheckRegistry({"Invoice": Invoice}).resolve(task)
    Checks(resolved.task, kinds=resolved.kinds, named=resolved.named, objects=resolved.objects)
    assert yaml.safe_load(example)["checks"] and resolved.task.checks


def test_the_page_names_every_operator_and_the_entry_point_group() -> None:
    said = PAGE.partition("Operators: ")[2].partition(". ")[0]
    assert sorted(re.findall(r"`(\w+)`", said)) == sorted(OPERATORS)
    assert f'[project.entry-points."{GROUP}"]' in PAGE


def test_the_function_on_the_page_works() -> None:
    names: dict[str, Any] = {}
    exec(compile(CODE[0], "checks.md", "exec"), names)
    made = names["names_a_day"]
    assert isinstance(made, CustomCheck)
    assert look(made, "on Monday").status == "passed"
    assert look(made, "soon").summary == "failed\n- failed names_a_day: no day of the week is named"


def test_the_kind_on_the_page_works_as_the_plug_in_that_it_says_it_is() -> None:
    names: dict[str, Any] = {"__name__": "page"}
    exec(compile(CODE[1], "checks.md", "exec"), names)
    kinds, options = {"terms": names["TermsCheck"]}, {"terms": {"colour": "color"}}
    found = look("terms", "a colour", options, kinds=kinds)
    assert found.summary == "failed\n- failed colour: write color (quote colour)" and found.evidence.fix == "a color"
    assert look("terms", "a color", options, kinds=kinds).status == "passed"
    assert 'terms = "my_checks:TermsCheck"' in PAGE


def test_contributing_shows_a_check_of_twenty_lines_and_a_test_that_can_fail() -> None:
    contributing = (Path(__file__).parents[2] / "CONTRIBUTING.md").read_text("utf-8")
    section = contributing.partition("## A new check")[2].partition("\n## ")[0]
    kind, test = re.findall(r"^```python\n(.*?)^```", section, re.MULTILINE | re.DOTALL)
    assert len([line for line in kind.splitlines() if line.strip()]) <= 20
    names: dict[str, Any] = {"__name__": "page"}
    exec(compile(kind, "CONTRIBUTING.md", "exec"), names)
    exec(compile(test, "CONTRIBUTING.md", "exec"), names)
    names["test_a_long_line_fails_with_its_number"]()
    names["LineLengthCheck"].run = lambda self, draft: _passed()
    with pytest.raises(AssertionError):
        names["test_a_long_line_fails_with_its_number"]()


async def _passed() -> Report:
    return Report(status="passed")
