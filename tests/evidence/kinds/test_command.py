"""The `command` check: real programs, their codes, their findings, and their end."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from reflect_lab.core.errors import WrongUse
from reflect_lab.core.evidence import Evidence
from reflect_lab.core.task import CheckSpec
from reflect_lab.evidence.gather import Checks
from reflect_lab.evidence.kinds import tool
from reflect_lab.evidence.sandbox.surroundings import _ALLOWED_ENVIRONMENT, environment
from tests.evidence.evidence_support import Remember, evidence_of, is_alive, run_with, task, wait_for

WAIT_S = 20.0


async def said(program: str, draft: str = "the draft", **options: Any) -> Evidence:
    more = {key: options.pop(key) for key in ("covers", "requirements") if key in options}
    argv = [sys.executable, "-c", program, *options.pop("arguments", [])]
    return await evidence_of("command", {"argv": argv, **options}, draft, **more)


@pytest.mark.parametrize(("code", "status"), [(0, "passed"), (1, "failed"), (2, "error"), (127, "error")])
async def test_the_exit_code_is_the_verdict(code: int, status: str) -> None:
    found = await said(f"print('because', file=__import__('sys').stderr); raise SystemExit({code})")
    assert found.status == status and (found.executions == 2) == (status == "error")
    assert found.rank == "executed" and found.provenance["trust"].startswith("trusted: a command of the user's")
    if status == "failed":
        assert [(f.id, f.message) for f in found.findings] == [
            ("exit", f"{Path(sys.executable).name} ended with code 1: because")
        ]
    if status == "error":
        assert f"ended with code {code}: because" in found.text


async def test_a_signal_is_an_error() -> None:
    found = await said("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)")
    assert found.status == "error" and "SIGSEGV" in found.text


async def test_the_draft_comes_on_standard_input_or_as_a_file() -> None:
    draft = "a draft with ünïcode\n" * 50_000
    program = "import sys; raise SystemExit(sys.stdin.buffer.read().decode() != 'a draft with ünïcode\\n' * 50_000)"
    assert (await said(program, draft)).status == "passed"
    program = "import sys; raise SystemExit(open(sys.argv[1]).read() != 'a: 1' or sys.stdin.read() != '')"
    found = await said(program, "a: 1", file="draft.yaml", arguments=["{file}"])
    assert found.status == "passed"


async def test_a_program_that_does_not_read_its_input_is_not_waited_for() -> None:
    async with asyncio.timeout(WAIT_S):
        assert (await said("pass", "x" * 5_000_000)).status == "passed"


async def test_there_is_no_shell() -> None:
    found = await said("import sys; raise SystemExit(sys.argv[1] != '$HOME; true | *')", arguments=["$HOME; true | *"])
    assert found.status == "passed"
    with pytest.raises(WrongUse, match=r"there is no shell: write \[ruff, check, -\]"):
        await evidence_of("command", {"argv": "ruff check -"}, "x")


async def test_the_environment_is_an_allow_list(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORK_API_KEY", "secret")
    monkeypatch.setenv("WORK_MODE", "quick")
    program = "import json, os; open(1, 'w').write(json.dumps([{'id': 'e', 'message': ' '.join(sorted(os.environ))}]))"
    found = await said(program + "\nraise SystemExit(1)", output="json", env=["WORK_MODE", "NOT_THERE"])
    names = found.findings[0].message.split()
    assert "WORK_MODE" in names and "PATH" in names and "WORK_API_KEY" not in names and "NOT_THERE" not in names


async def test_it_works_in_an_empty_folder_that_is_removed() -> None:
    program = "import os, sys; open('left', 'w'); print(os.getcwd()); raise SystemExit(1)"
    found = await said(program)
    folder = found.findings[0].message.rpartition(": ")[2]
    assert "reflect-lab-" in folder and not await asyncio.to_thread(os.path.exists, folder)


async def test_a_relative_program_is_found_from_the_folder_of_the_task(tmp_path: Path) -> None:
    script = tmp_path / "tools" / "judge"
    script.parent.mkdir()
    script.write_text(f"#!{sys.executable}\n")
    script.chmod(0o755)
    a_task = task(CheckSpec(name="c", kind="command", options={"argv": ["tools/judge"]}))
    (found,) = await Checks(a_task, folder=tmp_path).gather(run_with(a_task, "x"), Remember())
    assert found.status == "passed"
    (found,) = await Checks(a_task, folder=tmp_path / "tools").gather(run_with(a_task, "x"), Remember())
    assert found.status == "error" and "could not be started: No such file" in found.text


async def test_a_file_of_the_folder_of_the_task_may_be_an_argument(tmp_path: Path) -> None:
    (tmp_path / "tool.py").write_text(
        "import sys\nraise SystemExit(sys.argv[1:-1] != ['check', '--as=tool.py', 'no.py'])\n"
    )
    (tmp_path / "check").write_text("a word, not this file")
    argv = [sys.executable, "tool.py", "check", "--as=tool.py", "no.py", "{file}"]
    a_task = task(CheckSpec(name="c", kind="command", options={"argv": argv, "file": "draft.txt"}))
    (found,) = await Checks(a_task, folder=tmp_path).gather(run_with(a_task, "x"), Remember())
    assert found.status == "passed", found.text
    (found,) = await Checks(a_task, folder=tmp_path.parent).gather(run_with(a_task, "x"), Remember())
    assert found.status == "error"


async def test_programs_that_are_ended_at_their_deadline_leave_no_word_about_it(
    caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    late = tool.Tool(argv=["sh", "-c", "sleep 60 & sleep 60"], input=b"", folder=str(tmp_path), timeout_s=0.1)
    ended = await asyncio.gather(*(tool.run_tool(late) for _ in range(20)))
    assert {one.why for one in ended} == {"gave no answer within 0.1 s"}
    assert caplog.records == []


def test_the_page_says_the_whole_environment_of_a_command() -> None:
    page = (Path(__file__).parents[3] / "docs" / "checks.md").read_text(encoding="utf-8")
    section = page.partition("### `command`")[2].partition("\n## ")[0]
    for name in {*environment("", ""), *_ALLOWED_ENVIRONMENT}:
        assert name.endswith("_NUM_THREADS") or f"`{name}" in section, name


FINDINGS = [
    {"id": "E501", "message": "a line is too long", "line": 3},
    {"id": "quota", "message": "too much", "path": "$.spec", "requirement": "R1"},
    {"id": "note", "message": "by the way", "status": "advisory", "location": {"kind": "whole"}},
]


@pytest.mark.parametrize("given", [FINDINGS, {"findings": FINDINGS}])
async def test_findings_are_read_from_json(given: object) -> None:
    program = f"print({json.dumps(given)!r}); raise SystemExit(1)"
    found = await said(program, output="json", requirements={"R1": "small"})
    assert [(f.id, f.status, f.requirement) for f in found.findings] == [
        ("E501", "failed", None), ("quota", "failed", "R1"), ("note", "advisory", None),
    ]  # fmt: skip
    assert [(f.location.kind, f.location.value) for f in found.findings if f.location] == [
        ("line", "3"), ("path", "$.spec"), ("whole", None),
    ]  # fmt: skip


@pytest.mark.parametrize(("printed", "code", "message"), [
    ("not JSON", 1, "printed no list of findings"),
    ("3", 1, "it must be a list"),
    ('{"findings": [], "more": 1}', 1, "it must be a list"),
    ("[3]", 1, "item 1 is no object"),
    ('[{"id": "a"}]', 1, "item 1: message must be text"),
    ('[{"id": "a", "message": "m", "lin": 3}]', 1, "unknown key 'lin'"),
    ('[{"id": "a", "message": "m", "status": "great"}]', 1, "status is passed, failed or advisory"),
    ('[{"id": "a", "message": "m", "requirement": "R9"}]', 1, "there is no requirement 'R9'"),
    ('[{"id": "a", "message": "m", "line": [1]}]', 1, "line must be text or a number"),
    ('[{"id": "a", "message": "m", "line": 1, "path": "$"}]', 1, "two places"),
    ('[{"id": "a", "message": "m", "location": {"kind": "room"}}]', 1, "location must be a kind"),
    ("[" * 100_000, 1, "printed no list of findings"),
    ('[{"id": "a", "message": "m"}]', 0, "ended with code 0, which means passed"),
])  # fmt: skip
async def test_findings_that_can_not_be_read_are_an_error_never_a_pass(printed: str, code: int, message: str) -> None:
    found = await said(f"print({printed!r}); raise SystemExit({code})", output="json")
    assert found.status == "error" and message in found.text


async def test_no_findings_and_code_1_is_a_failure_of_its_own() -> None:
    found = await said("raise SystemExit(1)", output="json")
    assert [f.id for f in found.findings] == ["exit"]


async def test_a_program_that_can_not_be_started_is_an_error() -> None:
    found = await evidence_of("command", {"argv": ["no-such-program-at-all"]}, "x")
    assert found.status == "error" and "could not be started" in found.text


async def test_output_is_capped_shown_safely_and_a_flood_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    found = await said("print('\\x1b[31mred' + 'x' * 900_000); raise SystemExit(1)")
    assert found.provenance["is_output_cut"] == "true"
    assert len(found.findings[0].message) < 500 and "\x1b" not in found.text
    monkeypatch.setattr(tool, "FLOOD", 1 << 20)
    async with asyncio.timeout(WAIT_S):
        found = await said("while True: print('x' * 10_000)")
    assert found.status == "error" and "printed over 1 MB" in found.text


FAMILY = """
import os, sys, time, subprocess
code = "import time, sys, os; open(sys.argv[1], 'w').write(str(os.getpid())); time.sleep(600)"
for name, own in (("child", False), ("escaped", True)):
    subprocess.Popen([sys.executable, "-c", code, os.path.join(sys.argv[1], name)], start_new_session=own)
