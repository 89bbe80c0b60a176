"""What the tests of evidence share with pytest."""

from __future__ import annotations

import pytest

from reflect_lab.evidence.sandbox import interpreter, selftest
from reflect_lab.evidence.sandbox.levels import PROCESS


@pytest.fixture
def no_isolation(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that has process limits only."""
    monkeypatch.setattr(selftest, "strongest", lambda: PROCESS)
    monkeypatch.setattr(selftest, "interpreted", lambda: interpreter.MISSING)
