"""Whole runs of the command line against a real server on this machine: requests, tokens, drafts, keys."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import reflect_lab as rl
from reflect_lab.documents.run_document import dump_run
from reflect_lab.options import RunOptions
from tests.end_to_end.processes import (
    CANARY,
    COMMAND,
    WITHOUT_ISOLATION,
    Ended,
    critique,
    environment,
    run,
    texts_under,
)
from tests.openai_server import OpenAITestServer, Recorded, Reply
from tests.otlp_receiver import OtlpReceiver, ReceivedSpan
from tests.required import missing

SEA = """\
---
checks:
  - text: {must: [blue], requirements: [R1]}
---
Describe the sea in one sentence.
- [ ] it names a colour
"""
DOUBLE = """\
Write a Python function `double(n)`.
- [ ] 2 gives 4

```python check R1
assert double(2) == 4
```
"""
GOOD_CODE = "def double(n):\n    return 2 * n"
COLOUR = {
    "id": "colour",
    "severity": "blocking",
    "requirement": "R1",
    "location": None,
    "evidence": "it names a colour",
    "suggestion": "name one",
}
THOUGHT = "UNSPOKEN-thought-4711"
DRAFTS = ("The sea is wide.", "The sea is wide and blue.")


@dataclass(frozen=True)
class WholeRun:
    """What one run left behind, wherever it is seen."""

    ended: Ended
    requests: list[Recorded]
    tokens_sent: tuple[int, int]
    spans: list[ReceivedSpan]
    traces: Path


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WholeRun]:
    """A run with a revision: the check fails on the first draft, the second one passes."""
    folder = tmp_path_factory.mktemp("whole")
    (folder / "task.md").write_text(SEA)
    with OtlpReceiver() as collector, OpenAITestServer(api_key=CANARY) as server:
        server.add(Reply(DRAFTS[0]), Reply(critique(COLOUR, score=0.4)), Reply(DRAFTS[1]), Reply(critique()))
        env = environment(
            folder,
            OPENAI_BASE_URL=server.url,
            OPENAI_API_KEY=CANARY,
            OTEL_EXPORTER_OTLP_ENDPOINT=collector.endpoint,
        )
        ended = run("run", "task.md", "--json", "--traces", "traces", cwd=folder, env=env)
        yield WholeRun(ended, server.requests, server.tokens_sent, collector.spans, folder / "traces")


def chats(requests: list[Recorded]) -> list[Recorded]:
    return [request for request in requests if request.path.endswith("/chat/completions")]


def test_exactly_the_expected_requests_arrive(whole: WholeRun) -> None:
    assert whole.ended.code == 0, whole.ended.stderr
    asked = [(request.method, request.path) for request in whole.requests]
    assert asked == [("GET", "/v1/models"), *[("POST", "/v1/chat/completions")] * 4]
    first, critic, second, last = (request.body for request in chats(whole.requests))
    assert all(body["model"] == "test-model" and body["stream"] for body in (first, critic, second, last))
    assert [body.get("temperature") for body in (first, critic, second, last)] == [None, 0.0, None, 0.0]
    assert "response_format" in critic and "response_format" not in first
    assert DRAFTS[0] in said(critic) and DRAFTS[0] in said(second) and DRAFTS[1] in said(last)
    assert DRAFTS[0] not in said(first) and DRAFTS[0] not in said(last)
    assert "it names a colour" in said(second)


def test_the_document_tells_the_run_that_happened(whole: WholeRun) -> None:
    document = whole.ended.document
    assert document["schema"] == "reflect-lab/run/1"
    assert document["outcome"]["stop_reason"] == "pass" and document["outcome"]["draft"] == DRAFTS[1]
    assert [r["draft"]["text"] for r in document["rounds"]] == list(DRAFTS)
    assert [e["status"] for r in document["rounds"] for e in r["evidence"]] == ["failed", "passed"]
    assert document["outcome"]["recorded"] is True and document["notices"] == []
    assert whole.ended.stderr == ""


def test_tokens_are_the_same_wherever_they_are_counted(whole: WholeRun) -> None:
    sent = whole.tokens_sent
    assert min(sent) > 0
    usage = whole.ended.document["usage"]
    assert (usage["input_tokens"], usage["output_tokens"], usage["calls"]) == (*sent, 4)
    ledger = whole.ended.document["ledger"]
    assert (sum(r["input_tokens"] for r in ledger), sum(r["output_tokens"] for r in ledger)) == sent
    traces = rl.open_traces(whole.traces)
    for relation in ("calls", "rounds", "runs", "spans"):
        query = f"select sum(input_tokens)::bigint, sum(output_tokens)::bigint from {relation}"
        assert tuple(traces.sql(query).rows[0]) == sent, relation
    assert traces.sql("select count(*), sum(calls)::bigint from rounds").rows == ((2, 4),)
    chat_spans = [span for span in whole.spans if span.attributes.get("gen_ai.operation.name") == "chat"]
    assert len(chat_spans) == 4
    for index, name in enumerate(("gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens")):
        assert sum(span.attributes[name] for span in chat_spans) == sent[index]
        assert sum(name in span.attributes for span in whole.spans) == 4, "token usage sits on chat spans only"


def test_the_collector_gets_the_whole_tree_once(whole: WholeRun) -> None:
    document = whole.ended.document
    ids = [span.span_id for span in whole.spans]
    assert len(set(ids)) == len(ids)
    roots = [span for span in whole.spans if not span.parent_span_id]
    assert [span.attributes["reflect.run.id"] for span in roots] == [document["run_id"]]
    assert {span.parent_span_id for span in whole.spans} - {""} <= set(ids)
    local = rl.open_traces(whole.traces).sql("select span_id from spans").rows
    assert {row[0] for row in local} == set(ids)


def test_the_key_is_nowhere(whole: WholeRun) -> None:
    assert all(request.headers["authorization"] == f"Bearer {CANARY}" for request in whole.requests)
    assert CANARY not in whole.ended.stdout + whole.ended.stderr
    assert CANARY not in repr(whole.spans)
    rl.open_traces(whole.traces).runs()  # builds the index, which must not hold the key either
    files = texts_under(whole.traces)
    assert {Path(name).suffix for name in files} == {".jsonl", ".duckdb"}
    assert [name for name, data in files.items() if CANARY.encode() in data] == []


def test_a_key_that_a_server_repeats_is_nowhere_either(tmp_path: Path) -> None:
    (tmp_path / "task.md").write_text(SEA)
    with OpenAITestServer(Reply(f"The blue sea, {CANARY}."), Reply(critique())) as echoing:
        env = environment(tmp_path, OPENAI_BASE_URL=echoing.url, OPENAI_API_KEY=CANARY)
        told = run("run", "task.md", "--json", "--traces", "traces", cwd=tmp_path, env=env)
    assert told.code == 0, told.stderr
    with OpenAITestServer(api_key="another-key-of-the-server") as refusing:
        env = environment(tmp_path, OPENAI_BASE_URL=refusing.url, OPENAI_API_KEY=CANARY, OPENAI_MODEL="m")
        refused = run("run", "task.md", "--traces", "traces", cwd=tmp_path, env=env)
    assert refused.code == 1 and "refused the key" in refused.stdout
    assert CANARY not in told.stdout + told.stderr + refused.stdout + refused.stderr
    rl.open_traces(tmp_path / "traces").runs()
    files = texts_under(tmp_path)
    assert [name for name, data in files.items() if CANARY.encode() in data] == []


REPLIES: dict[str, tuple[Reply, str]] = {
    "a fence": (Reply(f"```python\n{GOOD_CODE}\n```"), "fence:python"),
    "prose around a fence": (Reply(f"Sure!\n\n```python\n{GOOD_CODE}\n```\n\nIt doubles n."), "fence:python"),
    "a fence of another language too": (
        Reply(f"Run it:\n```bash\npython -c 'double(2)'\n```\n```python\n{GOOD_CODE}\n```"),
        "fence:python",
    ),
    "thought in tags": (
        Reply(f"<think>{THOUGHT}\n```python\nwrong\n```</think>```python\n{GOOD_CODE}\n```"),
        "fence:python",
    ),
    "thought in a field": (Reply(f"```python\n{GOOD_CODE}\n```", reasoning=THOUGHT), "fence:python"),
    "nothing but code": (Reply(GOOD_CODE), "whole"),
}


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[dict[str, Any], list[Recorded]]]:
    """Each reply as a first draft of a run whose critic asks for a revision, so that later requests can be read."""
    folder = tmp_path_factory.mktemp("replies")
    wants_more = critique({**COLOUR, "evidence": "2 gives 4"}, score=0.4)
    found = {}
    for name, (reply, _) in REPLIES.items():
        last = Reply(f"```python\n{GOOD_CODE}  # doubled\n```")
        with OpenAITestServer(reply, Reply(wants_more), last, Reply(critique())) as server:
            session = rl.Session(cwd=folder, environ=environment(folder, OPENAI_BASE_URL=server.url))
            ended = asyncio.run(reflect(session, DOUBLE, sandbox="process"))
            found[name] = (dump_run(ended), chats(server.requests))
    return found


async def reflect(session: rl.Session, task: str, **options: Any) -> rl.Run:
    async with session:
        return await session.reflect(task, RunOptions(**options))


@pytest.mark.parametrize("name", REPLIES)
def test_the_draft_is_taken_from_the_reply(
    answers: dict[str, tuple[dict[str, Any], list[Recorded]]], name: str
) -> None:
    document, _ = answers[name]
    draft = document["rounds"][0]["draft"]
    assert (draft["text"], draft["extraction"]) == (GOOD_CODE, REPLIES[name][1])
    assert document["rounds"][0]["evidence"][-1]["status"] == "passed"
    assert document["outcome"]["stop_reason"] == "pass" and document["outcome"]["draft_index"] == 1


@pytest.mark.parametrize("name", REPLIES)
def test_no_reasoning_is_in_any_later_request(
    answers: dict[str, tuple[dict[str, Any], list[Recorded]]], name: str
) -> None:
    document, requests = answers[name]
    assert len(requests) == 4
    assert THOUGHT not in json.dumps([request.body for request in requests])
    reasoning = document["rounds"][0]["draft"]["reasoning"]
    assert (reasoning is not None and THOUGHT in reasoning) == name.startswith("thought")


def test_two_blocks_of_the_wanted_language_are_a_problem_of_form_and_are_revised(tmp_path: Path) -> None:
    (tmp_path / "task.md").write_text(DOUBLE)
    two = Reply("```python\ndef double(n): return n\n```\nor\n```python\ndef double(n): return 2 * n\n```")
    with OpenAITestServer(two, Reply(f"```python\n{GOOD_CODE}\n```"), Reply(critique())) as server:
        env = environment(tmp_path, OPENAI_BASE_URL=server.url)
        document = run("run", "task.md", "--json", "--sandbox", "process", cwd=tmp_path, env=env).document
    first, second = document["rounds"]
    assert first["draft"]["ambiguous"] and first["critique"]["validity"] == "not_asked"
    assert next((e["source"], e["status"]) for e in first["evidence"]) == ("format", "failed")
    assert second["draft"]["text"] == GOOD_CODE and document["outcome"]["stop_reason"] == "pass"


def judged(folder: Path, *words: str, command: Sequence[str] = COMMAND) -> Ended:
    """A right draft of a live model, checked by code."""
    (folder / "task.md").write_text(DOUBLE)
    with OpenAITestServer(Reply(f"```python\n{GOOD_CODE}\n```"), Reply(critique())) as server:
        env = environment(folder, OPENAI_BASE_URL=server.url)
        return run("run", "task.md", "--json", *words, cwd=folder, env=env, command=command)


def test_code_of_a_live_model_runs_isolated(tmp_path: Path) -> None:
    isolated = judged(tmp_path)
    evidence = isolated.document["rounds"][0]["evidence"][-1]
    if evidence["status"] == "not_run":
        missing("sandbox", evidence["text"])
    assert evidence["status"] == "passed" and evidence["sandbox"]["selftest"] == "passed"
    assert evidence["sandbox"]["level"] in (2, 3) and isolated.code == 0


def test_code_of_a_live_model_runs_without_isolation_only_when_the_user_says_so(tmp_path: Path) -> None:
    command = (sys.executable, "-c", WITHOUT_ISOLATION)
    refused = judged(tmp_path, command=command)
    evidence = refused.document["rounds"][0]["evidence"][-1]
    assert evidence["status"] == "not_run" and "--sandbox process" in evidence["text"] and refused.code == 3
    assert refused.document["outcome"]["stop_reason"] == "unverified"
    assert refused.document["outcome"]["status"] == "escalated"
    allowed = judged(tmp_path, "--sandbox", "process", command=command)
    evidence = allowed.document["rounds"][0]["evidence"][-1]
    assert evidence["status"] == "passed" and evidence["sandbox"]["level"] == 1 and allowed.code == 0
    assert allowed.document["outcome"]["stop_reason"] == "pass"


def test_a_prompt_does_not_grow_with_the_number_of_its_round(tmp_path: Path) -> None:
    """Five revisions over drafts and critiques of one size: each revision's prompt is as long as the one before."""
    (tmp_path / "task.md").write_text(SEA)
    with OpenAITestServer() as server:
        for number in range(6):
            server.add(Reply(f"Draft number {number} is about a sea."), Reply(critique(COLOUR, score=0.1 * number)))
        env = environment(tmp_path, OPENAI_BASE_URL=server.url)
        policy = "profile: long\nlimits: {revisions: 5}\nrules: {patience: 9, repeat_limit: 9}\n"
        (tmp_path / "policy.yaml").write_text(policy)
        ended = run("run", "task.md", "--json", "--policy", "policy.yaml", cwd=tmp_path, env=env)
        bodies = [request.body for request in server.chats]
    assert len(ended.document["rounds"]) == 6, ended.document["outcome"]
    generator = [len(said(body)) for body in bodies[0::2]]
    critic = [len(said(body)) for body in bodies[1::2]]
    assert len(set(generator[1:])) == 1 and generator[1] > generator[0]
    assert len(set(critic)) == 1


def said(body: dict[str, Any]) -> str:
    return "\n".join(message["content"] for message in body["messages"])
