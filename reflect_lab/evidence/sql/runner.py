"""What runs inside the cage for SQL: parsing a draft, and running it on a read-only copy of the user's database.

A script of its own (`python -s -P runner.py DESCRIPTOR`): it imports nothing of this package. It reads one job from
standard input and answers with JSON lines on the descriptor, each with the job's nonce, as soon as something is known;
the last is `{"done": true}`. All verdicts but those of the check block's own statements are made elsewhere, of values.
"""

from __future__ import annotations

import base64
import json
import os
import re
import sys
import zlib
from collections.abc import Callable
from typing import Any

_FILE = "copy.duckdb"
_CELL = 60
_PLAN = 300_000
_LOCKED: dict[str, Any] = {
    "enable_external_access": "false",
    "autoload_known_extensions": "false",
    "autoinstall_known_extensions": "false",
    "temp_directory": "",
    "memory_limit": "512MB",
    "threads": "1",
}
_SETTINGS = (
    "SET python_enable_replacements = false",
    # With these the plan hides filters that remove nothing, leaves out rows that a later join would drop, and reads a
    # table twice to sort it.
    "SET disabled_optimizers = 'join_filter_pushdown,late_materialization,statistics_propagation'",
    "SET lock_configuration = true",
)

_FIRST_WORD = re.compile(r"(?>\s|--[^\n]*|/\*.*?\*/|\()*+(\w+)", re.DOTALL)
_PIECE = re.compile(
    r"""--[^\n]*|/\*.*?(?:\*/|\Z)|[eE]'(?:[^'\\]|\\.|'')*(?:'|\Z)|'(?:[^']|'')*(?:'|\Z)|\$(?P<tag>[A-Za-z_]?\w*)\$.*?\$(?P=tag)\$"""
    r"""|(?P<name>"(?:[^"]|"")*(?:"|\Z)|\w+)|(?P<sign>[^\s\w])""",
    re.DOTALL,
)
_CATALOG_PLACES = ("information_schema", "pg_catalog")
_CATALOG_FUNCTIONS = ("current_query", "current_setting", "txid_current", "query", "query_table", "getvariable")
_NUMBERS = ("DECIMAL", "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT", "UINTEGER",
            "UBIGINT", "UHUGEINT", "FLOAT", "DOUBLE", "BIGNUM", "VARINT")  # fmt: skip
_BEGINNINGS = ("select", "with", "from", "values", "table")

Send = Callable[..., None]
Job = dict[str, Any]


class Refused(Exception):
    """The draft is not what may run; the text says why."""


def one_select(connection: Any, draft: str) -> str:
    """The text of the draft's one SELECT. Raises Refused, or DuckDB's own error where it does not parse."""
    import duckdb

    statements = connection.extract_statements(draft)
    if len(statements) != 1:
        raise Refused(f"it holds {len(statements)} statements, one SELECT is wanted")
    kind = statements[0].type
    if kind != duckdb.StatementType.SELECT:
        raise Refused(f"it is no SELECT, but {str(kind).rpartition('.')[2]}")
    text = _without_end(connection, str(statements[0].query).strip())
    # PRAGMA, SHOW and DESCRIBE are rewritten to a SELECT before we see their type.
    first = _FIRST_WORD.match(text)
    if first is None or first[1].casefold() not in _BEGINNINGS:
        raise Refused("it does not begin with SELECT, WITH, FROM, VALUES or TABLE")
    return text


def _without_end(connection: Any, text: str) -> str:
    """A statement without its semicolon and the comments after it."""
    end = next((piece.start() for piece in _PIECE.finditer(text) if piece["sign"] == ";"), None)
    if end is None:
        return text
    try:
        return text[:end] if len(connection.extract_statements(text[:end])) == 1 else text.removesuffix(";")
    except Exception:  # it was no end, but part of something that is read otherwise here
        return text.removesuffix(";")


def refuse_catalog(connection: Any, text: str) -> None:
    """A draft that reads the catalog, or its own text, could tell the run that is analysed from the one that gives its
    result, and behave in each as suits it. Raises Refused."""
    internal = "SELECT view_name FROM duckdb_views() WHERE internal AND schema_name <> 'information_schema'"
    views = {str(name).casefold() for (name,) in connection.execute(internal).fetchall()}
    pieces = [piece[0].strip("\"'").casefold() for piece in _PIECE.finditer(text) if piece[0][:2] not in ("--", "/*")]
    for one, after in zip(pieces, [*pieces[1:], ""], strict=True):
        is_function = after == "(" and (
            one in _CATALOG_FUNCTIONS or (one.startswith(("duckdb_", "pragma_", "pg_")) and one != "pg_typeof")
        )
        is_statement = one == "show" and after in ("tables", "all", "databases", "schemas", "variables")
        if one in (*_CATALOG_PLACES, *views) or is_function or is_statement:
            raise Refused(f"it asks the database about itself ({one[:60]}); only the tables of the task are there")


