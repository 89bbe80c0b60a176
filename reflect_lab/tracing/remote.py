"""Spans on their way to an OTLP collector: in batches, in the background, counted."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

_LOGGERS = ("opentelemetry.exporter.otlp.proto.http.trace_exporter", "opentelemetry.exporter.otlp.common.http")

log = logging.getLogger(__name__)


class RemoteSpans(BatchSpanProcessor):
    """Headers, certificates, compression and time-outs follow the standard variables (the SDK's exporter reads them).

    Counts what ended and what arrived, since neither the queue (which drops when full) nor the exporter says.
    """

    def __init__(self, endpoint: str) -> None:
        self._counting = _CountingExporter(endpoint)
        self._ended_spans = 0
        super().__init__(self._counting)

    def on_end(self, span: ReadableSpan) -> None:
        self._ended_spans += 1
        super().on_end(span)

    def lost(self, is_flushed: bool) -> int:
        """Spans that did not arrive: refused ones, and, once all were flushed, those that a full queue dropped."""
        if not is_flushed:
            return self._counting.failed
        return self._counting.failed + max(0, self._ended_spans - self._counting.seen)


class _CountingExporter(SpanExporter):
    def __init__(self, endpoint: str) -> None:
        self._inner = OTLPSpanExporter(endpoint=endpoint)
        self.seen = 0
        self.failed = 0

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        try:
            with _quiet():
                result = self._inner.export(spans)
        except Exception as error:  # older exporters raise where newer ones answer FAILURE
            result = SpanExportResult.FAILURE
            log.info("the exporter failed: %s", type(error).__name__)
        self.seen += len(spans)
        if result is not SpanExportResult.SUCCESS:
            self.failed += len(spans)
            log.info("%d spans could not be exported", len(spans))
        return result

    def shutdown(self) -> None:
        with _quiet():
            self._inner.shutdown()  # type: ignore[no-untyped-call]

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        return self._inner.force_flush(timeout_millis)


class _NotFromThisThread(logging.Filter):
    """Leaves the records of other threads (another provider of the user's program) as they are."""

    def __init__(self) -> None:
        super().__init__()
        self._thread = threading.get_ident()

    def filter(self, record: logging.LogRecord) -> bool:
        return record.thread != self._thread


@contextmanager
def _quiet() -> Iterator[None]:
    """The SDK's exporter prints each retry to the user's screen; a notice says it once instead."""
    silent = _NotFromThisThread()
    loggers = [logging.getLogger(name) for name in _LOGGERS]
    for logger in loggers:
        logger.addFilter(silent)
    try:
        yield
    finally:
        for logger in loggers:
            logger.removeFilter(silent)
