"""Splits the expression of an assert: the calls that the draft performs, and what this process works out of them.

The rule that keeps an expected value here: a literal that a result is compared with, or worked on together with, is
never sent; a literal among the arguments of a call of the draft is its input. Where one can't be told from the other
(`close(f(2), 1.5)`), the expression is not split.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping

from reflect_lab.evidence.python.judging import FUNCTIONS, METHODS, Asked, CannotJudge, built_in_types, dotted, value_of
from reflect_lab.evidence.python.names import NOTHING, Names

_JUDGED = frozenset({"approx", "pytest.approx", "isclose", "math.isclose", "math.isnan", "math.isinf"})
"""Functions that are always worked out here."""
_PREDICATES = frozenset({"all", "any", "bool", "callable", "hasattr", "isinstance", "issubclass"})
"""Their truth is a comparison: what they are asked must not be answered beside the draft."""
_NOT_SENT = (ast.Compare, ast.BoolOp, ast.IfExp, ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom)


class Unsplit(Exception):
    """This must be judged in the draft's process; the text says why."""


class Expressions:
    """What is known of names: the values of literals' names (`known`), the functions that the check itself defines
    (`helpers`), which are no part of the draft, and what all the programs bind (`names`)."""

    def __init__(self, known: Mapping[str, object], helpers: frozenset[str], names: Names = NOTHING) -> None:
        self._known, self._helpers, self._names = known, helpers, names

    def constant(self, node: ast.expr) -> tuple[object] | None:
        """The value of an expression of literals, in a tuple (None is a value too); None for any other expression."""
        if any(isinstance(n, ast.Name) and self._is_unknown(n.id) for n in ast.walk(node)):
            return None
        try:
            return (value_of(node, self._known),)
        except (CannotJudge, ArithmeticError, LookupError, TypeError, ValueError, RecursionError, MemoryError):
            return None

    def split(self, node: ast.expr, probes: list[ast.expr], *, is_truth: bool = False) -> ast.expr:
        """The expression with `Asked` leaves for the calls, which are added to `probes`. `is_truth` where nothing but
        its truth is looked at. Raises Unsplit."""
        if self._is_constant(node) and not (is_truth and _has_call(node)):
            return node
        match node:
            case ast.UnaryOp(op=op, operand=operand):
                return ast.UnaryOp(op, self.split(operand, probes, is_truth=is_truth and isinstance(op, ast.Not)))
            case ast.BoolOp(op=op, values=values):
                return ast.BoolOp(op, [self.split(value, probes, is_truth=is_truth) for value in values])
            case ast.Compare():
                return self._compare(node, probes)
            case ast.BinOp(left=left, op=op, right=right) if self._is_constant(left) or self._is_constant(right):
                return ast.BinOp(self.split(left, probes), op, self.split(right, probes))
            case ast.Tuple(elts=parts):
                return ast.Tuple([self.split(part, probes) for part in parts], ast.Load())
            case ast.List(elts=parts):
                return ast.List([self.split(part, probes) for part in parts], ast.Load())
            case ast.Call():
                return self._call(node, probes, is_truth=is_truth)
        return self._probe(node, probes)

    def refuse_secrets(self, node: ast.AST, *, is_input: bool = False) -> None:
        """Raises Unsplit where an expression can't be sent: it compares, or works on a result and something else at
        once. `is_input` inside the arguments of a call of the draft, where literals may be worked on freely."""
        if isinstance(node, ast.Lambda) or (isinstance(node, ast.expr) and self._is_constant(node)):
            return
        if isinstance(node, _NOT_SENT) or (isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)):
            raise Unsplit(f"{type(node).__name__} is judged where it stands")
        if isinstance(node, ast.BinOp) and not is_input:
            if self._is_constant(node.left) or self._is_constant(node.right):
                raise Unsplit("a result and a literal are worked on at once")
            self._refuse_mixture(node.left, node.right)
        if isinstance(node, ast.Call) and self._is_helper(node.func):
            raise Unsplit("a function of the check is called")
        is_drafts_call = isinstance(node, ast.Call) and dotted(node.func) not in FUNCTIONS
        for child in ast.iter_child_nodes(node):
            is_index = isinstance(node, ast.Subscript) and child is node.slice
            is_argument = is_drafts_call and isinstance(node, ast.Call) and child is not node.func
            self.refuse_secrets(child, is_input=is_input or is_argument or is_index)

    def is_ours(self, function: ast.expr) -> bool:
        """Whether a name, as `sorted` or `math.isclose`, still is what it is here."""
        return not self._names.binds((dotted(function) or "").partition(".")[0])

    def _is_unknown(self, name: str) -> bool:
        return name not in self._known and (name in self._helpers or self._names.binds(name))

    def _is_constant(self, node: ast.expr) -> bool:
        return self.constant(node) is not None

    def _is_helper(self, function: ast.expr) -> bool:
        return isinstance(function, ast.Name) and function.id in self._helpers

    def _is_sendable(self, node: ast.expr) -> bool:
        try:
            self.refuse_secrets(node)
        except Unsplit:
            return False
        return True

    def _names_built_ins(self, node: ast.expr) -> bool:
        try:
            return bool(built_in_types(node)) and all(map(self.is_ours, getattr(node, "elts", [node])))
        except CannotJudge:
            return False

    def _probe(self, node: ast.expr, probes: list[ast.expr]) -> ast.expr:
        self.refuse_secrets(node)
        probes.append(node)
        return Asked(len(probes) - 1)

    def _compare(self, node: ast.Compare, probes: list[ast.expr]) -> ast.expr:
        sides = [node.left, *node.comparators]
        are_known = [self._is_constant(side) for side in sides]
        if all(are_known) and sum(map(_has_call, sides)) == 1:
            # `max([1, 2]) == 2`: beside plain literals, a built-in's name is the function that the draft writes.
            are_known = [not _has_call(side) for side in sides]
            made = [
                side if is_known else self._probe(side, probes) for side, is_known in zip(sides, are_known, strict=True)
            ]
            return ast.Compare(made[0], node.ops, made[1:])
        for number, sign in enumerate(node.ops):
            pair = [side for side, is_known in zip(sides, are_known, strict=True)][number : number + 2]
            known = [side for side in pair if self._is_constant(side)]
            if not known:
                raise Unsplit("two results are compared with each other")
            if isinstance(sign, ast.Is | ast.IsNot) and not any(map(_is_singleton, known)):
                raise Unsplit("identity is judged where it stands")
        made = [self.split(side, probes) for side in sides]
        return ast.Compare(made[0], node.ops, made[1:])

    def _call(self, node: ast.Call, probes: list[ast.expr], *, is_truth: bool) -> ast.expr:
        is_ours = self.is_ours(node.func)
        name = dotted(node.func) if is_ours else None
        if name == "isinstance" and len(node.args) == 2 and not node.keywords and self._names_built_ins(node.args[1]):
            return ast.Call(node.func, [self.split(node.args[0], probes), node.args[1]], [])
        if (
            isinstance(node.func, ast.Attribute)
            and node.func.attr in METHODS
            and all(map(self._is_constant, node.args))
        ):
            receiver = self.split(node.func.value, probes)
            return ast.Call(ast.Attribute(receiver, node.func.attr, ast.Load()), node.args, [])
        if name in _JUDGED:
            return self._judged(node, probes)
        if is_truth:
            self._refuse_hidden_comparison(node)
        if name in FUNCTIONS and not self._is_sendable(node):
            return self._judged(node, probes)
        return self._probe(node, probes)

    def _judged(self, node: ast.Call, probes: list[ast.expr]) -> ast.expr:
        """A call of a function that works here as it does there, on the results of the draft's calls."""
        if self._is_helper(node.func):
            raise Unsplit("a function of the check is called")
        self._refuse_mixture(*node.args)
        return ast.Call(
            node.func,
            [self.split(argument, probes) for argument in node.args],
            [ast.keyword(keyword.arg, self.split(keyword.value, probes)) for keyword in node.keywords],
        )

    def _refuse_mixture(self, *nodes: ast.expr) -> None:
        """`f(2) - Decimal("1.5")`: of two results of different functions one may be what is expected."""
        roots = [_roots(node) for node in nodes if not self._is_constant(node)]
        if any(one != roots[0] for one in roots):
            raise Unsplit("results of different functions are worked on at once")

    def _refuse_hidden_comparison(self, node: ast.Call) -> None:
        """A call that is only asked for its truth may be a comparison by another name: `close(f(2), 1.5)`."""
        given = [*node.args, *(keyword.value for keyword in node.keywords)]
        if isinstance(node.func, ast.Attribute):
            given.append(node.func.value)
        results = [part for part in given if not self._is_constant(part) and _has_call(part)]
        if dotted(node.func) in _PREDICATES or (results and any(map(self._is_constant, given))):
            raise Unsplit("a call may compare a result with what it is to be")


def _has_call(node: ast.expr) -> bool:
    return any(isinstance(part, ast.Call) for part in ast.walk(node))


def _is_singleton(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and (node.value is None or isinstance(node.value, bool))


def _roots(node: ast.AST) -> frozenset[str]:
    """The names of the functions and variables that an expression's results come from; arguments don't count, but for
    those of functions such as `sorted`."""
    match node:
        case ast.Name(id=name):
            return frozenset({name})
        case ast.Call(func=function) if dotted(function) not in FUNCTIONS:
            return _roots(function)
        case ast.Call(args=parts):
            return frozenset().union(*map(_roots, parts))
        case ast.Subscript(value=value) | ast.Attribute(value=value):
            return _roots(value)
    return frozenset().union(*map(_roots, ast.iter_child_nodes(node)))
