"""The page `docs/sandbox.md`: its names, options and examples are those of the code."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import get_args

from reflect_lab.core.evidence import SandboxLevel
from reflect_lab.evidence.check import SandboxChoice
from reflect_lab.evidence.permission import NEEDS_CONSENT
from reflect_lab.evidence.registry import BUILT_IN
from reflect_lab.evidence.sandbox import interpreter
from reflect_lab.evidence.sandbox.levels import LEVEL_NAMES, Level
from reflect_lab.evidence.sandbox.limits import Limits
from reflect_lab.models.config import read_config

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "sandbox.md").read_text(encoding="utf-8")


def table(heading: str) -> dict[str, str]:
    """The first two cells of each line of the table below a heading."""
    lines = PAGE.split(f"\n## {heading}\n")[1].split("\n## ")[0].splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines if line.startswith("| ")]
    return {row[0].strip("` "): row[1].strip("`") for row in rows[1:]}


def test_every_level_is_there_by_its_name() -> None:
    named = table("The levels")
    assert set(named) == {str(level) for level in get_args(SandboxLevel)}
    levels = [Level(number=1), Level(number=2), Level(number=3), Level(number="W"), Level(number="X")]
    pattern = {str(level.number): re.sub("None", r".+", re.escape(level.name)) for level in levels}
    assert [name for name, said in named.items() if not re.fullmatch(pattern.get(name, LEVEL_NAMES[0]), said)] == []


def test_every_choice_and_every_check_is_there() -> None:
    choices = {choice.partition("`")[0] for choice in table("Which one is taken")}
    assert choices == set(get_args(SandboxChoice))
    checks = PAGE.split("\n## Which checks use it\n")[1].split("\n## ")[0]
    elsewhere = {"citations", "facts", "pydantic", "reference"}  # they run in our own process, and no code
    assert {kind for kind in BUILT_IN if f"`{kind}`" not in checks} == elsewhere


def test_the_commands_can_be_written_into_the_settings_file(tmp_path: Path) -> None:
    blocks = re.findall(r"^```toml\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    commands = [part for block in blocks for part in re.split(r"^(?=command = )", block, flags=re.MULTILINE)]
    commands = [part for part in commands if part.startswith("command = ")]
    assert len(commands) == 4
    for command in commands:
        file = tmp_path / "reflect-lab.toml"
        file.write_text(f"[sandbox]\n{command}")
        assert read_config(file).sandbox_command == tuple(tomllib.loads(command)["command"])
        assert read_config(file).sandbox_command[-2:] == ("-I", "-")


def test_what_a_user_reads_is_quoted_as_it_is() -> None:
    assert f"{Limits().heap_bytes >> 20} MiB" in PAGE and interpreter.SUBSET in PAGE
    assert "only process limits are there, which do not isolate it" in NEEDS_CONSENT
    assert "Run this code once with process limits only" in (ROOT / "labextension/src/view/Banner.tsx").read_text()


def test_other_pages_lead_here() -> None:
    for page in ("README.md", "CONTRIBUTING.md", "docs/checks-sql.md"):
        assert "sandbox.md" in (ROOT / page).read_text(encoding="utf-8"), page
