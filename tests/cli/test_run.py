"""`reflect-lab run`: what it prints and how it exits, as a real process."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from reflect_lab.documents.tour import tour_task
from tests.end_to_end.processes import COMMAND, Ended, critique, environment, run, strict_json
from tests.openai_server import OpenAITestServer, Reply, Status
from tests.otlp_receiver import OtlpReceiver

HIDES_THE_EMBEDDED_MODEL = "import sys\nsys.modules['xllamacpp'] = None\n"
ASKED = "Describe the sea.\n- [ ] it names a colour\n"


def lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.strip()]


def command(folder: Path, *words: str, task: str = ASKED, stdin: str = "", **env: str) -> Ended:
    (folder / "task.md").write_text(task)
    return run(*words, cwd=folder, env=environment(folder, **env), stdin=stdin)


def script(folder: Path, *replies: tuple[str, str]) -> str:
    """A script of (role, text) in the folder, as a model's name."""
    text = "\n".join(json.dumps({"role": role, "text": text}) for role, text in replies)
    (folder / "replies.jsonl").write_text(text)
    return "scripted:replies.jsonl"


def test_an_accepted_run_exits_with_0_and_prints_one_strict_document(tmp_path: Path) -> None:
    ended = command(tmp_path, "run", "task.md", "--model", "scripted:tour", "--json", task=tour_task())
    assert (ended.code, ended.stderr) == (0, "")
    assert ended.document["outcome"]["status"] == "accepted"
    assert [len([e for e in r["evidence"] if e["status"] == "passed"]) for r in ended.document["rounds"]] == [4, 5]


def test_an_altered_check_of_the_tour_is_not_accepted_and_exits_with_3(tmp_path: Path) -> None:
    altered = tour_task().replace("mean([2, 4, 6]) == 4.0", "mean([2, 4, 6]) == 5.0")
    ended = command(tmp_path, "run", "task.md", "--model", "scripted:tour", "--json", task=altered)
    assert (ended.code, ended.stderr) == (3, "")
    assert ended.document["outcome"]["status"] != "accepted"
    assert ended.document["outcome"]["stop_reason"] == "no_change"
    assert ended.document["outcome"]["open_blocking"]


def test_a_failed_run_exits_with_1_and_still_prints_its_document(tmp_path: Path) -> None:
    model = script(tmp_path, ("generator", "The sea."))
    ended = command(tmp_path, "run", "task.md", "--model", model, "--json")
    assert ended.code == 1
    outcome = ended.document["outcome"]
    assert (outcome["stop_reason"], outcome["error"]["kind"]) == ("error", "script_ended")
    assert (outcome["status"], outcome["draft"]) == ("stopped", "The sea.")
    assert lines(ended.stderr) == [f"reflect-lab: {outcome['error']['message']}"]


def test_a_server_that_fails_for_good_is_told_in_one_line(tmp_path: Path) -> None:
    with OpenAITestServer(Status(404, "no such model")) as server:
        env = {"OPENAI_BASE_URL": server.url}
        ended = command(tmp_path, "run", "task.md", "--model", "nobody", **env)
    assert ended.code == 1
    assert lines(ended.stdout)[0] == "Ended by an error [error, stopped]"
    assert "nobody" in ended.stdout and "Traceback" not in ended.stdout + ended.stderr


WRONG: dict[str, tuple[Sequence[str], str]] = {
    "an option": (["run", "task.md", "--modle", "x"], "did you mean --model?"),
    "an option with its value": (["run", "task.md", "--budget-token=3"], "did you mean --budget-tokens?"),
    "a choice": (["run", "task.md", "--sandbox", "proces"], "process"),
    "a number": (["run", "task.md", "--max-revisions", "two"], "--max-revisions"),
    "a bound": (["run", "task.md", "--model", "scripted:tour", "--max-revisions", "-1"], "revisions"),
    "a file": (["run", "tusk.md"], "tusk.md"),
    "a folder": (["run", "."], "can't be read"),
    "a critic": (["run", "task.md", "--model", "scripted:tour", "--critic", "grunded"], "grounded"),
    "a policy": (["run", "task.md", "--model", "scripted:tour", "--policy", "standart"], "standard"),
    "a script": (["run", "task.md", "--model", "scripted:none.jsonl"], "none.jsonl"),
    "a model": (["run", "task.md", "--model", "locl"], "local"),
    "a user's script": (["run", "task.md", "--model", "scripted:~nobody-here/a.jsonl"], "~nobody-here"),
    "a long critic": (["run", "task.md", "--model", "scripted:tour", "--critic", "a" * 300], "grounded"),
    "a long policy": (["run", "task.md", "--model", "scripted:tour", "--policy", "a" * 300], "standard"),
    "a tag": (["run", "task.md", "--model", "scripted:tour", "--tag", "colour"], "key=value"),
    "a command": (["rum", "task.md"], "run"),
    "no command": ([], "COMMAND"),
    "no task": (["run"], "TASK.md"),
}


