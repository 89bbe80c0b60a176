"""Which model a name means: files, environment, defaults, and what is said when a name means nothing."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from reflect_lab.core.chat import ChatClient
from reflect_lab.core.errors import NoModel, WrongUse
from reflect_lab.models.endpoints import Embedded, Endpoints
from tests.models.recording import Recording, request
from tests.openai_server import OpenAITestServer

CONFIG = """
default_model = "big@work"
[endpoints.work]
base_url = "{url}"
api_key_env = "WORK_KEY"
max_tokens = 300
[endpoints.spare]
base_url = "{url}/"
"""


@pytest.fixture
def server() -> Iterator[OpenAITestServer]:
    with OpenAITestServer() as running:
        yield running


class FakeLocal:
    """Stands for the embedded model's process: another server of these tests."""

    model = "tiny"
    api_key = "a-random-key"

    def __init__(self, server: OpenAITestServer) -> None:
        self.url: str | None = None
        self._server = server
        server.api_key = self.api_key

    async def start(self) -> None:
        self.url = self._server.url.removesuffix("/v1")

    async def stop(self) -> None:
        self.url = None


def endpoints(folder: Path, local: Embedded | None = None, **environ: str) -> Endpoints:
    home = {"HOME": str(folder / "home"), "XDG_CACHE_HOME": str(folder / "cache")}
    (folder / "work" / ".git").mkdir(parents=True, exist_ok=True)  # the project root: nothing above it is looked at
    return Endpoints({**home, **environ}, folder / "work", lambda: local)


def write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")


async def open_client(registry: Endpoints, name: str | None) -> ChatClient:
    return await registry.client(name, role="generator", script_base=Path())


async def test_a_named_endpoint_gets_its_own_key_and_model(server: OpenAITestServer, tmp_path: Path) -> None:
    write(tmp_path / "work" / "reflect-lab.toml", CONFIG.format(url=server.url))
    registry = endpoints(tmp_path, WORK_KEY="work-secret", OPENAI_API_KEY="other", OPENAI_ORG_ID="org")
    client = await open_client(registry, "big@work")
    assert (client.model, client.endpoint, client.max_tokens, client.is_live) == ("big@work", "work", 300, True)
    hooks = Recording()
    await client.complete(request(), hooks)
    await registry.close()
    sent = server.chats[0]
    assert sent.body["model"] == "big"
    assert sent.headers["authorization"] == "Bearer work-secret"
    assert hooks.rows[0].model == "big@work"


