"""Checks that a user writes as functions, in the notebook or script itself. They are trusted: nothing confines them."""

from __future__ import annotations

import asyncio
import functools
import hashlib
import inspect
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, overload

from reflect_lab.core.errors import WrongUse
from reflect_lab.core.evidence import Finding, Location, Rank
from reflect_lab.core.run import Draft
from reflect_lab.core.task import CheckSpec
from reflect_lab.documents.suggest import did_you_mean
from reflect_lab.documents.suggest import shown as shown_option
from reflect_lab.evidence.check import RANKS, Report, Surroundings, capped, one_requirement, status_of
from reflect_lab.evidence.foreign import problem_of
from reflect_lab.evidence.kinds.in_process import TRUSTED, ended, guarded, in_thread
from reflect_lab.evidence.registry import BUILT_IN
from reflect_lab.evidence.wording import counted, raised, report, shown

Function = Callable[..., Any]

_READ = 1000
"""Findings that are read of an answer at most: a generator may have no end."""
_TEXT = 4000


@dataclass(frozen=True, kw_only=True)
class CustomCheck:
    """A function that `check` decorated; calling it calls the function."""

    function: Function
    name: str
    gate: bool = False
    requirements: tuple[str, ...] = ()
    rank: Rank = "deterministic"
    timeout_s: float = 30.0
    options: tuple[str, ...] = field(init=False, default=())

    def __post_init__(self) -> None:
        object.__setattr__(self, "options", _options(self.function))

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        return self.function(*arguments, **options)

    @property
    def says(self) -> str:
        """What it looks for: the first line of its docstring, else its name."""
        lines = (inspect.getdoc(self.function) or "").strip().splitlines()
        return shown(lines[0], 200) if lines else self.name


@overload
def check(function: Function, /) -> CustomCheck: ...
@overload
def check(
    *,
    name: str | None = None,
    gate: bool = False,
    requirements: Iterable[str] = (),
    rank: Rank = "deterministic",
    timeout_s: float = 30.0,
) -> Callable[[Function], CustomCheck]: ...
def check(
    function: Function | None = None,
    /,
    *,
    name: str | None = None,
    gate: bool = False,
    requirements: Iterable[str] = (),
    rank: Rank = "deterministic",
    timeout_s: float = 30.0,
) -> CustomCheck | Callable[[Function], CustomCheck]:
    """Makes a check of a function, named in `--check NAME`, in a task's front matter or in `reflect(checks=[…])`.

    The function gets the draft's text, and the task where it has a parameter `task`; its other parameters are options,
    which front matter sets. It answers True (passed), False (failed), a text (what is wrong; an empty one passes), a
    list of `Finding`s or texts (an empty one passes; a generator is read as one), or a `Report`. A plain function runs
    in a thread, a coroutine in the run's own loop, which it must not block. An exception, or no answer within
    `timeout_s` seconds, is an `error`, which says nothing about the draft.

    A `gate` is structural: where it fails, no critic is asked. `requirements` are the ids it covers. `rank` says how
    grounded it is; below `executed` its failure does not block. It runs in this very process, trusted, and the evidence
    says so. Raises WrongUse for a name or a rank that can't be used.

    >>> @check
    ... def names_a_day(draft: str) -> bool | str:
    ...     '''The reply names a day of the week.'''
    ...     return any(day in draft for day in ("Monday", "Tuesday")) or "no day of the week is named"
    >>> print(look(names_a_day, "We meet on Monday.").summary)
    passed
    >>> print(look(names_a_day, "We meet soon.").summary)
    failed
    - failed names_a_day: no day of the week is named
    """

    def decorated(function: Function) -> CustomCheck:
        own = _name(function, name)
        if rank not in RANKS:
            raise WrongUse(f"@check {own}: rank {shown_option(rank)}; {did_you_mean(str(rank), RANKS)}")
        if not isinstance(gate, bool):
            raise WrongUse(f"@check {own}: gate is True or False, not {shown_option(gate)}")
        if isinstance(timeout_s, bool) or not isinstance(timeout_s, int | float) or not 0 < timeout_s <= 600:
            raise WrongUse(f"@check {own}: timeout_s must be seconds, over 0 and at most 600")
        covered = (requirements,) if isinstance(requirements, str) else requirements
        covered = tuple(covered) if isinstance(covered, Iterable) else (covered,)
        if not all(isinstance(one, str) for one in covered):
            raise WrongUse(f"@check {own}: requirements are ids such as ['R1'], not {shown_option(requirements)}")
        return CustomCheck(
            function=function, name=own, gate=gate, requirements=covered, rank=rank, timeout_s=float(timeout_s)
        )

    return decorated if function is None else decorated(function)


