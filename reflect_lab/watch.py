"""The observers of one run, kept from ever changing it."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field, replace

from reflect_lab.core.budget import retry_shortage
from reflect_lab.core.errors import ReflectLabError, Unaffordable
from reflect_lab.core.events import Event
from reflect_lab.core.evidence import Evidence
from reflect_lab.core.observer import Observer
from reflect_lab.core.reducer import after
from reflect_lab.core.run import LedgerRow, Notice, PaidStep, Run
from reflect_lab.core.steps import AskCritic, Step, WriteDraft
from reflect_lab.core.task import CheckSpec

log = logging.getLogger(__name__)


@dataclass
class Watch:
    """The observers, kept from ever changing the run. One that fails is logged once and left out from then on.

    A recording that fails is noted in the run and in its outcome, and goes on being told: what waits for a full disk is
    written once there is room.
    """

    observers: Sequence[Observer]
    rows: list[LedgerRow] = field(default_factory=list)
    lost: dict[int, str] = field(default_factory=dict)

    def collected(self) -> tuple[LedgerRow, ...]:
        """The ledger rows of the step so far; they belong to the event that ends it."""
        rows, self.rows = tuple(self.rows), []
        return rows

    def keep(self, text: str) -> None:
        """Keeps the text of the last answer in its ledger row: one that stands nowhere else in the record."""
        if self.rows:
            self.rows[-1] = replace(self.rows[-1], text=text)

    def fold(self, run: Run, event: Event) -> Run:
        run = self.marked(after(run, event))
        self.tell("on_event", run, event)
        return run

    def marked(self, run: Run) -> Run:
        """The run with what was not recorded noted in it and in its outcome."""
        unrecorded = self._unrecorded()
        if not unrecorded:
            return run
        run = replace(run, notices=(*run.notices, *(n for n in unrecorded if n not in run.notices)))
        return replace(run, outcome=replace(run.outcome, recorded=False)) if run.outcome else run

    def tell(self, method: str, *args: object) -> None:
        for observer in self._working():
            with self._kept_apart(observer):
                getattr(observer, method)(*args)

    async def settle(self) -> None:
        for observer in self._working():
            await self._settled(observer.settle, observer)

    @contextlib.contextmanager
    def around(self, method: str, *args: object) -> Iterator[None]:
        stack = ExitStack()
        for observer in self._working():
            with self._kept_apart(observer):
                manager = getattr(observer, method)(*args)
                stack.push(self._guarded_exit(observer, manager))
        with stack:
            yield

    def _working(self) -> list[Observer]:
        return [o for o in self.observers if o.is_recording or id(o) not in self.lost]

    def _unrecorded(self) -> list[Notice]:
        failed = [self.lost[id(o)] for o in self.observers if o.is_recording and id(o) in self.lost]
        return [Notice(kind="unrecorded", message=f"not recorded: {why}") for why in failed]

    def _guarded_exit(self, observer: Observer, manager: AbstractContextManager[object]) -> Callable[..., None]:
        manager.__enter__()

        def leave(*error: object) -> None:
            with self._kept_apart(observer):
                manager.__exit__(*error)  # type: ignore[arg-type]

        return leave

    async def _settled(self, settle: Callable[[], Awaitable[None]], observer: Observer) -> None:
        with self._kept_apart(observer):
            await settle()

    @contextlib.contextmanager
    def _kept_apart(self, observer: Observer) -> Iterator[None]:
        try:
            yield
        except Exception as fault:
            if id(observer) in self.lost:
                return
            self.lost[id(observer)] = f"{type(fault).__name__}: {fault}"
            what = "a recording" if observer.is_recording else "an observer, left out from now on,"
            expected = isinstance(fault, ReflectLabError)  # says itself what happened: a full disk needs no traceback
            log.error("%s failed: %s: %s", what, type(observer).__name__, fault, exc_info=not expected)


def budget_step(step: Step) -> PaidStep:
    """What the budget calls a step that calls a model."""
    if isinstance(step, AskCritic):
        return "repair" if step.repair else "critique"
    if isinstance(step, WriteDraft):
        return "candidate" if step.candidate else "revision" if step.index else "draft"
    return "evidence"


@dataclass
class CallWatch:
    """What a client tells of one call, for the ledger, the budget and the observers."""

    run: Run
    step: Step
    watch: Watch

    def attempt(self, row: LedgerRow) -> None:
        self.watch.rows.append(row)
        self.watch.tell("on_attempt", self.run, row)

    def again(self) -> None:
        rows = [row for row in self.watch.rows if row.call == self.watch.rows[-1].call]
        short = retry_shortage(self.run, budget_step(self.step), rows)
        if short is not None:
            raise Unaffordable(short)

    def text(self, delta: str) -> None:
        self.watch.tell("on_text", self.run, self.step, delta)


@dataclass
class CheckWatch:
    """What an evidence source tells of its checks, for the observers."""

    run: Run
    watch: Watch
    deadline: asyncio.Timeout

    def check(self, spec: CheckSpec) -> AbstractContextManager[object]:
        return self.watch.around("around_check", self.run, spec)

    def evidence(self, evidence: Evidence) -> None:
        self.watch.tell("on_evidence", self.run, evidence)

    @contextlib.contextmanager
    def pausing(self) -> Iterator[None]:
        """The step's deadline is put off by the time that passes within."""
        clock, end = asyncio.get_running_loop().time, self.deadline.when()
        started = clock()
        self.deadline.reschedule(None)
        try:
            yield
        finally:
            self.deadline.reschedule(None if end is None else end + clock() - started)
