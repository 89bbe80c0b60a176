"""The command line. Thin: parse, call, print."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
import traceback

from reflect_lab.core.errors import ReflectLabError, WrongUse
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
        print(error, file=sys.stderr)
        return 2
    try:
        code: int = arguments.perform(arguments)
        sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        print("reflect-lab: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:
        # The reader (`| head`) has seen enough; what is still buffered must not be flushed into the closed pipe.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except ReflectLabError as error:
        if arguments.debug:
            traceback.print_exc()
        print(f"reflect-lab: {error}", file=sys.stderr)
        return 2 if isinstance(error, WrongUse) else 1


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
