"""Where spans go: a local file always, a collector where it is asked for."""

from __future__ import annotations

import json
import logging
import socket
import time
from pathlib import Path
from typing import Any

import pytest
from google.protobuf import json_format
from opentelemetry import trace
from opentelemetry.proto.trace.v1.trace_pb2 import TracesData

from reflect_lab.store.log import LogRecorder
from reflect_lab.store.traces import Traces
from reflect_lab.tracing import attributes as names
from reflect_lab.tracing.export_settings import ExportSettings
from reflect_lab.tracing.provider import Tracing
from reflect_lab.tracing.spans import SpanObserver
from tests.otlp_receiver import OtlpReceiver
from tests.store.driver import COLOUR_MISSING, REVISED, critique, play, roles


def spans_of(path: Path) -> list[dict[str, Any]]:
    documents = [json.loads(line) for line in path.read_text().splitlines()]
    return [document["resourceSpans"][0]["scopeSpans"][0]["spans"][0] for document in documents]


async def test_the_collector_gets_the_tokens_that_the_model_handed_out(tmp_path: Path) -> None:
    actors = roles(REVISED, (critique(COLOUR_MISSING, score=0.3), critique()))
    recorder = LogRecorder(tmp_path)
    with OtlpReceiver() as receiver:
        tracing = Tracing(tmp_path / "spans" / "a.jsonl", {"OTEL_EXPORTER_OTLP_ENDPOINT": receiver.endpoint}, "1.2.3")
        assert tracing.leaves_machine == f"{receiver.endpoint}/v1/traces"
        run = await play([recorder, SpanObserver(tracing.tracer, on_run_end=tracing.flush_soon)], actors=actors)
        assert tracing.flush(30)
        tracing.close()
    handed_out = actors.generator.client.handed_out + actors.critic.client.handed_out
    totals = tuple(map(sum, zip(*handed_out, strict=True)))
    arrived = receiver.spans
    chats = [span for span in arrived if span.name == "chat played"]
    assert tuple(sum(s.attributes[n] for s in chats) for n in (names.INPUT_TOKENS, names.OUTPUT_TOKENS)) == totals
    (root,) = (span for span in arrived if not span.parent_span_id)
    assert root.attributes["reflect.usage.input_tokens"] == totals[0] == run.usage.input_tokens
    assert root.resource["service.name"] == "reflect-lab"
    assert tracing.notices == ()
    # the file, the index and the collector hold the same tree
    in_file = {
        (s["traceId"], s["spanId"], s.get("parentSpanId", ""), s["name"]) for s in spans_of(tmp_path / "spans/a.jsonl")
    }
    assert in_file == {(s.trace_id, s.span_id, s.parent_span_id, s.name) for s in arrived}
    (row,) = (
        Traces(tmp_path)
        .sql(
            "SELECT (SELECT sum(input_tokens) FROM spans), (SELECT sum(output_tokens) FROM spans), "
            "(SELECT input_tokens FROM runs), (SELECT output_tokens FROM runs), (SELECT count(*) FROM spans)"
        )
        .rows
    )
    assert row == (*totals, *totals, len(arrived))


async def test_each_line_of_the_file_is_a_valid_otlp_message(tmp_path: Path) -> None:
    tracing = Tracing(tmp_path / "a.jsonl", {})
    await play([SpanObserver(tracing.tracer)])
    for line in (tmp_path / "a.jsonl").read_text().splitlines():
        document = json.loads(line)
        for span in document["resourceSpans"][0]["scopeSpans"][0]["spans"]:
            # protobuf's own JSON wants base64 ids where OTLP/JSON has hex
            for holder in (span, *span["links"]):
                for name in ("traceId", "spanId", "parentSpanId"):
                    if name in holder:
                        assert len(holder.pop(name)) in (16, 32)
        json_format.ParseDict(document, TracesData())


async def test_spans_are_in_the_file_as_soon_as_they_end(tmp_path: Path) -> None:
    tracing = Tracing(tmp_path / "a.jsonl", {})
    actors = roles(REVISED, (critique(COLOUR_MISSING), critique()))
    seen: list[list[str]] = []
    actors.critic.client.before = lambda request: seen.append([s["name"] for s in spans_of(tmp_path / "a.jsonl")])
    await play([SpanObserver(tracing.tracer)], actors=actors)
    assert seen[0] == ["chat played", "reflect.generate", "execute_tool length", "reflect.evidence"]


