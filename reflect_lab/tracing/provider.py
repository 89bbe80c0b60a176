"""The tracer provider of a session: its own, never the global one, with explicit limits.

Every ended span goes to a local file at once. Where the standard environment variables ask for it, spans also go to an
OTLP collector over HTTP, in batches, in the background. A collector that is down or slow changes nothing but a notice.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit, urlunsplit

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import SpanLimits, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.sampling import ALWAYS_ON
from opentelemetry.trace import Tracer

from reflect_lab.core.run import Notice
from reflect_lab.tracing.export_settings import ExportSettings
from reflect_lab.tracing.span_file import SpanFile

if TYPE_CHECKING:
    from reflect_lab.tracing.remote import RemoteSpans

SCOPE = "reflect_lab"
FLUSH_SECONDS = 2.0
"""How long the end of a run may wait for a collector."""

_LIMITS = {
    "max_attributes": 256, "max_span_attributes": 256, "max_event_attributes": 64, "max_link_attributes": 32,
    "max_events": 256, "max_links": 64, "max_attribute_length": 262_144, "max_span_attribute_length": 262_144,
}  # fmt: skip


class Tracing:
    """A provider with its exporters. `span_file` None keeps spans off the disk; `version` is this package's.

    Starts no thread and opens no file before the first span, apart from the batch thread where OTLP export is asked
    for.
    """

    def __init__(self, span_file: Path | None, environ: Mapping[str, str], version: str = "") -> None:
        settings = ExportSettings.from_environ(environ)
        self._settings = settings
        self._version = version
        self.provider = TracerProvider(
            sampler=ALWAYS_ON,
            resource=Resource.create({"service.name": environ.get("OTEL_SERVICE_NAME") or "reflect-lab"}),
            shutdown_on_exit=False,
            span_limits=SpanLimits(**_LIMITS),
        )
        self._file = None if span_file is None or settings.is_disabled else SpanFile(span_file)
        self._remote = None if settings.endpoint is None else _remote(settings.endpoint)
        self._is_late = False
        if self._file is not None:
            self.provider.add_span_processor(SimpleSpanProcessor(self._file))
        if self._remote is not None:
            self.provider.add_span_processor(self._remote)

    @property
    def tracer(self) -> Tracer:
        return self.provider.get_tracer(SCOPE, self._version)

    @property
    def leaves_machine(self) -> str | None:
        """The collector that spans are sent to (without credentials), None where they stay in the local file."""
        return None if self._settings.endpoint is None else _shown(self._settings.endpoint)

    @property
    def notices(self) -> tuple[Notice, ...]:
        """What the user should know: settings that can't be followed, spans that did not arrive."""
        said = list(self._settings.notices)
        if self._file is not None and self._file.lost:
            said.append(f"{self._file.lost} spans could not be written to {self._file.path} ({self._file.problem})")
        if self._is_late:
            said.append(f"spans are still on their way to {self.leaves_machine}")
        if self._remote is not None and (lost := self._remote.lost(not self._is_late)):
            said.append(f"{lost} spans did not reach {self.leaves_machine}; the run is not affected")
        return tuple(Notice(kind="tracing", message=message) for message in said)

    def flush(self, seconds: float = FLUSH_SECONDS) -> bool:
        """Send what waits; False if that took longer than `seconds` (it goes on in the background)."""
        if self._remote is None:
            return True
        worker = self._flush_in_background()
        worker.join(seconds)
        self._is_late = worker.is_alive()
        return not self._is_late

    def flush_soon(self) -> None:
        """Send what waits without waiting for it."""
        if self._remote is not None:
            self._flush_in_background()

    def close(self, seconds: float = FLUSH_SECONDS) -> None:
        """Send what waits within `seconds`, then stop. Never called by itself at exit."""
        self.flush(seconds)
        worker = threading.Thread(target=self.provider.shutdown, name="reflect-lab-spans", daemon=True)
        try:
            worker.start()
        except RuntimeError:  # Python 3.12 and newer start no thread while the interpreter ends
            self.provider.shutdown()
            return
        worker.join(seconds)

    def _flush_in_background(self) -> threading.Thread:
        # The SDK's own time-out is not applied while an export is under way, hence the thread.
        worker = threading.Thread(target=self.provider.force_flush, name="reflect-lab-spans", daemon=True)
        worker.start()
        return worker


def _remote(endpoint: str) -> RemoteSpans:
    """The exporter, imported where spans are sent away: it brings an HTTP client and protobuf with it."""
    from reflect_lab.tracing.remote import RemoteSpans

    return RemoteSpans(endpoint)


def _shown(endpoint: str) -> str:
    """The URL without user, password, query and fragment: those can hold keys."""
    parts = urlsplit(endpoint)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))
