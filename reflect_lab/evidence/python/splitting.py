"""The plan of a check: which statements the draft's process is sent, and what this process does with the answers.

Of a split assert only the calls are sent (see `probing`). An assert that can't be split is sent whole, and its case is
marked: it is judged beside the draft, by code that the draft could change.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from reflect_lab.evidence.python.inputs import expected_in, given_away, inputs_of, keys_of
from reflect_lab.evidence.python.judging import dotted
from reflect_lab.evidence.python.names import NOTHING, Names, names_of
from reflect_lab.evidence.python.probing import Expressions, Unsplit
from reflect_lab.evidence.python.statements import (
    DEFINITIONS,
    asserts,
    bound,
    exceptions,
    is_deep,
    is_immutable,
    is_pattern,
    literal,
    raises_call,
    says_nothing,
    source_lines,
    split_cases,
    title,
    tried,
    used_later,
    used_names,
    written,
)
from reflect_lab.evidence.wording import shown

_LONGEST_LOOP = 200
_MOST_UNROLLED = 1000
"""Asserts of a check, with those that loops repeat, that are split; the rest is performed as it stands."""
_REDIRECTS = ("redirect_stdout", "redirect_stderr", "contextlib.redirect_stdout", "contextlib.redirect_stderr")


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


def plan(code: str, others: Names = NOTHING) -> Plan:
    """The plan of a check's code, which is valid Python of at least one statement. `others` are the names of the
    programs that run before it in the same process, the set-up and the draft."""
    body = ast.parse(code).body
    names = others | Names(bound=names_of(code).bound, used=used_later(body))
    sent: frozenset[_Binding] = frozenset()
    beside: frozenset[int] = frozenset()
    while True:
        # What binds a name to a literal stays here, until code that is sent uses the name.
        planner = _Planner(code, body, sent, names, beside)
        made = planner.plan()
        if not planner.wanted <= sent:
            sent |= planner.wanted
        elif shared := given_away(planner.expected, planner.inputs()) - beside:
            beside |= shared
        else:
            return made


@dataclass
class _Sent:
    """What the draft's process is sent of one case, and what its answers are to be."""

    statements: list[ast.stmt] = field(default_factory=list)
    asked: list[int] = field(default_factory=list)
    raising: list[int] = field(default_factory=list)
    expects: list[Expectation | Raising] = field(default_factory=list)
    keys: list[tuple[int, str]] = field(default_factory=list)
    """What is expected of the answer of each statement, by `keys_of`."""

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

    def __init__(
        self, code: str, body: list[ast.stmt], sent: frozenset[_Binding], names: Names, beside: frozenset[int]
    ) -> None:
        self._lines, self._body, self._sent, self._names, self._beside = source_lines(code), body, sent, names, beside
        self._known: dict[str, object] = {}
        self._bindings: dict[str, _Binding] = {}
        self._bound_so_far = 0
        helpers = frozenset(s.name for s in body if isinstance(s, DEFINITIONS))
        self._expressions = Expressions(self._known, helpers, names)
        self._left = _MOST_UNROLLED
        self._uses = Counter(n.id for s in body for n in ast.walk(s) if isinstance(n, ast.Name))
        self.wanted: frozenset[_Binding] = frozenset()
        self.expected: list[tuple[int, int, str]] = []
        """What asserts expect: the number of the case and of the statement, and a value's key (`keys_of`)."""
        self._statements: list[ast.stmt] = []

    def plan(self) -> Plan:
        cases, ranges = [], []
        code: list[str] = []
        asked, raising = [], []
        for number, (start, end) in enumerate(split_cases(self._body)):
            statements, first = self._body[start:end], len(code)
            part, texts = self._case(statements, number in self._beside)
            self.expected += [(number, first + at, key) for at, key in part.keys]
            self._statements += part.statements
            code += texts
            asked += [first + at for at in part.asked]
            raising += [first + at for at in part.raising]
            ranges.append((first, len(code)))
            cases.append(Case(title=title(self._lines, statements), expects=tuple(part.expects)))
        return Plan(
            cases=tuple(cases), code="\n".join(code), ranges=tuple(ranges), asked=tuple(asked), raising=tuple(raising)
        )

    def inputs(self) -> list[tuple[int, str]]:
        """The keys of the values that stand in each statement that is sent."""
        return [(number, key) for number, statement in enumerate(self._statements) for key in inputs_of(statement)]

    def _case(self, statements: list[ast.stmt], is_beside: bool) -> tuple[_Sent, list[str]]:
        before, bindings, number = dict(self._known), dict(self._bindings), self._bound_so_far
        try:
            part = _Sent()
            if is_beside:
                raise Unsplit("what is expected is also an input")
            if any(map(is_deep, statements)):
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
            self._known.update({name: value for name, value in literals.items() if is_immutable(value)})
        return _Sent(statements), [written(self._lines, statement) for statement in statements]

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
        elif not says_nothing(statement):
            self._refuse_secrets(statement)
            self._send(statement, out)

    def _send(self, statement: ast.stmt, out: _Sent) -> None:
        self._want(statement)
        self._rebound(statement)
        out.statements.append(statement)

    def _want(self, node: ast.AST) -> None:
        """What is sent uses names: whatever binds them to literals must be sent before it."""
        self.wanted |= {self._bindings[name] for name in used_names(node) if name in self._bindings}

    def _literals(self, statement: ast.stmt) -> dict[str, object]:
        """The names that a statement binds to literals."""
        match statement:
            case ast.Assign(value=value) if self._is_alias(value):
                return {}
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

    def _is_alias(self, value: ast.expr) -> bool:
        """Whether a value holds what another name holds, too, and what can be changed through either."""
        return any(name in self._known and not is_immutable(self._known[name]) for name in used_names(value))

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
        is_shared = name in self._names.used
        if is_shared:
            self.wanted |= {binding}
        if binding in self._sent:
            out.statements.append(ast.Assign([ast.Name(name, ast.Store())], literal(value)))
        if binding not in self._sent or (is_immutable(value) and not is_shared):
            self._known[name] = value

    def _rebound(self, statement: ast.stmt) -> None:
        for name in bound(statement):
            self._known.pop(name, None)
            self._bindings.pop(name, None)

    def _assert(self, statement: ast.Assert, out: _Sent, loop: Mapping[str, object]) -> None:
        self._left -= 1
        if self._left < 0:
            raise Unsplit("too many asserts in loops")
        probes: list[ast.expr] = []
        test = self._expressions.split(statement.test, probes, is_truth=True)
        said = None if statement.msg is None else self._expressions.constant(statement.msg)
        for probe in probes:
            self._want(probe)
        if not all(isinstance(probe, ast.Name) and probe.id in self._bindings for probe in probes):
            # Else it asks what became of an input, and may say that it did not change.
            out.keys += [(len(out.statements), key) for key in self._keys(test)]
        at = ", ".join(f"{name} = {shown(repr(value), 60)}" for name, value in loop.items())
        out.ask(probes, Expectation(test=test, known=dict(self._known), message=str(said[0]) if said else "", at=at))

    def _keys(self, test: ast.expr) -> list[str]:
        """The keys of the values that a test expects; raises Unsplit where one has a name that is sent."""
        keys: list[str] = []
        for node in expected_in(test):
            constant = self._expressions.constant(node)
            if isinstance(node, ast.Name) and self._bindings.get(node.id) in self._sent:
                raise Unsplit("what is expected has a name that is sent")
            keys += keys_of(constant[0]) if constant else []
        return keys

    def _loop(self, statement: ast.For, out: _Sent, loop: Mapping[str, object]) -> None:
        """A loop over literals is unrolled; one without an assert is sent as it is."""
        if not asserts(statement):
            self._refuse_secrets(statement)
            self._send(statement, out)
            return
        targets = statement.target.elts if isinstance(statement.target, ast.Tuple) else [statement.target]
        names = [target.id for target in targets if isinstance(target, ast.Name)]
        rows = self._rows(statement)
        if len(names) != len(targets) or statement.orelse or rows is None:
            raise Unsplit("a loop over what is no list of literals")
        if not all(map(is_immutable, rows)) and any(self._uses[name] > 2 for name in used_names(statement.iter)):
            raise Unsplit("the rows of the loop can be changed through another name")
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
        is_pytests = raises_call(item) and self._expressions.is_ours(call.func)
        if not is_pytests or item.optional_vars is not None or not call.args:
            raise Unsplit("With is not split")
        texts = [self._expressions.constant(k.value) for k in call.keywords if k.arg == "match"]
        text = texts[0][0] if texts and texts[0] else ""
        if len(call.args) > 1 or len(call.keywords) != bool(text) or not isinstance(text, str) or is_pattern(text):
            raise Unsplit("a pattern is looked for in the exception's text")
        self._attempt(statement.body, Raising(classes=self._exceptions(call.args[0]), text=text), out)

    def _try(self, statement: ast.Try, out: _Sent) -> None:
        body, classes = tried(statement)
        for handler in statement.handlers:
            self._exceptions(handler.type)
        for inner in body:
            self._refuse_secrets(inner)
        self._attempt(body, Raising(classes=classes), out)

    def _exceptions(self, node: ast.expr | None) -> tuple[type[BaseException], ...]:
        if node is None or any(map(self._names.binds, used_names(node))):
            raise Unsplit("the exception is not built in")
        return exceptions(node)

    def _attempt(self, body: list[ast.stmt], expects: Raising, out: _Sent) -> None:
        for inner in body:
            self._want(inner)
            self._rebound(inner)
        out.attempt(body, expects)
