"""How a run is shown in a cell: live while it runs, and as one static bundle when it is over."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from reflect_lab.core.chat import ChatRequest
from reflect_lab.core.events import Event
from reflect_lab.core.observer import Observer
from reflect_lab.core.run import LedgerRow, Run
from reflect_lab.core.steps import AskCritic, Decide, GatherEvidence, Step, WriteDraft
from reflect_lab.evidence.check import Consent

QUESTION = (
    "The check {check} would run code that a live model wrote, and this machine can't isolate it (%reflect doctor says "
    "what to install). With process limits only, the code could read and change your files and use the network."
)


class View(Observer):
    """Shows a run: what goes on, and what came of it."""

    def __init__(self) -> None:
        self.traces: str | None = None

    def start(self, traces: str) -> None:
        """Called before the run starts; `traces` says where it is recorded."""
        self.traces = traces

    def on_stop(self, stop: Callable[[], object]) -> None:
        """Gives the view something to call when the user presses Stop."""

    def consent(self) -> Consent | None:
        """What asks the user whether a live model's code may run once without isolation; None where no button is."""
        return None

    def finish(self, run: Run) -> None:
        """Shows the finished run."""

    def abandon(self) -> None:
        """Called instead of `finish` where no run came about."""


class PlainView(View):
    """Nothing while the run goes on, the result at the end: for terminals and for cells within another magic."""

    def __init__(self, buttons_off: str | None = None) -> None:
        super().__init__()
        self._buttons_off = buttons_off

    def finish(self, run: Run) -> None:
        if self._buttons_off:
            print(f"the buttons were off while this ran: {self._buttons_off}")  # noqa: T201
        display_forms(_bundle(run, self.traces))


class LiveView(View):
    """A widget that follows the run, replaced by the static bundle at the end (a bare widget is lost when saved)."""

    def __init__(self, redact: Callable[[Any], Any]) -> None:
        """`redact` hides keys in a run's document."""
        super().__init__()
        self._redact = redact
        self._stop: Callable[[], object] | None = None
        self._widget: Any = None
        self._handle: Any = None
        self._doing = ""
        self._answer: asyncio.Future[bool] | None = None
        self._asked = 0

    def on_stop(self, stop: Callable[[], object]) -> None:
        self._stop = stop

    def start(self, traces: str) -> None:
        from reflect_lab.notebook.widget import RunWidget

        super().start(traces)
        self._widget = RunWidget(traces)
        self._widget.on_stop(self._pressed)
        self._widget.on_answer(self._answered)
        self._widget.show_live("starting")
        self._handle = _display(self._widget, display_id=True)

    def around_step(self, run: Run, step: Step) -> AbstractContextManager[object]:
        self._doing = step_name(step)
        self._widget.show_live(self._doing)
        return nullcontext()

    def around_call(self, run: Run, request: ChatRequest, model: str) -> AbstractContextManager[object]:
        self._widget.show_live(self._doing)  # a second call of one step writes its text anew
        return nullcontext()

    def on_text(self, run: Run, step: Step, delta: str) -> None:
        self._widget.stream(delta)

    def on_attempt(self, run: Run, row: LedgerRow) -> None:
        if row.status == "retried":  # what was streamed so far is void
            self._widget.show_live(f"{row.role}: trying once more ({row.error or 'the connection broke'})")

    def on_event(self, run: Run, event: Event) -> None:
        from reflect_lab.documents.run_document import dump_run

        self._widget.show_run(self._redact(dump_run(run)))

    def finish(self, run: Run) -> None:
        self._replace(_bundle(run, self.traces))

    def abandon(self) -> None:
        if self._widget is not None:
            self._replace({"text/plain": "nothing was run"})

    def _replace(self, data: dict[str, Any]) -> None:
        """The static `data` in the live view's place; the widget and its layout, a widget of its own, are released."""
        self._handle.update(data, raw=True)
        layout = self._widget.layout
        self._widget.close()
        layout.close()

    def consent(self) -> Consent | None:
        return self._ask

    async def _ask(self, check: str) -> bool:
        """Shows the question with its buttons and waits for one of them."""
        while self._answer is not None:  # one question after the other
            await asyncio.wait({self._answer})
        answer: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._answer = answer
        self._asked += 1
        try:
            self._widget.show_live("waiting for you", question=QUESTION.format(check=check), asked=self._asked)
            return await answer
        finally:
            self._answer = None
            answer.cancel()
            self._widget.show_live(self._doing)

    def _answered(self, may_run: bool, asked: object) -> None:
        """A click. One on an earlier question, in another view of this cell, answers nothing."""
        if self._answer is not None and not self._answer.done() and asked == self._asked:
            self._answer.set_result(may_run)

    def _pressed(self) -> None:
        if self._stop is not None:
            self._stop()


def step_name(step: Step) -> str:
    """A step in words."""
    match step:
        case WriteDraft(index=0):
            return "writing the first draft"
        case WriteDraft(index=index):
            return f"writing revision {index}"
        case GatherEvidence():
            return "running the checks"
        case AskCritic(repair=0):
            return "asking the critic"
        case AskCritic():
            return "asking the critic again, in the agreed form"
        case Decide():
            return "deciding"
        case _:
            return "done"


def display_forms(forms: Mapping[str, Any]) -> None:
    """Shows one thing that is there in several forms, by MIME type."""
    _display(dict(forms), raw=True)


def _display(what: object, **options: Any) -> Any:
    from IPython.display import display

    show: Callable[..., Any] = display
    return show(what, **options)


def _bundle(run: Run, traces: str | None) -> dict[str, Any]:
    from reflect_lab.documents.bundle import bundle

    return dict(bundle(run, traces))
