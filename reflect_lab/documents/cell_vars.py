"""`{{name}}` in a parsed cell, filled with the notebook's values."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from reflect_lab.core.errors import WrongUse
from reflect_lab.core.task import Fact, Requirement, Task
from reflect_lab.documents.suggest import did_you_mean

_VARIABLE = re.compile(r"(\\?)\{\{[ \t]*([A-Za-z_][A-Za-z0-9_]*)[ \t]*\}\}")


def substitute(text: str, variables: Mapping[str, str]) -> str:
    r"""`text` with each `{{name}}` replaced by its value, once: braces inside a value stay as they are.

    `\{{name}}` stands for itself, without the backslash. Raises WrongUse that names a missing variable.
    """

    def value(match: re.Match[str]) -> str:
        escaped, name = match.groups()
        if escaped:
            return match.group()[1:]
        if name not in variables:
            raise WrongUse(f"there is no variable {name!r} for {{{{{name}}}}}; {did_you_mean(name, variables)}")
        return str(variables[name])

    return _VARIABLE.sub(value, text)


def fill_task(task: Task, variables: Mapping[str, str]) -> Task:
    """The task with `{{name}}` filled in its text, requirements and facts.

    This happens after parsing, so that nothing in a value can become a block, a requirement or front matter. Plain
    fenced blocks are part of the text and are filled too; the code of check, setup, reference, schema and label
    blocks is not. A value of several lines stays so in the text, becomes one line in a requirement, and one fact per
    line among the facts.
    """
    facts = [line for f in task.facts for line in substitute(f.text, variables).split("\n") if line.strip()]
    return replace(
        task,
        text=substitute(task.text, variables),
        requirements=tuple(
            Requirement(id=r.id, text=" ".join(substitute(r.text, variables).split())) for r in task.requirements
        ),
        facts=tuple(Fact(index=i, text=" ".join(line.split())) for i, line in enumerate(facts)),
        sha256="",
    )