@pytest.mark.parametrize("words, hint", WRONG.values(), ids=WRONG)
def test_wrong_use_is_one_line_that_helps(
    tmp_path: Path, words: Sequence[str], hint: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from reflect_lab.cli.main import main

    (tmp_path / "task.md").write_text(ASKED)
    monkeypatch.chdir(tmp_path)
    for name in ("OPENAI_BASE_URL", "OPENAI_API_KEY", "OPENAI_MODEL"):
        monkeypatch.delenv(name, raising=False)
    code = main(list(words))
    out, err = capsys.readouterr()
    assert (code, out) == (2, "")
    assert hint in err
    if "There is no server for" not in err:  # the screen of the three ways to go on
        assert len(lines(err)) == 1, err
    assert not (tmp_path / "traces").exists(), "nothing was run, so nothing is recorded"


def test_wrong_use_exits_with_2(tmp_path: Path) -> None:
    ended = command(tmp_path, "run", "task.md", "--modle", "x")
    assert (ended.code, ended.stdout) == (2, "")
    assert lines(ended.stderr) == ["reflect-lab run: there is no option --modle; did you mean --model?"]


def test_a_task_that_is_not_valid_is_one_line_that_names_the_line(tmp_path: Path) -> None:
    task = "Write f.\n\n```python chek\nassert f(1) == 1\n```\n"
    ended = command(tmp_path, "run", "task.md", "--model", "scripted:tour", task=task)
    assert (ended.code, ended.stdout) == (2, "")
    (line,) = lines(ended.stderr)
    assert "task.md, line 3" in line and "check" in line


def test_without_any_model_one_screen_helps(tmp_path: Path) -> None:
    hide = tmp_path / "hide"
    hide.mkdir()
    (hide / "sitecustomize.py").write_text(HIDES_THE_EMBEDDED_MODEL)
    env = environment(tmp_path)
    env["PYTHONPATH"] = f"{hide}:{env['PYTHONPATH']}"
    (tmp_path / "task.md").write_text(ASKED)
    ended = run("run", "task.md", cwd=tmp_path, env=env)
    assert (ended.code, ended.stdout) == (2, "")
    shown = ended.stderr.splitlines()
    assert len(shown) <= 24 and max(map(len, shown)) <= 110, "one screen"
    for way in ("%reflect tour", "reflect-lab model install", "OPENAI_BASE_URL"):
        assert way in ended.stderr
    assert "Traceback" not in ended.stderr


def test_a_bare_prompt_gives_one_draft_and_no_signal(tmp_path: Path) -> None:
    with OpenAITestServer(Reply("The sea is wide.")) as server:
        env = {"OPENAI_BASE_URL": server.url, "OPENAI_MODEL": "m"}
        ended = command(tmp_path, "run", "-", "--json", stdin="Describe the sea.", **env)
        assert len(server.chats) == 1
    assert ended.code == 3
    assert ended.document["outcome"]["stop_reason"] == "no_signal"
    assert ended.document["outcome"]["draft"] == "The sea is wide."


def test_the_summary_tells_stop_draft_and_traces_for_people(tmp_path: Path) -> None:
    model = script(tmp_path, ("generator", "The \x1b[31mred sea."), ("critic", critique()))
    ended = command(tmp_path, "run", "task.md", "--model", model)
    assert ended.code == 0
    assert lines(ended.stdout)[0].startswith("Accepted on the evidence shown")
    assert "red sea." in ended.stdout and "\x1b" not in ended.stdout
    assert f"traces in {tmp_path / 'traces'}" in lines(ended.stdout)[-1]


def test_spans_that_did_not_arrive_are_said_beside_the_result(tmp_path: Path) -> None:
    model = script(tmp_path, ("generator", "The red sea."), ("critic", critique()))
    with OtlpReceiver(status=400) as collector:
        env = {"OTEL_EXPORTER_OTLP_ENDPOINT": collector.endpoint}
        ended = command(tmp_path, "run", "task.md", "--model", model, "--json", **env)
    assert ended.code == 0
    assert strict_json(ended.stdout)
    (line,) = lines(ended.stderr)
    assert "did not reach" in line and collector.endpoint in line


@pytest.mark.parametrize("key", ['model: "scripted:a\\0b"', 'policy: "a\\0b.yaml"', 'critic: "a\\0b.md"'])
def test_a_name_that_no_file_can_have_is_wrong_use(tmp_path: Path, key: str) -> None:
    model = [] if key.startswith("model") else ["--model", "scripted:tour"]
    ended = command(tmp_path, "run", "task.md", *model, task=f"---\n{key}\n---\n{ASKED}")
    assert (ended.code, ended.stdout) == (2, "")
    (line,) = lines(ended.stderr)
    assert "\0" not in line


def shell(folder: Path, line: str, task: str = ASKED, **env: str) -> Ended:
    """A shell's line with `$RUN` as the command, on an accepted scripted run."""
    model = script(folder, ("generator", "The red sea \u2013 \u4e2d."), ("critic", critique()))
    (folder / "task.md").write_text(task)
    environ = environment(folder, RUN=" ".join([*COMMAND, "run", "--model", model]), **env)
    done = subprocess.run(
        ["sh", "-c", line], cwd=folder, env=environ, stdin=subprocess.DEVNULL, capture_output=True, timeout=90
    )
    return Ended(done.returncode, done.stdout.decode(), done.stderr.decode())


CLOSED: dict[str, tuple[str, int, str]] = {
    "input": ("$RUN task.md <&-", 0, ""),
    "the input that is the task": ("$RUN - <&-", 2, "standard input is closed"),
    "output": ("$RUN task.md >&-", 0, ""),
    "everything": ("$RUN task.md <&- >&- 2>&-", 0, ""),
    "a full disk": ("$RUN task.md --json >/dev/full", 1, "No space left"),
    "bytes that are no text": ("printf '\\377' | $RUN -", 2, "not UTF-8"),
    "traces that can't be a folder": ("$RUN task.md --traces task.md", 0, "can't be written"),
}


@pytest.mark.parametrize("line, code, said", CLOSED.values(), ids=CLOSED)
def test_streams_that_are_closed_full_or_no_text_end_in_a_line_and_never_in_a_traceback(
    tmp_path: Path, line: str, code: int, said: str
) -> None:
    ended = shell(tmp_path, line)
    assert ended.code == code
    assert said in ended.stderr and bool(said) == bool(ended.stderr)
    assert "Traceback" not in ended.stderr and "Exception" not in ended.stderr
    assert (tmp_path / "traces").exists() == (code != 2 and "--traces" not in line), "what was paid for is recorded"


def test_a_terminal_without_our_characters_still_gets_the_result(tmp_path: Path) -> None:
    ended = shell(tmp_path, "$RUN task.md", PYTHONIOENCODING="ascii")
    assert (ended.code, ended.stderr) == (0, "")
    assert "The red sea \\u2013 \\u4e2d." in ended.stdout


def test_settings_of_others_that_stop_us_are_one_line_and_a_traceback_only_with_debug(tmp_path: Path) -> None:
    wrong = {"OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT": "-5"}
    ended = shell(tmp_path, "$RUN task.md", **wrong)
    assert (ended.code, ended.stdout) == (1, "")
    (line,) = lines(ended.stderr)
    assert "OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT" in line and "--debug" in line
    assert "Traceback" in shell(tmp_path, "$RUN task.md --debug", **wrong).stderr


def test_what_a_server_says_in_its_error_can_not_move_the_terminals_cursor(tmp_path: Path) -> None:
    with OpenAITestServer(Status(404, "no\x1b[2J such \u202emodel")) as server:
        ended = command(tmp_path, "run", "task.md", "--model", "m", "--json", OPENAI_BASE_URL=server.url)
    assert ended.code == 1
    assert "no[ESC][2J such [RLO]model" in ended.stderr
    assert not set("\x1b\u202e") & set(ended.stderr)


def test_the_tour_runs_from_anywhere_without_a_file(tmp_path: Path) -> None:
    ended = run("run", "tour", "--json", cwd=tmp_path, env=environment(tmp_path))
    document = strict_json(ended.stdout)
    assert isinstance(document, dict)
    assert (ended.code, len(document["rounds"]), document["outcome"]["stop_reason"]) == (0, 2, "pass")
