"""The span observer: a run as a tree of OpenTelemetry spans (DESIGN 8.2), written while it happens.

```
invoke_workflow reflect
└ reflect.round
  ├ reflect.generate ─ chat {model}          LINK to what it addresses: the critique (or the evidence) before it
  ├ reflect.evidence ─ execute_tool {check}
  ├ reflect.critique ─ chat {model}
  └ reflect.decide
```
A step's span is described by its event, which comes after the step: it is kept open until then and ended with the
time at which the step was over. What was asked for but not bought leaves no span.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import Link, Span, SpanKind, Status, StatusCode, Tracer

from reflect_lab.core.chat import ChatReply, ChatRequest
from reflect_lab.core.errors import ModelFailed
from reflect_lab.core.events import (
    Cancelled,
    CriticAnswered,
    DeadlinePassed,
    Decided,
    DraftWritten,
    Event,
    EvidenceGathered,
    NotAfforded,
    StepFailed,
)
from reflect_lab.core.evidence import Evidence
from reflect_lab.core.observer import Observer
from reflect_lab.core.run import LedgerRow, Run
from reflect_lab.core.selection import candidates
from reflect_lab.core.steps import AskCritic, Decide, GatherEvidence, Step, Stop, WriteDraft
from reflect_lab.core.task import CheckSpec
from reflect_lab.tracing import attributes as names
from reflect_lab.tracing import describe
from reflect_lab.tracing.content import Content, Value
from reflect_lab.tracing.tree import Call, Pending, Tree, current, current_call

_STEPS: dict[type[Step], tuple[str, str, str | None]] = {
    WriteDraft: (names.SPAN_GENERATE, "CHAIN", "generator"),
    GatherEvidence: (names.SPAN_EVIDENCE, "CHAIN", "evidence"),
    AskCritic: (names.SPAN_CRITIQUE, "EVALUATOR", "critic"),
    Decide: (names.SPAN_DECIDE, "CHAIN", None),
}


class SpanObserver(Observer):
    """Projects runs onto spans of `tracer`. One object serves all runs of a session, concurrent ones too.

    `conversation` names what its runs belong to (only its hash is shown); `on_run_end` is called after a run's last
    span has ended and must not block.
    """

    def __init__(
        self,
        tracer: Tracer,
        content: Content | None = None,
        conversation: str | None = None,
        on_run_end: Callable[[], None] | None = None,
    ) -> None:
        self._tracer = tracer
        self._content = content or Content()
        self._conversation = conversation
        self._on_run_end = on_run_end
        self._trees: dict[str, Tree] = {}

    @contextmanager
    def around_run(self, run: Run) -> Iterator[None]:
        # A root of its own: a span that the user's program has open is not ours to write under.
        attributes = describe.run_start(run, self._conversation)
        span = self._start(names.SPAN_RUN, Context(), attributes)
        tree = self._trees[run.run_id] = Tree(run=run, span=span)
        try:
            with current(span):
                yield
        except BaseException as error:
            self._fail(span, error)
            raise
        finally:
            del self._trees[run.run_id]
            self._end_run(tree)

    @contextmanager
    def around_step(self, run: Run, step: Step) -> Iterator[None]:
        if isinstance(step, Stop):
            yield
            return
        tree = self._trees[run.run_id]
        self._end_pending(tree)
        if tree.round is None or step.index != tree.round_index:  # a fork begins in the midst of a round
            self._start_round(tree, step.index)
        tree.step = span = self._start_step(tree, step)
        try:
            with current(span):
                yield
        except BaseException as error:
            self._fail(span, error)
            raise
        finally:
            tree.step = None
            tree.pending = Pending(step, span, time.time_ns())

    @contextmanager
    def around_call(self, run: Run, request: ChatRequest, model: str) -> Iterator[None]:
        attributes = describe.call_start(run, request, model, self._content)
        span = self._child(run, f"chat {model}", attributes, SpanKind.CLIENT)
        call = Call(span, request)
        try:
            with current(span, call):
                yield
        except BaseException as error:
            self._fail(span, error)
            raise
        finally:
            self._say(span, describe.call_end(call.rows))
            span.end()

    @contextmanager
    def around_check(self, run: Run, spec: CheckSpec) -> Iterator[None]:
        checks = self._trees[run.run_id].checks
        span = checks[spec.name] = self._child(run, f"execute_tool {spec.name}", describe.check(spec))
        try:
            with current(span):
                yield
        except BaseException as error:
            self._fail(span, error)
            raise
        finally:
            checks.pop(spec.name, None)
            span.end()

    def on_attempt(self, run: Run, row: LedgerRow) -> None:
        if (call := current_call()) is not None:
            call.rows.append(row)
            call.span.add_event(names.EVENT_ATTEMPT, self._content.attributes(describe.attempt(row)))

    def on_reply(self, run: Run, reply: ChatReply) -> None:
        if (call := current_call()) is not None:
            self._say(call.span, describe.reply(call.request, reply, self._content))

    def on_evidence(self, run: Run, evidence: Evidence) -> None:
        span = self._trees[run.run_id].checks.get(evidence.source)
        if span is not None:
            self._say(span, describe.evidence(evidence, self._content))
            if evidence.status == "error":
                self._error(span, "check_error")

    def on_event(self, run: Run, event: Event) -> None:
        tree = self._trees[run.run_id]
        tree.run = run
        pending, tree.pending = tree.pending, None
        if pending is None:
            return
        if isinstance(event, NotAfforded) and not event.ledger:
            # Nothing was done: a span that is never ended is never exported.
            if isinstance(pending.step, WriteDraft) and not pending.step.candidate:
                tree.round = None
            return
        self._describe(tree, pending.span, event)
        pending.span.end(pending.ended_at)

    def _describe(self, tree: Tree, span: Span, event: Event) -> None:
        current = tree.run.round
        match event:
            case DraftWritten() if current is not None:
                draft = candidates(current)[event.draft.candidate].draft
                self._say(span, describe.draft(draft, self._content))
                if tree.round is not None:
                    self._say(tree.round, {names.DRAFT_INDEX: draft.index})
                tree.generated[draft.index, draft.candidate] = span
            case EvidenceGathered():
                self._say(span, describe.gathered(event.evidence))
                tree.causes[tree.round_index] = (names.ADDRESSES_EVIDENCE, span)
            case CriticAnswered() if current is not None and current.critique is not None:
                self._say(span, describe.critique(current.critique, self._content))
                tree.causes[tree.round_index] = (names.ADDRESSES_CRITIQUE, span)
            case Decided():
                self._say(span, describe.decision(event.decision, self._content))
                self._say(span, describe.feedback(event.feedback))
            case StepFailed():
                self._error(span, event.error.kind)
            case DeadlinePassed():
                self._say(span, {names.STEP_CUT: "deadline"})
            case Cancelled():
                self._say(span, {names.STEP_CUT: "cancelled"})
            case _:
                return

    def _start_round(self, tree: Tree, index: int) -> None:
        self._end_round(tree)
        attributes: describe.Values = {names.ROUND_INDEX: index, names.OPENINFERENCE_KIND: "CHAIN"}
        tree.round_index = index
        attributes[names.RUN_ID] = tree.run.run_id
        tree.round = self._start(names.SPAN_ROUND, trace.set_span_in_context(tree.span), attributes)

    def _start_step(self, tree: Tree, step: Step) -> Span:
        name, kind, role = _STEPS[type(step)]
        links = []
        attributes: describe.Values = {
            names.RUN_ID: tree.run.run_id,
            names.ROUND_INDEX: tree.round_index,
            names.OPENINFERENCE_KIND: kind,
            names.ROLE: role,
        }
        if isinstance(step, WriteDraft):
            attributes |= describe.feedback(step.feedback)
            cause = tree.causes.get(step.index - 1)
            if cause is not None:
                sent = step.feedback.sent if step.feedback else ()
                about: describe.Values = {
                    names.LINK_TYPE: cause[0],
                    names.LINK_ISSUE_IDS: [self._content.identifier(issue) for issue in sent],
                }
                links.append(Link(cause[1].get_span_context(), self._content.attributes(about)))
        parent = tree.round or tree.span
        return self._start(name, trace.set_span_in_context(parent), attributes, links=links)

    def _child(self, run: Run, name: str, attributes: describe.Values, kind: SpanKind = SpanKind.INTERNAL) -> Span:
        tree = self._trees[run.run_id]
        parent = tree.step or tree.round or tree.span
        where: describe.Values = {names.RUN_ID: run.run_id, names.ROUND_INDEX: tree.round_index}
        return self._start(name, trace.set_span_in_context(parent), attributes | where, kind)

    def _start(
        self,
        name: str,
        parent: Context,
        attributes: describe.Values,
        kind: SpanKind = SpanKind.INTERNAL,
        links: list[Link] | None = None,
    ) -> Span:
        said = self._content.attributes(attributes)
        return self._tracer.start_span(self._content.redact(name), parent, kind, said, links)

    def _end_run(self, tree: Tree) -> None:
        self._end_pending(tree)
        self._end_round(tree)
        self._say(tree.span, describe.run_end(tree.run))
        outcome = tree.run.outcome
        if outcome is not None and outcome.error is not None:
            self._error(tree.span, outcome.error.kind)
        index = outcome.draft_index if outcome is not None else None
        chosen = None if index is None else tree.generated.get((index, tree.run.rounds[index].draft.candidate))
        if chosen is not None:
            tree.span.add_link(chosen.get_span_context(), {names.LINK_TYPE: names.SELECTED})
        tree.span.end()
        if self._on_run_end is not None:
            self._on_run_end()

    def _end_round(self, tree: Tree) -> None:
        if tree.round is not None:
            tree.round.end()
            tree.round = None

    def _end_pending(self, tree: Tree) -> None:
        if tree.pending is not None:
            tree.pending.span.end(tree.pending.ended_at)
            tree.pending = None

    def _say(self, span: Span, values: dict[str, Value]) -> None:
        span.set_attributes(self._content.attributes(values))

    def _fail(self, span: Span, error: BaseException) -> None:
        """The kind of failure, never its text: messages of HTTP faults can hold keys."""
        if isinstance(error, (asyncio.CancelledError, KeyboardInterrupt, GeneratorExit)):
            self._say(span, {names.STEP_CUT: "cancelled"})
        elif isinstance(error, ModelFailed):
            self._error(span, error.kind)
        else:
            self._error(span, f"{type(error).__module__}.{type(error).__qualname__}")

    def _error(self, span: Span, kind: str) -> None:
        self._say(span, {names.ERROR_TYPE: kind})
        span.set_status(Status(StatusCode.ERROR))
