"""What a traces folder holds, to be asked: runs, one run, any SQL."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reflect_lab.core.errors import StoreError, WrongUse
from reflect_lab.core.run import Run
from reflect_lab.documents.suggest import nearest
from reflect_lab.store import layout
from reflect_lab.store.database import LOCK_DEADLINE_S, Database
from reflect_lab.store.reader import StoredRun, read_log
from reflect_lab.store.table import Table

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_RUNS = (
    "SELECT run_id, name, started_at, status, stop_reason, rounds, draft_index, calls, total_tokens, cost, currency, "
    "seconds, generator_model, critic_model FROM runs ORDER BY started_at DESC, run_id DESC"
)
_QUERIES = frozenset({"SELECT", "EXPLAIN"})
LAST = "last"
"""Names the newest run where a run id is asked for."""


class Traces:
    """One traces folder. Each operation looks at what is new in the folder, of other processes too.

    `notices` say what the last operation had to work around (index locked, damaged, not writable).
    """

    def __init__(self, folder: str | Path, *, lock_deadline_s: float = LOCK_DEADLINE_S) -> None:
        self.folder = Path(folder)
        self._database = Database(self.folder, lock_deadline_s)

    @property
    def notices(self) -> tuple[str, ...]:
        return tuple(self._database.notices)

    def runs(self, limit: int | None = None) -> Table:
        """The runs, newest first, with the columns that tell them apart. All columns: `sql("FROM runs")`."""
        return self.sql(_RUNS if limit is None else f"{_RUNS} LIMIT {limit:d}")

    def sql(self, query: str, parameters: Sequence[Any] = ()) -> Table:
        """The answer to one query over the relations of `docs/relations.md`; `?` stands for parameters.

        Nothing can be changed, no other file can be read. Raises WrongUse for a query that can't be run.
        """
        import duckdb

        try:
            return self._database.read(lambda connection: _query(connection, query, parameters))
        except duckdb.Error as error:
            raise WrongUse(f"the query can't be run: {str(error).strip()}") from error

    def run(self, run_id: str) -> Run:
        """One run by its id, the start of its id, or `last`. Raises StoreError where there is none or several."""
        return self.stored(run_id).run

    def stored(self, run_id: str) -> StoredRun:
        """The same with its status and its events."""
        found, file = self._find(run_id)
        for stored in read_log(self.folder / layout.LOG_FOLDER / file, only=found).runs:
            return stored
        raise StoreError(f"run {found} is no longer in {self.folder / layout.LOG_FOLDER / file}")

    def _find(self, run_id: str) -> tuple[str, str]:
        wanted = run_id.strip().lower()
        rows = self.sql("SELECT run_id, log_file FROM runs ORDER BY started_at DESC, run_id DESC").rows
        if not rows:
            raise StoreError(f"there are no runs in {self.folder}")
        if wanted == LAST:
            return rows[0][0], rows[0][1]
        exact = [row for row in rows if row[0].lower() == wanted]
        found = exact or [row for row in rows if wanted and row[0].lower().startswith(wanted)]
        if len(found) == 1:
            return found[0][0], found[0][1]
        if found:
            names = ", ".join(row[0] for row in found[:5])
            raise StoreError(f"{len(found)} runs start with {run_id!r}: {names}{' …' if len(found) > 5 else ''}")
        near = nearest(wanted.upper(), [row[0] for row in rows]) or rows[0][0]
        raise StoreError(f"no run {run_id!r} in {self.folder}; the nearest is {near} (`last` is the newest)")


def _query(connection: DuckDBPyConnection, query: str, parameters: Sequence[Any]) -> Table:
    statements = connection.extract_statements(query)
    if len(statements) != 1:
        raise WrongUse(f"one query at a time, please: these are {len(statements)}")
    kind = statements[0].type.name
    if kind not in _QUERIES:
        raise WrongUse(f"traces can only be read: {kind} is no query")
    connection.execute(query, list(parameters))
    description = connection.description or []
    return Table(
        columns=tuple(column[0] for column in description),
        types=tuple(str(column[1]) for column in description),
        rows=tuple(connection.fetchall()),
    )
