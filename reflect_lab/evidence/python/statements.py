"""What can be told of the statements of a check's code: which assert, what they bind and hold, how they read."""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Sequence

from reflect_lab.evidence.python.judging import dotted
from reflect_lab.evidence.python.probing import Unsplit
from reflect_lab.evidence.wording import shown

_DEEPEST = 100
_RAISES = ("raises", "pytest.raises")
_WRITABLE = (int, float, complex, str, bytes, bytearray, type(None), range, set, frozenset)
DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def split_cases(body: list[ast.stmt]) -> list[tuple[int, int]]:
    """The ranges of statements that make the cases of a check; what comes after the last assert belongs to it."""
    ends = [number for number, statement in enumerate(body, 1) if asserts(statement)]
    if not ends:
        return [(0, len(body))]
    ends[-1] = len(body)
    return list(zip([0, *ends[:-1]], ends, strict=True))


def asserts(statement: ast.AST) -> bool:
    """Whether performing the statement performs an assert or demands an exception; definitions only define."""
    if isinstance(statement, DEFINITIONS):
        return False
    if isinstance(statement, ast.With) and any(raises_call(item) for item in statement.items):
        return True
    parts = (child for child in ast.iter_child_nodes(statement) if isinstance(child, ast.stmt | ast.ExceptHandler))
    return isinstance(statement, ast.Assert) or any(map(asserts, parts))


def raises_call(item: ast.withitem) -> bool:
    """Whether it is `raises(…)`, pytest's."""
    return isinstance(item.context_expr, ast.Call) and dotted(item.context_expr.func) in _RAISES


def exceptions(node: ast.expr) -> tuple[type[BaseException], ...]:
    """The built-in exceptions that an expression names; raises Unsplit where it names others."""
    if isinstance(node, ast.Tuple) and node.elts:
        return tuple(kind for part in node.elts for kind in exceptions(part))
    found = getattr(builtins, node.id, None) if isinstance(node, ast.Name) else None
    if not isinstance(found, type) or not issubclass(found, BaseException):
        raise Unsplit("the exception is not built in")
    return (found,)


def tried(statement: ast.Try) -> tuple[list[ast.stmt], tuple[type[BaseException], ...]]:
    """What must raise, and which exceptions, of `try: f(-1); assert False` / `except ValueError: pass`, the assert also
    as the `else`; raises Unsplit of any other."""
    body = statement.body if statement.orelse else statement.body[:-1]
    last = statement.orelse if statement.orelse else statement.body[-1:]
    handler = statement.handlers[0] if len(statement.handlers) == 1 else None
    if statement.finalbody or len(last) != 1 or not _always_fails(last[0]) or not body:
        raise Unsplit("Try is not split")
    if handler is None or handler.type is None or [type(s) for s in handler.body] != [ast.Pass]:
        raise Unsplit("what handles the exception is not split")
    classes = exceptions(handler.type)
    if not statement.orelse and any(issubclass(AssertionError, kind) for kind in classes):
        raise Unsplit("the handler also takes the assert's own exception")
    return body, classes


def _always_fails(statement: ast.stmt) -> bool:
    match statement:
        case ast.Assert(test=ast.Constant(value=value)):
            return not value
        case ast.Raise(exc=ast.Name(id="AssertionError") | ast.Call(func=ast.Name(id="AssertionError"))):
            return True
    return False


def is_pattern(text: str) -> bool:
    """Whether a text means more than itself as a regular expression."""
    return any(char in r".^$*+?{}[]\|()" for char in text)


def says_nothing(statement: ast.stmt) -> bool:
    """Whether a statement need not be sent: a bare literal, or an import of pytest, whose part is done here."""
    match statement:
        case ast.Expr(value=ast.Constant()):
            return True
        case ast.Import(names=[ast.alias(name="pytest", asname=None)]):
            return True
        case ast.ImportFrom(module="pytest", names=names):
            return all(alias.name in ("approx", "raises") and alias.asname is None for alias in names)
    return False


def is_immutable(value: object) -> bool:
    """Whether nothing that gets hold of a literal's value can change it."""
    if isinstance(value, tuple | frozenset):
        return all(map(is_immutable, value))
    return value is None or isinstance(value, int | float | complex | str | bytes | range)


def literal(value: object) -> ast.expr:
    """The expression that makes a literal's value again; raises Unsplit where there is none."""
    if isinstance(value, float) and (value != value or value in (float("inf"), -float("inf"))):
        return ast.Call(ast.Name("float", ast.Load()), [ast.Constant(str(value))], [])
    if isinstance(value, list | tuple):
        return (ast.List if isinstance(value, list) else ast.Tuple)([literal(part) for part in value], ast.Load())
    if isinstance(value, dict):
        return ast.Dict([literal(key) for key in value], [literal(part) for part in value.values()])
    if isinstance(value, set) and value:
        return ast.Set([literal(part) for part in value])
    if isinstance(value, _WRITABLE):
        return ast.parse(repr(value), mode="eval").body
    raise Unsplit(f"a {type(value).__name__} is no literal")


def used_names(node: ast.AST) -> frozenset[str]:
    """The names that must be bound before: those that are read, added to, or deleted, at any depth."""
    added_to = (n.target for n in ast.walk(node) if isinstance(n, ast.AugAssign))
    named = (n for n in ast.walk(node) if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Store))
    return frozenset(n.id for n in [*named, *added_to] if isinstance(n, ast.Name))


def used_later(body: list[ast.stmt]) -> frozenset[str]:
    """The names that functions of the check's own use when they are called."""
    functions = (n for statement in body for n in ast.walk(statement) if isinstance(n, (*DEFINITIONS, ast.Lambda)))
    return frozenset().union(*map(used_names, functions))


def bound(statement: ast.stmt) -> set[str]:
    """Names that a statement binds or unbinds, at any depth."""
    names: set[str] = set()
    for node in ast.walk(statement):
        match node:
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
                names.add(name)
            case ast.alias(name=name, asname=alias):
                names.add(alias or name.partition(".")[0])
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                names.add(name)
            case ast.ExceptHandler(name=str(name)):
                names.add(name)
    return names


def is_deep(node: ast.AST) -> bool:
    """Whether an expression is nested beyond what is worth a look: each level is looked at from all levels above it."""
    level: list[ast.AST] = [node]
    for _ in range(_DEEPEST):
        level = [child for one in level for child in ast.iter_child_nodes(one)]
        if not level:
            return False
    return True


def source_lines(code: str) -> list[bytes]:
    """The lines as the parser counts them, with their ends."""
    return [line.encode() for line in re.findall(r"[^\r\n]*(?:\r\n|\r|\n|\Z)", code)]


def _source(lines: Sequence[bytes], node: ast.stmt) -> str:
    """The text of a statement (`ast.get_source_segment` would split the whole code anew for each)."""
    last = node.end_lineno or node.lineno
    text = b"".join(lines[node.lineno - 1 : last])
    over = len(lines[last - 1]) - (node.end_col_offset or 0)
    return text[node.col_offset : len(text) - over].decode()


def written(lines: Sequence[bytes], statement: ast.stmt) -> str:
    """A statement as code: without comments, or as it stands where Python can't write it down again."""
    try:
        return ast.unparse(statement)
    except (ValueError, RecursionError):
        return _source(lines, statement)


def title(lines: Sequence[bytes], statements: list[ast.stmt]) -> str:
    """A case in its own words: its assert, else its first statement."""
    return shown(_source(lines, next((s for s in statements if asserts(s)), statements[0])), 200)
