"""The recorder: an observer that writes what happens to the event log while it happens.

Line types: `run_started` (the empty run), `call_started` (the prompt), `call_attempt` (a ledger row, at once),
`call_answered` (the raw reply), the core's events in snake case (`draft_written`, …, their `ledger` as the `seq`s of
`call_attempt` lines), `run_ended` (outcome and usage; outcome null where a run was torn down without one), and
`content` (a large text, once per file).
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Any

from reflect_lab.core.chat import ChatReply, ChatRequest
from reflect_lab.core.events import Event
from reflect_lab.core.observer import Observer
from reflect_lab.core.run import LedgerRow, Run
from reflect_lab.store.log_file import LogFile, utc_now
from reflect_lab.store.redact import Redactor

EVENT_TYPES = {re.sub(r"(?<!^)(?=[A-Z])", "_", kind.__name__).lower(): kind.__name__ for kind in Event.__args__}
"""Line type to the event's class name."""

_LINE_TYPES = {name: line for line, name in EVENT_TYPES.items()}
_FOLDED = ("outcome", "review", "usage", "ledger")


class LogRecorder(Observer):
    """Writes all runs of a process into one file under `folder/log`, opened at the first run.

    Methods raise StoreError when the log can't be written; the loop shows it and goes on. `close()` releases the lock
    by which other processes see that this one lives.
    """

    is_recording = True

    def __init__(self, folder: Path, redactor: Redactor | None = None, now: Callable[[], datetime] = utc_now) -> None:
        self._file = LogFile(folder, now)
        self._redactor = redactor or Redactor()
        self._attempts: dict[str, list[tuple[LedgerRow, int]]] = {}

    @property
    def path(self) -> Path | None:
        """The log file of this process, None before the first run."""
        return self._file.path

    def close(self) -> None:
        self._file.close()

    @contextmanager
    def around_run(self, run: Run) -> Iterator[None]:
        self._attempts[run.run_id] = []
        try:
            self._write(run, "run_started", self._head(run))
            yield
        finally:
            # Nothing left here means that the last event brought the outcome and the run's end is written.
            if self._attempts.pop(run.run_id, None) is not None:
                self._write(run, "run_ended", {"outcome": None, "usage": None, "notices": []})

    @contextmanager
    def around_call(self, run: Run, request: ChatRequest, model: str) -> Iterator[None]:
        self._write(run, "call_started", {"model": model, "request": asdict(request)})
        yield

    def on_attempt(self, run: Run, row: LedgerRow) -> None:
        self._attempts.setdefault(run.run_id, []).append((row, self._attempt(run, row)))

    def on_reply(self, run: Run, reply: ChatReply) -> None:
        self._write(run, "call_answered", {"reply": asdict(reply)})

    def on_event(self, run: Run, event: Event) -> None:
        from reflect_lab.documents.run_document import dump_event

        document = dump_event(event)
        kind = _LINE_TYPES[document.pop("type")]
        if "ledger" in document:
            document["ledger"] = self._ledger(run, getattr(event, "ledger", ()))
        self._write(run, kind, document)
        if run.outcome is not None:
            self._attempts.pop(run.run_id, None)
            notices = [asdict(notice) for notice in run.notices]
            end = {"outcome": asdict(run.outcome), "usage": asdict(run.usage), "notices": notices}
            self._write(run, "run_ended", end)

    async def settle(self) -> None:
        await asyncio.to_thread(self._file.sync)

    def _ledger(self, run: Run, rows: tuple[LedgerRow, ...]) -> list[int]:
        """The lines that hold these rows; a row that was not reported as it happened, or that is fuller now (the
        text of a lost answer), is written now."""
        logged = self._attempts.setdefault(run.run_id, [])
        places = []
        for row in rows:
            found = next((place for written, place in logged if written == row), None)
            places.append(self._attempt(run, row) if found is None else found)
        told = {(row.call, row.attempt) for row in rows}
        self._attempts[run.run_id] = [(row, place) for row, place in logged if (row.call, row.attempt) not in told]
        return places

    def _attempt(self, run: Run, row: LedgerRow) -> int:
        return self._write(run, "call_attempt", {"row": asdict(row)})

    def _head(self, run: Run) -> dict[str, Any]:
        from reflect_lab.documents.run_document import dump_run

        document = dump_run(run)
        # No event brings what a run starts with: the calls of the run that handed over to it, the rounds of a fork.
        folded = _FOLDED if run.carried is None else [key for key in _FOLDED if key not in ("ledger", "usage")]
        if not run.rounds:
            folded = [*folded, "rounds"]
        return {key: value for key, value in document.items() if key not in folded}

    def _write(self, run: Run, kind: str, fields: dict[str, Any]) -> int:
        return self._file.write(run.run_id, kind, self._redactor.value(fields))
