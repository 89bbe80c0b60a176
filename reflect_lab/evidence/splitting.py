"""The plan of a check: which statements the draft's process is sent, and what this process does with the answers.

Of a split assert only the calls are sent (see `probing`). An assert that can't be split is sent whole, and its case is
marked: it is judged beside the draft, by code that the draft could change.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from reflect_lab.evidence.judging import dotted
from reflect_lab.evidence.probing import Expressions, Unsplit
from reflect_lab.evidence.wording import shown

_LONGEST_LOOP = 200
_DEEPEST = 100
_RAISES = ("raises", "pytest.raises")
_REDIRECTS = ("redirect_stdout", "redirect_stderr", "contextlib.redirect_stdout", "contextlib.redirect_stderr")
_WRITABLE = (int, float, complex, str, bytes, bytearray, type(None), range, set, frozenset)
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


_Binding = tuple[str, int]
"""A name and which of the check's bindings to literals it is."""


@dataclass(frozen=True, kw_only=True)
class Expectation:
    """An assert as it is worked out here: its `test` with `Asked` leaves, the names that it knows, its message, and the
    loop's values for which it was unrolled (`x = 2`)."""

    test: ast.expr
    known: Mapping[str, object]
    message: str = ""
    at: str = ""


@dataclass(frozen=True, kw_only=True)
class Raising:
    """Statements that must raise one of these built-in exceptions, with `text` somewhere in its text."""

    classes: tuple[type[BaseException], ...]
    text: str = ""


@dataclass(frozen=True, kw_only=True)
class Case:
    """`expects` has one entry for each of the case's statements that are answered; a case that is not split has none:
    what the draft's process says is its verdict."""

    title: str
    expects: tuple[Expectation | Raising, ...] = ()

    @property
    def is_split(self) -> bool:
        return bool(self.expects)


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The cases of a check and the `code` that is sent, whose statements number `ranges` make the cases. The values of
    the statements `asked` and the exceptions of the statements `raising` are answered."""

    cases: tuple[Case, ...]
    code: str
    ranges: tuple[tuple[int, int], ...]
    asked: tuple[int, ...]
    raising: tuple[int, ...]


def plan(code: str) -> Plan:
    """The plan of a check's code, which is valid Python of at least one statement."""
    body = ast.parse(code).body
    sent: frozenset[_Binding] = frozenset()
    while True:
        # What binds a name to a literal stays here, until code that is sent uses the name.
        planner = _Planner(code, body, sent)
        made = planner.plan()
        if planner.wanted <= sent:
            return made
        sent |= planner.wanted


def split_cases(body: list[ast.stmt]) -> list[tuple[int, int]]:
    """The ranges of statements that make the cases of a check; what comes after the last assert belongs to it."""
    ends = [number for number, statement in enumerate(body, 1) if _asserts(statement)]
    if not ends:
        return [(0, len(body))]
    ends[-1] = len(body)
    return list(zip([0, *ends[:-1]], ends, strict=True))


def _asserts(statement: ast.AST) -> bool:
    """Whether performing the statement performs an assert or demands an exception; definitions only define."""
    if isinstance(statement, _DEFINITIONS):
        return False
    if isinstance(statement, ast.With) and any(_raises_call(item) for item in statement.items):
        return True
    parts = (child for child in ast.iter_child_nodes(statement) if isinstance(child, ast.stmt | ast.ExceptHandler))
    return isinstance(statement, ast.Assert) or any(map(_asserts, parts))


@dataclass
class _Sent:
    """What the draft's process is sent of one case, and what its answers are to be."""

    statements: list[ast.stmt] = field(default_factory=list)
    asked: list[int] = field(default_factory=list)
    raising: list[int] = field(default_factory=list)
    expects: list[Expectation | Raising] = field(default_factory=list)

    def ask(self, probes: Sequence[ast.expr], expects: Expectation) -> None:
        self.asked.append(len(self.statements))
        self.statements.append(ast.Expr(ast.Tuple(list(probes), ast.Load())))
        self.expects.append(expects)

    def attempt(self, statements: list[ast.stmt], expects: Raising) -> None:
        self.raising.append(len(self.statements))
        self.statements.append(ast.If(ast.Constant(True), statements, []))
        self.expects.append(expects)


