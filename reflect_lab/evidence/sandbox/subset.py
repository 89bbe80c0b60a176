"""What of Python the interpreter of level W does otherwise, read from a draft's syntax tree.

Found by trying (`docs/sandbox.md` says how much of recorded drafts is left): the interpreter works out at once what
Python makes an iterator of, and asks a class's own special methods only in part. Loaded by `interpreter_runner`, whose
process may be ended by a hostile text; it imports nothing of this package.
"""

from __future__ import annotations

import ast

_LAZY = frozenset({"enumerate", "filter", "map", "reversed", "zip"})
_CONSUMERS = _LAZY | {"all", "any", "bytes", "dict", "frozenset", "list", "max", "min", "set", "sorted", "sum", "tuple"}
_CONSUMING_METHODS = frozenset({"extend", "fromkeys", "fsum", "join", "prod", "union", "update"})
_UNDERSTOOD = frozenset({"__init__", "__repr__", "__str__"})


def misfit(tree: ast.AST) -> str | None:
    """What of the code this interpreter is known to do otherwise than Python, None where nothing is."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            methods = [part.name for part in node.body if isinstance(part, ast.FunctionDef)]
            special = next((n for n in methods if n.startswith("__") and n not in _UNDERSTOOD), None)
            if special is not None:
                return f"it does not always ask a class's own {special}"
        if isinstance(node, ast.Name) and node.id in ("eval", "exec"):
            return f"{node.id} is not looked through"
        for child in ast.iter_child_nodes(node):
            if is_lazy(child) and not _is_consumed(node, child):
                return "an iterator (a generator, map, zip, …) is a list there"
            is_called = isinstance(node, ast.Call) and child is node.func
            if isinstance(child, ast.Name) and child.id in _LAZY and not is_called:
                return f"{child.id} gives a list there"
    return None


def is_lazy(node: ast.AST) -> bool:
    """Whether Python would make an iterator of it; this interpreter makes a list at once."""
    if isinstance(node, ast.Call):
        name = node.func.id if isinstance(node.func, ast.Name) else None
        return name in _LAZY or (isinstance(node.func, ast.Attribute) and node.func.attr == "finditer")
    return isinstance(node, ast.GeneratorExp)


def _is_consumed(parent: ast.AST, child: ast.AST) -> bool:
    """Whether an iterator ends where it stands, so that a list does as well."""
    match parent:
        case ast.Call(func=ast.Name(id=name)):
            return name in _CONSUMERS
        case ast.Call(func=ast.Attribute(attr=name)):
            return name in _CONSUMING_METHODS
        case ast.Assign(targets=[ast.Tuple() | ast.List()]) | ast.Starred():
            return True
        case ast.For(iter=source) | ast.comprehension(iter=source):
            return source is child
    return False
