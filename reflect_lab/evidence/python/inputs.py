"""Whether what an assert expects is given away by the inputs of other calls, all of which the draft can read."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator

from reflect_lab.evidence.python.judging import Asked
from reflect_lab.evidence.python.plain import shown_value


def expected_in(test: ast.expr) -> Iterator[ast.expr]:
    """The expressions of a test that hold no call of the draft, each as large as it can be."""
    if not any(isinstance(part, Asked) for part in ast.walk(test)):
        yield test
        return
    for child in ast.iter_child_nodes(test):
        if isinstance(child, ast.expr) and not (isinstance(test, ast.Call) and child is test.func):
            yield from expected_in(child)


def keys_of(value: object) -> list[str]:
    """What tells a value from others; nothing of one that a draft could guess as well: None, a boolean, a number of
    less than three digits, text of less than two characters, what is empty."""
    if value is None or isinstance(value, bool | range):
        return []
    if isinstance(value, int | float):
        digits = f"{abs(value):.17g}".partition("e")[0].replace(".", "").strip("0") if isinstance(value, float) else ""
        return [str(value)] if len(digits or str(abs(value))) > 2 else []
    if isinstance(value, str | bytes):
        return [repr(value)] if len(value) > 1 else []
    if isinstance(value, list | tuple | set | frozenset | dict):
        return [shown_value(value)] if value else []
    return []


def inputs_of(statement: ast.stmt) -> Iterator[str]:
    """The keys of the literals of a statement that is sent."""
    for node in ast.walk(statement):
        if isinstance(node, ast.Constant | ast.List | ast.Tuple | ast.Set | ast.Dict | ast.UnaryOp):
            try:
                yield from keys_of(ast.literal_eval(node))
            except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
                continue


def given_away(expected: Iterable[tuple[int, int, str]], inputs: Iterable[tuple[int, str]]) -> frozenset[int]:
    """The cases that expect a value which also stands in another statement that is sent: what the call itself is
    given tells the draft nothing more."""
    places: dict[str, set[int]] = defaultdict(set)
    for statement, key in inputs:
        places[key].add(statement)
    return frozenset(case for case, statement, key in expected if places[key] - {statement})
