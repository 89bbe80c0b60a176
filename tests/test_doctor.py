"""What doctor says of a machine with little on it."""

from __future__ import annotations

from pathlib import Path

import pytest

from reflect_lab.doctor import Diagnosis, examine
from reflect_lab.evidence.sandbox import interpreter, selftest
from reflect_lab.evidence.sandbox.levels import Level
from reflect_lab.session import Session

BARE = selftest.Machine(tests=(), missing=("level 3: bubblewrap is not installed", "level 2: no Landlock"))


def diagnosed(folder: Path) -> dict[str, Diagnosis]:
    return {one.part: one for one in examine(Session(cwd=folder, environ={"HOME": str(folder)}))}


def test_what_is_missing_is_told_with_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selftest, "machine", lambda: BARE)
    monkeypatch.setattr(selftest, "interpreted", lambda: interpreter.MISSING)
    found = diagnosed(tmp_path)
    assert (found["sandbox"].state, found["sandbox"].found) == ("missing", "level 1: process limits (no isolation)")
    assert "--sandbox process" in str(found["sandbox"].advice)
    assert "reflect-lab[interpreter]" in found["sandbox level W"].found
    assert found["sandbox level 3"].found == "bubblewrap is not installed"
    assert found["sandbox level 2"].found == "no Landlock"


def test_a_level_that_fails_its_self_test_is_told_as_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    level = Level(number="W", version="9.9")
    failed = selftest.SelfTest(level=level, why="the probe reached a file", seconds=0.1)
    monkeypatch.setattr(selftest, "interpreted", lambda: failed)
    found = diagnosed(tmp_path)["sandbox level W"]
    assert found.state == "missing" and "interpreter-only (monty 9.9)" in found.found
    assert "the probe reached a file" in found.found


@pytest.mark.parametrize(("why", "advice"), [
    ("the probe did not run: bwrap: no permission", "seccomp"),
    ("the probe had no child processes", "a draft would lack that"),
    ("the probe reached a file outside", "does not confine here"),
])  # fmt: skip
def test_the_advice_fits_the_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, why: str, advice: str) -> None:
    test = selftest.SelfTest(level=Level(number=2, abi=7), why=why, seconds=0.1)
    monkeypatch.setattr(selftest, "machine", lambda: selftest.Machine(tests=(test,), missing=()))
    found = diagnosed(tmp_path)["sandbox level 2"]
    assert found.state == "missing" and why in found.found and advice in str(found.advice)
    assert ("seccomp" in str(found.advice)) == ("did not run" in why)
