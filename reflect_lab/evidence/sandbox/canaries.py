"""Files that a self-test's probe must not reach. They lie where a user's secrets lie: in the temporary folder, in the
home folder and in the working folder, for a sandbox may hide one of these and show the others."""

from __future__ import annotations

import itertools
import os
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from reflect_lab.evidence.sandbox.levels import is_systems

_TEXT = "canary"
_LOOKED_AT = 200
"""Entries of a folder that are looked at for a file."""


@dataclass(frozen=True, kw_only=True)
class Canaries:
    """`files` are the files by what they are called; `made` those that were made for the test (the others are the
    user's own: they are only opened), the first of them in the temporary folder."""

    files: dict[str, str]
    made: tuple[str, ...]

    @property
    def are_whole(self) -> bool:
        """Whether what was made still is what it was, and nothing came beside it."""
        return all(Path(p).read_text() == _TEXT and len(os.listdir(Path(p).parent)) == 1 for p in self.made)


@contextmanager
def canaries() -> Iterator[Canaries]:
    """Makes a file in the temporary folder and one in the home folder (its `.cache`, where there is one), and removes
    both at the end; and finds a file of the user's in the home folder and in the working folder. Where one of the later
    ones can't be had it is left out. Raises OSError where there is no temporary folder."""
    files: dict[str, str] = {}
    with ExitStack() as stack:
        made = [_made(stack, None)]
        files["a file outside"] = made[0]
        for home in filter(lambda home: not is_systems(str(home)), _home()):
            try:
                made.append(_made(stack, home / ".cache" if (home / ".cache").is_dir() else home))
                files["a file below the home folder"] = made[-1]
            except OSError:
                pass  # not ours to write: a file that is there has to do
        for name, folders in (("a file of the home folder", _home()), ("a file of the working folder", _working())):
            found = next(filter(None, map(_found, folders)), None)
            if found is not None:
                files[name] = found
        yield Canaries(files=files, made=tuple(made))


def _made(stack: ExitStack, folder: Path | None) -> str:
    made = stack.enter_context(
        tempfile.TemporaryDirectory(prefix="reflect-lab-canary-", dir=folder, ignore_cleanup_errors=True)
    )
    canary = Path(made, "canary")
    canary.write_text(_TEXT)
    return str(canary)


def _found(folder: Path) -> str | None:
    """A file of this folder that we can read and a confined process must not."""
    try:
        with os.scandir(folder) as entries:
            for entry in itertools.islice(entries, _LOOKED_AT):
                path = os.path.realpath(entry.path)
                if entry.is_file(follow_symlinks=False) and os.access(path, os.R_OK) and not is_systems(path):
                    return path
    except OSError:
        return None
    return None


def _home() -> list[Path]:
    try:
        return [Path.home().resolve()]
    except (OSError, RuntimeError):
        return []


def _working() -> list[Path]:
    """The working folder and those above it: a new one may be empty."""
    try:
        here = Path.cwd()
    except OSError:
        return []
    return [here, *here.parents]
