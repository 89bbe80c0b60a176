"""Checks beside those of the task: `checks=` in Python, `--check` on the command line and in a cell."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import reflect_lab as rl
from reflect_lab.options import OptionParser, RunOptions, add_run_options, run_options
from reflect_lab.session import Session
from tests.notebook.kernels import kernel

CELL = "Write a note.\n- [ ] it names the day\n"


def script(folder: Path, *texts: str) -> str:
    clean = {"role": "critic", "json": {"issues": [], "score": 0.9}}
    lines: list[dict[str, Any]] = [*({"role": "generator", "text": text} for text in texts), *[clean] * len(texts)]
    (folder / "script.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return "scripted:script.jsonl"


@rl.check
def names_a_day(draft: str) -> bool | str:
    """The note names a day."""
    return "Monday" in draft or "no day is named"


async def test_a_function_judges_the_drafts_of_a_run_and_is_in_its_record(tmp_path: Path) -> None:
    model = script(tmp_path, "soon", "on Monday")
    async with Session(traces=tmp_path / "t", environ={"HOME": str(tmp_path)}, cwd=tmp_path) as session:
        run = await session.reflect(CELL, RunOptions(model=model, checks=(names_a_day,)))
    assert run.outcome and run.outcome.stop_reason == "pass"
    assert [e.status for r in run.rounds for e in r.evidence or ()] == ["failed", "passed"]
    assert [(c.name, c.kind) for c in run.task.checks] == [("names_a_day", "custom")]
    (issue,) = run.rounds[0].critique.issues if run.rounds[0].critique else ()
    assert (issue.key, issue.evidence) == ("check:names_a_day/names_a_day", "no day is named")


async def test_front_matter_names_what_the_session_knows(tmp_path: Path) -> None:
    cell = f"---\nchecks:\n- names_a_day: {{requirements: [R1]}}\n---\n{CELL}"
    async with Session(traces=tmp_path / "t", environ={"HOME": str(tmp_path)}, cwd=tmp_path) as session:
        session.checks.register(names_a_day)
        run = await session.reflect(cell, RunOptions(model=script(tmp_path, "on Monday")))
    assert run.outcome and run.outcome.stop_reason == "pass" and run.task.checks[0].requirements == ("R1",)


def test_checks_are_a_repeated_option() -> None:
    parser = OptionParser(prog="x")
    add_run_options(parser)
    assert run_options(parser.parse_args(["--check", "a", "--check", "b"])).checks == ("a", "b")
    assert run_options(parser.parse_args([])).checks == ()
    with pytest.raises(rl.WrongUse, match="checks must be a list of checks"):
        RunOptions(checks="a")  # type: ignore[arg-type]


def test_the_command_line_knows_kinds_and_says_what_it_does_not_know(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from reflect_lab.cli.main import main

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "task.md").write_text(CELL)
    words = ["run", "task.md", "--model", script(tmp_path, "on 2024-05-01"), "--traces", "t", "--max-revisions", "0"]
    assert main([*words, "--check", "facts", "--json"]) == 3
    document = json.loads(capsys.readouterr().out)
    assert [e["source"] for e in document["rounds"][0]["evidence"]] == ["facts"]
    assert main([*words, "--check", "fact"]) == 2
    assert "there is no check named 'fact'; did you mean 'facts'?" in capsys.readouterr().err


NOTEBOOK = """import reflect_lab as rl
from pydantic import BaseModel
class Note(BaseModel):
    day: str
@rl.check
def names_a_day(draft):
    return "Monday" in draft or "no day is named"
def plain(draft):
    return True
"""


def test_a_cell_is_checked_by_functions_and_classes_of_its_notebook(tmp_path: Path) -> None:
    model = script(tmp_path, '{"day": "soon"}', '{"day": "Monday"}')
    with kernel(tmp_path) as started:
        started.good("%load_ext reflect_lab")
        started.good(NOTEBOOK)
        cell = started.good(f"%%reflect --model {model} --check names_a_day --check Note --out r\n{CELL}")
        assert [check["name"] for check in cell.document["task"]["checks"]] == ["names_a_day", "Note"]
        gates = "[[e.status for e in x.evidence] for x in r.rounds]"
        assert started.value(gates) == "[['failed', 'passed'], ['passed', 'passed']]"
        in_thread = started.good(f"%%time\n%%reflect --model {model} --check names_a_day --no-display --out s\n{CELL}")
        assert started.value("s.outcome.stop_reason") == "'pass'", in_thread.said
        wrong = started.run(f"%%reflect --model {model} --check plain\n{CELL}")
        assert wrong.status == "error" and "plain is a function here, but no check" in wrong.said
        assert "Traceback" not in wrong.said
