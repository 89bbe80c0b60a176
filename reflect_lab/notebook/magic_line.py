"""What stands on a magic's own line: words, and the options that say where a run goes in the notebook."""

from __future__ import annotations

import argparse
import keyword
import shlex

from reflect_lab.core.errors import WrongUse


def split_line(line: str, magic: str, *, comments: bool = False) -> list[str]:
    """The words of a magic's line, as a shell would split them. Raises WrongUse for a quote that is never closed."""
    try:
        return shlex.split(line, comments=comments)
    except ValueError as error:
        raise WrongUse(f"{magic}: the words can't be read ({error})") from None


def add_result_options(parser: argparse.ArgumentParser) -> None:
    """Adds what becomes of a run in the notebook: the variable that gets it, and whether it is shown."""
    parser.add_argument("--out", type=_variable, metavar="NAME", help="variable that gets the run")
    parser.add_argument("--no-display", action="store_true", help="show nothing; the cell's value is the run")


def _variable(name: str) -> str:
    if not name.isidentifier() or keyword.iskeyword(name):
        raise WrongUse(f"--out {name}: this is no name of a variable")
    return name
