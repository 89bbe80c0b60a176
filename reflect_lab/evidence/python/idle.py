"""Tests that judge nothing, and so would accept any draft: a check refuses them when it is made.

The cases of a check are what its code performs at the top level. Nobody calls its `test_…` functions or runs its
`TestCase` classes, as pytest and unittest would.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from reflect_lab.evidence.python.judging import dotted
from reflect_lab.evidence.python.statements import DEFINITIONS, raises_call

_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
_CATCHING = (ast.With, ast.AsyncWith, ast.Try, ast.TryStar)
_TELLING = ("isinstance", "issubclass", "all", "any", "math.isclose")
"""Calls that tell true from false, and do nothing else."""


def idle_test(code: str, setup: str) -> str | None:
    """What of a check's code can't judge anything, and what to write instead; None where nothing is such."""
    defined = _definitions(code)
    known = (*defined, *_definitions(setup))
    return _uncalled(code, defined, known) or next(filter(None, map(_idle, _performed(code, defined))), None)


def asserts_anything(code: str, setup: str) -> bool:
    """Whether code in which no test is idle demands more of a draft than that it must not raise."""
    defined, body = _definitions(code), list(_outside_definitions(ast.parse(code)))
    known = (*defined, *_definitions(setup))
    used = _used(body, known)
    return any(map(_asserts, body)) or any(_is_test(one, known) for one in known if one in defined or one.name in used)


def _uncalled(code: str, defined: Iterable[_Definition], known: Iterable[_Definition]) -> str | None:
    """A test that the code defines and never uses: one that no other such test uses."""
    used = _used(_outside_definitions(ast.parse(code)), known)
    own = {one.name for one in known}
    called = {one.name for one in defined if any(_root(decorator) in own for decorator in one.decorator_list)}
    idle = [one for one in defined if one.name not in used | called and _is_test(one, known)]
    if not idle:
        return None
    within = {one.name: _used(ast.walk(one), known) - {one.name} for one in idle}
    name = next((name for name in within if not any(name in names for names in within.values())), idle[0].name)
    return f"it defines {name} but never calls it; write its asserts at the top level"


def _idle(statement: ast.stmt) -> str | None:
    line = f"line {statement.lineno}"
    match statement:
        case ast.Expr(value=value) if _compares(value):
            return f"{line} compares and does nothing with it; write assert …"
        case ast.Assert(test=ast.Tuple(elts=[_, *_])):
            return f"{line} asserts a tuple, which always holds; write assert TEST, MESSAGE without brackets"
        case ast.If(test=ast.Compare(left=ast.Name(id="__name__"), ops=[ast.Eq()])):
            return f"{line}: what stands under `if __name__ == …` is not performed here; write it at the top level"
    return None


def _performed(code: str, defined: Iterable[_Definition]) -> Iterator[ast.stmt]:
    """The statements of code and of its definitions, except in `with` and `try`: there, to raise may be all that a
    comparison is for."""
    left: list[ast.AST] = [ast.parse(code), *defined]
    while left:
        for child in ast.iter_child_nodes(left.pop(0)):
            if isinstance(child, ast.stmt):
                yield child
            if isinstance(child, ast.stmt | ast.match_case) and not isinstance(child, (*DEFINITIONS, *_CATCHING)):
                left.append(child)


def _outside_definitions(tree: ast.AST) -> Iterator[ast.AST]:
    """All nodes, those of functions and classes left out."""
    left = [tree]
    while left:
        node = left.pop()
        yield node
        left += [child for child in ast.iter_child_nodes(node) if not isinstance(child, DEFINITIONS)]


def _definitions(code: str) -> tuple[_Definition, ...]:
    """The functions and classes that code defines, but those within others."""
    nodes = _outside_definitions(ast.parse(code))
    return tuple(child for node in nodes for child in ast.iter_child_nodes(node) if isinstance(child, DEFINITIONS))


def _used(nodes: Iterable[ast.AST], known: Iterable[_Definition]) -> frozenset[str]:
    """The names that these nodes read, and what is defined under such a name, in turn."""
    found: set[str] = set()
    while names := {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)} - found:
        found |= names
        nodes = [node for one in known if one.name in names for node in ast.walk(one)]
    return frozenset(found)


def _is_test(one: _Definition, known: Iterable[_Definition]) -> bool:
    """Whether a definition holds an assert, or uses another that does."""
    names = _used(ast.walk(one), known)
    return any(_asserts(node) for d in (one, *(d for d in known if d.name in names)) for node in ast.walk(d))


def _asserts(node: ast.AST) -> bool:
    """Whether this very node demands something: an assert, `raises(…)`, a call such as `self.assertEqual(…)`."""
    match node:
        case ast.Assert() | ast.Raise(exc=ast.Name(id="AssertionError") | ast.Call(func=ast.Name(id="AssertionError"))):
            return True
        case ast.With() | ast.AsyncWith():
            return any(raises_call(item) for item in node.items)
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)):
            return name.startswith("assert") or name == "raises"
    return False


def _compares(node: ast.expr) -> bool:
    """Whether a statement's expression only tells true from false."""
    if isinstance(node, ast.BoolOp):
        return _compares(node.values[-1])
    if isinstance(node, ast.Call):
        return dotted(node.func) in _TELLING
    return isinstance(node, ast.Compare) or (isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not))


def _root(node: ast.expr) -> str | None:
    """The name that a decorator begins with."""
    while isinstance(node, ast.Call | ast.Attribute):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else None