class _Planner:
    """One pass over a check's code that sends the bindings of literals in `sent`; finds those that are `wanted`."""

    def __init__(self, code: str, body: list[ast.stmt], sent: frozenset[_Binding]) -> None:
        self._lines, self._body, self._sent = _lines(code), body, sent
        self._known: dict[str, object] = {}
        self._bindings: dict[str, _Binding] = {}
        self._bound_so_far = 0
        helpers = frozenset(s.name for s in body if isinstance(s, _DEFINITIONS))
        self._expressions = Expressions(self._known, helpers)
        self.wanted: frozenset[_Binding] = frozenset()

    def plan(self) -> Plan:
        cases, ranges = [], []
        code: list[str] = []
        asked, raising = [], []
        for start, end in split_cases(self._body):
            statements, first = self._body[start:end], len(code)
            part, texts = self._case(statements)
            code += texts
            asked += [first + number for number in part.asked]
            raising += [first + number for number in part.raising]
            ranges.append((first, len(code)))
            cases.append(Case(title=_title(self._lines, statements), expects=tuple(part.expects)))
        return Plan(
            cases=tuple(cases), code="\n".join(code), ranges=tuple(ranges), asked=tuple(asked), raising=tuple(raising)
        )

    def _case(self, statements: list[ast.stmt]) -> tuple[_Sent, list[str]]:
        before, bindings, number = dict(self._known), dict(self._bindings), self._bound_so_far
        try:
            part = _Sent()
            if any(map(_is_deep, statements)):
                raise Unsplit("it is nested too deeply to be looked through")
            for statement in statements:
                self._statement(statement, part, {})
            return part, [ast.unparse(ast.fix_missing_locations(sent)) for sent in part.statements]
        except (
            Unsplit,
            ValueError,
            RecursionError,
        ):  # the last two: what can't be written down again, as some f-strings
            self._known.clear()
            self._known.update(before)
            self._bindings, self._bound_so_far = bindings, number
        for statement in statements:
            self._want(statement)
            literals = self._literals(statement)
            self._rebound(statement)
            self._known.update({name: value for name, value in literals.items() if _is_immutable(value)})
        return _Sent(statements), [_written(self._lines, statement) for statement in statements]

    def _statement(self, statement: ast.stmt, out: _Sent, loop: Mapping[str, object]) -> None:
        if isinstance(statement, ast.Assert):
            self._assert(statement, out, loop)
        elif literals := self._literals(statement):
            for name, value in literals.items():
                self._bind(name, value, out)
        elif isinstance(statement, ast.For):
            self._loop(statement, out, loop)
        elif isinstance(statement, ast.With):
            self._with(statement, out)
        elif isinstance(statement, ast.Try):
            self._try(statement, out)
        elif not _says_nothing(statement):
            self._refuse_secrets(statement)
            self._send(statement, out)

    def _send(self, statement: ast.stmt, out: _Sent) -> None:
        self._want(statement)
        self._rebound(statement)
        out.statements.append(statement)

    def _want(self, node: ast.AST) -> None:
        """What is sent uses names: whatever binds them to literals must be sent before it."""
        self.wanted |= {self._bindings[name] for name in _names(node) if name in self._bindings}

    def _literals(self, statement: ast.stmt) -> dict[str, object]:
        """The names that a statement binds to literals."""
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                constant = self._expressions.constant(value)
                return {} if constant is None else {name: constant[0]}
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple() as value):
                constant = self._expressions.constant(value)
                names = [target.id for target in targets if isinstance(target, ast.Name)]
                values = constant[0] if constant else ()
                if isinstance(values, tuple) and len(names) == len(targets) == len(values):
                    return dict(zip(names, values, strict=True))
        return {}

    def _refuse_secrets(self, statement: ast.stmt) -> None:
        """Raises Unsplit where a statement may hold more than inputs."""
        match statement:
            case ast.Assign(value=value) | ast.AugAssign(value=value) | ast.Expr(value=value):
                self._expressions.refuse_secrets(value)
            case ast.AnnAssign(value=ast.expr() as value):
                self._expressions.refuse_secrets(value)
            case ast.For(iter=value, body=body, orelse=[]):
                self._expressions.refuse_secrets(value)
                for inner in body:
                    self._refuse_secrets(inner)
            case ast.Import() | ast.ImportFrom() | ast.Delete() | ast.Pass():
                return
            case _:
                raise Unsplit(f"{type(statement).__name__} is not split")

    def _bind(self, name: str, value: object, out: _Sent) -> None:
        """A name for a literal: known here, unless it is sent and may be changed there."""
        self._bound_so_far += 1
        binding = self._bindings[name] = (name, self._bound_so_far)
        self._known.pop(name, None)
        if binding in self._sent:
            out.statements.append(ast.Assign([ast.Name(name, ast.Store())], _literal(value)))
        if binding not in self._sent or _is_immutable(value):
            self._known[name] = value

    def _rebound(self, statement: ast.stmt) -> None:
        for name in _bound(statement):
            self._known.pop(name, None)
            self._bindings.pop(name, None)

    def _assert(self, statement: ast.Assert, out: _Sent, loop: Mapping[str, object]) -> None:
        probes: list[ast.expr] = []
        test = self._expressions.split(statement.test, probes, is_truth=True)
        said = None if statement.msg is None else self._expressions.constant(statement.msg)
        for probe in probes:
            self._want(probe)
        at = ", ".join(f"{name} = {shown(repr(value), 60)}" for name, value in loop.items())
        out.ask(probes, Expectation(test=test, known=dict(self._known), message=str(said[0]) if said else "", at=at))

    def _loop(self, statement: ast.For, out: _Sent, loop: Mapping[str, object]) -> None:
        """A loop over literals is unrolled; one without an assert is sent as it is."""
        if not _asserts(statement):
            self._refuse_secrets(statement)
            self._send(statement, out)
            return
        targets = statement.target.elts if isinstance(statement.target, ast.Tuple) else [statement.target]
        names = [target.id for target in targets if isinstance(target, ast.Name)]
        rows = self._rows(statement)
        if len(names) != len(targets) or statement.orelse or rows is None:
            raise Unsplit("a loop over what is no list of literals")
        for row in rows:
            values = tuple(row) if isinstance(statement.target, ast.Tuple) and isinstance(row, list | tuple) else (row,)
            if len(values) != len(names):
                raise Unsplit("a row of the loop does not fit its names")
            here = dict(zip(names, values, strict=True))
            for name, value in here.items():
                self._bind(name, value, out)
            for inner in statement.body:
                self._statement(inner, out, {**loop, **here})

    def _rows(self, statement: ast.For) -> list[object] | None:
        constant = self._expressions.constant(statement.iter)
        if constant is None or not isinstance(constant[0], list | tuple | range | str | dict):
            return None
        return list(constant[0]) if len(constant[0]) <= _LONGEST_LOOP else None

    def _with(self, statement: ast.With, out: _Sent) -> None:
        item = statement.items[0]
        call = item.context_expr
        if len(statement.items) > 1 or not isinstance(call, ast.Call):
            raise Unsplit("With is not split")
        for inner in statement.body:
            self._refuse_secrets(inner)
        if dotted(call.func) in _REDIRECTS:
            self._expressions.refuse_secrets(call)
            self._send(statement, out)
            return
        if not _raises_call(item) or item.optional_vars is not None or not call.args:
            raise Unsplit("With is not split")
        texts = [self._expressions.constant(k.value) for k in call.keywords if k.arg == "match"]
        text = texts[0][0] if texts and texts[0] else ""
        if len(call.args) > 1 or len(call.keywords) != bool(text) or not isinstance(text, str) or _is_pattern(text):
            raise Unsplit("a pattern is looked for in the exception's text")
        self._attempt(statement.body, Raising(classes=_exceptions(call.args[0]), text=text), out)

    def _try(self, statement: ast.Try, out: _Sent) -> None:
        """`try: f(-1); assert False` / `except ValueError: pass`, the assert also as the `else`."""
        body = statement.body if statement.orelse else statement.body[:-1]
        last = statement.orelse if statement.orelse else statement.body[-1:]
        handler = statement.handlers[0] if len(statement.handlers) == 1 else None
        if statement.finalbody or len(last) != 1 or not _always_fails(last[0]) or not body:
            raise Unsplit("Try is not split")
        if handler is None or handler.type is None or [type(s) for s in handler.body] != [ast.Pass]:
            raise Unsplit("what handles the exception is not split")
        classes = _exceptions(handler.type)
        if not statement.orelse and any(issubclass(AssertionError, kind) for kind in classes):
            raise Unsplit("the handler also takes the assert's own exception")
        for inner in body:
            self._refuse_secrets(inner)
        self._attempt(body, Raising(classes=classes), out)

    def _attempt(self, body: list[ast.stmt], expects: Raising, out: _Sent) -> None:
        for inner in body:
            self._want(inner)
            self._rebound(inner)
        out.attempt(body, expects)


