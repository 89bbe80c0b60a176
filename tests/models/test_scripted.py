"""Scripted models: what a script may hold and how its lines are played."""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path
from typing import Any

import pytest

from reflect_lab.core.chat import Message
from reflect_lab.core.errors import ModelFailed, WrongUse
from reflect_lab.core.evidence import Finding, Location
from reflect_lab.models.scripted import Script, ScriptedClient
from tests.models.recording import Recording, Waits, request


def client_of(folder: Path, *lines: Any, waits: Waits | None = None) -> ScriptedClient:
    file = folder / "script.jsonl"
    file.write_text("\n".join(x if isinstance(x, str) else json.dumps(x) for x in lines), encoding="utf-8")
    return ScriptedClient(Script.load(file), model="scripted:script.jsonl", clock=(waits or Waits()).clock)


async def test_each_role_reads_its_own_lines_in_order(tmp_path: Path) -> None:
    client = client_of(
        tmp_path,
        {"role": "generator", "text": "first", "usage": {"input_tokens": 5, "output_tokens": 2}},
        {"role": "critic", "json": {"issues": [], "score": 0.9}},
        {"role": "generator", "text": "second"},
    )
    hooks = Recording()
    texts = [(await client.complete(request(role=role), hooks)).text for role in ("generator", "generator", "critic")]
    assert texts == ["first", "second", '{"issues": [], "score": 0.9}']
    assert hooks.deltas == texts
    assert hooks.statuses == ["ok", "ok", "ok"]
    assert (hooks.rows[0].input_tokens, hooks.rows[0].output_tokens) == (5, 2)
    assert (hooks.rows[1].input_tokens, hooks.rows[1].output_tokens, hooks.rows[1].cost) == (None, None, None)
    assert not client.is_live and client.max_tokens == 1024


def test_the_estimate_is_a_third_of_the_bytes_rounded_up(tmp_path: Path) -> None:
    client = client_of(tmp_path)
    assert client.estimate([Message(role="user", content="äbc"), Message(role="user", content="123")]) == 3
    assert client.estimate([]) == 0


async def test_cost_and_all_token_parts_reach_the_ledger(tmp_path: Path) -> None:
    usage = {"input_tokens": 9, "cached_tokens": 4, "output_tokens": 3, "reasoning_tokens": 1, "cost": 0.25}
    hooks = Recording()
    line = {"role": "generator", "text": "x", "usage": {**usage, "currency": "EUR"}}
    await client_of(tmp_path, line).complete(request(), hooks)
    row = hooks.rows[0]
    assert (row.input_tokens, row.cached_tokens, row.output_tokens, row.reasoning_tokens) == (9, 4, 3, 1)
    assert (row.cost, row.currency) == (0.25, "EUR")


async def test_refusals_filters_and_length_are_as_from_a_server(tmp_path: Path) -> None:
    client = client_of(
        tmp_path,
        {"role": "generator", "text": "", "refusal": "No."},
        {"role": "generator", "text": "part", "finish_reason": "length"},
        {"role": "generator", "text": "part", "finish_reason": None},
        {"role": "generator", "text": None, "finish_reason": "content_filter"},
    )
    refused, long, cut, filtered = [await client.complete(request(), Recording()) for _ in range(4)]
    assert (refused.refusal, refused.text) == ("No.", "")
    assert (long.truncated, long.finish_reason) == (True, "length")
    assert (cut.truncated, cut.finish_reason) == (True, None)
    assert filtered.refusal and filtered.text == ""


async def test_a_passing_error_takes_the_next_line_of_the_same_call(tmp_path: Path) -> None:
    waits, hooks = Waits(), Recording()
    client = client_of(
        tmp_path,
        {"role": "generator", "error": {"status": 429, "retry_after": 2}},
        {"role": "generator", "error": {"status": 503}},
        {"role": "generator", "text": "at last"},
        waits=waits,
    )
    assert (await client.complete(request(), hooks)).text == "at last"
    assert hooks.statuses == ["retried", "retried", "ok"]
    assert waits.slept == [2.0, 1.0]
    assert not any(row.cost_uncertain for row in hooks.rows)


async def test_three_errors_end_the_call_and_leave_the_fourth_line(tmp_path: Path) -> None:
    error = {"role": "generator", "error": {"status": 429, "retry_after": 0}}
    client = client_of(tmp_path, error, error, error, {"role": "generator", "text": "unread"})
    with pytest.raises(ModelFailed) as failed:
        await client.complete(request(), Recording())
    assert failed.value.kind == "rate_limited"
    assert client.script.next_reply("generator").text == "unread"


