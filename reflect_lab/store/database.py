"""Opens the index for one operation: brought up to date, then read-only.

The file is never kept open, so that notebooks don't shut each other out. Where it can't be used (another process holds
it too long, no permission, a later version made it) the same index is built in memory, with a notice. A damaged file
is renamed aside, never deleted: everything in it stands in the logs.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from reflect_lab.store import ingest, layout, schema

if TYPE_CHECKING:
    import duckdb

Result = TypeVar("Result")

LOCK_DEADLINE_S = 3.0
_PAUSES_S = (0.01, 0.02, 0.05, 0.1)
_READ_ONLY = {
    "enable_external_access": "false",
    "autoload_known_extensions": "false",
    "autoinstall_known_extensions": "false",
    "lock_configuration": "true",
}
_LOCKED = ("could not set lock", "conflicting lock", "different configuration", "conflict on", "write-write conflict",
           "unique file handle conflict", "already attached")  # fmt: skip
_DAMAGED = ("not a valid duckdb database file", "corrupt", "checksum", "deserializ", "failure while replaying wal")


class _Locked(Exception):
    """Another process or thread held the file until the deadline."""


@dataclass
class Database:
    """The index of one traces folder. `notices` say what the last operation had to work around."""

    folder: Path
    lock_deadline_s: float = LOCK_DEADLINE_S
    notices: list[str] = field(default_factory=list)

    @property
    def path(self) -> Path:
        return self.folder / layout.INDEX_FILE

    def read(self, action: Callable[[duckdb.DuckDBPyConnection], Result]) -> Result:
        """`action` on a fresh, read-only index. Errors of the action itself (a wrong query) pass through."""
        import duckdb

        self.notices = []
        if not self.folder.is_dir():
            return self._in_memory(action)
        for _ in range(2):
            try:
                return self._with_file(action)
            except _Locked as locked:
                return self._aside(action, f"another process holds {self.path} ({locked})")
            except schema.NewerIndex as newer:
                return self._aside(action, f"{self.path} was made by a later version ({newer})")
            except duckdb.Error as error:
                if _is(error, _DAMAGED):
                    self._set_aside(error)
                elif _is_about_file(error):
                    return self._aside(action, f"{self.path} can't be used ({_first_line(error)})")
                else:
                    raise
            except OSError as error:
                return self._aside(action, f"{self.path} can't be used ({error.strerror or error})")
        return self._aside(action, f"{self.path} can't be used")

    def _with_file(self, action: Callable[[duckdb.DuckDBPyConnection], Result]) -> Result:
        if self.path.exists():
            with closing(self._connect(is_read_only=True)) as connection:
                if schema.is_current(connection) and ingest.pending(connection, self.folder).is_empty:
                    return action(connection)
        self._retried(self._refresh)
        with closing(self._connect(is_read_only=True)) as connection:
            return action(connection)

    def _refresh(self) -> None:
        import duckdb

        is_new = not self.path.exists()
        with closing(duckdb.connect(str(self.path))) as connection:
            if is_new:
                self.path.chmod(0o600)
            _refresh(connection, self.folder)

    def _connect(self, is_read_only: bool) -> duckdb.DuckDBPyConnection:
        import duckdb

        config: dict[str, str | bool | int | float | list[str]] = dict(_READ_ONLY)
        return self._retried(lambda: duckdb.connect(str(self.path), read_only=is_read_only, config=config))

    def _retried(self, action: Callable[[], Result]) -> Result:
        """The action's result; tried again while the file is held elsewhere."""
        import duckdb

        until = time.monotonic() + self.lock_deadline_s
        tries = 0
        while True:
            try:
                return action()
            except duckdb.Error as error:
                if not _is(error, _LOCKED):
                    raise
                if time.monotonic() >= until:
                    raise _Locked(_first_line(error)) from error
            time.sleep(_PAUSES_S[min(tries, len(_PAUSES_S) - 1)])
            tries += 1

    def _aside(self, action: Callable[[duckdb.DuckDBPyConnection], Result], why: str) -> Result:
        self.notices.append(f"{why}; the index was built in memory from the logs for this query")
        return self._in_memory(action)

    def _in_memory(self, action: Callable[[duckdb.DuckDBPyConnection], Result]) -> Result:
        import duckdb

        with closing(duckdb.connect(":memory:")) as connection:
            _refresh(connection, self.folder)
            for name, value in _READ_ONLY.items():
                connection.execute(f"SET {name} = {value}")
            return action(connection)

    def _set_aside(self, error: duckdb.Error) -> None:
        stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S")
        moved = self.path.with_name(f"{self.path.name}.corrupt-{stamp}")
        for path, target in ((self.path, moved), (_wal(self.path), _wal(moved))):
            if path.exists():
                path.rename(target)
        self.notices.append(
            f"{self.path} was damaged ({_first_line(error)}); it was renamed to {moved.name} and built anew"
        )


def _refresh(connection: duckdb.DuckDBPyConnection, folder: Path) -> None:
    schema.migrate(connection)
    ingest.refresh(connection, folder)


def _wal(path: Path) -> Path:
    return path.with_name(path.name + ".wal")


def _is(error: Exception, marks: tuple[str, ...]) -> bool:
    text = str(error).lower()
    return any(mark in text for mark in marks)


def _is_about_file(error: duckdb.Error) -> bool:
    """Whether the file, not the query, is at fault."""
    import duckdb

    return isinstance(error, duckdb.IOException)


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
