"""What records the runs of a session into one traces folder: the event log, and spans as its projection."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from reflect_lab.core.observer import Observer
from reflect_lab.core.run import Notice
from reflect_lab.store.layout import SPANS_FOLDER, process_file
from reflect_lab.store.log import LogRecorder
from reflect_lab.store.redact import Redactor
from reflect_lab.tracing.content import Content
from reflect_lab.tracing.provider import Tracing
from reflect_lab.tracing.spans import SpanObserver


class Recording:
    """The open log and span files of this process in one traces folder."""

    def __init__(self, folder: Path, environ: Mapping[str, str], redactor: Redactor, version: str) -> None:
        self._log = LogRecorder(folder, redactor)
        self._tracing = Tracing(process_file(folder, SPANS_FOLDER), environ, version)
        content = Content.from_environ(environ, redactor.text)
        self._spans = SpanObserver(self._tracing.tracer, content, on_run_end=self._tracing.flush_soon)

    def observers(self) -> tuple[Observer, ...]:
        return (self._log, self._spans)

    @property
    def leaves_machine(self) -> str | None:
        """The collector that spans are sent to; None where they stay in the local file."""
        return self._tracing.leaves_machine

    @property
    def notices(self) -> tuple[Notice, ...]:
        """What is known by now of spans that did not arrive and of settings that can't be followed."""
        return self._tracing.notices

    def close(self) -> None:
        """Sends what waits, within a short time (seconds where a collector hangs), and releases the files. Raises
        StoreError where lines of the log that wait for room can't be written even now."""
        try:
            self._tracing.close()
        finally:
            self._log.close()
