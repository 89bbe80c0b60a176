"""What surrounds a caged process."""

from __future__ import annotations

import os
import py_compile
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from reflect_lab.evidence.check import SandboxChoice
from reflect_lab.evidence.sandbox import cage
from reflect_lab.evidence.sandbox.levels import PROCESS
from reflect_lab.evidence.sandbox.limits import Limits
from reflect_lab.evidence.sandbox.surroundings import compiled
from tests.evidence.evidence_support import evidence_of

PROGRAM = "import json, os, sys\njob = json.load(sys.stdin)\nanswer = {'nonce': job['nonce'], 'said': SAID}\n"
PROGRAM += "os.write(int(sys.argv[1]), json.dumps(answer).encode() + b'\\n')\n"


def program(folder: Path, said: str) -> Path:
    path = folder / "program.py"
    path.write_text(PROGRAM.replace("SAID", repr(said)))
    return path


def said(path: Path) -> object:
    return cage.run_blocking(path, {}, Limits(), level=PROCESS).answers[0]["said"]


def test_a_program_runs_in_its_compiled_form_where_that_is_of_the_same_text(tmp_path: Path) -> None:
    path = program(tmp_path, "old")
    assert compiled(path) == path
    left = Path(py_compile.compile(str(path), invalidation_mode=py_compile.PycInvalidationMode.TIMESTAMP) or "")
    assert compiled(path) == left and said(path) == "old"

    text = path.stat()
    program(tmp_path, "new")
    os.utime(path, (text.st_atime, text.st_mtime + 1))
    assert compiled(path) == path and said(path) == "new"


def test_a_compiled_form_that_is_no_such_thing_is_not_used(tmp_path: Path) -> None:
    path = program(tmp_path, "text")
    left = Path(py_compile.compile(str(path), invalidation_mode=py_compile.PycInvalidationMode.TIMESTAMP) or "")
    left.write_bytes(b"short")
    assert compiled(path) == path and said(path) == "text"
    py_compile.compile(str(path), invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
    assert compiled(path) == path


ZONE = "def where():\n    import os, time\n    names = ('TZ', 'LANG', 'LC_ALL')\n"
ZONE += "    return [os.environ.get(n) for n in names], time.localtime(0).tm_hour"
ZONED = "assert where() == (['UTC', 'C.UTF-8', 'C.UTF-8'], 0)"


@pytest.fixture
def abroad(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A user in another zone, with another language."""
    for name, value in (("TZ", "Asia/Tokyo"), ("LANG", "tr_TR.UTF-8"), ("LC_ALL", "tr_TR.UTF-8")):
        monkeypatch.setenv(name, value)
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize("sandbox", ["auto", "process", "external"])
@pytest.mark.usefixtures("abroad")
async def test_zone_and_language_are_the_same_whatever_the_users_are(sandbox: SandboxChoice) -> None:
    command = (sys.executable, "-I", "-") if sandbox == "external" else ()
    evidence = await evidence_of("python", {"code": ZONED}, ZONE, sandbox=sandbox, sandbox_command=command)
    assert evidence.status == "passed", evidence.text


@pytest.mark.usefixtures("abroad")
async def test_a_set_up_may_choose_another_zone() -> None:
    setup = "import os, time\nos.environ['TZ'] = 'Asia/Tokyo'\ntime.tzset()"
    draft = "import time\ndef hour():\n    return time.localtime(0).tm_hour"
    evidence = await evidence_of("python", {"code": "assert hour() == 9", "setup": setup}, draft)
    assert evidence.status == "passed", evidence.text


@pytest.mark.usefixtures("abroad")
async def test_sql_runs_in_the_same_zone() -> None:
    query = "SELECT CAST(strftime(TIMESTAMPTZ '1970-01-01 00:00:00+00', '%H') AS INTEGER) AS hour"
    options = {"setup": "CREATE TABLE t AS SELECT 1 AS x", "totals": {"hour": 0}}
    evidence = await evidence_of("sql", options, query)
    assert evidence.status == "passed", evidence.text
