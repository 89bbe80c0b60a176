"""What runs a draft at level W: an interpreter of its own (monty) that knows a part of Python and no system.

A script of its own, as `runner` is (`python -s -P interpreter_runner.py DESCRIPTOR`), with the same job and answers.
The set-up, the draft and the calls of split cases are fed to the interpreter's worker process; what a call gave comes
out as a plain value. Nothing of the draft runs in this process.

What the interpreter can't do, or does otherwise than Python, is not the draft's failure: such a case is answered with
`unfit` and the reason. An exception is the draft's own where it raised it by name, or where Python would do so, too.
"""

from __future__ import annotations

import ast
import builtins
import importlib.util
import json
import os
import re
import sys
from collections.abc import Callable
from typing import Any

_NODES = 20_000
_OF_TIME = ("feed time limit exceeded", "sleep limit exceeded")
_CERTAIN = frozenset(
    {"AssertionError", "ArithmeticError", "ZeroDivisionError", "OverflowError", "IndexError", "KeyError", "ValueError",
     "RecursionError", "StopIteration"}
)  # fmt: skip
"""Exceptions that say something of values, not of what the interpreter knows."""
_OF_NONE = re.compile(r"'NoneType' object (is not|has no attribute)|for \S+: .*'NoneType'|of .*'NoneType'")
_RAISE = re.compile(r"\s*raise\s+([\w.]+)")

_PRELUDE = """
def _rl_plain(value, left, depth=0, isa=isinstance, kind=type, text=repr, true=bool, whole=(int, float, complex, bytes),
              one=str, many=(list, tuple, set, frozenset), pairs=dict, steps=range):
    left[0] -= 1
    if left[0] < 0:
        return ('large', '')
    if depth > 40:
        return ('opaque', 'a value that is nested too deeply', True)
    if value is None or isa(value, whole):
        return value
    if isa(value, one):
        return ('text', value)
    for place in steps(4):
        if isa(value, many[place]):
            return (place, [_rl_plain(part, left, depth + 1) for part in value])
    if isa(value, pairs):
        return ('dict', [[_rl_plain(key, left, depth + 1), _rl_plain(value[key], left, depth + 1)] for key in value])
    if isa(value, steps):
        return ('range', text(value))
    return ('opaque', text(value), true(value))
"""
"""No name of the draft can stand in its way: all that it uses is bound before the draft is read."""

Send = Callable[..., None]
Job = dict[str, Any]


class Unfit(Exception):
    """This interpreter can't do what is asked for, or does it otherwise than Python; the text says what."""


class Over(Exception):
    """A limit was reached, and with it the end of the session."""


class Raised(Exception):
    """The code raised: what, and in which line of the draft."""

    def __init__(self, error: BaseException, line: int | None) -> None:
        self.error, self.line = error, line


class Foreign:
    """A value that only the interpreter understands."""

    def __init__(self, looks: str, is_true: bool) -> None:
        self._looks, self._is_true = looks, is_true

    def __repr__(self) -> str:
        return self._looks

    def __bool__(self) -> bool:
        return self._is_true


class Interpreter:
    """One session of the interpreter, fed text after text. Where the code `makes_lists` of iterators, more of them is
    worked out than in Python: what is raised then, or takes too long, says nothing."""

    def __init__(self, session: Any, makes_lists: bool) -> None:
        self._session, self._makes_lists, self._fed, self._draft = session, makes_lists, 0, ""
        self.feed(_PRELUDE)

    def feed(self, text: str, *, is_draft: bool = False) -> Any:
        """What the last expression gave. Raises Raised, Unfit or Over."""
        import pydantic_monty as monty

        name, self._fed = f"<python-input-{self._fed}>", self._fed + 1
        self._draft = name if is_draft else self._draft
        try:
            return self._session.feed_run(text, print_callback=lambda stream, printed: None)
        except monty.MontyRuntimeError as error:
            raised, frames = error.exception(), error.traceback()
        except monty.MontyCrashedError as error:
            self._end("time" if error.timed_out else "crash")
        except (monty.MontyError, ValueError) as error:  # the latter: a number of thousands of digits
            raise Unfit(str(error)) from None
        if isinstance(raised, MemoryError):
            self._end("memory")
        if isinstance(raised, TimeoutError) and str(raised).startswith(_OF_TIME):
            self._end("time")
        if self._makes_lists or not _is_certain(raised, frames):
            raise Unfit(f"{type(raised).__name__}: {raised}")
        lines = [frame.line for frame in frames if frame.filename == self._draft]
        raise Raised(raised, lines[-1] if lines else None)

    def _end(self, limit: str) -> None:
        if limit == "crash" or self._makes_lists:
            raise Unfit(f"it ended ({limit})")
        raise Over(limit)


def _is_certain(error: BaseException, frames: list[Any]) -> bool:
    """Whether Python itself would have raised this."""
    name = type(error).__name__
    if not frames or frames[-1].function_name is None:  # of the parser
        return False
    by_name = _RAISE.match(frames[-1].source_line or "")
    if by_name and by_name[1].rpartition(".")[2] == name:
        return True
    if isinstance(error, NameError):
        missing = re.search(r"name '(\w+)' is not defined", str(error))
        return missing is not None and not hasattr(builtins, missing[1])
    return name in _CERTAIN or _OF_NONE.search(str(error)) is not None


def rebuilt(sent: Any) -> Any:
    """The value that `_rl_plain` described."""
    if not isinstance(sent, tuple):
        return sent
    kind, parts = sent[0], sent[1]
    if kind == "large":
        raise Unfit(f"it can't give a value of over {_NODES:,} parts")
    if kind == "opaque":
        return Foreign(parts, sent[2])
    if kind == "range":
        return range(*map(int, re.findall(r"-?\d+", parts)))
    if kind == "dict":
        return {rebuilt(key): rebuilt(value) for key, value in parts}
    return parts if kind == "text" else (list, tuple, set, frozenset)[kind](map(rebuilt, parts))