def _raises_call(item: ast.withitem) -> bool:
    return isinstance(item.context_expr, ast.Call) and dotted(item.context_expr.func) in _RAISES


def _exceptions(node: ast.expr) -> tuple[type[BaseException], ...]:
    if isinstance(node, ast.Tuple) and node.elts:
        return tuple(kind for part in node.elts for kind in _exceptions(part))
    found = getattr(builtins, node.id, None) if isinstance(node, ast.Name) else None
    if not isinstance(found, type) or not issubclass(found, BaseException):
        raise Unsplit("the exception is not built in")
    return (found,)


def _always_fails(statement: ast.stmt) -> bool:
    match statement:
        case ast.Assert(test=ast.Constant(value=value)):
            return not value
        case ast.Raise(exc=ast.Name(id="AssertionError") | ast.Call(func=ast.Name(id="AssertionError"))):
            return True
    return False


def _is_pattern(text: str) -> bool:
    return any(char in r".^$*+?{}[]\|()" for char in text)


def _says_nothing(statement: ast.stmt) -> bool:
    """Whether a statement need not be sent: a bare literal, or an import of pytest, whose part is done here."""
    match statement:
        case ast.Expr(value=ast.Constant()):
            return True
        case ast.Import(names=[ast.alias(name="pytest", asname=None)]):
            return True
        case ast.ImportFrom(module="pytest", names=names):
            return all(alias.name in ("approx", "raises") and alias.asname is None for alias in names)
    return False


