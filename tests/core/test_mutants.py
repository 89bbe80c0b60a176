"""The list of mutants for `scripts/mutants.py` can't rot: each still applies, exactly once, and is Python."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]


def load() -> Any:
    spec = importlib.util.spec_from_file_location("mutants", ROOT / "scripts" / "mutants.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["mutants"] = module  # its dataclass looks itself up
    spec.loader.exec_module(module)
    return module


MUTANTS = load()
ALL = MUTANTS.mutants()


def test_there_are_enough_mutants_each_with_a_name_of_its_own() -> None:
    assert len(ALL) >= 100 and len({m.name for m in ALL}) == len(ALL)


@pytest.mark.parametrize("mutant", ALL, ids=[m.name.replace(" ", "-") for m in ALL])
def test_a_mutant_applies_exactly_once_and_is_python(mutant: Any) -> None:
    compile(mutant.applied(ROOT), mutant.file, "exec")


def test_a_mutant_that_no_longer_applies_is_told_by_its_name(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\nx = 1\n")
    mutant = MUTANTS.Mutant(name="x is two", file="a.py", original="x = 1", replacement="x = 2")
    with pytest.raises(ValueError, match="2 places for the mutant 'x is two'"):
        mutant.applied(tmp_path)
