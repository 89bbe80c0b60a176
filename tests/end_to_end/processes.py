"""The command line as a user runs it: a real process with an environment of its own and no project around it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

import reflect_lab

SOURCE = Path(reflect_lab.__file__).resolve().parents[1]
COMMAND = (sys.executable, "-m", "reflect_lab")
CANARY = "canary-5Qh7Zr1vXw9Tn3Kb"
"""A key that must be found nowhere."""


@dataclass(frozen=True)
class Ended:
    """A process that is over."""

    code: int
    stdout: str
    stderr: str

    @property
    def document(self) -> dict[str, Any]:
        """What `--json` printed: one strict JSON document and nothing else."""
        found = strict_json(self.stdout)
        assert isinstance(found, dict)
        return found


def environment(home: Path, **more: str) -> dict[str, str]:
    """Nothing of the surroundings but the path: no model, no key, no traces folder, settings in `home` only."""
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "PYTHONPATH": str(SOURCE),
        "PYTHONDONTWRITEBYTECODE": "1",
        **more,
    }


WITHOUT_ISOLATION = """
import sys
from reflect_lab.evidence.sandbox import interpreter, levels, selftest
selftest.strongest = lambda: levels.PROCESS
selftest.interpreted = lambda: interpreter.MISSING
from reflect_lab.cli.main import main
sys.exit(main(sys.argv[1:]))
"""
"""The command on a machine that can't isolate a process, and has no interpreter of its own either."""


def run(*words: str, cwd: Path, env: Mapping[str, str], stdin: str = "", command: Sequence[str] = COMMAND) -> Ended:
    """`reflect-lab WORDS…`, to its end."""
    done = subprocess.run([*command, *words], cwd=cwd, env=env, input=stdin, capture_output=True, text=True, timeout=90)
    return Ended(done.returncode, done.stdout, done.stderr)


def strict_json(text: str) -> object:
    """The one JSON value of a text; NaN, infinities, names that stand twice and anything around it are errors."""

    def refuse(name: str) -> float:
        raise ValueError(f"{name} is no JSON")

    def unique(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
        listed = list(pairs)
        assert len({name for name, _ in listed}) == len(listed), "a name stands twice in one object"
        return dict(listed)

    return json.loads(text, parse_constant=refuse, object_pairs_hook=unique)


def descendants(pid: int) -> list[psutil.Process]:
    """The children of a process, and theirs; without those that ended and wait to be noticed."""
    found = psutil.Process(pid).children(recursive=True)
    return [child for child in found if is_alive(child)]


def is_alive(process: psutil.Process) -> bool:
    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def all_gone(processes: Iterable[psutil.Process], within_s: float) -> bool:
    """Whether all processes end within some seconds."""
    deadline = time.monotonic() + within_s
    waiting = list(processes)
    while (waiting := [p for p in waiting if is_alive(p)]) and time.monotonic() < deadline:
        time.sleep(0.05)
    return not waiting


def texts_under(folder: Path) -> dict[str, bytes]:
    """Every file of a folder as bytes, by its path."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def critique(*issues: Mapping[str, Any], score: float = 0.9, checked: Iterable[str] = ("R1",)) -> str:
    """A critic's answer in the agreed form."""
    return json.dumps({"issues": list(issues), "score": score, "requirements_checked": list(checked)})
