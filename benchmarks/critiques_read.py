"""Published critiques as this project's own shapes: for `grounding.py`, which says where the records come from."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from reflect_lab.core.critique import RaisedIssue
from reflect_lab.core.evidence import Evidence, Finding
from reflect_lab.core.run import Draft
from reflect_lab.core.task import Task

STEP = re.compile(r"(?m)^#+ *Critique of Steps? *([0-9]+)[^\n]*\n(.*?)(?=^#|\Z)", re.DOTALL)
FIRST_ERROR = re.compile(r"first error step number\W*([0-9]+)", re.IGNORECASE)
SELF_REFINE_BLOCK = re.compile(r"((?:^(?!#).*\n)*)^# *(?:wrong|missing)!? *(.*(?:\n#.*)*)", re.MULTILINE)
DOCSTRING = re.compile(r'"""(.*?)"""', re.DOTALL)


@dataclass(frozen=True)
class Surroundings:
    """What a critic saw of one task: the task, the draft (empty where it was not recorded) and evidence."""

    task: Task
    draft: Draft
    evidence: tuple[Evidence, ...] = ()


@dataclass(frozen=True)
class Criticised:
    """Issues raised on one draft. `key` names the task, equal for all records of that task in every data set."""

    data_set: str
    key: str
    seen: Surroundings
    issues: tuple[RaisedIssue, ...]

    @property
    def is_for_tuning(self) -> bool:
        """Which half the task is in: a fixed cut by the task's name."""
        return hashlib.sha256(self.key.encode()).digest()[0] % 2 == 0


def read_all(folder: Path) -> Iterator[Criticised]:
    """Every record with at least one issue, in the order of the files."""
    for read in (real_critic, self_refine, reflexion_python, reflexion_rust, failures):
        yield from (record for record in read(folder) if record.issues)


def real_critic(folder: Path) -> Iterator[Criticised]:
    """One issue for each solution that the critic calls wrong: what it says of the step that it names as the first
    wrong one."""
    for row in _rows(folder / "critiques_realcritic-math-o1mini.jsonl"):
        first = FIRST_ERROR.search(row["critique"])
        steps = dict(STEP.findall(row["critique"]))
        texts = [steps[first[1]]] if row["critic_says"] == "wrong" and first and first[1] in steps else []
        seen = Surroundings(Task(text=row["question"]), Draft(index=0, text=row["draft"]))
        yield Criticised("RealCritic", row["task_id"], seen, _issues(texts))


def self_refine(folder: Path) -> Iterator[Criticised]:
    """One issue for each comment that says wrong or missing, with the lines of the program above it as location."""
    for row in _rows(folder / "recorded_runs_self-refine-gsm8k.jsonl"):
        question = DOCSTRING.search(row["draft"])
        program = DOCSTRING.sub("", row["draft"])
        issues = tuple(
            RaisedIssue(id=str(i), severity="blocking", evidence=comment, location=code.strip() or None)
            for i, (code, comment) in enumerate(SELF_REFINE_BLOCK.findall(row["feedback"]))
        )
        task = Task(text=question[1] if question else "", language="python")
        yield Criticised("Self-Refine", row["task_id"], Surroundings(task, Draft(index=0, text=program)), issues)


def reflexion_python(folder: Path) -> Iterator[Criticised]:
    """One issue for each reflection; the visible tests are findings. The drafts were not recorded."""
    tasks = {row["task_id"]: row for row in _rows(folder / "tasks_humaneval.jsonl")}
    for row in _rows(folder / "reflections_reflexion-he-py-gpt4.jsonl"):
        about = tasks[row["task_id"]]
        seen = Surroundings(
            Task(text=about["prompt"], language="python"), Draft(index=0, text=""), _tests(about["visible_tests"])
        )
        yield Criticised("Reflexion, Python", row["task_id"], seen, _issues(row["reflections"]))


def reflexion_rust(folder: Path) -> Iterator[Criticised]:
    """One issue for each reflection; the task is the function's comment and signature. No drafts, no tests."""
    for row in _rows(folder / "reflections_reflexion-he-rust-hard50-gpt4.jsonl"):
        lines = row["final_solution"].split("\n")
        prompt = [line for line in lines if line.startswith(("///", "fn "))]
        number = row["task_id"].split("_")[1]
        seen = Surroundings(Task(text="\n".join(prompt), language="rust"), Draft(index=0, text=""))
        yield Criticised("Reflexion, Rust", f"HumanEval/{number}", seen, _issues(row["reflections"]))


def failures(folder: Path) -> Iterator[Criticised]:
    """No critic's words but a check's: each failed test of a first draft, as an issue that repeats it."""
    tasks = {row["task_id"]: row for row in _rows(folder / "tasks_humaneval.jsonl")}
    for run in ("gpt4seed", "gpt35-block", "reflexionseed-gpt4o"):
        for row in _rows(folder / f"recorded_runs_ldb-he-{run}.jsonl"):
            first = row["rounds"][0]
            failed = [text.replace("# Real Execution Output:", "got") for text in first["visible_failures"]]
            task = Task(text=tasks[row["task_id"]]["prompt"], language="python")
            seen = Surroundings(task, Draft(index=0, text=first["draft"]), _tests(row["visible_tests"]))
            yield Criticised("LDB failures", row["task_id"], seen, _issues(failed))


def _rows(file: Path) -> Iterator[dict[str, object]]:
    with file.open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def _issues(texts: list[str]) -> tuple[RaisedIssue, ...]:
    return tuple(RaisedIssue(id=str(i), severity="blocking", evidence=text) for i, text in enumerate(texts))


def _tests(asserts: list[str]) -> tuple[Evidence, ...]:
    findings = tuple(Finding(id=f"case:{i}", status="failed", message=text) for i, text in enumerate(asserts))
    text = "\n".join(asserts)
    return (Evidence(source="tests", kind="python", rank="executed", status="failed", text=text, findings=findings),)
