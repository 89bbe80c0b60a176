"""A small copy of the user's database, made once in a process of its own; queries of drafts only ever see the copy.

The script part (`python -s -P copy.py`) reads one job from standard input and answers with JSON on standard output. It
runs the user's own SQL (set-up and reference queries) on the user's own files, with the rights of the user.
"""

from __future__ import annotations

import json
import sys
from typing import Any

Job = dict[str, Any]


class Unusable(Exception):
    """What the user wrote or named can't be used; the text says why."""


def make(job: Job) -> Job:
    """Makes the copy; answers with the tables `{name: [rows, rows copied]}`, their columns, reference values, cases."""
    import duckdb

    connection = duckdb.connect(":memory:", config={"threads": "1"})
    try:
        _open(connection, job)
        tables = _copied(connection, str(job["copy"]), int(job["sample"]))
        references = {column: _reference(connection, column, query) for column, query in job["references"].items()}
        cases = _cases(connection, str(job["code"]))
        return {"tables": tables, "columns": _columns(connection), "references": references, "cases": cases}
    except duckdb.Error as error:
        raise Unusable(str(error).partition("\n\nLINE")[0]) from None
    finally:
        connection.close()


def quoted(name: str) -> str:
    """An SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _open(connection: Any, job: Job) -> None:
    """All tables by their plain names: views on the database's and on files, then what the set-up makes."""
    if job["database"]:
        connection.execute(f"ATTACH {_literal(job['database'])} AS source_database (READ_ONLY)")
        for schema, name in _relations(connection, "source_database"):
            connection.execute(f"CREATE SCHEMA IF NOT EXISTS {quoted(schema)}")
            place = f"{quoted(schema)}.{quoted(name)}"
            connection.execute(f"CREATE VIEW {place} AS FROM source_database.{place}")
    for name, file in job["tables"].items():
        connection.execute(f"CREATE VIEW {quoted(name)} AS FROM {_literal(file)}")
    if str(job["setup"]).strip():
        connection.execute(str(job["setup"]))


def _relations(connection: Any, database: str) -> list[tuple[str, str]]:
    """Schema and name of each table and view, in order."""
    found: list[tuple[str, str]] = connection.execute(
        "SELECT schema_name, table_name FROM duckdb_tables() WHERE database_name = $1 AND NOT internal UNION "
        "SELECT schema_name, view_name FROM duckdb_views() WHERE database_name = $1 AND NOT internal ORDER BY ALL",
        [database],
    ).fetchall()
    return found


def _copied(connection: Any, file: str, sample: int) -> dict[str, list[int]]:
    relations = _relations(connection, "memory") + _relations(connection, "temp")
    if not relations:
        raise Unusable("there is no table in it")
    connection.execute(f"ATTACH {_literal(file)} AS small_copy")
    tables: dict[str, list[int]] = {}
    for schema, name in relations:
        if name.casefold() == "draft":
            raise Unusable("a table can't be named draft: that is the result of the draft")
        place = f"{quoted(schema)}.{quoted(name)}"
        (rows,) = connection.execute(f"SELECT count(*) FROM {place}").fetchone()
        # A fixed seed and one thread: the same sample each time.
        some = f" USING SAMPLE reservoir({sample} ROWS) REPEATABLE (1)" if rows > sample else ""
        connection.execute(f"CREATE SCHEMA IF NOT EXISTS small_copy.{quoted(schema)}")
        connection.execute(f"CREATE TABLE small_copy.{place} AS FROM {place}{some}")
        tables[name] = [rows, min(rows, sample)]
    connection.execute("DETACH small_copy")
    return tables


def _columns(connection: Any) -> dict[str, list[str]]:
    """The columns of each table and view, in order."""
    columns: dict[str, list[str]] = {}
    for table, column in connection.execute(
        "SELECT table_name, column_name FROM duckdb_columns() WHERE database_name IN ('memory', 'temp') "
        "AND NOT internal ORDER BY ALL"
    ).fetchall():
        columns.setdefault(table, []).append(column)
    return columns


def _reference(connection: Any, column: str, query: str) -> float:
    import duckdb

    try:
        rows = connection.execute(query).fetchall()
        value = float(rows[0][0])
    except (duckdb.Error, IndexError, TypeError, ValueError) as error:
        why = str(error).partition("\n\nLINE")[0]
        raise Unusable(f"the reference query of the total {column} gives no number: {why}") from None
    if len(rows) != 1 or len(rows[0]) != 1:
        raise Unusable(f"the reference query of the total {column} must give one value")
    return value


def _cases(connection: Any, code: str) -> list[str]:
    import duckdb

    statements = connection.extract_statements(code)
    for number, statement in enumerate(statements, 1):
        if statement.type != duckdb.StatementType.SELECT:
            raise Unusable(f"statement {number} of the check block is no SELECT")
    return [str(statement.query).strip().removesuffix(";") for statement in statements]


def main() -> None:
    job: Job = json.loads(sys.stdin.buffer.read())
    try:
        answer = make(job)
    except Unusable as error:
        answer = {"problem": str(error)}
    sys.stdout.write(json.dumps(answer))


if __name__ == "__main__":
    main()