def _name(function: object, name: object) -> str:
    """The name of a check to be; raises WrongUse for what can't be one."""
    own = getattr(function, "__name__", "") if name is None else name
    if not callable(function):
        raise WrongUse(f"@check decorates a function, not {shown_option(function)}")
    if not isinstance(own, str) or not own.replace("-", "_").replace(".", "_").isidentifier():
        raise WrongUse(f"@check: {shown_option(own)} can't be the name of a check; give it one: @check(name=…)")
    if own in BUILT_IN:
        raise WrongUse(f"@check: {own} is a built-in kind of check; give yours another name: @check(name=…)")
    if inspect.isasyncgenfunction(function):
        raise WrongUse(f"@check {own}: it is an async generator; collect the findings in a list and return that")
    return own


class FunctionCheck:
    """Performs a custom check within its deadline; its options are keyword arguments of the function."""

    def __init__(self, custom: CustomCheck, spec: CheckSpec, surroundings: Surroundings) -> None:
        self._custom, self.rank = custom, custom.rank
        self._requirement = one_requirement(spec)
        for key in spec.options:
            if key not in custom.options:
                raise WrongUse(
                    f"check {spec.name}: unknown option {shown_option(key)}; {did_you_mean(key, custom.options)}"
                )
        arguments: dict[str, object] = dict(spec.options)
        if "task" in _parameters(custom.function):
            arguments["task"] = surroundings.task
        self._call = functools.partial(custom.function, **arguments)
        try:
            inspect.signature(custom.function).bind("", **arguments)
        except TypeError as error:
            raise WrongUse(f"check {spec.name}: its function can't be called with a draft: {error}") from None

    async def run(self, draft: Draft) -> Report:
        try:
            async with asyncio.timeout(self._custom.timeout_s) as deadline:
                return await self._looked(draft.text)
        except TimeoutError:
            if not deadline.expired():
                raise
            return self._error(f"no answer within {self._custom.timeout_s:g} s")

    async def _looked(self, text: str) -> Report:
        """Calls the function and makes a report of its answer. All but a coroutine happens in a thread: the answer may
        be a generator that works while it is read, and its objects may be slow to say what they are."""
        work: Awaitable[object] | None = None
        if inspect.iscoroutinefunction(self._custom.function):
            work = self._call(text)
        else:
            looked = await self._in_thread(lambda: self._call(text))
            if not isinstance(looked, _Awaited):
                return looked
            work = looked.work
        answer, fault = await ended(guarded(work))
        looked = await self._in_thread(lambda: _given(answer, fault))
        return looked if isinstance(looked, Report) else self._error("it answered with a coroutine within a coroutine")

    async def _in_thread(self, call: Callable[[], object]) -> Report | _Awaited:
        def looked() -> Report | _Awaited:
            try:
                answer = call()
                return _Awaited(answer) if inspect.isawaitable(answer) else self._reported(answer)
            except _NoAnswer as problem:
                return self._error(str(problem))
            except BaseException as fault:
                hint = "; return False or a text to fail a draft" if isinstance(fault, AssertionError) else ""
                return self._error(f"it raised {raised(fault)}{hint}")

        report, fault = await in_thread(looked)
        return self._error(f"it raised {type(fault).__name__}") if report is None else report

    def _reported(self, answer: object) -> Report:
        answer = answer.item() if type(answer).__module__ == "numpy" and hasattr(answer, "item") else answer
        made = answer if isinstance(answer, Report) else self._made(answer)
        problem = problem_of(made)
        if problem is not None:
            raise _NoAnswer(f"it {problem}")
        provenance = {**dict(made.provenance), **self._by()["provenance"]}
        text = f"{made.text[:_TEXT]} ({TRUSTED})".strip() if made is answer else made.text
        return replace(made, text=text, findings=capped(made.findings), provenance=provenance)

    def _made(self, answer: object) -> Report:
        findings = self._findings(answer)
        failed = sum(finding.status == "failed" for finding in findings)
        summary = f"{counted(failed, 'problem')} found" if failed else self._custom.says
        text = report(f"{summary} ({TRUSTED})", findings)
        return Report(status=status_of(findings), text=text, findings=tuple(findings))

    def _findings(self, answer: object) -> Sequence[Finding]:
        name = self._custom.name
        if isinstance(answer, bool):
            return [] if answer else [self._problem(name, f"not the case: {self._custom.says}")]
        if isinstance(answer, str):
            return [self._problem(name, answer)] if answer.strip() else []
        if isinstance(answer, Finding):
            return [answer]
        if not isinstance(answer, Iterable) or isinstance(answer, bytes | Mapping):
            raise _NoAnswer(f"it answered {shown_option(answer)}; {_ANSWERS}")
        found: list[Finding] = []
        for number, one in enumerate(answer, 1):
            if number > _READ:
                if any(finding.status == "failed" for finding in found):
                    break  # enough is known
                raise _NoAnswer(f"it answered with over {_READ:,} findings; {_ANSWERS}")
            if not isinstance(one, str | Finding):
                raise _NoAnswer(f"item {number} of its answer is {shown_option(one)}; {_ANSWERS}")
            found.append(self._problem(f"{name}:{number}", one) if isinstance(one, str) else one)
        return found

    def _problem(self, name: str, message: str) -> Finding:
        place = Location(kind="whole")
        said = shown(message, 400)
        return Finding(id=name, status="failed", message=said, requirement=self._requirement, location=place)

    def _error(self, why: str) -> Report:
        return Report(status="error", text=f"the function {self._custom.name} gave no verdict: {why}", **self._by())

    def _by(self) -> dict[str, Any]:
        """Whose word it is: it ran in this process, so nothing but its author vouches for it."""
        function = self._custom.function
        where = f"{getattr(function, '__module__', '?')}.{getattr(function, '__qualname__', self._custom.name)}"
        source = _source(function)
        known = {} if source is None else {"source_sha256": hashlib.sha256(source.encode()).hexdigest()}
        return {"provenance": {"trust": TRUSTED, "function": where, **known}}


@dataclass(frozen=True)
class _Awaited:
    """What a function answered is to be awaited in the loop."""

    work: Awaitable[object]


class _NoAnswer(Exception):
    """What a function answered is no verdict."""


_ANSWERS = "return True, False, a text, a list of findings or a Report"


def _given(answer: object, fault: BaseException | None) -> object:
    if fault is not None:
        raise fault
    return answer


def _parameters(function: Function) -> Mapping[str, inspect.Parameter]:
    try:
        return inspect.signature(function).parameters
    except (TypeError, ValueError):
        return {}


def _options(function: Function) -> tuple[str, ...]:
    """The parameters that front matter may set: all but the first (the draft) and `task`."""
    found = list(_parameters(function).values())[1:]
    named = (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return tuple(one.name for one in found if one.name != "task" and one.kind in named)


def _source(function: Function) -> str | None:
    try:
        return inspect.getsource(function)
    except (OSError, TypeError):
        return None
