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

MODULES = sorted(m.name for m in pkgutil.iter_modules(reflect_lab.evidence.__path__) if not m.ispkg)
GLOBALS = {"look": look, "check": check, "Task": Task, "Fact": Fact, "Requirement": Requirement}


@pytest.mark.parametrize("module", MODULES)
def test_every_example_is_true(module: str) -> None:
    found = importlib.import_module(f"reflect_lab.evidence.{module}")
    result = doctest.testmod(found, extraglobs=GLOBALS, raise_on_error=False)
    assert result.failed == 0, f"{result.failed} of {result.attempted} examples"


@pytest.mark.parametrize("kind", sorted(BUILT_IN))
def test_every_kind_has_an_example(kind: str) -> None:
    assert ">>> " in (BUILT_IN[kind].__doc__ or "")
