"""One append-only file of JSON lines, written by one process and locked while it lives."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from reflect_lab.core.errors import StoreError
from reflect_lab.store import layout, lines, locks


def utc_now() -> datetime:
    return datetime.now(UTC)


class LogFile:
    """Opened at the first line. Each line is with the operating system when `write` returns; `sync` awaits the disk.

    Where a write fails (disk full), the file keeps whole lines only, the lines wait in memory, StoreError is raised,
    and the next write tries them first. A forked child writes a file of its own.
    """

    def __init__(self, folder: Path, now: Callable[[], datetime] = utc_now) -> None:
        self._folder = folder
        self._now = now
        self._lock = threading.RLock()
        self._sync_lock = threading.Lock()
        self._reset()
        _forget_in_child(self)

    def _reset(self) -> None:
        self.path: Path | None = None
        self._descriptor: int | None = None
        self._process = os.getpid()
        self._seq = 0
        self._contents: set[str] = set()
        self._waiting: list[bytes] = []
        self._written = 0
        self._synced = 0

    def write(self, run_id: str, kind: str, fields: Mapping[str, Any]) -> int:
        """Append a line (after `content` lines for its large texts) and return its `seq`.

        Raises StoreError when the file can't be written; nothing is lost as long as the process lives.
        """
        with self._lock:
            encoded = lines.encode(fields, lambda sha256, text: self._keep(run_id, sha256, text))
            seq = self._line(run_id, kind, encoded)
            self._flush()
            return seq

    def sync(self) -> None:
        """Wait until all that was written is on the disk; one wait serves all threads that ask meanwhile."""
        target = self._written
        with self._sync_lock:
            if self._synced >= target or self._descriptor is None:
                return
            reached = self._written
            try:
                os.fsync(self._descriptor)
            except OSError as error:
                raise self._failure(error) from error
            self._synced = reached

    def close(self) -> None:
        """Write what waits, release the lock and forget the file; a later write opens a new one."""
        with self._lock:
            try:
                if self._waiting and self._process == os.getpid():
                    self._flush()
            finally:
                self._drop()

    def _keep(self, run_id: str, sha256: str, text: str) -> None:
        if sha256 not in self._contents:
            self._contents.add(sha256)
            self._line(run_id, "content", {"sha256": sha256, "text": text})

    def _line(self, run_id: str, kind: str, fields: Mapping[str, Any]) -> int:
        seq = self._seq
        self._seq += 1
        time = self._now().isoformat(timespec="microseconds")
        head = {"v": lines.VERSION, "seq": seq, "run": run_id, "time": time, "type": kind}
        self._waiting.append(lines.dumps({**head, **fields}))
        return seq

    def _flush(self) -> None:
        try:
            descriptor = self._open()
            while self._waiting:
                self._append(descriptor, self._waiting[0])
                del self._waiting[0]
        except OSError as error:
            raise self._failure(error) from error

    def _open(self) -> int:
        if self._descriptor is None:
            path = layout.process_file(self._folder, "log", self._now())
            path.parent.mkdir(parents=True, exist_ok=True)
            self.path = path
            self._descriptor = os.open(
                path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode=0o600
            )
            locks.hold(self._descriptor)
        return self._descriptor

    def _append(self, descriptor: int, line: bytes) -> None:
        rest = memoryview(line)
        try:
            while rest:
                rest = rest[os.write(descriptor, rest) :]
        except OSError:
            # No half line may stand in the file: the next try would be glued to it.
            os.ftruncate(descriptor, self._written)
            raise
        self._written += len(line)

    def _drop(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
        self._reset()

    def _failure(self, error: OSError) -> StoreError:
        where = self.path or self._folder
        return StoreError(
            f"the event log {where} can't be written ({error.strerror or error}); the run goes on in memory. "
            "Make room or name another folder with --traces"
        )


def _forget_in_child(file: LogFile) -> None:
    """A forked child must not hold its parent's lock nor write into its file."""
    weak = weakref.ref(file)

    def forget() -> None:
        if (alive := weak()) is not None:
            alive._lock = threading.RLock()
            alive._sync_lock = threading.Lock()
            alive._drop()

    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=forget)
