"""Ctrl-C while a run waits: the result with all that was paid for, at once, and nothing left behind."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import psutil

import reflect_lab as rl
from tests.end_to_end.processes import COMMAND, Ended, all_gone, descendants, environment
from tests.openai_server import Hang, OpenAITestServer, Reply
from tests.otlp_receiver import OtlpReceiver

PROMPT_S = 1.5
"""Seconds within which the prompt is back."""

ENDLESS = """\
Write a Python function `f()`.

```python check
assert f() == 1
```
"""
PROSE = "Describe the sea.\n- [ ] it names a colour\n"


@dataclass(frozen=True)
class Interrupted:
    ended: Ended
    seconds: float
    children: list[psutil.Process]


def interrupted(
    folder: Path, task: str, server: OpenAITestServer, wait: Callable[[int], object], **env: str
) -> Interrupted:
    """A run that gets SIGINT once `wait`, which is told its process id, returns."""
    (folder / "task.md").write_text(task)
    environ = environment(folder, OPENAI_BASE_URL=server.url, OPENAI_MODEL="m", **env)
    command = [*COMMAND, "run", "task.md", "--json", "--sandbox", "process"]
    process = subprocess.Popen(
        command, cwd=folder, env=environ, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    try:
        wait(process.pid)
        children = descendants(process.pid)
        sent = time.monotonic()
        process.send_signal(signal.SIGINT)
        stdout, stderr = process.communicate(timeout=30)
    finally:
        process.kill()
    return Interrupted(Ended(process.returncode, stdout, stderr), time.monotonic() - sent, children)


def test_while_the_server_hangs_on_the_critique_the_draft_is_kept(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    with OpenAITestServer(Reply("The sea is wide."), Hang()) as server:
        found = interrupted(tmp_path, PROSE, server, lambda _: server.await_requests(2, 60))
        server.hang_up()
    record_property("seconds", found.seconds)
    assert found.ended.code == 3, found.ended.stderr
    assert found.ended.stderr == ""
    outcome = found.ended.document["outcome"]
    assert (outcome["stop_reason"], outcome["status"]) == ("cancelled", "stopped")
    assert outcome["draft"] == "The sea is wide." and outcome["recorded"] is True
    statuses = [(row["role"], row["status"]) for row in found.ended.document["ledger"]]
    assert statuses == [("generator", "ok"), ("critic", "cancelled")]
    assert found.seconds < PROMPT_S
    assert rl.open_traces(tmp_path / "traces").sql("select status, stop_reason from runs").rows == (
        ("stopped", "cancelled"),
    )


def test_while_the_server_hangs_on_the_first_draft_there_is_a_document_too(tmp_path: Path) -> None:
    with OpenAITestServer(Hang(headers=True)) as server:
        found = interrupted(tmp_path, PROSE, server, lambda _: server.await_requests(1, 60))
    assert found.ended.code == 3, found.ended.stderr
    assert found.ended.document["outcome"]["stop_reason"] == "cancelled"
    assert found.ended.document["outcome"]["draft"] is None and found.ended.document["rounds"] == []
    assert found.seconds < PROMPT_S


def test_while_a_check_runs_its_process_ends_with_the_run(tmp_path: Path) -> None:
    def endless_child(pid: int) -> None:
        deadline = time.monotonic() + 60
        while not (tmp_path / "started").exists():
            assert time.monotonic() < deadline, "the check never started"
            time.sleep(0.05)

    started = tmp_path / "started"
    code = f"open({str(started)!r}, 'w').close()\ndef f():\n    while True: pass"
    with OpenAITestServer(Reply(f"```python\n{code}\n```")) as server:
        found = interrupted(tmp_path, ENDLESS, server, endless_child)
    assert found.children, "the check has a process of its own"
    assert all_gone(found.children, 3.0)
    assert found.ended.document["outcome"]["stop_reason"] == "cancelled"
    assert found.ended.document["outcome"]["draft"] == code
    assert found.seconds < PROMPT_S


def test_a_collector_that_hangs_does_not_hold_the_result_back(tmp_path: Path) -> None:
    with OtlpReceiver() as collector, OpenAITestServer(Reply("The sea is wide."), Hang()) as server:
        collector.gate.clear()
        (tmp_path / "task.md").write_text(PROSE)
        environ = environment(
            tmp_path,
            OPENAI_BASE_URL=server.url,
            OPENAI_MODEL="m",
            OTEL_EXPORTER_OTLP_ENDPOINT=collector.endpoint,
        )
        process = subprocess.Popen(
            [*COMMAND, "run", "task.md"],
            cwd=tmp_path,
            env=environ,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        try:
            server.await_requests(2, 60)
            sent = time.monotonic()
            process.send_signal(signal.SIGINT)
            assert process.stdout is not None and process.stderr is not None
            first = process.stdout.readline()
            waited = time.monotonic() - sent
            rest, stderr = process.stdout.read(), process.stderr.read()
        finally:
            process.kill()
            process.wait()
    assert "[cancelled" in first and "The sea is wide." in rest
    assert waited < PROMPT_S
    assert "still on their way" in stderr
