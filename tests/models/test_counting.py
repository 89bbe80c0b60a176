"""Servers that count a prompt when asked: their count is the estimate; others are asked once."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest

from reflect_lab.core.chat import Message
from reflect_lab.models import embedded
from reflect_lab.models.endpoints import Endpoints
from reflect_lab.models.openai_client import OpenAIClient, Server, open_sdk
from reflect_lab.models.refused import RefusedParams
from reflect_lab.options import RunOptions
from reflect_lab.session import Session
from tests.models.recording import Recording, request
from tests.openai_server import OpenAITestServer, Reply
from tests.required import missing

Way = Literal["llama.cpp", "vllm"]
PROMPT = (Message(role="system", content="You are brief."), Message(role="user", content="Describe the sea. " * 20))


def client_of(server: OpenAITestServer, way: Way | None) -> OpenAIClient:
    where = Server(base_url=server.url, label="here", token_count=way)
    return OpenAIClient(model="test-model", server=where, sdk=open_sdk(where, 30.0), refused=RefusedParams())


@pytest.mark.parametrize("way", ["llama.cpp", "vllm"])
async def test_the_servers_count_is_the_estimate_and_the_bound(way: Way) -> None:
    with OpenAITestServer(token_count=way) as server:
        client = client_of(server, way)
        assert client.estimate(PROMPT) == 133, "a third of the bytes, before the server was asked"
        await client.measure(PROMPT)
        await client.measure(PROMPT)
        assert client.estimate(PROMPT) == client.bound(PROMPT) == 94
        assert len(server.requests) == 1 and server.requests[0].body["messages"][1]["content"] == PROMPT[1].content
        await client.close()


async def test_a_server_that_cannot_count_is_asked_once_and_estimated_from_then_on() -> None:
    with OpenAITestServer() as server:
        client = client_of(server, "vllm")
        await client.measure(PROMPT)
        await client.measure(PROMPT[:1])
        assert [r.path for r in server.requests] == ["/tokenize"]
        assert client.estimate(PROMPT) == 133
        await client.close()


async def test_no_server_is_asked_that_nobody_said_can_count() -> None:
    with OpenAITestServer(token_count="llama.cpp") as server:
        client = client_of(server, None)
        await client.measure(PROMPT)
        assert server.requests == []
        await client.close()


async def test_a_run_on_a_server_that_counts_reserves_what_it_is_charged(tmp_path: Path) -> None:
    clean = '{"issues": [], "score": 0.9, "requirements_checked": ["R1"]}'
    wrong = '{"issues": [{"id": "a", "severity": "blocking", "requirement": "R1", "evidence": ""}], "score": 0.4}'
    replies = [Reply("The sea is wide."), Reply(wrong), Reply("The sea is blue."), Reply(clean)]
    with OpenAITestServer(*replies, token_count="llama.cpp") as server:
        settings = f'[endpoints.here]\nbase_url = "{server.url}"\ntoken_count = "llama.cpp"\nmax_tokens = 200\n'
        (tmp_path / "reflect-lab.toml").write_text(settings)
        async with Session(cwd=tmp_path, environ={"HOME": str(tmp_path)}) as session:
            task = "Describe the sea.\n- [ ] it names a colour\n"
            run = await session.reflect(task, RunOptions(model="test-model@here"))
        asked = len(server.requests) - len(server.chats)
    assert run.outcome and run.outcome.stop_reason == "pass" and len(run.ledger) == 4
    assert [(row.reserved_tokens or 0) - 200 for row in run.ledger] == [row.input_tokens for row in run.ledger]
    assert asked <= 6, "each prompt once: two drafts, two critiques, and what the revision's critique was sized by"


@pytest.mark.embedded
async def test_the_embedded_model_counts_its_prompts_exactly(tmp_path: Path) -> None:
    if why := embedded.why_missing():
        missing("embedded", why)
    endpoints = Endpoints({"HOME": str(tmp_path)}, tmp_path)
    try:
        client = await endpoints.client("local", role="generator", script_base=tmp_path)
        await client.measure(PROMPT)
        recording = Recording()
        await client.complete(request(messages=PROMPT, max_tokens=4), recording)
        assert client.estimate(PROMPT) == recording.rows[-1].input_tokens
    finally:
        await endpoints.close()
