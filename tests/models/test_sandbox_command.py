"""`[sandbox] command` of the settings file."""

from __future__ import annotations

from pathlib import Path

import pytest

from reflect_lab.core.errors import WrongUse
from reflect_lab.models.config import load_config


def command_of(folder: Path, text: str, users: str = "") -> tuple[str, ...]:
    project, home = folder / "project", folder / "home"
    for place, content in ((project, text), (home / ".config" / "reflect-lab", users)):
        place.mkdir(parents=True, exist_ok=True)
        (place / "reflect-lab.toml").write_text(content)
    return load_config(project, {"HOME": str(home)}).sandbox_command


def test_the_command_is_read_and_the_projects_own_wins(tmp_path: Path) -> None:
    theirs, ours = '[sandbox]\ncommand = ["podman", "run"]', '[sandbox]\ncommand = ["docker", "run", "-i"]'
    assert command_of(tmp_path, ours, theirs) == ("docker", "run", "-i")
    assert command_of(tmp_path, "", theirs) == ("podman", "run")
    assert command_of(tmp_path, "") == () and command_of(tmp_path, "[sandbox]") == ()


@pytest.mark.parametrize(
    "text, said",
    [
        ('[sandbox]\ncommand = "docker run -i"', "must be a list of texts, the program first"),
        ('[sandbox]\ncommand = ["docker", 1]', "must be a list of texts"),
        ('[sandbox]\ncommand = ["docker", ""]', "must be a list of texts"),
        ('[sandbox]\ncomand = ["docker"]', "unknown key `comand`; did you mean 'command'?"),
        ('sandbox = "docker"', "must be a table"),
    ],
)
def test_what_is_no_command_is_told_with_file_and_key(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(WrongUse) as wrong:
        command_of(tmp_path, text)
    assert said in str(wrong.value) and "reflect-lab.toml" in str(wrong.value)
