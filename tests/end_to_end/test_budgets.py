"""Budgets against a real server: what a small token budget buys, prices, deadlines, and what a server overcharged."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from reflect_lab.core.errors import WrongUse
from reflect_lab.core.run import Run
from reflect_lab.documents.tour import tour_task
from reflect_lab.options import RunOptions
from reflect_lab.session import Session
from tests.end_to_end.processes import critique, environment
from tests.openai_server import COUNTED, Hang, OpenAITestServer, Reply

FIRST = "```python\ndef mean(xs):\n    return sum(xs) / len(xs)\n```"
SECOND = "```python\ndef mean(xs):\n    return sum(xs) / len(xs) if xs else 0.0\n```"
EMPTY = {
    "id": "empty", "severity": "blocking", "requirement": "R3", "location": None,
    "evidence": "the empty list gives 0.0 and raises nothing", "suggestion": "return 0.0 for the empty list",
}  # fmt: skip
SEA = "Describe the sea in one sentence.\n- [ ] it names a colour\n"
PROMPT_TOKENS = 100_000


async def reflect(server: OpenAITestServer, folder: Path, task: str, **options: Any) -> Run:
    async with Session(cwd=folder, environ=environment(folder, OPENAI_BASE_URL=server.url)) as session:
        return await session.reflect(task, RunOptions(model="test-model", **options))


def ended(run: Run) -> tuple[str, str | None]:
    assert run.outcome is not None
    return run.outcome.stop_reason, run.outcome.budget_dimension


@pytest.mark.parametrize("usage", [COUNTED, None], ids=["counted", "unknown"])
async def test_8000_tokens_buy_a_revision_of_the_mean_without_a_token_count_endpoint(
    usage: object, tmp_path: Path
) -> None:
    """The first draft fails on the empty list; the critic answers at length."""
    long = critique(EMPTY, {**EMPTY, "id": "style", "suggestion": "name the case " * 40}, score=0.5)
    replies = [Reply(FIRST, usage), Reply(long, usage), Reply(SECOND, usage), Reply(critique(), usage)]
    with OpenAITestServer(*replies) as server:
        run = await reflect(server, tmp_path, tour_task(), budget_tokens=8_000, sandbox="process")
        asked = [(request.body["max_tokens"], len(json.dumps(request.body))) for request in server.chats]
        assert {request.path for request in server.requests} == {"/v1/chat/completions"}, "nothing else was asked"
    assert len(run.rounds) == 2 and len(asked) >= 3, (run.outcome, asked)
    assert all(64 <= max_tokens <= 2_048 for max_tokens, _ in asked)
    if usage is COUNTED:
        assert ended(run) == ("pass", None) and len(asked) == 4


async def test_a_cost_limit_without_a_known_price_does_not_start(tmp_path: Path) -> None:
    with OpenAITestServer() as server:
        with pytest.raises(WrongUse, match=r"limits\.cost can't be kept: no price is known for test-model at http"):
            await reflect(server, tmp_path, SEA, budget_cost=0.5)
        assert server.requests == []


async def test_a_server_that_hangs_is_left_when_the_time_is_up(tmp_path: Path) -> None:
    with OpenAITestServer(Reply("The sea is wide."), Hang(headers=True)) as server:
        started = time.monotonic()
        run = await reflect(server, tmp_path, SEA, budget_seconds=1.5)
        assert time.monotonic() - started < 15, "promptly, however busy the machine is"
        server.hang_up()
        assert len(server.chats) == 2
    assert ended(run) == ("budget", "elapsed_s")
    assert run.outcome and run.outcome.draft == "The sea is wide." and "the time limit of 1.5 s" in run.outcome.message
    assert [row.status for row in run.ledger] == ["ok", "cancelled"] and run.ledger[1].cost_uncertain


async def test_a_check_that_runs_on_is_ended_when_the_time_is_up(tmp_path: Path) -> None:
    task = "Write `spin()`.\n- [ ] it ends\n\n```python check R1\nassert spin() == 1\n```\n"
    with OpenAITestServer(Reply("```python\ndef spin():\n    while True:\n        pass\n```")) as server:
        started = time.monotonic()
        run = await reflect(server, tmp_path, task, budget_seconds=2.5, sandbox="process")
        assert time.monotonic() - started < 9, "the check itself would be given ten seconds"
    assert ended(run) == ("budget", "elapsed_s")
    assert run.rounds[0].evidence is None and run.rounds[0].decision is not None


async def test_what_a_server_overcharged_is_told_and_counts(tmp_path: Path) -> None:
    dear = Reply("The sea is wide.", {"prompt_tokens": PROMPT_TOKENS, "completion_tokens": 5})
    with OpenAITestServer(dear, Reply(critique())) as server:
        run = await reflect(server, tmp_path, SEA)
        assert len(server.chats) == 1, "nothing is left for the critic"
    assert ended(run) == ("budget", "total_tokens")
    [notice] = [n for n in run.notices if n.kind == "overshoot"]
    assert notice.message.startswith("the generator's call 1 was charged 100,005 tokens where ")
    assert notice.message.endswith("; the limit of 40,000 tokens is passed by 60,005")


async def test_under_strict_limits_a_call_is_not_started_unless_all_of_its_answer_fits(tmp_path: Path) -> None:
    policy: dict[str, Any] = {"limits": {"total_tokens": 2_500, "strict": True}}
    with OpenAITestServer(Reply("The sea is wide.")) as server:
        run = await reflect(server, tmp_path, SEA, policy=policy)
        assert server.chats == []
        assert run.outcome and run.outcome.message.startswith("the first draft needs up to ")
        loose = await reflect(server, tmp_path, SEA, policy={"limits": {"total_tokens": 2_500}})
        assert loose.rounds
    assert ended(run) == ("budget", "total_tokens")


async def test_the_critic_knows_what_the_generators_calls_taught_of_a_servers_tokens(tmp_path: Path) -> None:
    """A server that counts a token per byte: the second estimate is above what its bytes alone would say."""

    def per_byte(body: Any) -> Reply:
        size = sum(len(m["content"].encode()) for m in body["messages"])
        text = "The sea is wide." if len(server.chats) == 1 else critique()
        return Reply(text, {"prompt_tokens": size, "completion_tokens": 9})

    with OpenAITestServer() as server:
        server.default = per_byte
        run = await reflect(server, tmp_path, SEA)
    generator, critic = run.ledger
    assert generator.input_tokens and generator.reserved_tokens and critic.input_tokens and critic.reserved_tokens
    assert critic.reserved_tokens - 2_048 >= critic.input_tokens, "learnt, although the critic was never asked before"
