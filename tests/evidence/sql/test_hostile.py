"""Queries that try to leave their box: a set of our own, each bounded by the process that is under test."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import duckdb
import pytest

from reflect_lab.core.evidence import Evidence
from reflect_lab.core.run import Draft
from reflect_lab.core.task import CheckSpec, Task
from reflect_lab.evidence.check import Report, Surroundings
from reflect_lab.evidence.sandbox import selftest
from reflect_lab.evidence.sandbox.levels import PROCESS, Level
from reflect_lab.evidence.sql.check import SqlCheck, SqlSyntaxCheck
from scripts import hostile_sql
from tests.evidence.evidence_support import evidence_of, isolated_levels

LIMIT_S = 3.0
CANARY = "CANARY-7c1d"


@pytest.fixture(scope="module")
def check() -> SqlCheck:
    options = {"setup": "CREATE TABLE facts AS SELECT n AS id FROM range(100) t(n)", "timeout_s": LIMIT_S}
    return SqlCheck(CheckSpec(name="sql", kind="sql", options=options), Surroundings(task=Task(text="A query.")))


@pytest.fixture
def gate() -> SqlSyntaxCheck:
    return SqlSyntaxCheck(CheckSpec(name="sql/syntax", kind="sql_syntax"), Surroundings(task=Task(text="A query.")))


@pytest.fixture
def box(tmp_path: Path) -> Path:
    (tmp_path / "secret.csv").write_text(f"key\n{CANARY}\n")
    with duckdb.connect(str(tmp_path / "other.duckdb")) as connection:
        connection.execute(f"CREATE TABLE secrets AS SELECT '{CANARY}' AS key")
    return tmp_path


def problem(report: Report | Evidence) -> str:
    (message,) = [f.message for f in report.findings if f.id == "query"]
    assert report.status == "failed"
    return message


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM read_csv('{box}/secret.csv')",
        "SELECT * FROM '{box}/secret.csv'",
        "SELECT content FROM read_text('{box}/*')",
        "SELECT * FROM glob('{box}/*')",
        "SELECT content FROM read_blob('/proc/self/environ')",
        "FROM query('FROM read_text(''{box}/secret.csv'')')",
        "SELECT * FROM sniff_csv('{box}/secret.csv')",
        "SELECT * FROM read_duckdb('{box}/other.duckdb')",
    ],
)
async def test_no_file_can_be_read(check: SqlCheck, box: Path, query: str) -> None:
    report = await check.run(Draft(index=0, text=query.format(box=box)))
    problem(report)
    assert CANARY not in report.text


async def test_a_variable_of_the_host_program_is_no_table(check: SqlCheck) -> None:
    report = await check.run(Draft(index=0, text="SELECT * FROM job"))
    assert "job does not exist" in problem(report)


@pytest.mark.parametrize(
    "query",
    [
        "COPY (SELECT 1) TO '{box}/out.csv'",
        "COPY facts FROM '{box}/secret.csv'",
        "EXPORT DATABASE '{box}/out'",
        "ATTACH '{box}/out.db' AS other",
        "INSTALL httpfs",
        "LOAD httpfs",
        "SET enable_external_access = true",
        "RESET lock_configuration",
        "PRAGMA database_list",
        "SHOW TABLES",
        "INSERT INTO facts VALUES (1)",
        "UPDATE facts SET id = 1",
        "/* SELECT */ -- SELECT\nDELETE FROM facts",
        "CREATE TEMP MACRO count(x) AS 42",
        "BEGIN TRANSACTION",
        "EXPLAIN ANALYZE SELECT 1",
        "CALL pragma_version()",
        "SELECT 1; SELECT 2",
        "-- nothing",
        "SELECT 1 FROM facts) TO '{box}/out.csv' --",
    ],
)
async def test_anything_but_one_select_fails_the_gate(gate: SqlSyntaxCheck, query: str) -> None:
    report = await gate.run(Draft(index=0, text=query.format(box="/nowhere")))
    assert (report.status, [f.id for f in report.findings]) == ("failed", ["syntax"])


@pytest.mark.parametrize(
    "query", ["COPY (SELECT 1) TO '{box}/out.csv'", "SELECT 1; DROP TABLE facts", "SET threads = 9"]
)
async def test_anything_but_one_select_does_not_run_without_the_gate_either(
    check: SqlCheck, box: Path, query: str
) -> None:
    problem(await check.run(Draft(index=0, text=query.format(box=box))))
    assert sorted(os.listdir(box)) == ["other.duckdb", "secret.csv"]


async def test_a_write_that_looks_like_a_select_changes_nothing(check: SqlCheck) -> None:
    problem(await check.run(Draft(index=0, text="WITH gone AS (DELETE FROM facts RETURNING id) SELECT * FROM gone")))


@pytest.mark.parametrize(
    "query",
    [
        "SELECT sum(a.range * b.range % 7) FROM range(10000000) a, range(10000000) b",
        "SELECT a.range FROM range(1000000) a, range(100000) b ORDER BY a.range * b.range % 7919",
        "WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t) SELECT max(n) FROM t",
        "SELECT repeat('z', 2000000000)",
        "SELECT list_transform(range(50000), lambda x: range(x)) AS l",
        "SELECT list(range) FROM range(1000000000)",
    ],
)
async def test_time_and_memory_end_at_their_limits(check: SqlCheck, query: str) -> None:
    report = await check.run(Draft(index=0, text=query))
    said = problem(report)
    assert "no answer within 3 s" in said or "emory" in said
    assert int(report.provenance["peak_rss_bytes"]) < 1 << 30
    assert report.sandbox is not None and report.sandbox.limits["memory_bytes"] == 1 << 30


async def test_a_billion_rows_are_cut(check: SqlCheck) -> None:
    report = await check.run(Draft(index=0, text="SELECT range, repeat('y', 50) FROM range(1000000000)"))
    assert report.status == "failed"
    (rows,) = [f for f in report.findings if f.id == "rows"]
    assert rows.status == "failed" and "over 10,000 rows" in rows.message and len(report.text) < 4_000


async def test_a_result_that_calls_itself_a_verdict_decides_nothing() -> None:
    """Rows that look like answers of the check's process are text in a cell."""
    draft = """SELECT '{"done": true, "case": 0, "said": null}' AS amount"""
    options = {"setup": "CREATE TABLE facts AS SELECT 1 AS id", "totals": {"amount": 3}, "code": "SELECT false"}
    evidence = await evidence_of("sql", options, draft)
    assert {f.id: f.status for f in evidence.findings if f.status == "failed"} == {
        "total:amount": "failed",
        "case:1": "failed",
    }


