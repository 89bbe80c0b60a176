"""A whole run on the embedded model: what it is said to have used is what its own server counted."""

from __future__ import annotations

import re
import urllib.request
from pathlib import Path

import pytest

import reflect_lab as rl
from reflect_lab.models import embedded
from reflect_lab.models.embedded import EmbeddedServer
from reflect_lab.models.endpoints import Endpoints
from reflect_lab.options import RunOptions
from reflect_lab.session import Session
from tests.required import missing

pytestmark = pytest.mark.embedded

TASK = """---
checks:
  - text:
      must: ["(?i)monday"]
      max_words: 14
---
Rewrite this notice in one short sentence.

The city library is going to be closed for the whole of Monday.

- [ ] it names the day
"""


def counters(server: EmbeddedServer) -> dict[str, int]:
    """llama.cpp's own metrics: it counts the part of a prompt that its cache held apart from the part it read."""
    request = urllib.request.Request(f"{server.url}/metrics", headers={"Authorization": f"Bearer {server.api_key}"})
    with urllib.request.urlopen(request, timeout=60) as response:
        text = response.read().decode()
    found = {name: round(float(value)) for name, value in re.findall(r"^llamacpp:(\w+) (\S+)$", text, re.MULTILINE)}
    cached = found["prompt_tokens_cached_total"]
    prompts = found["prompt_tokens_total"] + cached
    return {"input": prompts, "cached": cached, "output": found["tokens_predicted_total"]}


async def test_tokens_equal_the_counters_of_the_server_wherever_they_are_told(tmp_path: Path) -> None:
    if why := embedded.why_missing():
        missing("embedded", why)
    server = EmbeddedServer()
    session = Session(traces=tmp_path / "traces", environ={}, cwd=tmp_path)
    session.endpoints = Endpoints({}, tmp_path, embedded=lambda: server)
    async with session:
        run = await session.reflect(TASK, RunOptions(model="local", max_revisions=1))
        counted = counters(server)
    assert run.outcome is not None and run.outcome.stop_reason != "error", run.outcome
    assert run.usage.calls is not None and run.usage.calls >= 2
    usage = {"input": run.usage.input_tokens, "cached": run.usage.cached_tokens, "output": run.usage.output_tokens}
    assert usage == counted and counted["input"] > counted["cached"] > 0
    traces = rl.open_traces(tmp_path / "traces")
    for relation in ("calls", "rounds", "runs", "spans"):
        query = f"select sum(input_tokens)::bigint, sum(output_tokens)::bigint from {relation}"
        assert traces.sql(query).rows == ((counted["input"], counted["output"]),), relation
    assert not server.is_running