@pytest.mark.parametrize("status", [401, 403, 404, 400])
async def test_a_provider_that_refuses_is_not_asked_again(tmp_path: Path, status: int) -> None:
    hooks = Recording()
    client = client_of(tmp_path, {"role": "generator", "error": {"status": status}})
    with pytest.raises(ModelFailed) as failed:
        await client.complete(request(), hooks)
    assert (failed.value.kind, hooks.statuses) == ("provider_refused", ["refused"])


async def test_a_broken_connection_may_have_cost_something(tmp_path: Path) -> None:
    hooks = Recording()
    client = client_of(tmp_path, {"role": "generator", "error": {}}, {"role": "generator", "text": "x"})
    await client.complete(request(), hooks)
    assert [row.cost_uncertain for row in hooks.rows] == [True, False]


async def test_a_script_that_runs_out_is_a_clear_error_without_a_row(tmp_path: Path) -> None:
    hooks = Recording()
    client = client_of(tmp_path, {"role": "generator", "text": "only"})
    await client.complete(request(), hooks)
    with pytest.raises(ModelFailed) as failed:
        await client.complete(request(), hooks)
    assert failed.value.kind == "script_ended"
    assert "script.jsonl" in str(failed.value) and "generator" in str(failed.value)
    assert hooks.statuses == ["ok"]


async def test_a_delay_that_is_cancelled_is_a_cancelled_row(tmp_path: Path) -> None:
    hooks = Recording()
    client = client_of(tmp_path, {"role": "generator", "text": "late", "delay_s": 30})
    began = time.monotonic()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await client.complete(request(), hooks)
    assert time.monotonic() - began < 5
    assert (hooks.statuses, hooks.rows[0].cost_uncertain, hooks.rows[0].input_tokens) == (["cancelled"], True, None)


def test_check_lines_are_read_per_name(tmp_path: Path) -> None:
    place = {"kind": "path", "value": "/a"}
    finding = {"id": "owner", "message": "is missing", "requirement": "R2", "location": place}
    client = client_of(
        tmp_path,
        {"role": "check", "name": "quota", "status": "failed", "text": "too much", "gate": True},
        {"role": "check", "name": "labels", "status": "failed", "findings": [finding]},
        {"role": "check", "name": "quota", "status": "passed"},
    )
    first, second = client.next_check("quota"), client.next_check("quota")
    assert first and second
    assert (first.status, first.text, first.gate, second.status) == ("failed", "too much", True, "passed")
    labels = client.next_check("labels")
    where = Location(kind="path", value="/a")
    owner = Finding(id="owner", status="failed", message="is missing", requirement="R2", location=where)
    assert labels and labels.findings == (owner,)
    assert client.next_check("another") is None
    assert client.script.check_names == ("quota", "labels")
    with pytest.raises(ModelFailed) as failed:
        client.next_check("quota")
    assert failed.value.kind == "script_ended"


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("{not json", "not valid JSON"),
        ("[1]", "JSON object"),
        ({"text": "no role"}, "unknown role None"),
        ({"role": "actor", "text": "x"}, "unknown role 'actor'"),
        ({"role": "generator", "txt": "x"}, "unknown field `txt`; did you mean 'text'?"),
        ({"role": "generator", "text": "x", "json": {}}, "either `text` or `json`"),
        ({"role": "generator", "text": 5}, "`text`"),
        ({"role": "generator", "usage": {"input_tokens": "5"}}, "`usage.input_tokens`"),
        ({"role": "generator", "usage": {"output_tokens": -5}}, "`usage.output_tokens`"),
        ({"role": "generator", "error": {"status": 200}}, "`error.status`"),
        ({"role": "check", "name": "x", "status": "great"}, "`status`"),
        ({"role": "check", "status": "passed"}, "`name`"),
    ],
)
def test_a_line_that_cannot_be_used_is_named(tmp_path: Path, line: Any, says: str) -> None:
    with pytest.raises(WrongUse) as wrong:
        client_of(tmp_path, {"role": "generator", "text": "fine"}, "", line)
    assert says in str(wrong.value)
    assert "script.jsonl, line 3" in str(wrong.value)


def test_a_script_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(WrongUse, match=r"nowhere\.jsonl"):
        Script.load(tmp_path / "nowhere.jsonl")
    (tmp_path / "latin.jsonl").write_bytes(b'{"role": "generator", "text": "\xe4"}')
    with pytest.raises(WrongUse, match="not UTF-8"):
        Script.load(tmp_path / "latin.jsonl")
