"""A machine without isolation: a live model's code runs when the user has said so in the page, once for each word."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from reflect_lab.documents.bundle import MIME
from tests.browser.conftest import Lab
from tests.browser.page import LIVE_VIEW, LabPage, notebook
from tests.browser.test_looks import THEMES, TOO_WIDE, serious
from tests.openai_server import Reply

pytestmark = pytest.mark.browser

PROGRAM_OF_DRAFTS, PROGRAM_OF_GATES = "runner.py", "text_runner.py"
"""What runs a draft's code, and what the syntax gate has: it compiles the draft, executes nothing, and asks nobody."""

NO_ISOLATION = """%load_ext reflect_lab
from pathlib import Path
from reflect_lab.evidence.sandbox import cage, interpreter, selftest
from reflect_lab.evidence.sandbox.levels import PROCESS

selftest.strongest = lambda: PROCESS
selftest.interpreted = lambda: interpreter.MISSING
start = cage.run_blocking

def told(program, *others, **named):
    with Path("started.txt").open("a") as file:
        print(program.name, file=file)
    return start(program, *others, **named)

cage.run_blocking = told"""

CELL = """%%reflect --model test-model --name asked --max-revisions 1
---
policy:
  rules:
    critic: never
---
Write `double(x)` in Python.

```python check name=two
assert double(2) == 4
```"""
ANOTHER = "\n```python check name=three\nassert double(3) == 6\n```"


@dataclass(frozen=True)
class Witness:
    """What was really started, by the kernel's own word, and what really ran, by a trace that each draft leaves."""

    folder: Path

    def draft(self, result: str) -> Reply:
        trace = f"open({str(self.folder / 'ran.txt')!r}, 'a').write('x')"
        return Reply(f"```python\n{trace}\ndef double(x):\n    return {result}\n```")

    @property
    def drafts(self) -> tuple[int, int]:
        """How many processes for drafts were started, and how often a draft ran."""
        return self._read("started.txt").split().count(PROGRAM_OF_DRAFTS), len(self._read("ran.txt"))

    @property
    def others(self) -> set[str]:
        """The programs of the other processes that were started."""
        return set(self._read("started.txt").split()) - {PROGRAM_OF_DRAFTS}

    def _read(self, name: str) -> str:
        file = self.folder / name
        return file.read_text(encoding="utf-8") if file.exists() else ""


@pytest.fixture
def witness(lab: Lab) -> Iterator[Witness]:
    yield Witness(lab.files)
    for name in ("started.txt", "ran.txt"):
        (lab.files / name).unlink(missing_ok=True)
    lab.server.behaviours.clear()


def opened(open_page: Callable[..., LabPage], lab: Lab, *cells: str) -> LabPage:
    """A page whose kernel finds nothing but process limits, with the first cell run."""
    (lab.files / "consent.ipynb").write_text(json.dumps(notebook(NO_ISOLATION, *cells)))
    page = open_page(width=900, height=900).open("consent.ipynb")
    page.run_cell(0)
    page.wait_until_over(0)
    return page


def question(page: LabPage, *, rounds: int = 1) -> Any:
    """The question, once it is there in a run of so many drafts."""
    asked = page.page.locator(f"{LIVE_VIEW}:has([role=tab]:nth-child({rounds})) .rl-question")
    asked.get_by_role("button", name="Run this code once with process limits only", disabled=False).wait_for()
    return asked


def outcome(page: LabPage, cell: int) -> tuple[str, list[str]]:
    """How the run of a cell ended, and what became of its check `two` in each round."""
    (data,) = (o["data"][MIME] for o in page.save()["cells"][cell]["outputs"] if MIME in o.get("data", {}))
    found = [e["status"] for r in data["run"]["rounds"] for e in r["evidence"] or () if e["source"] == "two"]
    return data["run"]["outcome"]["stop_reason"], found


def test_no_process_that_runs_the_draft_starts_before_the_click_one_after_once_and_the_next_is_asked_for_anew(
    open_page: Callable[..., LabPage], lab: Lab, witness: Witness
) -> None:
    page = opened(open_page, lab, CELL)
    lab.server.add(witness.draft("x * 3"), witness.draft("x * 2"))
    page.run_cell(1)
    asked = question(page)
    assert "The check two would run code that a live model wrote" in asked.inner_text()
    for theme in THEMES:
        page.theme(theme)
        assert page.page.evaluate(TOO_WIDE) == []
        assert serious(page) == [], theme
    assert witness.drafts == (0, 0)
    assert witness.others == {PROGRAM_OF_GATES}

    asked.get_by_role("button", name="Run this code once").click()
    again = question(page, rounds=2)
    assert witness.drafts == (1, 1)

    again.get_by_role("button", name="Don’t run it").click()
    page.wait_until_over(1)
    assert witness.drafts == (1, 1)
    assert outcome(page, 1) == ("unverified", ["failed", "not_run"])
    view, evidence = page.view(1), page.view(1).locator(".rl-evidence")
    view.locator("[role=tab]").first.click()
    assert "process limits (no isolation)" in evidence.inner_text()
    view.locator("[role=tab]").last.click()
    assert "not run" in evidence.inner_text() and "--sandbox process" in evidence.inner_text()


def test_escape_is_a_no_and_each_check_has_its_own_question(
    open_page: Callable[..., LabPage], lab: Lab, witness: Witness
) -> None:
    page = opened(open_page, lab, CELL + ANOTHER)
    lab.server.add(witness.draft("x * 2"))
    page.run_cell(1)
    for _ in range(2):
        question(page).get_by_role("button", name="Run this code once").focus()
        page.page.keyboard.press("Escape")
        # The next question stands where this one did, and takes no key and no click at first.
        page.page.locator(f"{LIVE_VIEW} .rl-question button:enabled").first.wait_for(state="detached")
    page.wait_until_over(1)
    assert witness.drafts == (0, 0)
    assert outcome(page, 1) == ("unverified", ["not_run"])


def test_stop_and_an_interrupt_end_a_run_that_waits_for_an_answer(
    open_page: Callable[..., LabPage], lab: Lab, witness: Witness
) -> None:
    page = opened(open_page, lab, CELL, CELL, "print('next cell', 6 * 7)")
    lab.server.add(witness.draft("x * 2"), witness.draft("x * 2"))
    page.run_cell(1)
    question(page)
    page.page.locator(f"{LIVE_VIEW} .rl-stop").click()
    page.wait_until_over(1)

    page.run_cell(2)
    question(page)
    page.command("notebook:interrupt-kernel")
    page.wait_until_over(2)
    assert witness.drafts == (0, 0)
    for cell in (1, 2):
        assert outcome(page, cell) == ("cancelled", [])
        assert "the run was cancelled" in page.outputs(cell).last.inner_text()
    page.run_cell(3)
    page.wait_until_over(3)
    assert page.outputs(3).inner_text().strip() == "next cell 42"