@pytest.mark.parametrize(
    "draft", ["SELECT '\ud800'", "SELECT 1\0; DROP TABLE facts", "(" * 5_000, "\ufeffSELECT 1", "/*" * 1_000]
)
async def test_odd_text_has_a_verdict_and_no_crash(check: SqlCheck, gate: SqlSyntaxCheck, draft: str) -> None:
    for report in (await gate.run(Draft(index=0, text=draft)), await check.run(Draft(index=0, text=draft))):
        assert report.status in ("passed", "failed"), report.text
        assert report.provenance["exit"] == "0"


def items() -> list[Any]:
    """Each query at each level; with every `make test` the quick ones at the strongest."""
    levels = [PROCESS, *reversed(isolated_levels())]
    return [
        pytest.param(
            item,
            level,
            id=f"{item['id']}-{level.number}",
            marks=pytest.mark.slow if item["cat"] == "resource" or level != levels[-1] else (),
        )
        for item in json.loads(hostile_sql.OWN.read_text())["items"]
        for level in levels
    ]


@pytest.mark.parametrize(("item", "level"), items())
async def test_a_hostile_query_gets_nothing_and_an_honest_one_is_served(
    item: dict[str, str], level: Level, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(selftest, "strongest", lambda: level)
    (seen,) = await hostile_sql.at([item])
    assert seen["is_right"], (seen["verdict"], seen["effects"], seen["text"])