async def test_a_collector_that_is_down_changes_nothing_but_a_notice(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "1")
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))  # bound, not listening: connections are refused
        endpoint = f"http://user:hunter2@127.0.0.1:{unused.getsockname()[1]}"
        tracing = Tracing(tmp_path / "a.jsonl", {"OTEL_EXPORTER_OTLP_ENDPOINT": endpoint})
        with caplog.at_level(logging.WARNING):
            run = await play([SpanObserver(tracing.tracer, on_run_end=tracing.flush_soon)])
            assert tracing.flush(30)
    assert run.outcome is not None and run.outcome.status == "accepted" and run.outcome.recorded
    (notice,) = tracing.notices
    count = len(spans_of(tmp_path / "a.jsonl"))
    assert notice.message.startswith(f"{count} spans did not reach http://127.0.0.1")
    assert "hunter2" not in notice.message + str(tracing.leaves_machine)
    assert caplog.records == []
    tracing.close()


async def test_a_slow_collector_holds_nobody_up(tmp_path: Path) -> None:
    with OtlpReceiver() as receiver:
        receiver.gate.clear()
        tracing = Tracing(
            tmp_path / "a.jsonl", {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": f"{receiver.endpoint}/v1/traces"}
        )
        started = time.monotonic()
        await play([SpanObserver(tracing.tracer, on_run_end=tracing.flush_soon)])
        assert not tracing.flush(0.2)
        assert time.monotonic() - started < 5
        assert "on their way" in tracing.notices[0].message
        receiver.gate.set()
        assert tracing.flush(30)
        assert tracing.notices == ()
        assert len(receiver.spans) == len(spans_of(tmp_path / "a.jsonl"))
        tracing.close()


async def test_a_collector_that_refuses_is_a_notice(tmp_path: Path) -> None:
    with OtlpReceiver(status=401) as receiver:
        tracing = Tracing(None, {"OTEL_EXPORTER_OTLP_ENDPOINT": receiver.endpoint})
        await play([SpanObserver(tracing.tracer)])
        assert tracing.flush(30)
        assert "did not reach" in tracing.notices[0].message
        tracing.close()


async def test_headers_and_compression_follow_the_standard_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-team=blue")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip")
    with OtlpReceiver() as receiver:
        tracing = Tracing(None, {"OTEL_EXPORTER_OTLP_ENDPOINT": receiver.endpoint})
        await play([SpanObserver(tracing.tracer)])
        tracing.close(30)
    assert receiver.headers[0]["x-team"] == "blue" and receiver.headers[0]["Content-Encoding"] == "gzip"
    assert receiver.spans


@pytest.mark.parametrize(
    "environ, endpoint",
    [
        ({}, None),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4318"}, "http://c:4318/v1/traces"),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4318/"}, "http://c:4318/v1/traces"),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://c/x"}, "http://c/x"),
        ({"OTEL_TRACES_EXPORTER": "otlp"}, "http://localhost:4318/v1/traces"),
        ({"OTEL_TRACES_EXPORTER": "none", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://c"}, None),
        ({"OTEL_TRACES_EXPORTER": "console", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://c"}, None),
        ({"OTEL_TRACES_EXPORTER": "otlp,console"}, "http://localhost:4318/v1/traces"),
        ({"OTEL_SDK_DISABLED": "true", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://c"}, None),
        ({"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://c"}, None),
    ],
)
def test_export_is_asked_for_by_the_standard_variables_alone(environ: dict[str, str], endpoint: str | None) -> None:
    settings = ExportSettings.from_environ(environ)
    assert settings.endpoint == endpoint
    is_plain = not environ.keys() & {"OTEL_SDK_DISABLED", "OTEL_EXPORTER_OTLP_PROTOCOL"}
    assert bool(settings.notices) == (not is_plain or "console" in environ.get("OTEL_TRACES_EXPORTER", ""))


async def test_a_disabled_sdk_makes_no_spans_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_SDK_DISABLED", "true")
    tracing = Tracing(tmp_path / "a.jsonl", {"OTEL_SDK_DISABLED": "true"})
    run = await play([SpanObserver(tracing.tracer)])
    assert run.outcome is not None and run.outcome.status == "accepted"
    assert not (tmp_path / "a.jsonl").exists()
    assert "OTEL_SDK_DISABLED" in tracing.notices[0].message


async def test_the_global_provider_is_never_touched(tmp_path: Path) -> None:
    before = trace.get_tracer_provider()
    tracing = Tracing(tmp_path / "a.jsonl", {})
    await play([SpanObserver(tracing.tracer)])
    assert trace.get_tracer_provider() is before is not tracing.provider


async def test_a_span_file_that_cannot_be_written_is_a_notice(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    tracing = Tracing(tmp_path / "file" / "a.jsonl", {})
    run = await play([SpanObserver(tracing.tracer)])
    assert run.outcome is not None and run.outcome.status == "accepted"
    assert "could not be written" in tracing.notices[0].message
