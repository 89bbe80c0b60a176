"""What `%%critic` and `%critic` do: register a prompt, list the prompts, show what changed."""

from __future__ import annotations

from collections.abc import Iterator

from reflect_lab.core.errors import WrongUse
from reflect_lab.documents.render_changes import Changes, changes_html, changes_text
from reflect_lab.documents.render_words import count
from reflect_lab.documents.suggest import did_you_mean
from reflect_lab.documents.visible import visible_line
from reflect_lab.notebook.magic_line import split_line
from reflect_lab.roles.critic_registry import PromptChange
from reflect_lab.roles.prompt import Prompt, shipped_critic, shipped_critics
from reflect_lab.session import DEFAULT_CRITIC, Session

COMMANDS = ("list", "diff")
HASH = 12
"""Hexadecimal digits of a version that are shown."""
_FIRST_LINE = 100


class CriticCommands:
    """The critics of one session. Each command answers with what is to be shown; errors are WrongUse."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def register(self, line: str, cell: str) -> str:
        """Makes a cell's text the critic of a name."""
        names = split_line(line, "%%critic")
        if len(names) != 1 or names[0].startswith("-"):
            raise WrongUse("%%critic wants one name: %%critic NAME")
        if not cell.strip():
            raise WrongUse(f"%%critic {names[0]}: the prompt is empty; write it below this line")
        prompt = Prompt(names[0], cell.strip() + "\n")
        self._session.critics.register(prompt)
        items = f", {count(len(prompt.rubric), 'rubric item')}" if prompt.rubric else ""
        return f"critic {prompt.name}: version {_version(prompt)}{items}"

    def line(self, line: str) -> dict[str, str]:
        """`list` (also said by nothing at all), `diff NAME` or `diff A B`, as forms by MIME type."""
        command, *names = split_line(line, "%critic") or ["list"]
        if command == "list" and not names:
            return {"text/plain": "\n".join(self._list())}
        if command == "diff" and len(names) in (1, 2):
            return self._diff(names)
        if command in COMMANDS:
            raise WrongUse("%critic takes: list, diff NAME (its last two versions), diff A B (two critics)")
        raise WrongUse(f"%critic {command}: {did_you_mean(command, COMMANDS)}")

    def _list(self) -> Iterator[str]:
        critics = self._session.critics
        width = max(len(visible_line(name)) for name in critics.names)
        for name in critics.names:
            prompt, versions = critics[name], len(critics.versions(name))
            made = "shipped" if not versions else f"here, {count(versions, 'version')}"
            default = ", the default" if name == DEFAULT_CRITIC else ""
            yield f"{visible_line(name):<{width}}  {_version(prompt)}  ({made}{default})"
            yield f"{'':<{width}}  {visible_line(prompt.text.strip().partition(chr(10))[0], _FIRST_LINE)}"

    def _diff(self, names: list[str]) -> dict[str, str]:
        critics = self._session.critics
        if len(names) == 1:
            change = critics.last_change(names[0])
        else:
            change = PromptChange(*(self._session.critic_prompt(name, self._session.cwd) for name in names))
        changes = Changes(
            old_name=self._called(change.old),
            new_name=self._called(change.new),
            old=change.old.text,
            new=change.new.text,
            items="rubric",
            added=change.added,
            removed=change.removed,
        )
        return {"text/plain": changes_text(changes), "text/html": changes_html(changes)}

    def _called(self, prompt: Prompt) -> str:
        is_shipped = prompt.name in shipped_critics() and prompt == shipped_critic(prompt.name)
        return f"{prompt.name}{' (shipped)' if is_shipped else ''} {_version(prompt)}"


def _version(prompt: Prompt) -> str:
    return prompt.use.sha256[:HASH]
