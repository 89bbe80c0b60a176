"""What runs inside the cage beside a draft: python checks.

A script of its own (`python -s -P runner.py DESCRIPTOR`): it imports nothing of this package. It reads one job from
standard input and answers with JSON lines on the descriptor, each with the job's nonce; the last is `{"done": true}`.
Of a split case it knows the calls only, and answers with plain values. The asserts of other cases share this process
with the draft, which could forge them: such a verdict is recorded as `in_process`.
"""

from __future__ import annotations

import _ast as ast  # without the tools of `ast`, which take longer than all other imports
import builtins
import json
import operator
import os
import re  # which json imports, too
import sys
import types

TYPE_CHECKING = False  # `typing` would cost every check some milliseconds
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Send = Callable[..., None]
    Job = dict[str, Any]

_DRAFT, _CHECK, _SETUP = "<draft>", "<check>", "<setup>"
_SHOWN = 200
_DEPTH = 40
_LONGEST_TEXT = 10_000
"""Characters of an exception's text that are sent."""
_EXCEPTIONS = {
    id(kind): kind.__name__
    for kind in vars(builtins).values()
    if isinstance(kind, type) and issubclass(kind, BaseException)
}
_order_of = type.__dict__["__mro__"].__get__

OPERATORS: dict[type[ast.cmpop], tuple[str, Callable[[Any, Any], object]]] = {
    ast.Eq: ("==", operator.eq),
    ast.NotEq: ("!=", operator.ne),
    ast.Lt: ("<", operator.lt),
    ast.LtE: ("<=", operator.le),
    ast.Gt: (">", operator.gt),
    ast.GtE: (">=", operator.ge),
    ast.Is: ("is", operator.is_),
    ast.IsNot: ("is not", operator.is_not),
    ast.In: ("in", lambda a, b: operator.contains(b, a)),
    ast.NotIn: ("not in", lambda a, b: not operator.contains(b, a)),
}
"""Comparisons: how they are written and what they do. `judging` compares by these, too, in its own process."""


def shown(value: object) -> str:
    """A value in one short line, whatever its `repr` does."""
    try:
        text = _without_addresses(str.__str__(repr(value))[: 2 * _SHOWN])
        return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
    except BaseException as error:
        return f"a {type(value).__name__} that can't be shown ({type(error).__name__})"


def _without_addresses(text: str) -> str:
    """`<draft.A object>`: where in memory it lies is another place each time."""
    return re.sub(r" at 0x[0-9a-fA-F]+", "", text)


def described(error: BaseException) -> str:
    """An exception as `ValueError: text`, whatever its `str` does."""
    name = type(error).__name__
    try:
        text = _without_addresses(str.__str__(str(error))[: 2 * _SHOWN])[:_SHOWN]
    except BaseException:
        return name
    return f"{name}: {text}" if text else name


def draft_line(error: BaseException) -> int | None:
    """The last line of the draft that the exception passed through."""
    line = error.lineno if isinstance(error, SyntaxError) and error.filename == _DRAFT else None
    step = error.__traceback__
    while step is not None:
        if step.tb_frame.f_code.co_filename == _DRAFT:
            line = step.tb_lineno
        step = step.tb_next
    return line


class Failure(Exception):
    """An assert that does not hold; the text says what was there instead."""


def check_assert(statement: ast.Assert, names: dict[str, object]) -> None:
    """Performs an assert; raises Failure with the actual value where a comparison shows one."""
    test = statement.test
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        sign, compare = OPERATORS[type(test.ops[0])]
        left, right = _evaluate(test.left, names), _evaluate(test.comparators[0], names)
        if compare(left, right):
            return
        said = _compared(test, sign, left, right)
    else:
        value = _evaluate(test, names)
        if value:
            return
        said = f"got {shown(value)}"
    if statement.msg is not None:
        said = f"{said} ({str(_evaluate(statement.msg, names))[:_SHOWN]})"
    raise Failure(said)


def _compared(test: ast.Compare, sign: str, left: object, right: object) -> str:
    is_left_literal, is_right_literal = _is_literal(test.left), _is_literal(test.comparators[0])
    if sign == "==" and is_right_literal:
        return f"got {shown(left)}"
    if sign == "==" and is_left_literal:
        return f"got {shown(right)}"
    return f"{shown(left)} {sign} {shown(right)} does not hold"


