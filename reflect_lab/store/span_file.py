"""Reads span files (OTLP/JSON, one TracesData per line) into rows of the `spans` relation.

A killed process leaves children without their root, and files may be copied: orphans and doubles are no errors.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from reflect_lab.store import layout, relations

_log = logging.getLogger(__name__)

_KINDS = {1: "internal", 2: "server", 3: "client", 4: "producer", 5: "consumer"}
_STATUSES = {0: "unset", 1: "ok", 2: "error"}
_MODEL_OPERATIONS = frozenset({"chat", "text_completion", "generate_content"})
_EPOCH = datetime(1970, 1, 1)
_COLUMNS = [column for column in relations.SPANS.columns if column.attribute]


@dataclass(frozen=True)
class SpanContent:
    """Rows of one file from some byte on, and the byte from which to go on next time."""

    rows: tuple[dict[str, Any], ...]
    resume: int


def span_files(folder: Path) -> list[Path]:
    return sorted((folder / layout.SPANS_FOLDER).glob("*.jsonl"))


def read_spans(path: Path, start: int = 0) -> SpanContent:
    """The spans of all whole lines from byte `start`. A line that can't be read is left out with a warning."""
    rows: list[dict[str, Any]] = []
    offset = start
    with path.open("rb") as file:
        file.seek(start)
        for raw in file:
            if not raw.endswith(b"\n"):
                break
            try:
                rows += [{**row, "span_file": path.name} for row in _spans(json.loads(raw))]
            except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
                _log.warning("%s: the line at byte %d holds no readable spans (%s)", path, offset, error)
            offset += len(raw)
    return SpanContent(tuple(rows), offset)


def _spans(document: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for resource_spans in document["resourceSpans"]:
        resource = _attributes(resource_spans.get("resource", {}).get("attributes", ()))
        for scope_spans in resource_spans.get("scopeSpans", ()):
            for span in scope_spans.get("spans", ()):
                yield _span(span, resource)


def _span(span: Mapping[str, Any], resource: Mapping[str, Any]) -> dict[str, Any]:
    attributes = _attributes(span.get("attributes", ()))
    start, end = int(span["startTimeUnixNano"]), int(span.get("endTimeUnixNano") or 0)
    everything = {**attributes, **{f"resource.{name}": value for name, value in resource.items()}}
    is_model_call = attributes.get("gen_ai.operation.name") in _MODEL_OPERATIONS
    return {
        "trace_id": span["traceId"],
        "span_id": span["spanId"],
        "parent_span_id": span.get("parentSpanId") or None,
        "name": span["name"],
        "kind": _KINDS.get(span.get("kind", 0), "internal"),
        "started_at": _time(start),
        "ended_at": _time(end) if end else None,
        "seconds": (end - start) / 1e9 if end else None,
        "status": _STATUSES.get(span.get("status", {}).get("code", 0), "unset"),
        **{c.name: _typed(c, attributes.get(str(c.attribute)), is_model_call) for c in _COLUMNS},
        "events": json.dumps([_event(event) for event in span.get("events", ())]),
        "links": json.dumps([_link(link) for link in span.get("links", ())]),
        "attributes": {name: _text(value) for name, value in everything.items()},
    }


def _typed(column: relations.Column, value: Any, is_model_call: bool) -> Any:
    """The value if it has the column's type; tokens count on model calls only (parents repeat their children's)."""
    if column.name.endswith("_tokens") and not is_model_call:
        return None
    if column.type == relations.INT:
        return value if isinstance(value, int) and not isinstance(value, bool) else None
    return None if value is None else _text(value)


def _event(event: Mapping[str, Any]) -> dict[str, Any]:
    time = _time(int(event.get("timeUnixNano", 0)))
    return {"name": event.get("name", ""), "time": time, "attributes": _attributes(event.get("attributes", ()))}


def _link(link: Mapping[str, Any]) -> dict[str, Any]:
    ids = {"trace_id": link["traceId"], "span_id": link["spanId"]}
    return {**ids, "attributes": _attributes(link.get("attributes", ()))}


def _attributes(pairs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    return {pair["key"]: _value(pair.get("value", {})) for pair in pairs}


def _value(value: Mapping[str, Any]) -> Any:
    if "intValue" in value:
        return int(value["intValue"])
    if "arrayValue" in value:
        return [_value(item) for item in value["arrayValue"].get("values", ())]
    if "kvlistValue" in value:
        return _attributes(value["kvlistValue"].get("values", ()))
    return next(iter(value.values()), None)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _time(nanoseconds: int) -> str:
    return (_EPOCH + timedelta(microseconds=nanoseconds // 1000)).isoformat(sep=" ")
