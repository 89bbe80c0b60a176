"""What the self-test sees: sandboxes that hide one place and show another, and environments in odd places."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from reflect_lab.evidence.sandbox import selftest
from reflect_lab.evidence.sandbox.canaries import canaries
from reflect_lab.evidence.sandbox.levels import Level
from tests.evidence.evidence_support import isolated_levels

LYING = """#!/bin/bash
[ "$1" = --version ] && { echo "bubblewrap 0.9.0"; exit 0; }
filter=$2
while [ "$1" != -- ]; do [ "$1" = --chdir ] && home=$2; shift; done
shift
exec BWRAP --seccomp $filter --ro-bind / / --unshare-pid --proc /proc --dev /dev HIDDEN \\
  --tmpfs "$home" --chdir "$home" -- "$@"
"""
LEVELS = isolated_levels()
namespaced = [level for level in LEVELS if level.number == 3]


def lying(folder: Path, *hidden: str) -> Level:
    """Level 3 by a `bwrap` of a "hardened" system: it shares all files of the host but these."""
    made = folder / "bwrap"
    options = " ".join(f"--tmpfs {path}" for path in hidden)
    made.write_text(LYING.replace("BWRAP", str(namespaced[0].bwrap)).replace("HIDDEN", options))
    made.chmod(0o755)
    return Level(number=3, bwrap=str(made))


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder with a file, outside the temporary folder."""
    folder = Path(os.environ.get("XDG_RUNTIME_DIR") or "/var/tmp", f"reflect-lab-home-{os.getpid()}")
    (folder / "work").mkdir(parents=True)
    (folder / "notes").write_text("private")
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.chdir(folder / "work")
    yield folder  # type: ignore[misc]
    shutil.rmtree(folder)


@pytest.mark.skipif(not namespaced, reason="bubblewrap does not work on this machine")
def test_a_sandbox_that_hides_only_the_temporary_folder_does_not_pass(tmp_path: Path, home: Path) -> None:
    why = str(selftest.tested(lying(tmp_path, "/tmp")).why)
    assert why.startswith(selftest.REACHED) and "a file below the home folder" in why
    assert "a file of the home folder" in why and "a file of the working folder" in why
    assert sorted(os.listdir(home)) == ["notes", "work"] and (home / "notes").read_text() == "private"


@pytest.mark.skipif(not namespaced, reason="bubblewrap does not work on this machine")
def test_a_sandbox_that_hides_only_the_home_folder_does_not_pass(tmp_path: Path, home: Path) -> None:
    why = str(selftest.tested(lying(tmp_path, str(home))).why)
    assert "a file outside" in why and "below the home folder" not in why


@pytest.mark.skipif(not namespaced, reason="bubblewrap does not work on this machine")
def test_a_sandbox_that_shows_only_the_working_folder_does_not_pass(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path / "project")
    (tmp_path / "project" / ".env").write_text("KEY=secret")
    lie = lying(tmp_path, str(home))
    text = Path(str(lie.bwrap)).read_text()
    Path(str(lie.bwrap)).write_text(text.replace("--tmpfs", f"--tmpfs /tmp --ro-bind {tmp_path} {tmp_path} --tmpfs", 1))
    assert str(selftest.tested(lie).why) == f"{selftest.REACHED} a file of the working folder"


def test_a_home_that_cannot_be_written_is_tried_by_a_file_that_is_there(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(home / "nowhere"))
    with canaries() as outside:
        assert set(outside.files) == {"a file outside", "a file of the working folder"}
        assert outside.files["a file of the working folder"] == str(home / "notes")
        assert outside.made == (outside.files["a file outside"],) and outside.are_whole
    assert not Path(outside.made[0]).exists()


MACHINE = """
import json, pathlib, sys
from reflect_lab.evidence.sandbox import cage, runner, selftest
from reflect_lab.evidence.sandbox.limits import Limits
for test in selftest.machine().tests:
    draft = f"for p in {sys.argv[1:]!r}:\\n    try: print(open(p).read())\\n    except OSError: print('refused')"
    job = {"mode": "python", "draft": draft, "setup": "", "code": "pass", "cases": [[0, 1]]}
    caged = cage.run_blocking(pathlib.Path(runner.__file__), job, Limits(), level=test.level)
    print(json.dumps([test.level.number, test.why, caged.output.split()]))
"""


@pytest.mark.skipif(not LEVELS, reason="neither Landlock nor bubblewrap works on this machine")
def test_an_environment_made_in_the_projects_folder_does_not_open_the_project(tmp_path: Path) -> None:
    project = tmp_path / "project"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", project], check=True)
    (project / ".env").write_text("KEY=secret")
    (project / "tests").mkdir()
    (project / "tests" / "expected.md").write_text("42")
    secrets = [str(project / ".env"), str(project / "tests" / "expected.md")]
    said = subprocess.run(
        [project / "bin" / "python", "-c", MACHINE, *secrets],
        cwd=project, env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])}, capture_output=True, text=True,
    )  # fmt: skip
    assert said.returncode == 0, said.stderr
    numbers = {level.number for level in LEVELS}
    told = [line for line in said.stdout.splitlines() if int(line[1]) in numbers]
    assert told == [f'[{level.number}, null, ["refused", "refused"]]' for level in LEVELS], said.stdout