def _is_immutable(value: object) -> bool:
    if isinstance(value, tuple | frozenset):
        return all(map(_is_immutable, value))
    return value is None or isinstance(value, int | float | complex | str | bytes | range)


def _literal(value: object) -> ast.expr:
    """The expression that makes a literal's value again; raises Unsplit where there is none."""
    if isinstance(value, float) and (value != value or value in (float("inf"), -float("inf"))):
        return ast.Call(ast.Name("float", ast.Load()), [ast.Constant(str(value))], [])
    if isinstance(value, list | tuple):
        return (ast.List if isinstance(value, list) else ast.Tuple)([_literal(part) for part in value], ast.Load())
    if isinstance(value, dict):
        return ast.Dict([_literal(key) for key in value], [_literal(part) for part in value.values()])
    if isinstance(value, set) and value:
        return ast.Set([_literal(part) for part in value])
    if isinstance(value, _WRITABLE):
        return ast.parse(repr(value), mode="eval").body
    raise Unsplit(f"a {type(value).__name__} is no literal")


def _names(node: ast.AST) -> frozenset[str]:
    return frozenset(n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load))


def _bound(statement: ast.stmt) -> set[str]:
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


def _is_deep(node: ast.AST) -> bool:
    """Whether an expression is nested beyond what is worth a look: each level is looked at from all levels above it."""
    level: list[ast.AST] = [node]
    for _ in range(_DEEPEST):
        level = [child for one in level for child in ast.iter_child_nodes(one)]
        if not level:
            return False
    return True


def _lines(code: str) -> list[bytes]:
    return [line.encode() for line in re.findall(r"[^\r\n]*(?:\r\n|\r|\n|\Z)", code)]


def _source(lines: Sequence[bytes], node: ast.stmt) -> str:
    """The text of a statement (`ast.get_source_segment` would split the whole code anew for each)."""
    last = node.end_lineno or node.lineno
    text = b"".join(lines[node.lineno - 1 : last])
    over = len(lines[last - 1]) - (node.end_col_offset or 0)
    return text[node.col_offset : len(text) - over].decode()


def _written(lines: Sequence[bytes], statement: ast.stmt) -> str:
    try:
        return ast.unparse(statement)
    except (ValueError, RecursionError):
        return _source(lines, statement)


def _title(lines: Sequence[bytes], statements: list[ast.stmt]) -> str:
    """A case in its own words: its assert, else its first statement."""
    return shown(_source(lines, next((s for s in statements if _asserts(s)), statements[0])), 200)
