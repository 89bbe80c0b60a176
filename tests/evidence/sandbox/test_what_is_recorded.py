"""Evidence that ran something carries where, within which limits, on what, and who made the verdict."""

from __future__ import annotations

import hashlib
import sys

import pytest

from reflect_lab.evidence.sandbox import selftest
from reflect_lab.evidence.sandbox.levels import PROCESS, Level
from tests.evidence.evidence_support import evidence_of, isolated_levels

DRAFT = "def f():\n    return 1\n"
QUERY = "SELECT 1 AS amount"
PYTHON = {"code": "assert f() == 1"}
SQL = {"setup": "CREATE TABLE orders AS SELECT 1 AS day", "totals": {"amount": 1}}
KINDS = {
    "python": (PYTHON, DRAFT, "split"),
    "python in its process": ({"code": "assert f() == f()"}, DRAFT, "in_process"),
    "python_syntax": ({}, DRAFT, None),
    "json_schema": ({"schema": {}}, "{}", None),
    "yaml": ({}, "a: 1", None),
    "rules": ({"rules": [{"path": "a", "operator": "exists"}]}, "a: 1", None),
    "text": ({"must": ["1"]}, DRAFT, None),
    "ruff": ({}, DRAFT, None),
    "sql": (SQL, QUERY, "split"),
    "sql_syntax": ({}, QUERY, None),
}
EVERYWHERE = {"python", "interpreter", "code_sha256", "exit", "cpu_s", "peak_rss_bytes", "is_output_cut"}


@pytest.mark.parametrize("level", [PROCESS, *isolated_levels()], ids=lambda level: str(level.number))
@pytest.mark.parametrize("name", KINDS)
async def test_every_part_of_the_record_is_there(name: str, level: Level, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selftest, "strongest", lambda: level)
    options, draft, integrity = KINDS[name]
    evidence = await evidence_of(name.partition(" ")[0], options, draft)
    assert evidence.status == "passed", evidence.text
    sandbox = evidence.sandbox
    assert sandbox is not None and (sandbox.level, sandbox.name) == (level.number, level.name)
    assert sandbox.selftest == ("passed" if level.is_isolated else "none: this level isolates nothing")
    assert sandbox.abi == (level.abi if level.number == 2 else None)
    assert {"wall_s", "cpu_s", "memory_bytes", "file_bytes", "open_files", "processes"} <= sandbox.limits.keys()
    assert evidence.provenance.keys() >= EVERYWHERE
    assert sandbox.verdict_integrity == integrity
    assert evidence.provenance["interpreter"] == sys.executable
    assert evidence.provenance["code_sha256"] == hashlib.sha256(draft.encode()).hexdigest()
    assert ("tests_sha256" in evidence.provenance) == (name.partition(" ")[0] in ("python", "sql"))
    assert ("seccomp_sha256" in evidence.provenance) == level.is_isolated
    assert ("duckdb" in evidence.provenance) == (name == "sql")


async def test_a_command_that_judges_a_draft_is_no_level_of_the_sandbox_and_says_that_it_is_trusted() -> None:
    evidence = await evidence_of("command", {"argv": ["true"], "timeout_s": 9}, "a text")
    assert evidence.sandbox is None, "nothing of the draft runs in it, and nothing holds it"
    assert evidence.provenance["trust"].startswith("trusted: ") and "not confined" in evidence.provenance["trust"]
    assert evidence.provenance["limits"] == "9 s, 256 KiB of output kept, ended over 64 MiB of it"
