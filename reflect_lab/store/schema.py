"""The index's tables and views, made from `relations`, and its named migrations.

Tables live in the schema `raw` and hold hashes where a text is stored once in `raw.content`; what people query are
the views of the same names. There are no constraints and no indexes: ids are kept unique on the way in.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from reflect_lab.store.relations import RELATIONS, Relation

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_OWN_TABLES = (
    "CREATE TABLE raw.log_files (file VARCHAR, size BIGINT, changed BIGINT, resume BIGINT, open_runs BIGINT, "
    "is_live BOOLEAN)",
    "CREATE TABLE raw.span_files (file VARCHAR, size BIGINT, changed BIGINT, resume BIGINT)",
    "CREATE TABLE raw.content (sha256 VARCHAR, text VARCHAR)",
)


class NewerIndex(Exception):
    """The index was made by a later version of this package."""


def _relations_of_version_1(connection: DuckDBPyConnection) -> None:
    for statement in _OWN_TABLES:
        connection.execute(statement)
    for relation in RELATIONS:
        connection.execute(_table(relation))
        connection.execute(_view(relation))


MIGRATIONS: tuple[tuple[str, Callable[[DuckDBPyConnection], None]], ...] = (("001_relations", _relations_of_version_1),)
"""Applied once each, in this order. A migration may drop what it changes: `forget_files` has it filled anew."""


def is_current(connection: DuckDBPyConnection) -> bool:
    """Whether all migrations were applied and the tables have the columns of `relations`."""
    return _applied(connection) == [name for name, _ in MIGRATIONS] and _columns(connection) == _wanted_columns()


def migrate(connection: DuckDBPyConnection) -> None:
    """Bring the index up to date. Raises NewerIndex for one that this version doesn't know.

    Changes are checkpointed at once: replaying schema changes from a write-ahead log is where databases break.
    """
    applied = _applied(connection)
    known = [name for name, _ in MIGRATIONS]
    if applied != known[: len(applied)]:
        raise NewerIndex(f"it knows the changes {', '.join(name for name in applied if name not in known)}")
    if applied == known and _columns(connection) != _wanted_columns():
        rebuild(connection)
        return
    connection.execute("CREATE SCHEMA IF NOT EXISTS raw")
    connection.execute("CREATE TABLE IF NOT EXISTS raw.migrations (name VARCHAR)")
    for name, change in MIGRATIONS[len(applied) :]:
        connection.execute("BEGIN")
        change(connection)
        connection.execute("INSERT INTO raw.migrations VALUES (?)", [name])
        connection.execute("COMMIT")
        connection.execute("CHECKPOINT")


def rebuild(connection: DuckDBPyConnection) -> None:
    """Empty tables of the present shape; the next refresh fills them from all files."""
    for relation in RELATIONS:
        connection.execute(f"DROP VIEW IF EXISTS {relation.name}")
    connection.execute("DROP SCHEMA IF EXISTS raw CASCADE")
    migrate(connection)


def forget_files(connection: DuckDBPyConnection) -> None:
    """Have the next refresh read every file again."""
    connection.execute("DELETE FROM raw.log_files")
    connection.execute("DELETE FROM raw.span_files")


def _applied(connection: DuckDBPyConnection) -> list[str]:
    exists = connection.execute(
        "SELECT 1 FROM duckdb_tables() WHERE schema_name = 'raw' AND table_name = 'migrations'"
    ).fetchone()
    if exists is None:
        return []
    return [name for (name,) in connection.execute("SELECT name FROM raw.migrations ORDER BY name").fetchall()]


def _columns(connection: DuckDBPyConnection) -> list[tuple[str, str, str]]:
    names = [relation.name for relation in RELATIONS]
    query = (
        "SELECT table_name, column_name, data_type FROM duckdb_columns() "
        "WHERE schema_name = 'raw' AND list_contains(?, table_name) ORDER BY table_name, column_index"
    )
    return [(table, name, kind) for table, name, kind in connection.execute(query, [names]).fetchall()]


def _wanted_columns() -> list[tuple[str, str, str]]:
    ordered = sorted(RELATIONS, key=lambda relation: relation.name)
    return [(relation.name, column.name, column.type) for relation in ordered for column in relation.columns]


def _table(relation: Relation) -> str:
    columns = ", ".join(f'"{column.name}" {column.type}' for column in relation.columns)
    return f"CREATE TABLE raw.{relation.name} ({columns})"


def _view(relation: Relation) -> str:
    shown, joins = [], []
    for column in relation.columns:
        if column.is_content:
            shown.append(f'"of_{column.name}".text AS "{column.name}"')
            joins.append(
                f'LEFT JOIN raw.content AS "of_{column.name}" ON "of_{column.name}".sha256 = r."{column.name}"'
            )
        else:
            shown.append(f'r."{column.name}"')
    return f"CREATE VIEW {relation.name} AS SELECT {', '.join(shown)} FROM raw.{relation.name} AS r {' '.join(joins)}"
