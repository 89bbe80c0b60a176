"""What a check expects is out of the draft's reach: a program that prints all it can read never prints it."""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Mapping

import pytest

from reflect_lab.core.evidence import Evidence
from reflect_lab.evidence.sandbox import cage, selftest
from reflect_lab.evidence.sandbox.caged import Caged
from reflect_lab.evidence.sandbox.levels import PROCESS, Level
from tests.evidence.evidence_support import evidence_of, isolated_levels

LEVELS = [PROCESS, *isolated_levels()]
MARK = re.compile("expected" + "-[0-9a-f]{32}")
"""An expected value; the programs look for what has this form."""

READS_ALL = r"""
import gc, os, re, sys

form = re.compile(b"expected" + b"-[0-9a-f]{32}")
hits = {}
OTHERS = @OTHERS@

def note(where, data):
    if isinstance(data, str):
        data = data.encode("utf-8", "replace")
    for hit in form.findall(data):
        hits.setdefault(hit.decode(), where)

def read(path, most=1 << 24):
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    except OSError:
        return
    try:
        note(path, os.read(descriptor, most))
    except OSError:
        return
    finally:
        os.close(descriptor)

def memory(pid):
    try:
        with open(f"/proc/{pid}/maps") as maps, open(f"/proc/{pid}/mem", "rb", 0) as mem:
            for line in maps:
                start, end = (int(part, 16) for part in line.split()[0].split("-"))
                if line.split()[1].startswith("r") and end - start < 1 << 28:
                    try:
                        mem.seek(start)
                        note(f"memory of {pid} at {line.rstrip()}", mem.read(end - start))
                    except (OSError, ValueError, OverflowError):
                        continue
    except OSError:
        return

def processes():
    yield "self"
    try:
        yield from (entry for entry in os.listdir("/proc") if OTHERS and entry.isdigit())
    except OSError:
        yield from map(str, range(max(1, os.getppid() - 5), os.getpid() + 1)) if OTHERS else ()

def look():
    for pid in processes():
        for name in ("environ", "cmdline", "maps", "status", "auxv", *(f"fd/{n}" for n in range(16))):
            read(f"/proc/{pid}/{name}")
        memory(pid)
    for top in (".", os.path.expanduser("~"), os.path.dirname(sys.argv[0]), "/tmp", "/dev/shm"):
        left = 200
        for folder, folders, names in os.walk(top):
            for name in names[:left]:
                read(os.path.join(folder, name), 1 << 20)
            left -= len(names)
            if left <= 0:
                break
    note("standard input", sys.stdin.read())
    frame = sys._getframe()
    while frame is not None:
        note("frames", f"{frame.f_locals!r} {frame.f_code.co_consts!r} {frame.f_globals.keys()!r}")
        frame = frame.f_back
    for thing in gc.get_objects():
        try:
            note("objects", repr(thing)[: 1 << 16])
        except BaseException:
            continue
    for name, module in list(sys.modules.items()):
        note(f"module {name}", repr(getattr(module, "__dict__", None))[: 1 << 20])
    print(hits)
    return hits

look()

def f(x, *more):
    found = look() if x in (1, 9) else hits
    return next(iter(found), "nothing")
"""

ASKS = """
wanted = "{0}"
assert f(1) == wanted
assert f(2) == {{"a": ["{1}"]}}
assert "{2}" in f(3)
assert f(4) in ("{3}", 7), "{4}"
for given, want in [(5, "{5}"), (6, "{6}")]:
    assert f(given) == want
with raises(ValueError, match="{7}"):
    f(8)
assert f(9).split("-") == ["{8}"]
assert f(10) is None or f(11) == "{9}"
"""


class Seen:
    """What was sent to the draft's process and what came out of it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.jobs: list[Mapping[str, object]] = []
        self.caged: list[Caged] = []
        run = cage.run_blocking

        def watched(program: object, job: Mapping[str, object], *more: object, **named: object) -> Caged:
            self.jobs.append(job)
            self.caged.append(run(program, job, *more, **named))  # type: ignore[arg-type]
            return self.caged[-1]

        monkeypatch.setattr(cage, "run_blocking", watched)

    def marks(self, values: list[str]) -> set[str]:
        """The expected values that went in or came out."""
        text = json.dumps(self.jobs) + "".join(f"{caged.output} {caged.answers}" for caged in self.caged)
        return {value for value in values if value in text}


def values() -> list[str]:
    return [f"expected-{secrets.token_hex(16)}" for _ in range(10)]


async def judged(level: Level, code: str, monkeypatch: pytest.MonkeyPatch) -> Evidence:
    monkeypatch.setattr(selftest, "strongest", lambda: level)
    # Without isolation the memory of other processes is open to their own user, root above all: not what this is about.
    draft = READS_ALL.replace("@OTHERS@", str(level.number > 1))
    options = {"code": code, "timeout_s": 120}
    return await evidence_of("python", options, draft, code_is_trusted=True)


@pytest.mark.parametrize("level", LEVELS, ids=lambda level: str(level.number))
async def test_a_program_that_prints_all_it_can_read_never_prints_an_expected_value(
    level: Level, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen, wanted = Seen(monkeypatch), values()
    evidence = await judged(level, ASKS.format(*wanted), monkeypatch)
    assert evidence.sandbox is not None and evidence.sandbox.verdict_integrity == "split"
    assert evidence.status == "failed" and seen.caged[-1].answers[-1] == {"done": True}, evidence.text
    assert "{}" in seen.caged[-1].output and not MARK.findall(seen.caged[-1].output)
    assert seen.marks(wanted) == set()
    assert all(finding.status == "failed" for finding in evidence.findings)


async def test_the_program_finds_what_a_check_that_is_not_split_has_beside_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the assert runs beside the draft, what it expects is found, and the evidence says in_process."""
    seen, wanted = Seen(monkeypatch), values()
    code = f"def check(candidate):\n    assert candidate(1) == '{wanted[0]}'\ncheck(f)"
    evidence = await judged(LEVELS[-1], code, monkeypatch)
    assert evidence.sandbox is not None and evidence.sandbox.verdict_integrity == "in_process"
    assert seen.marks(wanted) == {wanted[0]} and wanted[0] in seen.caged[-1].output


@pytest.mark.parametrize("level", LEVELS, ids=lambda level: str(level.number))
async def test_a_query_that_reads_all_it_can_never_reads_a_wanted_total(
    level: Level, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(selftest, "strongest", lambda: level)
    seen, number = Seen(monkeypatch), 100_000_000 + secrets.randbelow(800_000_000)
    draft = """
        SELECT (SELECT string_agg(v, ' ') FROM (
          SELECT name || value AS v FROM duckdb_settings() UNION ALL SELECT sql FROM duckdb_tables()
          UNION ALL SELECT column_name || coalesce(column_default, '') FROM duckdb_columns()
          UNION ALL SELECT sql FROM duckdb_views() UNION ALL SELECT current_query()
          UNION ALL SELECT path FROM duckdb_databases() UNION ALL SELECT CAST(id AS VARCHAR) FROM facts)) AS amount"""
    options = {
        "setup": "CREATE TABLE facts AS SELECT n AS id FROM range(3) t(n)",
        "totals": {"amount": number, "id": f"SELECT {number + 1}"},
    }
    evidence = await evidence_of("sql", options, draft)
    assert evidence.status == "failed" and seen.caged[-1].answers[-1] == {"done": True}, evidence.text
    assert seen.marks([str(number), str(number + 1)]) == set()
