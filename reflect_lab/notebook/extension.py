"""`%load_ext reflect_lab`: registers the magics. Light: what the magics need is imported at their first use.

`%%reflect` is a coroutine that the cell awaits, so that buttons work while it runs: an input transformer turns the
cell's magic call into `await …`. Within another magic (`%%time`, `%%capture`) nothing can be awaited; the same magic
then runs in a thread of its own, and says that its buttons are off. In a terminal, which has none, it always does.
"""

from __future__ import annotations

import atexit
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from reflect_lab.notebook.commands import Commands

AWAITABLE = "reflect_awaited"
RUN_TYPE = ("reflect_lab.core.run", "Run")
"""By name, so that loading the extension imports nothing."""
_CALL = "get_ipython().run_cell_magic('reflect', "
_EMPTY = ", '')"
_AWAITED = f"await get_ipython().run_cell_magic('{AWAITABLE}', "


class Extension:
    """The magics of one shell, and what they share."""

    def __init__(self, shell: Any) -> None:
        self.shell = shell
        self._depth = 0
        self._commands: Commands | None = None

    @property
    def commands(self) -> Commands:
        if self._commands is None:
            from reflect_lab.notebook.commands import Commands

            self._commands = Commands(self.shell)
        return self._commands

    def reflect(self, line: str, cell: str) -> Any:
        """%%reflect where nothing can be awaited: the loop runs in a thread, and the cell waits for it."""
        return self.commands.reflect_in_thread(line, cell)

    async def reflect_awaited(self, line: str, cell: str) -> Any:
        """%%reflect as the cell's own coroutine."""
        return await self.commands.reflect(line, cell)

    def reflect_line(self, line: str) -> Any:
        """%reflect tour | list | show RUN | replay RUN … | fork RUN --at N … | sql "…" | doctor"""
        return self.commands.line(line)

    def show_value(self, run: Any) -> None:
        """Shows a run that is a cell's value."""
        self.commands.show_value(run)

    def critic(self, line: str, cell: str) -> None:
        """%%critic NAME: registers the cell's text as a critic prompt."""
        self.commands.register_critic(line, cell)

    def critic_line(self, line: str) -> None:
        """%critic list | diff NAME | diff A B"""
        self.commands.critic(line)

    def awaiting(self, lines: list[str]) -> list[str]:
        """Awaits a `%%reflect` cell. A cell within another magic is left alone: it is compiled without await. So is an
        empty one, which the shell refuses by the magic's name."""
        if self._depth or not lines or not lines[0].startswith(_CALL) or lines[0].rstrip().endswith(_EMPTY):
            return lines
        return [_AWAITED + lines[0].removeprefix(_CALL), *lines[1:]]

    def enter(self) -> None:
        self._depth += 1

    def leave(self) -> None:
        self._depth = max(0, self._depth - 1)

    def close(self) -> None:
        if self._commands is not None:
            self._commands.close()
            self._commands = None

    def close_at_exit(self) -> None:
        if self._commands is not None:
            self._commands.close_at_exit()


def load(shell: Any) -> None:
    """Registers the magics with a shell. Loading again replaces them."""
    unload(shell)
    extension = Extension(shell)
    for name, function, kind in _magics(extension):
        shell.register_magic_function(function, kind, name)
    if hasattr(shell, "kernel"):
        # A terminal has no clicks to wait for, and drops a cell's coroutine where it stands when it is interrupted.
        shell.input_transformers_post.append(extension.awaiting)
    shell.display_formatter.ipython_display_formatter.for_type_by_name(*RUN_TYPE, extension.show_value)
    shell.events.register("pre_execute", extension.enter)
    shell.events.register("post_execute", extension.leave)
    atexit.register(extension.close_at_exit)


def unload(shell: Any) -> None:
    """Takes the magics away and releases what they hold."""
    extension = _loaded(shell)
    if extension is None:
        return
    if extension.awaiting in shell.input_transformers_post:
        shell.input_transformers_post.remove(extension.awaiting)
    shell.display_formatter.ipython_display_formatter.pop(".".join(RUN_TYPE), None)
    shell.events.unregister("pre_execute", extension.enter)
    shell.events.unregister("post_execute", extension.leave)
    for name, _, kind in _magics(extension):
        shell.magics_manager.magics[kind].pop(name, None)
    atexit.unregister(extension.close_at_exit)
    extension.close()


def _magics(extension: Extension) -> list[tuple[str, Callable[..., Any], str]]:
    return [
        ("reflect", extension.reflect, "cell"),
        (AWAITABLE, extension.reflect_awaited, "cell"),
        ("reflect", extension.reflect_line, "line"),
        ("critic", extension.critic, "cell"),
        ("critic", extension.critic_line, "line"),
    ]


def _loaded(shell: Any) -> Extension | None:
    owner = getattr(shell.magics_manager.magics["cell"].get("reflect"), "__self__", None)
    return owner if isinstance(owner, Extension) else None
