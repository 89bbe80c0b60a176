"""The page `docs/scripted-models.md`: its example runs, and its keys are those that a script may have."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

import pytest

from reflect_lab.core.errors import WrongUse
from reflect_lab.core.evidence import Status
from reflect_lab.models.script_lines import ROLES, ReplyLine, _Check, read_script
from tests.end_to_end.processes import environment, run

PAGE = (Path(__file__).parents[2] / "docs" / "scripted-models.md").read_text(encoding="utf-8")
TASK = re.findall(r"^````markdown\n(.*?)^````$", PAGE, re.DOTALL | re.MULTILINE)[0]
SCRIPT = re.findall(r"^```jsonl\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)[0]


def keys(heading: str) -> list[str]:
    lines = PAGE.split(f"\n### {heading}")[1].split("\n##")[0].splitlines()
    return [match[1] for line in lines if (match := re.match(r"\| `(\w+)` \|", line))]


def test_the_example_runs_as_the_page_says(tmp_path: Path) -> None:
    (tmp_path / "sum.md").write_text(TASK)
    (tmp_path / "sum.jsonl").write_text(SCRIPT)
    words = re.search(r"`reflect-lab (run sum\.md --model scripted:sum\.jsonl)`", PAGE)
    assert words is not None
    ended = run(*words[1].split(), "--json", cwd=tmp_path, env=environment(tmp_path))
    document = ended.document
    assert (ended.code, document["outcome"]["status"]) == (0, "accepted"), ended.stderr
    statuses = [[e["status"] for e in r["evidence"] if e["source"] == "tests"] for r in document["rounds"]]
    assert statuses == [["failed"], ["passed"]]


def test_the_keys_on_the_page_are_those_that_a_line_may_have() -> None:
    assert sorted(keys("Keys of a reply")) == sorted([*ReplyLine.model_fields, "json"])
    assert sorted(keys("Keys of a `check` line")) == sorted(_Check.model_fields)
    assert [role for role in ROLES if f"- `{role}`" not in PAGE] == []
    statuses = next(line for line in PAGE.splitlines() if line.startswith("| `status`"))
    assert [status for status in get_args(Status) if f"`{status}`" not in statuses] == []


def test_a_key_that_is_not_on_the_page_is_refused_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "s.jsonl"
    file.write_text('{"role": "generator", "text": "x"}\n\n{"role": "generator", "txt": "x"}\n')
    with pytest.raises(WrongUse, match="line 3: unknown field `txt`"):
        read_script(file)


def test_a_script_without_a_critic_is_told_what_to_do_and_the_advice_works(tmp_path: Path) -> None:
    (tmp_path / "sum.md").write_text(TASK)
    (tmp_path / "sum.jsonl").write_text(SCRIPT.splitlines()[2] + "\n")
    words = ("run", "sum.md", "--model", "scripted:sum.jsonl")
    ended = run(*words, cwd=tmp_path, env=environment(tmp_path))
    assert ended.code == 1 and "no further line for the critic; add one" in ended.stdout
    assert "docs/scripted-models.md" in ended.stdout and "--policy repair" in ended.stdout
    ended = run(*words, "--policy", "repair", cwd=tmp_path, env=environment(tmp_path))
    assert "Ended by an error" not in ended.stdout
