"""The scripted cases, played against the real command by `check_cases.py`."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
CASES = sorted(path.name for path in (HERE / "cases").iterdir())
LATER = tuple(
    word for line in (HERE / "later.txt").read_text().splitlines() if not line.startswith("#") for word in line.split()
)
GROUP = 40
"""Cases of one test: each is a process of its own, and the checker runs as many at once as there are cores."""

NOW = [name for name in CASES if not name.startswith(LATER)]
GROUPS = [NOW[start : start + GROUP] for start in range(0, len(NOW), GROUP)]


@pytest.fixture(scope="session")
def command(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The command as a script: the checker follows links, and a venv's interpreter is one."""
    script = tmp_path_factory.mktemp("bin") / "reflect-lab"
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m reflect_lab "$@"\n')
    script.chmod(0o755)
    return script


def check(command: Path, folder: Path, names: list[str]) -> str:
    for name in names:
        (folder / name).symlink_to(HERE / "cases" / name)
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("OPENAI", "OTEL", "REFLECT"))}
    environment["PYTHONPATH"] = os.pathsep.join([str(HERE.parents[1]), *sys.path])
    folders = [str(folder / name) for name in names]
    done = subprocess.run(
        [sys.executable, str(HERE / "check_cases.py"), *folders, "--command", str(command), "--timeout", "120"],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )
    return done.stdout + done.stderr


@pytest.mark.parametrize("names", GROUPS, ids=[f"{group[0][:3]}-{group[-1][:3]}" for group in GROUPS])
def test_the_command_decides_as_expected(names: list[str], command: Path, tmp_path: Path) -> None:
    printed = check(command, tmp_path, names)
    assert printed.splitlines()[-1] == f"{len(names)} passed, 0 failed", printed


def test_the_cases_left_for_later_are_named_rightly(command: Path, tmp_path: Path) -> None:
    names = [name for name in CASES if name.startswith(LATER)]
    assert len(names) == len(LATER), "each entry of later.txt names one case"
    printed = check(command, tmp_path, names) if names else ""
    still_failing = set(re.findall(r"^(\d+_)\w+: ", printed, re.MULTILINE))
    assert still_failing == set(LATER), "take the cases that pass out of later.txt"