class Cases:
    """Performs the cases of a job; `plain` is the module that writes down values."""

    def __init__(self, job: Job, interpreter: Interpreter, plain: Any) -> None:
        self._job, self._interpreter, self._plain = job, interpreter, plain
        self._body = ast.parse(str(job["code"])).body
        self._room = plain.Room(*job["room"])

    def perform(self, start: int, end: int, values: list[object]) -> None:
        for index in range(start, end):
            if index in self._job["asked"]:
                values.append(self._ask(self._body[index]))
            elif index in self._job["raising"]:
                values.append([self._answer(ast.unparse(self._body[index]), None)])
            else:
                self._interpreter.feed(ast.unparse(self._body[index]))

    def _ask(self, statement: Any) -> list[dict[str, object]]:
        """Performs the calls of one assert; values are looked at when all calls are over."""
        calls = [f"_rl_{n} = ({ast.unparse(call)})" for n, call in enumerate(statement.value.elts)]
        answers = [self._answer(call, f"_rl_{n}") for n, call in enumerate(calls)]
        return [self._plain.answered(self._value(one["name"]), self._room) if "name" in one else one for one in answers]

    def _answer(self, text: str, name: str | None) -> dict[str, object]:
        try:
            self._interpreter.feed(text)
        except Raised as raised:
            return {**self._plain.raised(raised.error, self._room if name is None else None), "line": raised.line}
        return {"value": None} if name is None else {"name": name}

    def _value(self, name: object) -> object:
        return rebuilt(self._interpreter.feed(f"_rl_plain({name}, [{_NODES}])"))


def python(job: Job, send: Send) -> None:
    """Set-up, draft, then case after case, each answered at once."""
    import pydantic_monty as monty

    plain, subset = map(_loaded, job["neighbours"])
    try:
        trees = [ast.parse(str(job[part])) for part in ("setup", "draft", "code")]
        reason = next(filter(None, map(subset.misfit, trees)), None)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        reason = f"it can't be looked through: {plain.described(error)}"
    if reason is not None:
        send(unfit=reason)
        return
    limits = {
        "max_feed_duration_secs": job["wall_s"],
        "max_memory": job["memory_bytes"],
        "max_total_sleep_secs": job["wall_s"],  # sleeping is not in the duration of a feed
        "max_suspensions": 1_000_000,
    }
    policy = {"random_start": {"seed": 0}, "sleep_system_max": float("inf"), "process_time": "elapsed"}
    makes_lists = any(subset.is_lazy(node) for tree in trees for node in ast.walk(tree))
    if makes_lists:
        send(makes_lists=True)
    with (
        monty.Monty(max_processes=1, request_timeout=job["wall_s"] + 1) as pool,
        pool.checkout(limits=limits, os_policy=policy, assert_message_annotations=False) as session,  # type: ignore[arg-type]
    ):
        send(worker=session.worker_pid)
        try:
            _performed(job, send, Interpreter(session, makes_lists), plain)
        except Over as limit:
            send(over=str(limit))
            os._exit(0)


def _loaded(path: str) -> Any:
    """A file beside this one, as a module."""
    spec = importlib.util.spec_from_file_location(os.path.basename(path).partition(".")[0], path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _performed(job: Job, send: Send, interpreter: Interpreter, plain: Any) -> None:
    for part in ("setup", "draft"):
        if not str(job[part]).strip():
            continue
        try:
            interpreter.feed(str(job[part]), is_draft=part == "draft")
        except Raised as raised:
            line = {"line": raised.line} if part == "draft" else {}
            send(**{part: plain.described(raised.error)}, **line)
            return
        except Unfit as reason:
            send(unfit=str(reason))
            return
    send(draft=None, line=None)
    cases = Cases(job, interpreter, plain)
    for number, (start, end) in enumerate(job["cases"]):
        values: list[object] = []
        try:
            cases.perform(start, end, values)
            send(case=number, said=None, line=None, values=values)
        except Raised as raised:
            said = f"{'' if isinstance(raised.error, AssertionError) else 'raised '}{plain.described(raised.error)}"
            send(case=number, said=said, line=raised.line, values=values)
        except Unfit as reason:
            send(case=number, unfit=str(reason)[:200])


def syntax(job: Job, send: Send) -> None:
    """Whether the draft parses. What stands before it raises, so that nothing of it runs."""
    import pydantic_monty as monty

    with monty.Monty(max_processes=1, request_timeout=job["wall_s"]) as pool, pool.checkout() as session:
        try:
            session.feed_run(f"raise StopIteration\n{job['draft']}")
        except monty.MontySyntaxError as error:
            lines = [frame.line - 1 for frame in error.traceback()]
            send(problem=str(error)[:200], line=lines[-1] if lines else None)
        except monty.MontyError:
            send(problem=None, line=None)  # also where it knows a statement and can't perform it


def main() -> None:
    """Reads the job, performs it, says that it is done."""
    descriptor = int(sys.argv[1])
    job: Job = json.loads(sys.stdin.buffer.read())
    nonce = job.pop("nonce")

    def send(**answer: object) -> None:
        line = memoryview(json.dumps({"nonce": nonce, **answer}).encode() + b"\n")
        while line:
            line = line[os.write(descriptor, line) :]

    {"python": python, "syntax": syntax}[str(job["mode"])](job, send)
    send(done=True)


if __name__ == "__main__":
    main()
