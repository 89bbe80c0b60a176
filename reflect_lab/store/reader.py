"""Reads event logs: of this process, of live ones and of killed ones, half-written last lines included.

Each run is rebuilt as the fold of its events; nothing else in a log decides what a run is.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from reflect_lab.core.budget import run_usage
from reflect_lab.core.events import Event
from reflect_lab.core.run import LedgerRow, Notice, Outcome, Run, RunError
from reflect_lab.store import layout, lines, locks
from reflect_lab.store.log import EVENT_TYPES

RunStatus = Literal["running", "interrupted", "accepted", "escalated", "stopped"]

_log = logging.getLogger(__name__)
_HEAD = frozenset({"v", "seq", "run", "time", "type"})


@dataclass(frozen=True, kw_only=True)
class StoredRun:
    """A run from a log. `events` are those of the core, in order; `started_at` and `ended_at` are when the first line
    and the end were written (UTC); `problems` says what of the record could not be read."""

    run: Run
    status: RunStatus
    events: tuple[Event, ...]
    log_file: Path
    started_at: datetime
    ended_at: datetime | None = None
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class LogContent:
    """What one file holds from some byte on. `resume` is the byte from which everything that may still change can be
    read again; `is_live` says whether a process holds the file's lock."""

    runs: tuple[StoredRun, ...]
    resume: int
    is_live: bool


@dataclass
class _Open:
    """A run while its lines are read."""

    start: int
    time: datetime
    run: Run
    last: datetime
    events: list[Event] = field(default_factory=list)
    attempts: dict[int, LedgerRow] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    end: Mapping[str, Any] | None = None


def read_traces(folder: Path) -> tuple[StoredRun, ...]:
    """All runs of a traces folder, newest first. A run that stands in two files is taken once, from the fuller one."""
    found: dict[str, StoredRun] = {}
    for path in log_files(folder):
        for stored in read_log(path).runs:
            other = found.get(stored.run.run_id)
            if other is None or is_fuller(stored, other):
                found[stored.run.run_id] = stored
    return tuple(sorted(found.values(), key=lambda stored: (stored.started_at, stored.run.run_id), reverse=True))


def is_fuller(one: StoredRun, other: StoredRun) -> bool:
    return (len(one.events), one.ended_at is not None) > (len(other.events), other.ended_at is not None)


def log_files(folder: Path) -> list[Path]:
    return sorted((folder / layout.LOG_FOLDER).glob("*.jsonl"))


def read_log(path: Path, start: int = 0, only: str | None = None) -> LogContent:
    """The runs that begin at or after byte `start` of one log file; `only` one of them, where its id is given."""
    # The lock is looked at first: a process that ends meanwhile shows as running until the next look, never as
    # interrupted while it is still writing its last lines.
    is_live = locks.is_held(path)
    try:
        return _read(path, start, is_live, only=only)
    except lines.MissingContent:
        # Some large text stands before `start`: the same runs, read with all of the file.
        return _read(path, 0, is_live, first_run_at=start, only=only)


def _read(path: Path, start: int, is_live: bool, first_run_at: int = 0, only: str | None = None) -> LogContent:
    contents: dict[str, str] = {}
    runs: dict[str, _Open] = {}
    seen: set[int] = set()
    end = start
    for offset, line_end, line in _lines(path, start):
        end = line_end
        if line is None:
            _break(runs.values(), f"the line at byte {offset} can't be read")
            continue
        if line["seq"] in seen:
            continue
        seen.add(line["seq"])
        if line["type"] == "content":
            contents[line["sha256"]] = line["text"]
        elif line["type"] == "run_started":
            if offset >= first_run_at and only in (None, line["run"]):
                _start(runs, offset, line, contents, is_strict=start > 0)
        elif (opened := runs.get(line["run"])) is not None:
            _take(opened, line, contents, is_strict=start > 0)
    open_starts = [opened.start for opened in runs.values() if opened.end is None]
    return LogContent(
        runs=tuple(_stored(opened, path, is_live) for opened in runs.values()),
        resume=min(open_starts, default=end),
        is_live=is_live,
    )


def _lines(path: Path, start: int) -> Iterator[tuple[int, int, dict[str, Any] | None]]:
    """(start, end, line) of each whole line; the line is None where it can't be read. An unfinished last line is not
    there yet (or, after a kill, never was)."""
    offset = start
    with path.open("rb") as file:
        file.seek(start)
        for raw in file:
            if not raw.endswith(b"\n"):
                return
            end = offset + len(raw)
            yield offset, end, _parse(raw, path, offset)
            offset = end


def _parse(raw: bytes, path: Path, offset: int) -> dict[str, Any] | None:
    try:
        line = json.loads(raw)
    except (ValueError, RecursionError):
        line = None
    if not isinstance(line, dict) or not line.keys() >= _HEAD or line["v"] != lines.VERSION:
        _log.warning("%s: the line at byte %d is not one that this version can read; it is left out", path, offset)
        return None
    return line


