"""`decide` has no way to see a label: neither by import, nor by type, nor in a document."""

from __future__ import annotations

import ast
import dataclasses
import sys
import types
import typing
from collections.abc import Iterator
from pathlib import Path

from hypothesis import given

import reflect_lab.core
from reflect_lab.core.controller import decide
from reflect_lab.core.events import Decided
from reflect_lab.core.policy import Policy
from reflect_lab.core.run import Estimate, Run
from reflect_lab.documents.cell_checks import Label
from reflect_lab.documents.run_document import dump_run, load_run
from reflect_lab.documents.task_cell import parse_cell
from tests.core.simulate import Turn, play, prefixes
from tests.core.strategies import LAW, ODD_TASK, POLICIES, TURNS

CORE = Path(reflect_lab.core.__file__).parent
LABELS = [
    {"draft_sha256": "0" * 64, "label": "right", "labeller": "ann", "time": "2026-01-01T00:00:00Z"},
    {"issue_key": "R1", "label": "not_real", "labeller": "ann", "time": "2026-01-01T00:00:00Z"},
]


def test_the_core_imports_the_standard_library_and_itself_alone() -> None:
    for file in CORE.glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            modules = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            modules += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            for module in modules:
                is_own = module == "reflect_lab.core" or module.startswith("reflect_lab.core.")
                assert is_own or module.split(".")[0] in sys.stdlib_module_names, f"{file.name} imports {module}"


def reached(kind: object, seen: dict[object, None]) -> dict[object, None]:
    """Every type that a value of this type may hold."""
    if kind in seen:
        return seen
    seen[kind] = None
    if isinstance(kind, type) and dataclasses.is_dataclass(kind):
        for hint in typing.get_type_hints(kind).values():
            reached(hint, seen)
    for part in typing.get_args(kind):
        if isinstance(part, type | types.GenericAlias | types.UnionType) or typing.get_origin(part):
            reached(part, seen)
    return seen


def names(kinds: dict[object, None]) -> Iterator[str]:
    for kind in kinds:
        if isinstance(kind, type) and dataclasses.is_dataclass(kind):
            yield kind.__name__
            yield from (field.name for field in dataclasses.fields(kind))


def test_no_type_that_reaches_decide_holds_a_label() -> None:
    kinds = reached(Run, {})
    reached(Estimate, kinds)
    found = set(names(kinds))
    assert {"Task", "Draft", "Evidence", "Issue", "PromptUse", "draft_quotes"} <= found, "the walk reaches the leaves"
    assert Label not in kinds
    assert not [name for name in found if "label" in name.lower()]
    assert object not in found


def test_a_label_in_a_cell_is_no_part_of_its_task() -> None:
    cell = "Say what 2 + 2 is.\n- [ ] gives the number\n"
    labelled = parse_cell(f"{cell}\n```python label\nassert answer == 4\n```\n", where="task")
    assert len(labelled.labels) == 1
    assert labelled.task == parse_cell(cell, where="task").task


@LAW
@given(TURNS, POLICIES)
def test_a_document_with_labels_beside_it_is_decided_in_the_same_way(turns: list[Turn], under: Policy) -> None:
    run, events = play(turns, ODD_TASK, under)
    for state, event in zip(prefixes(run, events), events, strict=False):
        if isinstance(event, Decided):
            labelled = {**dump_run(state), "labels": LABELS}
            labelled["rounds"] = [{**r, "label": "right"} for r in labelled["rounds"]]
            sizes = event.quote or Estimate()
            assert decide(load_run(labelled), lambda _, sizes=sizes: sizes) == event
