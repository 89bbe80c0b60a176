"""`--sandbox interpreter` and `external`, as real processes on the shipped tour, and what doctor says of them."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

import reflect_lab as rl
from reflect_lab.core.errors import WrongUse
from reflect_lab.documents.tour import tour_task
from tests.end_to_end.processes import environment, run, strict_json

TOUR = ("run", "tour", "--json", "--sandbox")


def settings(folder: Path, *command: str) -> None:
    (folder / "reflect-lab.toml").write_text(f"[sandbox]\ncommand = {json.dumps(command)}\n")


def sandboxes(document: object) -> set[tuple[object, object]]:
    """Level and verdict integrity of all evidence of the python check."""
    assert isinstance(document, dict)
    pieces = [piece for one in document["rounds"] for piece in one["evidence"] if piece["kind"] == "python"]
    return {(piece["sandbox"]["level"], piece["sandbox"]["verdict_integrity"]) for piece in pieces}


def test_the_tour_runs_in_the_interpreter_and_the_index_tells(tmp_path: Path) -> None:
    told = run(*TOUR, "interpreter", cwd=tmp_path, env=environment(tmp_path))
    assert told.code == 0, told.stderr
    assert sandboxes(told.document) == {("W", "split")}
    asked = "select distinct sandbox_level, sandbox from evidence where kind = 'python'"
    shown = run("traces", "sql", asked, cwd=tmp_path, env=environment(tmp_path))
    assert "interpreter-only (monty " in shown.stdout
    read = run("traces", "show", "last", cwd=tmp_path, env=environment(tmp_path))
    assert "sandbox level W, interpreter-only (monty " in read.stdout


def test_the_tour_runs_by_a_command_of_the_settings_file(tmp_path: Path) -> None:
    settings(tmp_path, sys.executable, "-I", "-")
    told = run(*TOUR, "external", cwd=tmp_path, env=environment(tmp_path))
    assert told.code == 0, told.stderr
    assert sandboxes(told.document) == {("X", "split")}


def test_external_without_a_command_is_wrong_use_before_anything_runs(tmp_path: Path) -> None:
    told = run(*TOUR, "external", cwd=tmp_path, env=environment(tmp_path))
    assert told.code == 2 and told.stdout == ""
    assert told.stderr.count("\n") == 1 and "reflect-lab.toml" in told.stderr and "sandbox_command" in told.stderr
    assert not (tmp_path / "traces").exists()


async def test_a_command_can_be_given_in_python(tmp_path: Path) -> None:
    options = {"model": "scripted:tour", "sandbox": "external", "traces": tmp_path / "traces"}
    done = await rl.reflect(tour_task(), sandbox_command=[sys.executable, "-I", "-"], **options)
    pieces = [piece for one in done.rounds for piece in one.evidence or () if piece.kind == "python"]
    assert pieces and {piece.sandbox.level for piece in pieces if piece.sandbox} == {"X"}
    with pytest.raises(WrongUse, match="sandbox_command must be a list of texts"):
        await rl.reflect(tour_task(), sandbox_command="docker run", **options)


def test_doctor_tells_of_both_whether_they_work(tmp_path: Path) -> None:
    def parts() -> dict[str, dict[str, str]]:
        told = strict_json(run("doctor", "--json", cwd=tmp_path, env=environment(tmp_path)).stdout)
        assert isinstance(told, list)
        return {part["part"]: part for part in told}

    found = parts()
    assert found["sandbox level W"]["state"] == "ok" and "self-test passed" in found["sandbox level W"]["found"]
    assert found["sandbox level X"]["state"] == "note" and "[sandbox]" in found["sandbox level X"]["advice"]
    settings(tmp_path, sys.executable, "-I", "-")
    found = parts()
    assert found["sandbox level X"]["state"] == "ok"
    assert "could reach a file outside" in found["sandbox level X"]["found"]
    settings(tmp_path, "false")
    found = parts()
    assert found["sandbox level X"]["state"] == "missing" and "ended with code 1" in found["sandbox level X"]["found"]
