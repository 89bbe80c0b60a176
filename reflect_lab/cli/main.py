"""The command line. Thin: parse, call, print."""

from __future__ import annotations

import argparse
import contextlib
import importlib
import io
import logging
import os
import sys
import traceback
from collections.abc import Iterator

from reflect_lab.cli.tell import tell
from reflect_lab.core.errors import ReflectLabError, WrongUse
from reflect_lab.documents.visible import visible
from reflect_lab.options import OptionParser

COMMANDS = {
    "run": "run the loop on a task file",
    "traces": "list, show and query the traces",
    "doctor": "say what this machine has, and what to do about the rest",
    "model": "install or serve the embedded model",
}


def main(words: list[str] | None = None) -> int:
    """The entry point `reflect-lab`. Exit codes: 0 accepted, 3 escalated or stopped, 2 wrong use, 1 error."""
    words = sys.argv[1:] if words is None else words
    try:
        arguments = _parser(words).parse_args(words)
    except WrongUse as error:
        print(visible(str(error)), file=sys.stderr)
        return 2
    with _log_lines(arguments.debug):
        return _perform(arguments)


def _perform(arguments: argparse.Namespace) -> int:
    try:
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(errors="backslashreplace")  # a terminal without our characters still gets the rest
        code: int = arguments.perform(arguments)
        if sys.stdout is not None:  # it is None where the shell closed it
            sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        tell("interrupted")
        return 130
    except BrokenPipeError:
        _let_go_of_output()  # the reader (`| head`) has seen enough
        return 141
    except ReflectLabError as error:
        if arguments.debug:
            traceback.print_exc()
        tell(error)
        return 2 if isinstance(error, WrongUse) else 1
    except Exception as error:
        if arguments.debug:
            traceback.print_exc()
        tell(f"unexpected {type(error).__name__}: {error} (--debug shows where)")
        with contextlib.suppress(OSError, ValueError):  # a full disk may be what happened
            _let_go_of_output()
        return 1


def _let_go_of_output() -> None:
    """What is still buffered must not be flushed, at exit, into what can't take it."""
    if sys.stdout is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class _OneLine(logging.Formatter):
    """A warning as one line; tracebacks are for `--debug`."""

    def format(self, record: logging.LogRecord) -> str:
        return f"reflect-lab: {visible(record.getMessage())}"


@contextlib.contextmanager
def _log_lines(debug: bool) -> Iterator[None]:
    """Warnings of the library go to standard error while a command runs."""
    handler = logging.StreamHandler()
    handler.setLevel(logging.WARNING)
    handler.setFormatter(logging.Formatter("reflect-lab: %(message)s") if debug else _OneLine())
    root = logging.getLogger()
    root.addHandler(handler)
    try:
        yield
    finally:
        root.removeHandler(handler)


def _parser(words: list[str]) -> OptionParser:
    """The parser with the one command's module loaded that was asked for, so that `--help` stays fast."""
    parser = OptionParser(
        prog="reflect-lab", description="Bounded reflection loops: evidence first, every stop explained."
    )
    parser.add_argument("--debug", action="store_true", help="show tracebacks")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True, parser_class=OptionParser)
    wanted = next((word for word in words if not word.startswith("-")), None)
    for name, purpose in COMMANDS.items():
        command = commands.add_parser(name, help=purpose, description=f"{purpose[0].upper()}{purpose[1:]}.")
        command.add_argument("--debug", action="store_true", default=argparse.SUPPRESS, help=argparse.SUPPRESS)
        if name == wanted:
            module = importlib.import_module(f"reflect_lab.cli.{name}_command")
            module.add(command)
            command.set_defaults(perform=module.run)
    return parser


if __name__ == "__main__":
    sys.exit(main())
