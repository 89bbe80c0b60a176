"""Hostile queries through the `sql` check at each level: `python scripts/hostile_sql.py [FILE…] [--levels 1 2 3]`.

A file holds `items: [{id, cat, right, sql}]`; `@SQLDIR@` stands for a folder with a secret and a place to write to. An
item is right where its verdict is one of `right`, nothing of the folder was read or changed, the verdict came at most
1 s after its limit, and no process held 1 GiB. It needs no cage: the queries hurt nobody but their own process.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import tempfile
import time
from pathlib import Path

from reflect_lab.core.run import Draft
from reflect_lab.core.task import CheckSpec, Task
from reflect_lab.evidence.check import Report, Surroundings
from reflect_lab.evidence.sandbox import selftest
from reflect_lab.evidence.sandbox.levels import PROCESS, found
from reflect_lab.evidence.sql.check import SqlCheck

OWN = Path(__file__).resolve().parent.parent / "tests" / "evidence" / "hostile_sql.json"
LIMIT_S = 3.0
MARGIN_S = 1.0
SETUP = "CREATE TABLE facts AS SELECT n::INTEGER AS id, 'v' || n AS v FROM range(1000) t(n)"
CANARY = "CANARY-SQL"


def verdict(report: Report) -> str:
    """The check's answer in the words of the corpus."""
    said = {finding.id: finding for finding in report.findings}
    if "query" in said:
        message = said["query"].message
        if "no answer within" in message:
            return "timeout"
        return "resource" if "emory" in message else "blocked"
    if report.status == "error":
        return "error"
    return "capped" if said["rows"].status == "failed" else "ok"


async def one(item: dict[str, str], check: SqlCheck, folder: Path) -> dict[str, object]:
    started = time.monotonic()
    report = await check.run(Draft(index=0, text=item["sql"].replace("@SQLDIR@", str(folder))))
    late, peak = time.monotonic() - started - LIMIT_S, int(report.provenance["peak_rss_bytes"])
    effects = {
        "secret_out": CANARY in repr(report),
        "outside_write": sorted(os.listdir(folder / "out")) != [],
        "overtime": late > MARGIN_S,
        "mem_over": peak >= 1 << 30,
    }
    seen = [name for name, is_seen in effects.items() if is_seen]
    is_right = verdict(report) in item["right"] and not seen
    return {**item, "verdict": verdict(report), "effects": seen, "late_s": late, "peak": peak, "is_right": is_right,
            "text": report.text}  # fmt: skip


async def at(items: list[dict[str, str]]) -> list[dict[str, object]]:
    """What the check said of each, at the level that is the strongest."""
    check = SqlCheck(
        CheckSpec(name="sql", kind="sql", options={"setup": SETUP, "timeout_s": LIMIT_S}),
        Surroundings(task=Task(text="A query.")),
    )
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (folder / "out").mkdir()
        (folder / "secret").mkdir()
        (folder / "secret" / "key.csv").write_text(f"key\n{CANARY}\n")
        return [await one(item, check, folder) for item in items]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", type=Path, nargs="*", default=[OWN], metavar="file")
    parser.add_argument("--levels", type=int, nargs="+", default=[1, 2, 3], choices=[1, 2, 3])
    options = parser.parse_args()
    files = [file / "sql_index.json" if file.is_dir() else file for file in options.files]
    items = [item for file in files for item in json.loads(file.read_text())["items"]]
    levels = [selftest.tested(level).level for level in (PROCESS, *reversed(found()[0]))]
    is_all_right = True
    for level in (level for level in levels if level.number in options.levels):
        selftest.strongest = lambda level=level: level  # type: ignore[assignment,misc]
        rows = asyncio.run(at(items))
        for kind in ("hostile", "benign"):
            these = [row for row in rows if (row["cat"] == "benign") == (kind == "benign")]
            print(f"level {level.number}: {sum(bool(row['is_right']) for row in these)} of {len(these)} {kind} right")
        late, peak = max(float(str(row["late_s"])) for row in rows), max(int(str(row["peak"])) for row in rows)
        print(f"  latest verdict limit {late:+.2f} s, most memory {peak >> 20:,} MiB")
        for row in rows:
            if not row["is_right"]:
                is_all_right = False
                print(f"  NOT RIGHT {row['id']}: {row['verdict']} {row['effects']} {str(row['text'])[:300]}")
    return 0 if is_all_right else 1


if __name__ == "__main__":
    sys.exit(main())
