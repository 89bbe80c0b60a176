"""A mutation run: breaks the controller on purpose, one mutant after the other, and sees whether the tests notice.

    python scripts/mutants.py [--only WORD] [--jobs 2] [--report docs/mutants.md]

The mutants stand in `tests/mutants.toml`: a name in words, the file, the text to replace (which must stand there
exactly once, so that the list can't rot) and its replacement. `survives` says why a mutant may live: because it
changes nothing that anybody could see. Each is tried in a copy of the package and its tests, first on unit tests, then
on the laws with few runs; a mutant is killed by the first test that fails, or by the time limit. Exit code 1: one
survived that may not, or one was killed that is said to survive.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import Queue

ROOT = Path(__file__).resolve().parent.parent
LIST = ROOT / "tests" / "mutants.toml"
COPIED = ("reflect_lab", "tests", "docs", "scripts", "pyproject.toml")
LEFT_OUT = shutil.ignore_patterns("__pycache__", "static", "labextension", "browser", "frontend", "notebook", "*.pyc")
TIME_LIMIT_S = 240
CORE = (
    "stop_rules", "progress", "assessment", "controller", "budget", "feedback", "fixes", "drafts", "grounding",
)  # fmt: skip
STAGES: tuple[tuple[str, ...], ...] = (
    tuple(f"tests/core/test_{name}.py" for name in CORE),
    tuple(f"tests/core/test_{name}.py" for name in ("selection", "replay", "absent", "laws")),
    ("tests/core/test_grounding_laws.py", "tests/test_loop_laws.py", "tests/test_hostile_roles.py"),
)
"""What is run against a mutant, one after the other, until a test fails."""


@dataclass(frozen=True)
class Mutant:
    """A change that breaks a rule. `survives` is the reason why no test can notice it, where there is one."""

    name: str
    file: str
    original: str
    replacement: str
    survives: str | None = None

    def applied(self, root: Path) -> str:
        """The mutated text of the file. Raises ValueError where the original does not stand there exactly once."""
        text = (root / self.file).read_text("utf-8")
        if text.count(self.original) != 1:
            raise ValueError(
                f"{self.file}: {text.count(self.original)} places for the mutant {self.name!r}, one is wanted: "
                f"{self.original!r}"
            )
        return text.replace(self.original, self.replacement)


def mutants() -> list[Mutant]:
    """All mutants of the list."""
    return [Mutant(**fields) for fields in tomllib.loads(LIST.read_text("utf-8"))["mutant"]]


def killer(mutant: Mutant, folder: Path) -> str | None:
    """The first test that notices the mutant in a copy of the project; None where it survives."""
    mutated, file = mutant.applied(folder), folder / mutant.file
    sound = file.read_text("utf-8")
    file.write_text(mutated, "utf-8")
    try:
        for stage in STAGES:
            found = _first_failure(folder, stage)
            if found is not None:
                return found
        return None
    finally:
        file.write_text(sound, "utf-8")


def _first_failure(folder: Path, stage: tuple[str, ...]) -> str | None:
    options = ("-x", "-q", "-p", "no:cacheprovider", "--hypothesis-profile=mutants", "--tb=no", "--no-header")
    environ = {**os.environ, "PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1", "REFLECT_LAB_LAW_RUNS": "60"}
    command = [sys.executable, "-m", "pytest", *options, *stage]
    try:
        done = subprocess.run(
            command, cwd=folder, env=environ, capture_output=True, text=True, timeout=TIME_LIMIT_S, check=False
        )
    except subprocess.TimeoutExpired:
        return "the time limit"
    if done.returncode == 0:
        return None
    if done.returncode not in (1, 2):
        raise RuntimeError(f"pytest could not run ({done.returncode}): {done.stdout[-2_000:]}{done.stderr[-2_000:]}")
    lines = [line for line in done.stdout.splitlines() if line.startswith(("FAILED ", "ERROR "))]
    return lines[0].split(" ", 1)[1].split(" - ")[0].split("::")[-1] if lines else "an error"


def copy(folder: Path) -> Path:
    """A copy of what the tests need."""
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=LEFT_OUT)
        else:
            shutil.copy(source, folder / name)
    return folder


def run(chosen: list[Mutant], jobs: int) -> dict[str, str | None]:
    """Who killed each mutant, by its name."""
    found: dict[str, str | None] = {}
    with tempfile.TemporaryDirectory() as name:
        free: Queue[Path] = Queue()
        for number in range(jobs):
            free.put(copy(Path(name, str(number))))
        broken = next((f for f in (_first_failure(free.queue[0], stage) for stage in STAGES) if f), None)
        if broken is not None:
            raise SystemExit(f"the tests fail without any mutant: {broken}")

        def try_one(mutant: Mutant) -> None:
            folder = free.get()
            try:
                found[mutant.name] = by = killer(mutant, folder)
            finally:
                free.put(folder)
            print(f"survived  {mutant.name}" if by is None else f"killed    {mutant.name} (by {by})", flush=True)

        with ThreadPoolExecutor(jobs) as pool:
            list(pool.map(try_one, chosen))
    return found


def report(chosen: list[Mutant], found: dict[str, str | None]) -> str:
    """The run as a page."""
    killed = sum(by is not None for by in found.values())
    lines = [
        "# Mutants of the controller",
        "",
        "Written by `python scripts/mutants.py --report docs/mutants.md`; the list is `tests/mutants.toml`.",
        "Each line is a change that breaks a rule on purpose, and the first test that noticed it.",
        "",
        f"{len(chosen)} mutants, {killed} killed, {len(chosen) - killed} survived.",
        "",
        "| mutant | file | killed by |",
        "|---|---|---|",
    ]
    for mutant in chosen:
        by = found[mutant.name]
        told = f"`{by}`" if by else f"survived: {mutant.survives or '**nobody noticed**'}"
        lines.append(f"| {mutant.name} | `{mutant.file.removeprefix('reflect_lab/')}` | {told} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="mutants whose name or file holds this word")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--report", type=Path)
    asked = parser.parse_args()
    chosen = [m for m in mutants() if asked.only in m.name or asked.only in m.file]
    for mutant in chosen:
        mutant.applied(ROOT)
    found = run(chosen, asked.jobs)
    wrong = [m.name for m in chosen if (found[m.name] is None) != (m.survives is not None)]
    print(f"{len(chosen)} mutants, {sum(by is not None for by in found.values())} killed")
    if asked.report:
        asked.report.write_text(report(chosen, found), "utf-8")
    for name in wrong:
        print(f"not as the list says: {name}")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
