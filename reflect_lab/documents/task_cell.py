"""A `%%reflect` cell or a task file: Markdown with optional YAML front matter, read into a task.

The grammar (DESIGN 5.1): a task-list item is a requirement, a fenced block whose info string has a special second
word is a check, a reference, a setup, a schema, facts or a label, and all else is the task's text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from reflect_lab.core.errors import WrongUse
from reflect_lab.core.task import Requirement, Task
from reflect_lab.documents.cell_blocks import Structure, read_structure
from reflect_lab.documents.cell_checks import Label, assemble
from reflect_lab.documents.cell_vars import fill_task, substitute
from reflect_lab.documents.front_matter import CellOptions, FrontMatter, read_front_matter

__all__ = ["Cell", "CellOptions", "Label", "fill_task", "parse_cell", "substitute"]

_OWN_ID = re.compile(r"([A-Z]+[0-9]+):\s+")


@dataclass(frozen=True, kw_only=True)
class Cell:
    """What a cell says. `lines` holds the line of each requirement's id and each check's name."""

    task: Task
    labels: tuple[Label, ...] = ()
    options: CellOptions = CellOptions()
    lines: Mapping[str, int] = field(default_factory=dict)


def parse_cell(text: str, *, where: str = "cell", first_line: int = 1) -> Cell:
    """The task, labels and options of a cell. Errors are WrongUse: one line `WHERE, line N: what and what to do`.

    `first_line` is the number of the text's first line (2 for the body of a cell magic).
    """
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n")
    front = read_front_matter(lines, where, first_line)
    body_line = front.body_line - 1 + first_line
    structure = read_structure(lines[front.body_line - 1 :], where, body_line)
    requirements, requirement_lines = _requirements(front, structure, where)
    if not structure.text and not requirements:
        raise WrongUse(f"{where}, line {body_line}: there is no task; write what is asked for")
    built = assemble(front, structure.blocks, [r.id for r in requirements], where)
    task = Task(
        text=structure.text,
        requirements=requirements,
        facts=tuple(built.facts),
        checks=tuple(built.checks),
        language=built.language,
        name=front.options.name,
    )
    return Cell(
        task=task, labels=tuple(built.labels), options=front.options, lines={**requirement_lines, **built.lines}
    )


def _requirements(
    front: FrontMatter, structure: Structure, where: str
) -> tuple[tuple[Requirement, ...], dict[str, int]]:
    """All requirements with unique ids, the front matter's first, and the line of each id."""
    texts = [*front.requirements, *((item.text, item.line) for item in structure.items)]
    found: list[Requirement] = []
    lines: dict[str, int] = {}
    for position, (text, line) in enumerate(texts, start=1):
        own = _OWN_ID.match(text)
        identifier = own.group(1) if own else f"R{position}"
        words = text[own.end() :] if own else text
        if not words.strip():
            raise WrongUse(f"{where}, line {line}: this requirement is empty")
        if identifier in lines:
            raise WrongUse(
                f"{where}, line {line}: the requirement id {identifier} is taken (line {lines[identifier]}); "
                "write an id of its own, such as " + f"`R{len(texts) + 1}: …`"
            )
        lines[identifier] = line
        found.append(Requirement(id=identifier, text=words))
    return tuple(found), lines
