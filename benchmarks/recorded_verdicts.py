"""Verdicts of the python check on recorded drafts, against the verdicts that are stored with them.

python benchmarks/recorded_verdicts.py DATA_FOLDER [--hidden] [--sample N] [--jobs 2] [--timeout 10] [--sandbox auto]

Reads `recorded_runs_ldb-*.jsonl` (drafts by round, with the task's visible tests) and `verdicts_ldb-*.jsonl` (whether
all visible tests passed, by round). `--hidden` runs the judge of each task instead, a function of asserts that is
called once, against the stored verdicts of that (`tasks_humaneval.jsonl` holds it). Each different program is run once
through the check. Prints the share of equal verdicts, how many were split, and every difference with what was seen.
With `--sandbox interpreter` it also says how many it could not judge, and why; they are left out of the shares.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import re
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from reflect_lab.core.run import Draft
from reflect_lab.core.task import CheckSpec, Task
from reflect_lab.evidence.check import Report, SandboxChoice, Surroundings
from reflect_lab.evidence.python.check import PythonCheck

HEADER = (
    "from typing import *\nimport math\nfrom heapq import *\nimport itertools\nimport re\nimport typing\n"
    "import heapq\n_str = str\nimport re\n"
)
"""What stood before a draft whose record says `import_header`."""
INTERPRETERS_HEADER = (
    "from typing import Any, Dict, List, Optional, Set, Tuple, Union\nimport math\nimport itertools\nimport re\n"
    "import typing\n_str = str\n"
)
"""The same without what the interpreter of level W knows nothing of (heapq, and imports of everything)."""


@dataclass(frozen=True)
class Program:
    """One draft with its tests. `stored` is whether all of them passed when the record was made."""

    where: str
    task: str
    text: str
    tests: str
    stored: bool
    error: str


def programs(folder: Path, is_hidden: bool, header: str) -> Iterator[Program]:
    judges = {
        task["task_id"]: f"{task['hidden_test']}\n{task['hidden_call']}"
        for task in map(json.loads, (folder / "tasks_humaneval.jsonl").open())
    }
    for path in sorted(folder.glob("recorded_runs_ldb-*.jsonl")):
        verdicts = folder / path.name.replace("recorded_runs_", "verdicts_")
        for run_line, verdict_line in zip(path.open(), verdicts.open(), strict=True):
            run, verdict = json.loads(run_line), json.loads(verdict_line)
            assert run["task_id"] == verdict["task_id"]
            for index, one in enumerate(run["rounds"]):
                text = (header if one["import_header"] else "") + one["draft"]
                tests = judges[run["task_id"]] if is_hidden else "\n".join(run["visible_tests"])
                where = f"{path.stem.removeprefix('recorded_runs_')} {run['task_id']} round {one['round']}"
                yield Program(
                    where,
                    run["task_id"],
                    text,
                    tests,
                    verdict["hidden" if is_hidden else "visible"][index],
                    verdict["error"][index],
                )


async def judged(program: Program, timeout_s: float, sandbox: SandboxChoice) -> Report:
    spec = CheckSpec(name="python", kind="python", options={"code": program.tests, "timeout_s": timeout_s})
    check = PythonCheck(spec, Surroundings(task=Task(text="-"), code_is_trusted=True, sandbox=sandbox))
    return await check.run(Draft(index=0, text=program.text))


async def main(
    folder: Path, is_hidden: bool, sample: int | None, jobs: int, timeout_s: float, sandbox: SandboxChoice
) -> None:
    header = INTERPRETERS_HEADER if sandbox == "interpreter" else HEADER
    everything = [p for p in programs(folder, is_hidden, header) if p.tests.strip()]
    unique = list({(p.text, p.tests): p for p in everything}.values())
    if sample is not None:
        unique = random.Random(0).sample(unique, min(sample, len(unique)))
    gate, reports = asyncio.Semaphore(jobs), {}
    started = time.monotonic()

    async def perform(program: Program) -> None:
        async with gate:
            reports[program.text, program.tests] = await judged(program, timeout_s, sandbox)

    await asyncio.gather(*map(perform, unique))
    rows = [(p, reports[p.text, p.tests]) for p in everything if (p.text, p.tests) in reports]
    print(f"{len(rows)} recorded verdicts, {len(unique)} different programs, {time.monotonic() - started:.0f} s")
    open_ = [report for _, report in rows if report.status == "not_run"]
    if open_:
        print(f"not judged: {len(open_)} of {len(rows)}")
        for reason, count in Counter(_reason(report) for report in open_).most_common():
            print(f"    {count:4}  {reason}")
        rows = [(p, r) for p, r in rows if r.status != "not_run"]
    different = [(p, r) for p, r in rows if (r.status == "passed") != p.stored or r.status == "error"]
    split = sum(r.sandbox is not None and r.sandbox.verdict_integrity == "split" for _, r in rows)
    unstable = sum(r.provenance["stability"] == "unstable" for _, r in rows)
    print(f"equal: {len(rows) - len(different)} of {len(rows)} ({1 - len(different) / len(rows):.2%})")
    print(f"split: {split} of {len(rows)}; unstable: {unstable}")
    for program, report in different:
        print(f"- {program.where}: stored {'passed' if program.stored else 'failed'}, now {report.status}"
              f" ({report.provenance['stability']}, {report.provenance['cpu_s']} s of CPU)")  # fmt: skip
        print(f"    then: {program.error[:200]!r}\n    now:  {report.text[:400]!r}")


def _reason(report: Report) -> str:
    """Why the interpreter did not judge, without what differs from draft to draft."""
    said = next((f.message for f in report.findings if f.status == "not_run"), report.text)
    return re.sub(r"'[^']*'", "'…'", said.rpartition("Python: ")[2])[:100]


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("folder", type=Path)
    arguments.add_argument("--hidden", action="store_true")
    arguments.add_argument("--sample", type=int)
    arguments.add_argument("--jobs", type=int, default=2)
    arguments.add_argument("--timeout", type=float, default=10.0)
    arguments.add_argument("--sandbox", choices=["auto", "process", "interpreter"], default="auto")
    given = arguments.parse_args()
    asyncio.run(main(given.folder, given.hidden, given.sample, given.jobs, given.timeout, given.sandbox))