def _start(
    runs: dict[str, _Open], offset: int, line: dict[str, Any], contents: Mapping[str, str], is_strict: bool
) -> None:
    from reflect_lab.core.errors import ReflectLabError
    from reflect_lab.documents.run_document import load_run

    try:
        run = load_run(lines.decode({key: value for key, value in line.items() if key not in _HEAD}, contents))
    except (ReflectLabError, lines.MissingContent) as error:
        if is_strict and isinstance(error, lines.MissingContent):
            raise
        _log.warning("run %s can't be read: %s", line["run"], error)
        return
    time = _time(line)
    runs[run.run_id] = _Open(start=offset, time=time, last=time, run=run)


def _break(runs: Iterable[_Open], problem: str) -> None:
    """What follows a hole can't be folded in: any run that was open there may have lost an event."""
    for opened in runs:
        if opened.end is None:
            opened.problems.append(problem)


def _take(opened: _Open, line: dict[str, Any], contents: Mapping[str, str], is_strict: bool) -> None:
    """Fold one line in. A line that can't be is a problem of this run alone (others must stay readable), and the last
    that is folded: what follows rests on it."""
    opened.last = _time(line)
    try:
        _fold(opened, line, contents)
    except lines.MissingContent as missing:
        if is_strict:
            raise
        opened.problems.append(f"line {line['seq']} ({line['type']}): the text {missing} is not in the file")
    except Exception as error:
        opened.problems.append(f"line {line['seq']} ({line['type']}): {error or type(error).__name__}")


def _fold(opened: _Open, line: dict[str, Any], contents: Mapping[str, str]) -> None:
    from reflect_lab.core.reducer import after
    from reflect_lab.documents.run_document import load_event

    kind = line["type"]
    if kind == "run_ended":
        opened.end = lines.decode({key: line[key] for key in ("outcome", "notices")}, contents)
    elif kind == "call_attempt":
        opened.attempts[line["seq"]] = _row(lines.decode(line["row"], contents))
    elif kind in EVENT_TYPES:
        fields = lines.decode({key: value for key, value in line.items() if key not in _HEAD}, contents)
        if "ledger" in fields:
            rows = [opened.attempts[seq] for seq in fields["ledger"]]
            told = {(row.call, row.attempt) for row in rows}
            opened.attempts = {s: r for s, r in opened.attempts.items() if (r.call, r.attempt) not in told}
            fields["ledger"] = rows
        event = load_event({"type": EVENT_TYPES[kind], **fields})
        opened.events.append(event)
        if not opened.problems:
            opened.run = after(opened.run, event)


def _row(fields: Mapping[str, Any]) -> LedgerRow:
    return LedgerRow(**{**fields, "dropped_params": tuple(fields["dropped_params"])})


def _stored(opened: _Open, path: Path, is_live: bool) -> StoredRun:
    run = _with_open_attempts(opened.run, opened.attempts.values())
    run = _with_end(run, opened.end, is_whole=not opened.problems)
    run = replace(run, notices=run.notices + tuple(Notice(kind="unreadable", message=p) for p in opened.problems))
    status: RunStatus = "interrupted"
    if run.outcome is not None:
        status = run.outcome.status
    elif is_live and opened.end is None:
        status = "running"
    return StoredRun(
        run=run,
        status=status,
        events=tuple(opened.events),
        log_file=path,
        started_at=opened.time,
        ended_at=opened.last if opened.end is not None else None,
        problems=tuple(opened.problems),
    )


def _with_end(run: Run, end: Mapping[str, Any] | None, is_whole: bool) -> Run:
    """The run with what only the loop knew: notices of its own, and whether recordings failed. Where events are
    missing, the outcome is the one that the loop announced, and the run is not wholly recorded."""
    if end is None:
        return run
    said = tuple(Notice(**notice) for notice in end["notices"])
    run = replace(run, notices=run.notices + tuple(notice for notice in said if notice not in run.notices))
    outcome = run.outcome if is_whole or end["outcome"] is None else _outcome(end["outcome"])
    if outcome is not None and not (is_whole and end["outcome"] and end["outcome"]["recorded"]):
        outcome = replace(outcome, recorded=False)
    return replace(run, outcome=outcome)


def _outcome(fields: Mapping[str, Any]) -> Outcome:
    error = RunError(**fields["error"]) if fields["error"] else None
    return Outcome(**{**fields, "open_blocking": tuple(fields["open_blocking"]), "error": error})


def _with_open_attempts(run: Run, rows: Iterable[LedgerRow]) -> Run:
    """The run with attempts that were paid for (or were under way) when it was cut off before their event."""
    extra = tuple(rows)
    if not extra:
        return run
    run = replace(run, ledger=run.ledger + extra)
    return replace(run, usage=run_usage(run))


def _time(line: Mapping[str, Any]) -> datetime:
    return datetime.fromisoformat(line["time"]).astimezone(UTC).replace(tzinfo=None)
