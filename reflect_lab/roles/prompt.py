"""A role's prompt: shipped as a file, or the user's own text. Each distinct text is a version of its own (its hash)."""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib.resources import files

from reflect_lab.core.errors import WrongUse
from reflect_lab.core.run import PromptUse
from reflect_lab.core.task import text_sha256
from reflect_lab.documents.cell_blocks import task_items
from reflect_lab.documents.suggest import did_you_mean


@dataclass(frozen=True)
class Prompt:
    """A system prompt by name. Its task-list items are the rubric that the user wrote."""

    name: str
    text: str
    rubric: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "rubric", task_items(self.text))

    @property
    def use(self) -> PromptUse:
        return PromptUse(name=self.name, sha256=text_sha256(self.text), rubric=self.rubric)


def generator_prompt() -> Prompt:
    return Prompt("generator", _read("generator.md"))


def shipped_critics() -> tuple[str, ...]:
    """The names of the critic prompts that come with the package."""
    folder = files("reflect_lab.roles") / "prompts" / "critic"
    return tuple(sorted(entry.name.removesuffix(".md") for entry in folder.iterdir() if entry.name.endswith(".md")))


def shipped_critic(name: str, also: tuple[str, ...] = ()) -> Prompt:
    """A shipped critic prompt; `also` are further names worth suggesting. Raises WrongUse for an unknown name."""
    known = shipped_critics()
    if name not in known:
        raise WrongUse(f"there is no critic {name!r}; {did_you_mean(name, (*known, *also))}")
    return Prompt(name, _read(f"critic/{name}.md"))


def _read(path: str) -> str:
    return (files("reflect_lab.roles") / "prompts" / path).read_text(encoding="utf-8")