def _is_literal(node: ast.expr) -> bool:
    from ast import literal_eval

    try:
        literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return False
    return True


def _evaluate(node: ast.expr, names: dict[str, object]) -> object:
    return eval(compile(ast.Expression(node), _CHECK, "eval", dont_inherit=True), names)


def perform(statement: ast.stmt, names: dict[str, object]) -> None:
    if isinstance(statement, ast.Assert):
        check_assert(statement, names)
    else:
        exec(compile(ast.Module([statement], []), _CHECK, "exec", dont_inherit=True), names)


class NotPlain(Exception):
    """A value that only the draft's own process can understand."""


class TooLarge(Exception):
    """A value that is larger than what may be sent."""


class Room:
    """How many bytes may still be sent: of one value (`each`) and of all together."""

    def __init__(self, each: int, together: int) -> None:
        self.each, self.together, self.left = each, together, each

    def take(self, size: int) -> None:
        self.left -= size
        if self.left < 0:
            raise TooLarge


def answered(value: object, room: Room) -> dict[str, object]:
    """One value as it is sent; where it does not fit, how many bytes there were for it (`full`), and how it looks."""
    room.left = given = min(room.each, room.together)
    try:
        answer: dict[str, object] = {"value": plain(value, room)}
    except TooLarge:
        answer, room.left = {"full": given, "looks": shown(value)}, given - _SHOWN
    room.together -= given - room.left
    return answer


def opaque(value: object) -> object:
    """What can be said of any value: how it looks, and whether it is true."""
    try:
        is_true = bool(value)
    except Exception:
        is_true = False
    return {"o": [shown(value), is_true]}


def plain(value: Any, room: Room, depth: int = 0) -> object:
    """A value as JSON: None, booleans and well-formed text as they are, all else as `{kind: parts}`.

    A subclass is sent as the built-in value that it holds, read by the built-in's own methods: what the draft says of
    its equality never counts. What is no plain value, or lies too deep, is opaque.
    """
    room.take(16)
    try:
        if depth > _DEPTH:
            raise NotPlain
        return _plain(value, type(value), room, depth)
    except TooLarge:
        raise
    except Exception:  # whatever a draft's own methods raise
        room.take(_SHOWN)
        return opaque(value)


