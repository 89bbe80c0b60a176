"""The examples in the docstrings of the checks say what the checks do."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import reflect_lab.evidence
from reflect_lab.core.task import Fact, Requirement, Task
from reflect_lab.evidence.kinds.custom import check
from reflect_lab.evidence.look import look
from reflect_lab.evidence.registry import BUILT_IN

EVIDENCE = reflect_lab.evidence
MODULES = sorted(m.name for m in pkgutil.walk_packages(EVIDENCE.__path__, "reflect_lab.evidence.") if not m.ispkg)
GLOBALS = {"look": look, "check": check, "Task": Task, "Fact": Fact, "Requirement": Requirement}


@pytest.mark.parametrize("module", MODULES)
def test_every_example_is_true(module: str) -> None:
    found = importlib.import_module(module)
    result = doctest.testmod(found, extraglobs=GLOBALS, raise_on_error=False)
    assert result.failed == 0, f"{result.failed} of {result.attempted} examples"
    has_kind = any(kind.__module__ == module for kind in BUILT_IN.values())  # type: ignore[attr-defined]
    assert result.attempted or not has_kind, "its examples were not found"


@pytest.mark.parametrize("kind", sorted(BUILT_IN))
def test_every_kind_has_an_example(kind: str) -> None:
    assert ">>> " in (BUILT_IN[kind].__doc__ or "")
