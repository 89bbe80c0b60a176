"""What runs inside the cage: python checks, compiling, searching, JSON schemas.

A script of its own (`python -s -P runner.py DESCRIPTOR`): it imports nothing of this package. It reads one job from
standard input and answers with JSON lines on the descriptor, each with the job's nonce; the last is `{"done": true}`.
Draft and asserts share this process, so a hostile draft could forge a verdict: it is recorded as `in_process`.
"""

from __future__ import annotations

import ast
import json
import operator
import os
import sys
import types
from collections.abc import Callable
from typing import Any

_DRAFT, _CHECK, _SETUP = "<draft>", "<check>", "<setup>"
_SHOWN = 200

Send = Callable[..., None]
Job = dict[str, Any]

_OPERATORS: dict[type[ast.cmpop], tuple[str, Callable[[Any, Any], object]]] = {
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


def shown(value: object) -> str:
    """A value in one short line, whatever its `repr` does."""
    try:
        text = repr(value)
        return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
    except BaseException as error:
        return f"a {type(value).__name__} that can't be shown ({type(error).__name__})"


def described(error: BaseException) -> str:
    """An exception as `ValueError: text`, whatever its `str` does."""
    name = type(error).__name__
    try:
        text = str(error)[:_SHOWN]
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
        sign, compare = _OPERATORS[type(test.ops[0])]
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
    try:
        ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return False
    return True


def _evaluate(node: ast.expr, names: dict[str, object]) -> object:
    return eval(compile(ast.Expression(node), _CHECK, "eval"), names)


def run_case(statements: list[ast.stmt], names: dict[str, object]) -> None:
    for statement in statements:
        if isinstance(statement, ast.Assert):
            check_assert(statement, names)
        else:
            exec(compile(ast.Module([statement], []), _CHECK, "exec"), names)


def python(job: Job, send: Send) -> None:
    """Set-up, draft, then case after case, each answered at once."""
    module = types.ModuleType("draft")
    sys.modules["draft"] = module
    names: dict[str, object] = module.__dict__
    body = ast.parse(str(job["code"]), _CHECK).body
    ranges: list[list[int]] = job["cases"]
    try:
        exec(compile(str(job["setup"]), _SETUP, "exec"), names)
    except BaseException as error:
        send(setup=described(error))
        return
    try:
        exec(compile(str(job["draft"]), _DRAFT, "exec"), names)
    except BaseException as error:
        send(draft=described(error), line=draft_line(error))
        return
    send(draft=None, line=None)
    for number, (start, end) in enumerate(ranges):
        try:
            run_case(body[start:end], names)
        except Failure as failure:
            send(case=number, said=str(failure), line=None)
        except BaseException as error:
            said = f"raised {described(error)}" if not isinstance(error, AssertionError) else f"{described(error)}"
            send(case=number, said=said, line=draft_line(error))
        else:
            send(case=number, said=None, line=None)


def syntax(job: Job, send: Send) -> None:
    """Compiles the draft; nothing of it is executed."""
    try:
        compile(str(job["draft"]), _DRAFT, "exec", dont_inherit=True)
    except SyntaxError as error:
        send(problem=str(error.msg), line=error.lineno)
    except (ValueError, RecursionError, MemoryError, OverflowError) as error:
        send(problem=described(error), line=None)
    else:
        send(problem=None, line=None)


def search(job: Job, send: Send) -> None:
    """Searches a text for patterns; answers one by one, so that a slow one is known."""
    import re

    patterns: list[str] = job["patterns"]
    for number, pattern in enumerate(patterns):
        match = re.search(pattern, str(job["text"]))
        send(pattern=number, span=list(match.span()) if match else None)


def schema(job: Job, send: Send) -> None:
    """Checks a JSON schema itself, or a text against it. Nothing is ever fetched: the registry is empty."""
    # Optional format helpers of jsonschema; one of them builds a grammar at import, which takes seconds.
    sys.modules["rfc3987_syntax"] = None  # type: ignore[assignment]
    from jsonschema.exceptions import SchemaError
    from jsonschema.validators import Draft202012Validator, validator_for
    from referencing import Registry
    from referencing.exceptions import Unresolvable

    rules = job["schema"]
    kind = validator_for(rules, default=Draft202012Validator)
    try:
        kind.check_schema(rules)
    except SchemaError as error:
        path = "".join(f"/{part}" for part in error.path)
        send(schema=f"{error.message[:_SHOWN]} (at {path or '/'})")
        return
    if "text" not in job:
        return
    try:
        instance = json.loads(str(job["text"]), parse_constant=_refuse_constant)
        registry: Registry[Any] = Registry()
        for found in kind(rules, registry=registry).iter_errors(instance):
            send(path=list(found.absolute_path), rule=str(found.validator), said=found.message[:_SHOWN])
    except json.JSONDecodeError as error:
        send(unreadable=error.msg, line=error.lineno)
    except (ValueError, RecursionError) as error:
        send(unreadable=described(error), line=None)
    except Unresolvable as error:
        send(unresolved=str(error.ref)[:_SHOWN])


def _refuse_constant(name: str) -> object:
    raise ValueError(f"{name} is no JSON number")


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

    {"python": python, "syntax": syntax, "search": search, "schema": schema}[str(job["mode"])](job, send)
    for stream in printed:
        stream.flush()
    send(done=True)
    leave(0)


if __name__ == "__main__":
    main()