async def test_no_organization_of_the_environment_reaches_another_server(
    server: OpenAITestServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_ORG_ID", "org-1234")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "proj-1234")
    write(tmp_path / "work" / "reflect-lab.toml", CONFIG.format(url=server.url))
    registry = endpoints(tmp_path)
    await (await open_client(registry, "m@spare")).complete(request(), Recording())
    await registry.close()
    assert "1234" not in str(server.chats[0].headers)


async def test_a_keyless_endpoint_gets_a_placeholder_and_never_a_key_of_the_environment(
    server: OpenAITestServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-not-for-strangers")
    write(tmp_path / "work" / "reflect-lab.toml", CONFIG.format(url=server.url))
    registry = endpoints(tmp_path, OPENAI_API_KEY="sk-not-for-strangers")
    await (await open_client(registry, "m@spare")).complete(request(), Recording())
    await registry.close()
    assert server.chats[0].headers["authorization"] == "Bearer none"


async def test_no_proxy_stands_before_a_server_of_this_machine(
    server: OpenAITestServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    registry = endpoints(tmp_path, OPENAI_BASE_URL=server.url)
    reply = await (await open_client(registry, "m")).complete(request(), Recording())
    await registry.close()
    assert reply.text == "ok"


async def test_the_projects_file_wins_over_the_users(server: OpenAITestServer, tmp_path: Path) -> None:
    user = tmp_path / "xdg" / "reflect-lab" / "reflect-lab.toml"
    write(user, 'default_model = "a@theirs"\n[endpoints.theirs]\nbase_url = "http://127.0.0.1:1/v1"\n')
    registry = endpoints(tmp_path, XDG_CONFIG_HOME=str(tmp_path / "xdg"), WORK_KEY="k")
    assert (await open_client(registry, None)).model == "a@theirs"
    write(tmp_path / "work" / "reflect-lab.toml", CONFIG.format(url=server.url))
    assert (await open_client(registry, None)).model == "big@work"
    assert (await open_client(registry, "x@theirs")).endpoint == "theirs"
    await registry.close()


async def test_the_nearest_project_root_is_found_from_a_folder_below(server: OpenAITestServer, tmp_path: Path) -> None:
    write(tmp_path / "work" / "reflect-lab.toml", CONFIG.format(url=server.url))
    (tmp_path / "work" / "a" / "b").mkdir(parents=True)
    registry = Endpoints({"HOME": str(tmp_path), "WORK_KEY": "k"}, tmp_path / "work" / "a" / "b", lambda: None)
    assert (await open_client(registry, None)).model == "big@work"
    await registry.close()


async def test_an_unknown_endpoint_names_the_nearest_in_one_line(server: OpenAITestServer, tmp_path: Path) -> None:
    write(tmp_path / "work" / "reflect-lab.toml", CONFIG.format(url=server.url))
    with pytest.raises(WrongUse) as wrong:
        await open_client(endpoints(tmp_path), "big@wrok")
    assert str(wrong.value) == "unknown endpoint `wrok` in `big@wrok`; did you mean 'work'?"


async def test_a_key_that_is_not_set_is_named(server: OpenAITestServer, tmp_path: Path) -> None:
    write(tmp_path / "work" / "reflect-lab.toml", CONFIG.format(url=server.url))
    with pytest.raises(WrongUse, match="set WORK_KEY"):
        await open_client(endpoints(tmp_path), "big@work")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("default_model = ", "not valid TOML"),
        ("defualt_model = 'x'", "did you mean 'default_model'?"),
        ("default_model = 3", "`default_model` must be a name"),
        ("[endpoints.a]\nbase_ur = 'x'", "did you mean 'base_url'?"),
        ("[endpoints.a]\napi_key_env = 'X'", "needs a `base_url`"),
        ("[endpoints.a]\nbase_url = 'https://x'\ntoken_count = 'vlm'", "`token_count` is 'vlm'; did you mean 'vllm'?"),
        ("[endpoints.a]\nbase_url = 'ftp://x'", "http:// or https://"),
        ("[endpoints.a]\nbase_url = 'https://me:pw@x/v1'", "must not hold a user or password"),
        ("[endpoints.a]\nbase_url = 'https://x'\napi_key = 'sk-very-secret'", "keys don't belong in this file"),
        ("[endpoints.a]\nbase_url = 'https://x'\nmax_tokens = 0", "positive"),
        ("[endpoints.a]\nbase_url = 'https://x'\ntimeout_s = true", "positive"),
        ("endpoints = 3", "[endpoints.NAME]"),
    ],
)
async def test_a_file_that_cannot_be_used_is_named_with_its_key(tmp_path: Path, text: str, says: str) -> None:
    file = tmp_path / "work" / "reflect-lab.toml"
    write(file, text)
    with pytest.raises(WrongUse) as wrong:
        await open_client(endpoints(tmp_path), "m@a")
    assert says in str(wrong.value) and str(file) in str(wrong.value)
    assert "very-secret" not in str(wrong.value) and "pw" not in str(wrong.value)


async def test_a_plain_name_goes_to_the_environments_server(server: OpenAITestServer, tmp_path: Path) -> None:
    registry = endpoints(tmp_path, OPENAI_BASE_URL=f"{server.url}/", OPENAI_API_KEY="sk-env-key")
    client = await open_client(registry, "some-model")
    await client.complete(request(), Recording())
    await registry.close()
    assert client.endpoint == server.url
    assert server.chats[0].headers["authorization"] == "Bearer sk-env-key"
    assert server.chats[0].body["model"] == "some-model"


async def test_a_key_alone_means_openai_itself(tmp_path: Path) -> None:
    registry = endpoints(tmp_path, OPENAI_API_KEY="sk-env-key", OPENAI_MODEL="gpt-5")
    client = await open_client(registry, None)
    await registry.close()
    assert (client.model, client.endpoint) == ("gpt-5", "https://api.openai.com/v1")


async def test_the_only_model_of_the_environments_server_is_the_default(
    server: OpenAITestServer, tmp_path: Path
) -> None:
    registry = endpoints(tmp_path, OPENAI_BASE_URL=server.url)
    assert (await open_client(registry, None)).model == "test-model"
    server.models = ("a", "b")
    with pytest.raises(WrongUse, match=r"offers 2 models \(a, b\).*OPENAI_MODEL"):
        await open_client(registry, None)
    await registry.close()


@pytest.mark.parametrize("models", [None, ()])
async def test_a_server_that_lists_no_model_is_said_so(tmp_path: Path, models: tuple[str, ...] | None) -> None:
    with OpenAITestServer(models=models) as server, pytest.raises(WrongUse, match="does not say which models it has"):
        await open_client(endpoints(tmp_path, OPENAI_BASE_URL=server.url), None)


async def test_a_server_that_is_not_there_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(WrongUse, match=r"http://127.0.0.1:9/v1 .*does not say which models it has"):
        await open_client(endpoints(tmp_path, OPENAI_BASE_URL="http://127.0.0.1:9/v1"), None)


async def test_a_key_without_a_model_is_not_silently_something_else(server: OpenAITestServer, tmp_path: Path) -> None:
    registry = endpoints(tmp_path, local=FakeLocal(server), OPENAI_API_KEY="sk-env-key")
    with pytest.raises(WrongUse, match=r"no model is named.*--model local"):
        await open_client(registry, None)


async def test_local_is_the_embedded_model_and_the_last_default(server: OpenAITestServer, tmp_path: Path) -> None:
    local = FakeLocal(server)
    registry = endpoints(tmp_path, local=local)
    client = await open_client(registry, None)
    hooks = Recording()
    reply = await client.complete(request(), hooks)
    assert (client.model, client.endpoint, client.is_live, reply.answered) == ("local", "local", True, "tiny")
    assert server.chats[0].headers["authorization"] == "Bearer a-random-key"
    assert reply.notices == ()
    await registry.close()
    assert local.url is None


async def test_what_the_embedded_model_refused_is_not_kept_for_its_passing_port(
    server: OpenAITestServer, tmp_path: Path
) -> None:
    server.refuse_params = ("seed",)
    registry = endpoints(tmp_path, local=FakeLocal(server))
    await (await open_client(registry, "local")).complete(request(seed=1), Recording())
    again = Recording()
    await (await open_client(registry, "local")).complete(request(seed=1), again)
    await registry.close()
    assert again.statuses == ["ok"]
    assert not (tmp_path / "cache").exists()


async def test_local_without_the_model_says_how_to_install_it(tmp_path: Path) -> None:
    with pytest.raises(NoModel, match="reflect-lab model install"):
        await open_client(endpoints(tmp_path), "local")


async def test_with_no_model_anywhere_one_screen_helps(tmp_path: Path) -> None:
    with pytest.raises(NoModel) as none:
        await open_client(endpoints(tmp_path), None)
    lines = str(none.value).splitlines()
    assert len(lines) <= 24 and max(map(len, lines)) <= 100
    text = str(none.value)
    assert text.index("%reflect tour") < text.index("model install") < text.index("OPENAI_BASE_URL")


async def test_a_slip_in_a_name_without_a_server_is_caught(tmp_path: Path) -> None:
    with pytest.raises(NoModel, match="did you mean 'local'"):
        await open_client(endpoints(tmp_path), "locl")


async def test_a_script_is_relative_to_its_base_and_starts_anew_for_each_client(tmp_path: Path) -> None:
    (tmp_path / "s.jsonl").write_text(json.dumps({"role": "generator", "text": "first"}))
    registry = endpoints(tmp_path)
    for _ in range(2):
        client = await registry.client("scripted:s.jsonl", role="generator", script_base=tmp_path)
        assert (await client.complete(request(), Recording())).text == "first"
        assert (client.model, client.endpoint, client.is_live) == ("scripted:s.jsonl", None, False)
    with pytest.raises(WrongUse, match="needs a file"):
        await open_client(registry, "scripted:")
    await registry.close()


async def test_the_keys_in_reach_are_known_to_the_redactor(server: OpenAITestServer, tmp_path: Path) -> None:
    write(tmp_path / "work" / "reflect-lab.toml", CONFIG.format(url=server.url))
    registry = endpoints(tmp_path, OPENAI_API_KEY="sk-env-key", WORK_KEY="work-secret")
    assert sorted(s.reveal() for s in registry.secrets()) == ["sk-env-key", "work-secret"]
    assert "sk-env-key" not in repr(registry.secrets())


def test_importing_the_endpoints_pulls_in_no_heavy_library() -> None:
    code = "import sys, reflect_lab.models.endpoints; print(*sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert not loaded & {"openai", "pydantic", "genai_prices", "httpx", "httpx2"}


async def test_the_test_server_runs_as_a_process_of_its_own(tmp_path: Path) -> None:
    script = tmp_path / "behaviours.jsonl"
    script.write_text('{"status": {"code": 503}}\n{"reply": {"text": "from afar"}}\n')
    file = Path(__file__).parents[1] / "openai_server.py"
    command = [sys.executable, str(file), "--port", "0", "--script", str(script)]
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe)
    assert process.stdout and process.stdin
    registry = endpoints(tmp_path, OPENAI_BASE_URL=(await process.stdout.readline()).decode().strip())
    hooks = Recording()
    reply = await (await open_client(registry, "m")).complete(request(), hooks)
    await registry.close()
    process.stdin.close()
    assert await process.wait() == 0
    assert reply.text == "from afar"
    assert hooks.statuses == ["retried", "ok"]
