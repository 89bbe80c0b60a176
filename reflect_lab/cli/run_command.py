"""`reflect-lab run TASK.md`: one bounded loop on a task file."""

from __future__ import annotations

import argparse
import asyncio
import io
import json
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from reflect_lab.cli.tell import tell
from reflect_lab.core.errors import WrongUse
from reflect_lab.core.observer import Latest
from reflect_lab.core.run import Run
from reflect_lab.documents import tour
from reflect_lab.options import add_run_options, run_options

if TYPE_CHECKING:
    from reflect_lab.documents.task_cell import Cell
    from reflect_lab.session import Session

EXIT_ACCEPTED, EXIT_ERROR, EXIT_WRONG_USE, EXIT_NOT_ACCEPTED = 0, 1, 2, 3


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("task", metavar="TASK.md", help="the task file; - reads standard input, tour plays the tour")
    parser.add_argument("--json", action="store_true", help="print the run document instead of a summary")
    add_run_options(parser)


def run(arguments: argparse.Namespace) -> int:
    """Runs the loop, prints the result, and answers with the exit code: 0 accepted, 3 escalated or stopped, 1 error."""
    from reflect_lab.documents.task_cell import parse_cell

    text, base = _read(arguments.task)
    if arguments.task == tour.SCRIPT_NAME and not Path(arguments.task).exists():
        arguments.model = arguments.model or f"scripted:{tour.SCRIPT_NAME}"
    cell = parse_cell(text, where=arguments.task)
    outcome = asyncio.run(_reflect(cell, arguments, base)).outcome
    assert outcome is not None
    if outcome.stop_reason == "error":
        return EXIT_ERROR
    return EXIT_ACCEPTED if outcome.status == "accepted" else EXIT_NOT_ACCEPTED


async def _reflect(cell: Cell, arguments: argparse.Namespace, base: Path) -> Run:
    """The finished run, shown before the session is closed: sending spans away may take a while."""
    from reflect_lab.session import Session

    async with Session(traces=arguments.traces) as session:
        finished = await _finished(session, cell, arguments, base)
        _show(session.shown(finished), arguments, session.destination())
    for notice in session.notices:
        tell(notice.message)
    return finished


async def _finished(session: Session, cell: Cell, arguments: argparse.Namespace, base: Path) -> Run:
    """The run; Ctrl-C ends it as `cancelled` with all that was paid for."""
    latest = Latest()
    running = asyncio.ensure_future(session.reflect(cell, run_options(arguments), observers=[latest], base=base))
    asyncio.get_running_loop().add_signal_handler(signal.SIGINT, running.cancel)
    try:
        return await running
    except asyncio.CancelledError:
        if latest.ended is None:
            raise KeyboardInterrupt from None
        return latest.ended


def _show(run: Run, arguments: argparse.Namespace, traces: str) -> None:
    if not arguments.json:
        from reflect_lab.documents.render_text import run_text

        print(run_text(run, traces=traces), end="", flush=True)
        return
    from reflect_lab.documents.run_document import dump_run

    print(json.dumps(dump_run(run), ensure_ascii=True, allow_nan=False, indent=1), flush=True)
    if run.outcome is not None and run.outcome.stop_reason == "error":
        tell(run.outcome.message)


def _read(name: str) -> tuple[str, Path]:
    path = Path(name)
    if name == tour.SCRIPT_NAME and not path.exists():
        return tour.tour_task(), Path.cwd()
    try:
        if name == "-":
            return _standard_input(), Path.cwd()
        return path.read_text("utf-8-sig"), path.resolve().parent
    except OSError as error:
        raise WrongUse(f"the task file {name} can't be read: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise WrongUse(f"the task file {name} is not UTF-8 text") from None


def _standard_input() -> str:
    """All of it, as UTF-8 whatever the locale says: a task is the same text from a file and from a pipe."""
    if sys.stdin is None:
        raise WrongUse("the task file - can't be read: standard input is closed")
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(encoding="utf-8-sig", errors="strict")
    return sys.stdin.read()
