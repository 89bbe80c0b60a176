"""Where traces go."""

from __future__ import annotations

from pathlib import Path

import pytest

from reflect_lab.store.layout import process_file, traces_folder


@pytest.mark.parametrize("mark", ["reflect-lab.toml", "pyproject.toml", ".git"])
def test_the_nearest_project_root_holds_the_traces(tmp_path: Path, mark: str) -> None:
    inner = tmp_path / "project" / "notebooks" / "deep"
    inner.mkdir(parents=True)
    (tmp_path / ".git").mkdir()
    (tmp_path / "project" / mark).mkdir()
    assert traces_folder(None, {}, inner) == tmp_path / "project" / "traces"


def test_an_option_wins_over_the_environment_and_that_over_the_project(tmp_path: Path) -> None:
    environ = {"REFLECT_TRACES": "from-environment"}
    assert traces_folder("named", environ, tmp_path) == tmp_path / "named"
    assert traces_folder(None, environ, tmp_path) == tmp_path / "from-environment"
    assert traces_folder("/abs/olute", environ, tmp_path) == Path("/abs/olute")


def test_no_two_files_of_a_process_have_one_name(tmp_path: Path) -> None:
    assert process_file(tmp_path, "log") != process_file(tmp_path, "log")
