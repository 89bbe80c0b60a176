"""RLIMIT_NPROC counts a user's processes everywhere: what others of the user do must not change a verdict."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.evidence.evidence_support import isolated_levels
from tests.evidence.sandbox.neighbours import CHECKS
from tests.required import missing

ROOT = Path(__file__).parents[3]
USER = 64_908
AS_THE_USER = f"""
import os, runpy, sys
sys.path.insert(0, {str(ROOT)!r})
from scripts.hostile import mount, show_to_all
mount("--make-rprivate", "/")
show_to_all((sys.base_prefix, sys.prefix, {str(ROOT)!r}))
os.chdir("/")
os.setgroups([]), os.setgid({USER}), os.setuid({USER})
os.environ["HOME"] = "/nowhere"
os.execv(sys.executable, [sys.executable, "-P", *sys.argv[1:]])
"""
"""Root is not bound by RLIMIT_NPROC: there the checks run as a user that nobody else is, in a mount namespace that
shows him this project."""


def verdicts(level: int) -> list[list[object]]:
    program = [str(Path(__file__).with_name("neighbours.py")), str(level)]
    as_user = (
        ["unshare", "-m", sys.executable, "-P", "-c", AS_THE_USER] if os.geteuid() == 0 else [sys.executable, "-P"]
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [*as_user, *program], env=environment, capture_output=True, text=True, timeout=200, check=False
    )
    if os.geteuid() == 0 and "unshare failed" in done.stderr:
        missing("sandbox", f"no mount namespace can be made here: {done.stderr.strip()}")
    assert done.returncode == 0, done.stderr
    found: list[list[object]] = json.loads(done.stdout)
    return found


LEVELS = [level.number for level in isolated_levels()]


@pytest.mark.parametrize(
    "level",
    [pytest.param(n, marks=pytest.mark.slow if n != max(LEVELS, default=1) else ()) for n in (1, *LEVELS)],
)
def test_fifty_checks_in_parallel_and_a_neighbour_under_pressure_change_no_verdict(level: int) -> None:
    assert verdicts(level) == [["passed" if n % 2 else "failed", 1, level] for n in range(CHECKS)]
