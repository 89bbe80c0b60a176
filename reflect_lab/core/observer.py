"""Observers wrap the loop: recorder, spans, live view. One that fails never changes the run."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

from reflect_lab.core.chat import ChatReply, ChatRequest
from reflect_lab.core.events import Event
from reflect_lab.core.evidence import Evidence
from reflect_lab.core.run import LedgerRow, Run
from reflect_lab.core.steps import Step
from reflect_lab.core.task import CheckSpec


class Observer:
    """Does nothing; override what you need. All methods are called in the loop's own thread, one at a time.

    Nesting: `around_run` > `around_step` > (`around_call` | `around_check`). `on_event` comes after a step's
    `around_step` has ended and holds the run *after* the event. Checks may overlap: the `around_check` of each is in a
    task of its own, which begins with a copy of the step's context, so that context variables nest per check.
    """

    is_recording = False
    """True for observers whose failure means that the run is not (wholly) recorded; it is then shown."""

    def around_run(self, run: Run) -> AbstractContextManager[object]:
        """The whole run. `run` is the empty run: task, policy, prompts, models."""
        return nullcontext()

    def around_step(self, run: Run, step: Step) -> AbstractContextManager[object]:
        return nullcontext()

    def around_call(self, run: Run, request: ChatRequest, model: str) -> AbstractContextManager[object]:
        """One logical model call within a step; `model` is the requested name."""
        return nullcontext()

    def around_check(self, run: Run, spec: CheckSpec) -> AbstractContextManager[object]:
        """One check within GatherEvidence."""
        return nullcontext()

    def on_attempt(self, run: Run, row: LedgerRow) -> None:
        """One HTTP attempt is over, within its `around_call`."""

    def on_reply(self, run: Run, reply: ChatReply) -> None:
        """A logical call was answered, within its `around_call`."""

    def on_text(self, run: Run, step: Step, delta: str) -> None:
        """More of an answer's text arrived."""

    def on_evidence(self, run: Run, evidence: Evidence) -> None:
        """One check is done, within its `around_check`."""

    def on_event(self, run: Run, event: Event) -> None:
        """An event was folded in; `run` is the run after it. The last call of a run has `run.outcome` set."""

    def on_end(self, run: Run) -> None:
        """The loop is over, also where it was interrupted; `run` says too what was not recorded."""

    async def settle(self) -> None:
        """Awaited before each paid call: make what was paid for durable."""


class Latest(Observer):
    """Keeps the newest state of a run, so that an interrupted one is not lost to whoever asked for it."""

    def __init__(self) -> None:
        self.run: Run | None = None

    def on_event(self, run: Run, event: Event) -> None:
        self.run = run

    def on_end(self, run: Run) -> None:
        self.run = run

    @property
    def ended(self) -> Run | None:
        """The run, once it has its outcome."""
        return self.run if self.run is not None and self.run.outcome is not None else None
