"""Ended spans as OTLP/JSON lines: one TracesData per line, as the OpenTelemetry file exporter specifies."""

from __future__ import annotations

import json
import math
import os
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from opentelemetry.sdk.trace import Event, ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult
from opentelemetry.trace import Link, SpanContext, format_span_id, format_trace_id

_REMOTE_KNOWN, _REMOTE = 0x100, 0x200
_NOT_FINITE = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}


class SpanFile(SpanExporter):
    """Appends each span to `path` with one write, so that a killed process loses nothing that had ended.

    The file is made with the first span. Where it can't be written, spans are counted in `lost` and `problem` says
    why; nothing is raised.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lost = 0
        self.problem: str | None = None
        self._lock = threading.Lock()
        self._descriptor: int | None = None

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        try:
            with self._lock:
                for span in spans:
                    self._append(json.dumps(traces_data(span), separators=(",", ":")).encode("ascii") + b"\n")
        except OSError as error:
            self.lost += len(spans)
            self.problem = error.strerror or str(error)
            return SpanExportResult.FAILURE
        return SpanExportResult.SUCCESS

    def shutdown(self) -> None:
        with self._lock:
            if self._descriptor is not None:
                os.close(self._descriptor)
                self._descriptor = None

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        return True

    def _append(self, line: bytes) -> None:
        if self._descriptor is None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
            self._descriptor = os.open(self.path, flags, mode=0o600)
        written = os.write(self._descriptor, line)
        if written < len(line):
            os.write(self._descriptor, b"\n")  # the next line must not be glued to half a span
            raise OSError(f"only {written} of {len(line)} bytes could be written")


def traces_data(span: ReadableSpan) -> dict[str, Any]:
    """One span as a TracesData message in its JSON form (hex ids, 64-bit numbers as text, enums as numbers)."""
    scope = span.instrumentation_scope
    return {
        "resourceSpans": [
            {
                "resource": {"attributes": _attributes(span.resource.attributes)},
                "scopeSpans": [
                    {
                        "scope": {"name": scope.name, "version": scope.version or ""} if scope else {},
                        "spans": [_span(span)],
                    }
                ],
            }
        ]
    }


def _span(span: ReadableSpan) -> dict[str, Any]:
    context = span.get_span_context()
    assert context is not None
    said: dict[str, Any] = {
        "traceId": format_trace_id(context.trace_id),
        "spanId": format_span_id(context.span_id),
        "name": span.name,
        "kind": span.kind.value + 1,
        "startTimeUnixNano": str(span.start_time or 0),
        "endTimeUnixNano": str(span.end_time or 0),
        "attributes": _attributes(span.attributes),
        "events": [_event(event) for event in span.events],
        "links": [_link(link) for link in span.links],
        "status": {"code": span.status.status_code.value},
        "droppedAttributesCount": span.dropped_attributes,
        "droppedEventsCount": span.dropped_events,
        "droppedLinksCount": span.dropped_links,
        "flags": _flags(span.parent),
    }
    if span.parent is not None:
        said["parentSpanId"] = format_span_id(span.parent.span_id)
    if span.status.description:
        said["status"]["message"] = span.status.description
    return said


def _event(event: Event) -> dict[str, Any]:
    attributes = _attributes(event.attributes)
    return {"name": event.name, "timeUnixNano": str(event.timestamp), "attributes": attributes}


def _link(link: Link) -> dict[str, Any]:
    return {
        "traceId": format_trace_id(link.context.trace_id),
        "spanId": format_span_id(link.context.span_id),
        "attributes": _attributes(link.attributes),
        "flags": _flags(link.context),
    }


def _flags(context: SpanContext | None) -> int:
    return _REMOTE_KNOWN | (_REMOTE if context is not None and context.is_remote else 0)


def _attributes(attributes: Mapping[str, Any] | None) -> list[dict[str, Any]]:
    return [{"key": name, "value": _value(value)} for name, value in (attributes or {}).items()]


def _value(value: Any) -> dict[str, Any]:
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": value if math.isfinite(value) else _NOT_FINITE[repr(value)]}
    if isinstance(value, Mapping):
        return {"kvlistValue": {"values": _attributes(value)}}
    if isinstance(value, Sequence) and not isinstance(value, (str, bytes)):
        return {"arrayValue": {"values": [_value(item) for item in value]}}
    return {"stringValue": str(value)}
