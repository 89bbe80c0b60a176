"""What the magics do: parse, call the session, display."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from reflect_lab.core.errors import WrongUse
from reflect_lab.core.observer import Latest, Observer
from reflect_lab.core.run import Run
from reflect_lab.documents.suggest import did_you_mean
from reflect_lab.documents.task_cell import Cell, fill_task, parse_cell
from reflect_lab.evidence.check import Consent
from reflect_lab.evidence.named import CheckRegistry
from reflect_lab.notebook.critic_commands import CriticCommands
from reflect_lab.notebook.errors import CellError, clean_errors
from reflect_lab.notebook.explain import Explainer
from reflect_lab.notebook.live import LiveView, PlainView, View, display_forms
from reflect_lab.notebook.magic_line import add_result_options, split_line
from reflect_lab.notebook.replay_commands import ForkWords, replayed
from reflect_lab.notebook.waiting import outlive_interrupt, run_in_thread
from reflect_lab.options import OptionParser, add_run_options, run_options
from reflect_lab.session import Session

LINE_COMMANDS = ("doctor", "fork", "list", "replay", "show", "sql", "tour")
IN_A_LINE = "a line magic can't wait for clicks"
IN_A_MAGIC = "the cell runs inside another magic, which can't wait for clicks"


class Variables(Mapping[str, str]):
    """The notebook's own variables as text, each made when it is asked for: some are large, some can't be shown."""

    def __init__(self, namespace: Mapping[str, object]) -> None:
        self._namespace = namespace

    def __getitem__(self, name: str) -> str:
        return str(self._namespace[name])

    def __iter__(self) -> Iterator[str]:
        return (name for name in self._namespace if not name.startswith("_"))

    def __len__(self) -> int:
        return sum(1 for _ in self)


class Commands:
    """The magics' work for one shell. Owns the shell's session."""

    def __init__(self, shell: Any) -> None:
        self.shell = shell
        self.session = Session(cwd=Path.cwd(), environ=os.environ, checks=CheckRegistry(shell.user_ns))
        self._critics = CriticCommands(self.session)
        self._shown: Run | None = None
        self._cell_options = _cell_parser()

    async def reflect(self, line: str, cell: str) -> Run:
        """Runs a cell in the kernel's own loop, with the live view."""
        with clean_errors():
            parsed, task = self._read(line, cell)
            # In a thread: the first time, this imports what records runs.
            view = self._view(parsed, await asyncio.to_thread(self.session.destination, parsed.traces))
            latest = Latest()
            running = asyncio.ensure_future(self._run(task, parsed, [latest, view], view.consent()))
            view.on_stop(running.cancel)
            try:
                run = await outlive_interrupt(running, latest)
            except BaseException:
                view.abandon()
                raise
            return self._finish(run, parsed, view)

    def reflect_in_thread(self, line: str, cell: str) -> Run:
        """Runs a cell in a thread with a loop of its own; the result is shown when it is there."""
        return self._without_buttons(line, cell, IN_A_MAGIC if self._has_front_end else None)

    def line(self, line: str) -> Any:
        """`%reflect COMMAND …`."""
        with clean_errors():
            words = split_line(line, "%reflect")
            command, rest = (words[0], words[1:]) if words else ("", [])
            if command not in LINE_COMMANDS:
                raise WrongUse(f"{f'%reflect {command}'.strip()}: {did_you_mean(command, LINE_COMMANDS)}")
            perform: Callable[[list[str]], Any] = getattr(self, f"_{command}")
            return perform(rest)

    def register_critic(self, line: str, cell: str) -> None:
        """`%%critic NAME`: the cell's text becomes a critic prompt of this session."""
        with clean_errors():
            print(self._critics.register(line, cell))  # noqa: T201

    def critic(self, line: str) -> None:
        """`%critic`: lists the critics; `%critic diff NAME` shows what changed."""
        with clean_errors():
            display_forms(self._critics.line(line))

    def close(self) -> None:
        """Releases the session; works with and without a running loop."""
        thread = threading.Thread(target=lambda: asyncio.run(self.session.close()))
        thread.start()
        thread.join()

    def close_at_exit(self) -> None:
        """Releases what outlives a process: its trace files. The embedded model's server ends with this process."""
        self.session.close_recordings()

    @property
    def _has_front_end(self) -> bool:
        return hasattr(self.shell, "kernel")

    def _read(self, line: str, cell: str) -> tuple[Any, Cell]:
        parsed = self._cell_options.parse_args(split_line(line, "%%reflect", comments=True))
        read = parse_cell(cell, where="cell", first_line=2)
        if parsed.vars:
            read = replace(read, task=fill_task(read.task, Variables(self.shell.user_ns)))
        return parsed, read

    def _view(self, parsed: Any, where: str) -> View:
        """The live view; where it can't be had, the run is shown when it is over, with the reason."""
        view: View = PlainView()
        if not parsed.no_display and not parsed.explain:
            view = LiveView(self.session.redactor.value)
        try:
            view.start(where)
        except WrongUse as reason:
            view = PlainView(buttons_off=str(reason))
            view.start(where)
        return view

    async def _run(self, task: Cell, parsed: Any, observers: list[Observer], consent: Consent | None = None) -> Run:
        if parsed.explain:
            observers = [*observers, Explainer()]
        return await self.session.reflect(
            task, run_options(parsed), observers=observers, traces=parsed.traces, consent=consent
        )

    def _without_buttons(self, line: str, cell: str, why: str | None) -> Run:
        with clean_errors():
            parsed, task = self._read(line, cell)
            view = PlainView(buttons_off=why)
            view.start(self.session.destination(parsed.traces))
            return self._finish(run_in_thread(lambda latest: self._run(task, parsed, [latest])), parsed, view)

    def _finish(self, run: Run, parsed: Any, view: View) -> Run:
        """Shows the finished run, sets its variable, and stops "Run all" where the run did not end on its own."""
        if not parsed.no_display:
            view.finish(self.session.shown(run))
        if parsed.out:
            self.shell.user_ns[parsed.out] = run
        assert run.outcome is not None
        if run.outcome.stop_reason == "error":
            raise CellError(f"the run ended with an error: {run.outcome.message}")
        if run.outcome.stop_reason == "cancelled":
            kept = f"to be seen with %reflect show {run.run_id}" if parsed.no_display else "shown above"
            raise CellError(f"the run was cancelled; the best draft so far is {kept}")
        self._shown = run
        return run

    def show_value(self, run: Run) -> None:
        """Displays a run that is a cell's value; nothing more for the one that the cell has just shown."""
        if run is not self._shown:
            view = PlainView()
            view.start(str(self.session.folder()))
            view.finish(self.session.shown(run))
        self._shown = None

    def _tour(self, words: list[str]) -> None:
        from reflect_lab.documents.tour import SCRIPT_NAME, tour_task

        if words:
            raise WrongUse("%reflect tour takes no further words")
        self._without_buttons(f"--model scripted:{SCRIPT_NAME} --name tour --explain", tour_task(), None)

    def _list(self, words: list[str]) -> Any:
        return self.session.open_traces().runs()

    def _show(self, words: list[str]) -> None:
        if len(words) != 1:
            raise WrongUse("%reflect show wants one run: %reflect show RUN (an id, or its beginning)")
        traces = self.session.open_traces()
        view = PlainView()
        view.start(str(traces.folder))
        view.finish(traces.run(words[0]))

    def _replay(self, words: list[str]) -> None:
        print(replayed(self.session, words), end="")  # noqa: T201

    def _fork(self, words: list[str]) -> Run:
        asked = ForkWords.read(self.session, words)
        view = PlainView(buttons_off=IN_A_LINE if self._has_front_end else None)
        view.start(self.session.destination(asked.parsed.traces))
        run = run_in_thread(
            lambda latest: self.session.fork(
                asked.run, asked.at, asked.options, observers=[latest], traces=asked.parsed.traces
            )
        )
        return self._finish(run, asked.parsed, view)

    def _sql(self, words: list[str]) -> Any:
        if len(words) != 1:
            raise WrongUse('%reflect sql wants one query in quotes: %reflect sql "select * from runs"')
        return self.session.open_traces().sql(words[0])

    def _doctor(self, words: list[str]) -> None:
        from reflect_lab.doctor import examine, report

        print(report(examine(self.session)))  # noqa: T201


def _cell_parser() -> OptionParser:
    parser = OptionParser(prog="%%reflect", add_help=False)
    add_run_options(parser)
    add_result_options(parser)
    parser.add_argument("--vars", action="store_true", help="fill {{name}} with the notebook's variables")
    parser.add_argument("--explain", action="store_true", help="explain each step before its result is shown")
    return parser
