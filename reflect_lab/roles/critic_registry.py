"""The critic prompts that a session knows: the shipped ones, and those that were registered in it, in all versions.

Each distinct text of a name is a version, told apart by its hash. The versions of a name stand in the order in which
they were last registered, so that the last one is the one in use: registering an old text again makes it the newest.
"""

from __future__ import annotations

from dataclasses import dataclass

from reflect_lab.core.errors import WrongUse
from reflect_lab.documents.suggest import shown
from reflect_lab.roles.prompt import Prompt, shipped_critic, shipped_critics


@dataclass(frozen=True)
class PromptChange:
    """Two prompts, and which rubric items only one of them holds (in their order)."""

    old: Prompt
    new: Prompt

    @property
    def added(self) -> tuple[str, ...]:
        return tuple(item for item in self.new.rubric if item not in self.old.rubric)

    @property
    def removed(self) -> tuple[str, ...]:
        return tuple(item for item in self.old.rubric if item not in self.new.rubric)


class CriticRegistry:
    """Critic prompts by name. A registered prompt goes before a shipped one of the same name."""

    def __init__(self) -> None:
        self._versions: dict[str, list[Prompt]] = {}

    def register(self, prompt: Prompt) -> None:
        """Makes a prompt the one in use under its name; its earlier versions are kept."""
        versions = self._versions.setdefault(prompt.name, [])
        if prompt in versions:
            versions.remove(prompt)
        versions.append(prompt)

    @property
    def registered(self) -> tuple[str, ...]:
        """The names that were registered, in the order of their first registration."""
        return tuple(self._versions)

    @property
    def names(self) -> tuple[str, ...]:
        """All names, the shipped ones first."""
        shipped = shipped_critics()
        return (*shipped, *(name for name in self._versions if name not in shipped))

    def versions(self, name: str) -> tuple[Prompt, ...]:
        """The distinct texts that were registered under a name, the one in use last; none for a shipped prompt."""
        return tuple(self._versions.get(name, ()))

    def __contains__(self, name: object) -> bool:
        return name in self._versions

    def __getitem__(self, name: str) -> Prompt:
        """The prompt in use under a name. Raises WrongUse with the nearest name."""
        versions = self._versions.get(name)
        return versions[-1] if versions else shipped_critic(name, self.registered)

    def last_change(self, name: str) -> PromptChange:
        """What the last registration under a name changed: against the version before it, else against the shipped
        prompt that it replaced. Raises WrongUse where there is no second text."""
        new = self[name]
        versions = self.versions(name)
        if len(versions) > 1:
            return PromptChange(versions[-2], new)
        if versions and name in shipped_critics():
            return PromptChange(shipped_critic(name), new)
        kind = "as it was shipped" if not versions else "in one version"
        others = [other for other in self.names if other != name]
        raise WrongUse(
            f"critic {shown(name)} is known here {kind}, so there is nothing to compare it with; change it with "
            f"%%critic, or compare two: %critic diff {name} {others[0]}"
        )
