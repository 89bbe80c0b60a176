"""The open spans of a run, and which of them is current."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from opentelemetry import context as otel_context
from opentelemetry import trace
from opentelemetry.trace import Span

from reflect_lab.core.chat import ChatRequest
from reflect_lab.core.run import LedgerRow, Run
from reflect_lab.core.steps import Step

_CALL_KEY = otel_context.create_key("reflect-lab-call")


@dataclass
class Call:
    span: Span
    request: ChatRequest
    rows: list[LedgerRow] = field(default_factory=list)


@dataclass
class Pending:
    """A step that is over and waits for its event."""

    step: Step
    span: Span
    ended_at: int


@dataclass
class Tree:
    """The open spans of one run, and those that later ones link to."""

    run: Run
    span: Span
    round: Span | None = None
    round_index: int = -1
    step: Span | None = None
    pending: Pending | None = None
    checks: dict[str, Span] = field(default_factory=dict)
    causes: dict[int, tuple[str, Span]] = field(default_factory=dict)
    generated: dict[tuple[int, int], Span] = field(default_factory=dict)


@contextmanager
def current(span: Span, call: Call | None = None) -> Iterator[None]:
    """Make the span current, so that spans of an instrumented client hang below it. Records no exception."""
    where = trace.set_span_in_context(span)
    if call is not None:
        where = otel_context.set_value(_CALL_KEY, call, where)
    token = otel_context.attach(where)
    try:
        yield
    finally:
        otel_context.detach(token)


def current_call() -> Call | None:
    call = otel_context.get_value(_CALL_KEY)
    return call if isinstance(call, Call) else None
