"""What runs inside a sandbox is one file each, that starts anywhere: at level X only its text travels.

So they share no module. The few lines with which each answers are the same in all, and this holds them so.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import reflect_lab.evidence as evidence

FOLDER = Path(evidence.__file__).parent
PROGRAMS = (
    "kinds/manifest_program.py", "sandbox/interpreter_runner.py", "sandbox/runner.py", "sandbox/text_runner.py",
    "sql/runner.py",
)  # fmt: skip


def parsed(name: str) -> ast.Module:
    return ast.parse((FOLDER / name).read_text("utf-8"))


def test_these_are_all_programs() -> None:
    found = {path for path in FOLDER.rglob("*.py") if '__name__ == "__main__"' in path.read_text("utf-8")}
    # The copy is made of the user's own statements, the probe probes: neither looks at a draft.
    assert {str(path.relative_to(FOLDER)) for path in found} - {"sandbox/probe.py", "sql/copy.py"} == set(PROGRAMS)


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_imports_nothing_of_the_package_and_nothing_beside_it(name: str) -> None:
    beside = {path.stem for path in (FOLDER / name).parent.glob("*.py")}
    imported: set[str] = set()
    for node in ast.walk(parsed(name)):
        if isinstance(node, ast.Import):
            imported |= {alias.name.partition(".")[0] for alias in node.names}
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0
            imported.add(str(node.module).partition(".")[0])
    assert not imported & ({"reflect_lab"} | beside)


def answering(name: str) -> str:
    """How a program sends an answer. The runner takes what it needs for that before a draft can change it."""
    (main,) = [n for n in parsed(name).body if isinstance(n, ast.FunctionDef) and n.name == "main"]
    (send,) = [ast.unparse(n) for n in main.body if isinstance(n, ast.FunctionDef)]
    taken = {"write": "os.write(", "dumps": "json.dumps("}
    return re.sub(r"(?<!\.)\b(write|dumps)\(", lambda match: taken[match[1]], send)


def test_all_programs_answer_alike() -> None:
    assert len({answering(name) for name in PROGRAMS}) == 1