def syntax(job: Job, send: Send) -> None:
    """Parses the draft; nothing of it runs."""
    import duckdb

    try:
        one_select(duckdb.connect(":memory:", config=_LOCKED), str(job["draft"]))
    except Exception as error:
        send(**_problem(error))


def query(job: Job, send: Send) -> None:
    """Plan, result, totals, cases, and at last how many rows went through each step of the plan."""
    import duckdb

    with open(_FILE, "wb") as file:
        file.write(zlib.decompress(base64.b64decode(job["copy"])))
    connection = duckdb.connect(_FILE, read_only=True, config=_LOCKED)
    for setting in _SETTINGS:
        connection.execute(setting)
    send(ready=duckdb.__version__)
    try:
        text = one_select(connection, str(job["draft"]))
        refuse_catalog(connection, text)
        send(plan=_explained(connection, "FORMAT JSON", text))
        limit = int(job["max_rows"]) + 1
        connection.execute(f"CREATE TEMP TABLE draft AS SELECT * FROM (\n{text}\n) LIMIT {limit}")
        columns = _result(connection, limit, send)
        for column in job["totals"]:
            send(total=column, **_total(connection, column, columns))
        for number, case in enumerate(job["cases"]):
            send(case=number, said=_said(connection, case))
        connection.execute("DROP TABLE draft")  # what is analysed sees what the first run saw
        send(analysed=_explained(connection, "ANALYZE, FORMAT JSON", text))
    except Exception as error:
        send(**_problem(error))


def _explained(connection: Any, how: str, text: str) -> str:
    plan = str(connection.execute(f"EXPLAIN ({how}) {text}").fetchall()[0][1])
    return plan if len(plan) <= _PLAN else ""


def _result(connection: Any, limit: int, send: Send) -> dict[str, str]:
    described = connection.execute("DESCRIBE draft").fetchall()
    columns = {str(name): str(kind) for name, kind, *_ in described}
    (rows,) = connection.execute("SELECT count(*) FROM draft").fetchone()
    cells = f"SELECT left(CAST(COLUMNS(*) AS VARCHAR), {_CELL}) FROM draft LIMIT 5"
    sample = [[str(cell) for cell in row[:20]] for row in connection.execute(cells).fetchall()]
    send(
        rows=min(rows, limit - 1), is_cut=rows == limit, columns=[c[:_CELL] for c in list(columns)[:20]], sample=sample
    )
    return columns


def _total(connection: Any, column: str, columns: dict[str, str]) -> dict[str, object]:
    name = next((c for c in columns if c.casefold() == column.casefold()), None)
    if name is None:
        return {"problem": "no_column"}
    if not columns[name].startswith(_NUMBERS):
        return {"problem": "no_number"}  # digits in a text are no number
    import duckdb

    quoted = '"' + name.replace('"', '""') + '"'
    try:
        (value,) = connection.execute(f"SELECT sum(CAST({quoted} AS DOUBLE)) FROM draft").fetchone()
    except duckdb.Error:
        return {"problem": "no_number"}
    return {"value": value}


def _said(connection: Any, case: str) -> str | None:
    """None where all values that the case gives are true; else what it gave."""
    import duckdb

    try:
        rows = connection.execute(case).fetchmany(5)
    except duckdb.Error as error:
        return str(error).partition("\n\nLINE")[0][:300]
    if rows and all(value is True for row in rows for value in row):
        return None
    return "no row" if not rows else f"got {', '.join(str(value)[:_CELL] for value in rows[0][:5])}"


def _problem(error: Exception) -> dict[str, object]:
    message, _, place = str(error).partition("\n\nLINE ")
    number = place.partition(":")[0]
    return {
        "problem": message[:600] or type(error).__name__,
        "kind": type(error).__name__,
        "line": int(number) if number.isdigit() else None,
    }


def main() -> None:
    """Reads the job, performs it, says that it is done, and leaves."""
    descriptor = int(sys.argv[1])
    job: Job = json.loads(sys.stdin.buffer.read())
    nonce = job.pop("nonce")

    def send(**answer: object) -> None:
        line = memoryview(json.dumps({"nonce": nonce, **answer}).encode() + b"\n")
        while line:
            line = line[os.write(descriptor, line) :]

    {"syntax": syntax, "query": query}[str(job["mode"])](job, send)
    send(done=True)
    os._exit(0)


if __name__ == "__main__":
    main()