names = [os.path.join(sys.argv[1], name) for name in ("child", "escaped")]
while not all(os.path.exists(name) and os.path.getsize(name) for name in names):
    time.sleep(0.01)
"""


def living(folder: Path) -> list[int]:
    """Those of the two processes that still run."""
    found = [int(path.read_text()) for path in folder.iterdir()]
    assert len(found) == 2
    return [pid for pid in found if is_alive(pid)]


async def test_what_a_program_leaves_behind_ends_with_it_and_holds_nothing_up(tmp_path: Path) -> None:
    async with asyncio.timeout(WAIT_S):
        found = await said(FAMILY, arguments=[str(tmp_path)])
    assert found.status == "passed"
    assert await asyncio.to_thread(wait_for, lambda: not living(tmp_path))


async def test_at_its_deadline_a_program_ends_with_all_that_it_started(tmp_path: Path) -> None:
    found = await said(FAMILY + "time.sleep(600)", arguments=[str(tmp_path)], timeout_s=3)
    assert found.status == "error" and "gave no answer within 3 s" in found.text
    assert await asyncio.to_thread(wait_for, lambda: not living(tmp_path))


async def test_when_the_run_is_cancelled_the_program_ends_with_all_that_it_started(tmp_path: Path) -> None:
    work = asyncio.ensure_future(said(FAMILY + "time.sleep(600)", arguments=[str(tmp_path)]))

    def are_there() -> bool:
        return len([path for path in tmp_path.iterdir() if path.stat().st_size]) == 2

    assert await asyncio.to_thread(wait_for, are_there, WAIT_S)
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        async with asyncio.timeout(WAIT_S):
            await work
    assert await asyncio.to_thread(wait_for, lambda: not living(tmp_path))


@pytest.mark.parametrize(("options", "message"), [
    ({}, "the option argv is missing"),
    ({"argv": []}, "argv must be a list of texts"),
    ({"argv": ["a", 3]}, "argv must be a list of texts"),
    ({"argv": ["a", "b\0"]}, "NUL"),
    ({"argv": ["a"], "file": "../x"}, "file must be a bare name"),
    ({"argv": ["a", "{file}"]}, "needs the option file"),
    ({"argv": ["a"], "output": "jsn"}, "did you mean 'json'"),
    ({"argv": ["a"], "env": ["A=1"]}, "no name of a variable"),
    ({"argv": ["a"], "timeout_s": 0}, "timeout_s must be seconds"),
])  # fmt: skip
async def test_options_that_can_not_be_used_are_wrong_use(options: dict[str, object], message: str) -> None:
    with pytest.raises(WrongUse) as caught:
        await evidence_of("command", options, "x")
    assert message in str(caught.value)


async def test_a_fix_is_the_whole_draft_that_the_program_mended() -> None:
    given = {"findings": [{"id": "case", "message": "write it small", "line": 1}], "fix": "a draft"}
    found = await said(f"print({json.dumps(given)!r}); raise SystemExit(1)", "A draft", output="json")
    assert (found.status, found.fix) == ("failed", "a draft")
    found = await said(f"print({json.dumps(given)!r}); raise SystemExit(1)", "a draft", output="json")
    assert (found.status, found.fix) == ("failed", None), "that would mend nothing"
    found = await said('print(\'{"findings": [], "fix": "x"}\')', output="json")
    assert (found.status, found.fix) == ("passed", None)
    found = await said('print(\'{"findings": [], "fix": 3}\')', output="json")
    assert found.status == "error" and "fix must be the whole draft, as text" in found.text


async def test_the_status_is_made_of_all_findings_and_the_weightier_of_two_with_one_id_stands() -> None:
    advice = [{"id": f"a{n}", "message": "m", "status": "advisory"} for n in range(50)]
    bad = {"id": "bad", "message": "really bad", "status": "failed"}
    found = await said(f"print({json.dumps([*advice, bad])!r}); raise SystemExit(1)", output="json")
    assert (found.status, len(found.findings)) == ("failed", 50) and [f.id for f in found.failed_findings] == ["bad"]
    assert "- really bad" in found.text
    twice = [{"id": "E501", "message": "m", "status": "advisory"}, {"id": "E501", "message": "bad", "status": "failed"}]
    found = await said(f"print({json.dumps(twice)!r}); raise SystemExit(1)", output="json")
    assert [(f.id, f.status, f.message) for f in found.findings] == [("E501", "failed", "bad")]
    # A program that says passed and prints a failure says nothing, wherever the failure stands.
    assert (await said(f"print({json.dumps([*advice, bad])!r})", output="json")).status == "error"
