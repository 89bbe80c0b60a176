"""The page `docs/grounding.md`: its examples are grounded as it says. Its figures need data that is not here."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from reflect_lab.core.critique import RaisedIssue
from reflect_lab.core.evidence import Evidence
from reflect_lab.core.grounding import Grounded, Sources
from reflect_lab.core.policy import Policy
from reflect_lab.core.run import Draft
from reflect_lab.core.runs_of_words import THRESHOLDS
from reflect_lab.documents.task_cell import parse_cell

PAGE = (Path(__file__).parents[2] / "docs" / "grounding.md").read_text(encoding="utf-8")
HEAD = "| evidence of the issue | names | ground | source | covers |"


def block(name: str) -> str:
    match = re.search(rf"^(`{{3,}})\w+ {name}\n(.*?)^\1$", PAGE, re.DOTALL | re.MULTILINE)
    assert match, name
    return match[2]


def rows() -> Iterator[tuple[str, ...]]:
    lines = PAGE.split(HEAD)[1].lstrip().split("\n\n")[0].splitlines()[1:]
    for line in lines:
        yield tuple(cell.strip().strip("`") for cell in line.strip("|").split("|"))


@pytest.mark.parametrize(("evidence", "names", "ground", "source", "covers"), list(rows()))
def test_the_examples_are_grounded_as_the_page_says(
    evidence: str, names: str, ground: str, source: str, covers: str
) -> None:
    task = parse_cell(block("task")).task
    draft = Draft(index=0, text=block("draft"))
    said = block("finding").strip()
    check = Evidence(source="text", kind="text", rank="deterministic", status="failed", text=said)
    issue = RaisedIssue(id="a", severity="major", evidence=evidence, requirement=names or None)
    found = Sources(task, draft, [check], Policy()).ground(issue)
    if ground.startswith("discarded"):
        assert isinstance(found, str)
        assert ("only the draft" in ground) == ("only the draft" in found)
        return
    assert isinstance(found, Grounded)
    assert (found.ground.kind, found.ground.source) == (ground, source)
    texts = {"task": task.text, "draft": draft.text, "evidence:text": said}
    texts |= {r.id: r.text for r in task.requirements} | {f"fact:{f.index}": f.text for f in task.facts}
    assert (covers or None) == (texts[source][found.ground.start : found.ground.end] if covers else found.ground.start)


def test_every_ground_has_an_example() -> None:
    assert {row[2].split(":")[0] for row in rows()} == {
        "requirement", "task", "fact", "evidence", "absent", "discarded",
    }  # fmt: skip


def test_the_thresholds_named_as_taken_are_those_of_the_code() -> None:
    taken = f"{THRESHOLDS.words} words, {THRESHOLDS.content_words} of content, numbers of {THRESHOLDS.digits} digits"
    assert f"| **taken**: {taken} |" in PAGE