def _plain(value: Any, kind: type[Any], room: Room, depth: int) -> object:
    if value is None or kind is bool:
        return value
    if kind.__module__ == "numpy" and getattr(value, "shape", None) == ():
        # A numpy boolean equals True but is not True, as 1 does.
        item = value.item()
        return plain(int(item) if type(item) is bool else item, room, depth + 1)
    if issubclass(kind, int):
        room.take(int.bit_length(value) // 4)
        return {"i": int.__format__(value, "x")}
    if issubclass(kind, float):
        return {"f": float.hex(value)}
    if issubclass(kind, complex):
        exact = complex.__add__(value, complex(-0.0, -0.0))
        return {"c": [exact.real.hex(), exact.imag.hex()]}
    if issubclass(kind, str):
        return _plain_text(str.__str__(value), room)
    if issubclass(kind, bytes | bytearray):
        data = memoryview(value)
        room.take(2 * data.nbytes)
        return {"b" if issubclass(kind, bytes) else "y": data.hex()}
    if kind is range:
        return {"r": [plain(part, room) for part in (value.start, value.stop, value.step)]}
    return _plain_parts(value, kind, room, depth + 1)


def _plain_text(value: str, room: Room) -> object:
    room.take(len(value) if value.isascii() and value.isprintable() else 12 * len(value))
    try:
        value.encode()
    except UnicodeEncodeError:  # JSON would join two lone surrogates into one character
        return {"s": value.encode("utf-8", "surrogatepass").hex()}
    return value


def _plain_parts(value: Any, kind: type[Any], room: Room, depth: int) -> object:
    if issubclass(kind, dict):
        return {"d": [[plain(key, room, depth), plain(held, room, depth)] for key, held in dict.items(value)]}
    if kind in (type({}.keys()), type({}.items())):
        list(map(hash, value))  # items with a list are no set, and can only be told from others there
        return {"S": [plain(item, room, depth) for item in value]}
    for built_in, tag in ((list, "l"), (tuple, "t"), (set, "S"), (frozenset, "F")):
        if issubclass(kind, built_in):
            return {tag: [plain(item, room, depth) for item in built_in.__iter__(value)]}
    for module, name in (("fractions", "Fraction"), ("decimal", "Decimal")):
        if module in sys.modules and kind is sys.modules[module].__dict__.get(name):
            text = str(value)
            room.take(len(text))
            return {name: text}
    raise NotPlain


def raised(error: BaseException, room: Room | None = None) -> dict[str, object]:
    """An exception as it is sent: how it reads, which built-in classes it is of, and the draft's line; where there is
    room for it also its text, and whether all of it."""
    # By what the classes are, and not by what they say of themselves.
    classes = [_EXCEPTIONS[id(kind)] for kind in _order_of(type(error)) if id(kind) in _EXCEPTIONS]
    answer: dict[str, object] = {"raised": described(error), "classes": classes, "line": draft_line(error)}
    if room is None:
        return answer
    try:
        text = str.__str__(str(error))
    except BaseException:
        text = ""
    most = min(_LONGEST_TEXT, max(room.together, 0) // 12)  # 12 bytes of JSON for a character, at worst
    room.together -= 12 * min(len(text), most)
    return {**answer, "text": text[:most], "is_whole": len(text) <= most}


def ask(statement: ast.stmt, names: dict[str, object], room: Room) -> list[dict[str, object]]:
    """Performs the calls of one assert, then sends what came of them: values are looked at when all calls are over."""
    assert isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Tuple)
    results: list[tuple[bool, Any]] = []
    for node in statement.value.elts:
        try:
            results.append((True, _evaluate(node, names)))
        except BaseException as error:
            results.append((False, raised(error)))
    return [answered(result, room) if is_value else result for is_value, result in results]


def attempt(statement: ast.stmt, names: dict[str, object], room: Room) -> list[dict[str, object]]:
    """Performs what is to raise; says what it raised, if anything."""
    try:
        perform(statement, names)
    except BaseException as error:
        return [raised(error, room)]
    return [{"value": None}]


def python(job: Job, send: Send) -> None:
    """Set-up, draft, then case after case, each answered at once. `asked` and `raising` number the statements whose
    values, or exceptions, are answers."""
    module = types.ModuleType("draft")
    sys.modules["draft"] = module
    names: dict[str, object] = module.__dict__
    parsed = compile(str(job["code"]), _CHECK, "exec", ast.PyCF_ONLY_AST, dont_inherit=True)
    assert isinstance(parsed, ast.Module)
    body = parsed.body
    ranges: list[list[int]] = job["cases"]
    asked, raising = frozenset(job.get("asked", ())), frozenset(job.get("raising", ()))
    room = Room(*job.get("room", (0, 0)))
    try:
        exec(compile(str(job["setup"]), _SETUP, "exec", dont_inherit=True), names)
    except BaseException as error:
        send(setup=described(error))
        return
    try:
        exec(compile(str(job["draft"]), _DRAFT, "exec", dont_inherit=True), names)
    except BaseException as error:
        send(draft=described(error), line=draft_line(error))
        return
    send(draft=None, line=None)
    for number, (start, end) in enumerate(ranges):
        values: list[object] = []
        answer: dict[str, object] = {"said": None, "line": None}
        try:
            for index in range(start, end):
                if index in asked:
                    values.append(ask(body[index], names, room))
                elif index in raising:
                    values.append(attempt(body[index], names, room))
                else:
                    perform(body[index], names)
        except Failure as failure:
            answer = {"said": str(failure), "line": None}
        except BaseException as error:
            verb = "" if isinstance(error, AssertionError) else "raised "
            answer = {"said": f"{verb}{described(error)}", "line": draft_line(error)}
        send(case=number, **answer, values=values)


def main() -> None:
    """Reads the job, performs it, says that it is done, and leaves without waiting for what a draft left running."""
    write, dumps, leave, descriptor = os.write, json.dumps, os._exit, int(sys.argv[1])
    printed = (sys.stdout, sys.stderr)
    job: Job = json.loads(sys.stdin.buffer.read())
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    nonce = job.pop("nonce")

    def send(**answer: object) -> None:
        line = memoryview(dumps({"nonce": nonce, **answer}).encode() + b"\n")
        while line:
            line = line[write(descriptor, line) :]

    python(job, send)
    for stream in printed:
        stream.flush()
    send(done=True)
    leave(0)


if __name__ == "__main__":
    main()
