"""Budgets hold against a real server that fails in every known way: random faults, policies and critics, by seed.

No limit is exceeded beyond what the server overcharged (claimed in `usage` above what was reserved), and every request
that arrived stands in the ledger as one attempt.
"""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from reflect_lab.core.budget import TOLERANCE, spent_cost, spent_tokens, tool_calls
from reflect_lab.core.evidence import Finding
from reflect_lab.core.policy import Limits, Policy, Rules
from reflect_lab.core.roles import Roles
from reflect_lab.core.run import Draft, LedgerRow, ModelUse, Run
from reflect_lab.core.task import CheckSpec, Requirement, Task
from reflect_lab.documents.run_document import dump_run, load_run
from reflect_lab.evidence.check import Report
from reflect_lab.evidence.gather import Checks
from reflect_lab.loop import run_loop
from reflect_lab.models.openai_client import OpenAIClient, Server, open_sdk
from reflect_lab.models.prices import Prices
from reflect_lab.models.refused import RefusedParams
from reflect_lab.models.retry import Clock
from reflect_lab.roles.critic import Critic
from reflect_lab.roles.generator import Generator
from reflect_lab.roles.prompt import generator_prompt, shipped_critic
from tests.openai_server import Behaviour, Hang, OpenAITestServer, Raw, Reply, Reset, Status

AT_ONCE = 8
MAX_TOKENS = 300
DOLLARS_PER_TOKEN = 1e-6
WORDS = ("blue", "grey", "wide", "deep", "calm", "cold", "salt", "far")
REQUIREMENTS = (Requirement(id="R1", text="it names a colour"), Requirement(id="R2", text="it is calm"))
HARD_FAULTS: tuple[Behaviour, ...] = (
    Status(429, headers={"Retry-After": "1"}), Status(429), Status(429, headers={"Retry-After": "100000"}), Status(500),
    Status(503), Status(401), Status(404), Reset(), Raw("<html>busy</html>", "text/html"), Raw('{"choices": ['),
    Raw('{"choices": []}'), Raw(""), Raw("{}", length=50),
)  # fmt: skip


@dataclass
class Faulty:
    """The server's side of one run: what it answers, by chance, and what it claims in `usage`."""

    seed: int
    may_hang: bool
    lies: int = 0
    chance: random.Random = field(init=False)

    def __post_init__(self) -> None:
        self.chance = random.Random(f"server {self.seed}")
        self.dishonesty = self.chance.choice([0.0, 0.0, 0.3])
        self.trouble = self.chance.choice([0.0, 0.1, 0.3, 0.6])

    def __call__(self, body: Any) -> Behaviour:
        chance = self.chance
        if chance.random() < self.trouble / 2:
            hang = (Hang(headers=chance.random() < 0.5),) if self.may_hang else ()
            return chance.choice((*HARD_FAULTS, *hang))
        prompt = sum(len(m["content"].encode()) + 8 for m in body["messages"])  # as many as any tokenizer makes
        usage: Any = {"prompt_tokens": prompt // chance.choice([1, 3, 4]), "completion_tokens": 0}
        usage["completion_tokens"] = chance.randint(0, body.get("max_tokens") or MAX_TOKENS)
        if chance.random() < self.dishonesty:
            self.lies += 1
            usage["prompt_tokens"] += chance.choice([5_000, 10**7])
        if chance.random() < 0.15:
            usage = chance.choice([None, {}, {"prompt_tokens": -1, "completion_tokens": "9"}, {"prompt_tokens": 20}])
        text = self.critique() if "critic" in json.dumps(body["messages"][0]) else self.draft()
        if chance.random() < self.trouble / 2:
            return chance.choice([
                Reply(text, usage, end="reset"), Reply(text, usage, end="error"), Reply(text, usage, end="no_finish"),
                Reply(None, usage, refusal="I would rather not."), Reply(text, usage, finish_reason="length"),
                Reply(text, usage, ignores_stream=True), Reply(text, usage, delay_s=0.002), Reply("", usage),
                Reply(text, usage, finish_reason="content_filter"), Reply(text, usage, finish_reason=None),
            ])  # fmt: skip
        return Reply(text, usage)

    def draft(self) -> str:
        return f"The sea is {' and '.join(self.chance.sample(WORDS, 3))}."

    def critique(self) -> str:
        chance = self.chance
        if chance.random() < 0.15:
            return chance.choice(
                ["No problems found.", "looks good", '{"issues": "none"}', '{"issues": [], "score": NaN}']
            )
        issues = [
            {"id": f"i{n}", "severity": chance.choice(["blocking", "minor"]), "evidence": "", "suggestion": "mend it",
             "requirement": chance.choice(["R1", "R2", "R9"]), "location": None}
            for n in range(chance.choice([0, 0, 1, 2]))
        ]  # fmt: skip
        score = chance.choice([None, round(chance.random(), 2)])
        return json.dumps({"issues": issues, "score": score, "requirements_checked": ["R1", "R2"]})


@dataclass
class ChanceCheck:
    """A check whose verdicts come by chance."""

    chance: random.Random
    rank: Any = "deterministic"

    async def run(self, draft: Draft) -> Report:
        status = self.chance.choices(["passed", "failed", "error"], [5, 3, 1])[0]
        failed = (
            (Finding(id=self.chance.choice("abc"), status="failed", message="wrong"),) if status == "failed" else ()
        )
        return Report(status=status, findings=failed)


@dataclass(frozen=True)
class Flat(Prices):
    """One price for each token, whatever the model."""

    tables: Any = None
    version: str | None = None

    def cost(self, **call: Any) -> float | None:
        counts = (call["input_tokens"], call["output_tokens"])
        return None if None in counts else sum(counts) * DOLLARS_PER_TOKEN


def random_policy(chance: random.Random) -> Policy:
    def maybe(value: Callable[[], Any]) -> Any:
        return value() if chance.random() < 0.6 else None

    return Policy(
        limits=Limits(
            revisions=chance.randint(0, 4),
            model_calls=maybe(lambda: chance.randint(0, 9)),
            critic_calls=maybe(lambda: chance.randint(0, 4)),
            total_tokens=maybe(lambda: chance.choice([100, 1_500, 4_000, 12_000, 40_000])),
            elapsed_s=chance.choice([0.2, 30.0, 300.0]),
            cost=maybe(lambda: chance.choice([0.0005, 0.005, 0.05])),
            tool_calls=maybe(lambda: chance.randint(0, 6)),
            strict=chance.random() < 0.4,
        ),
        rules=Rules(
            patience=chance.randint(1, 3),
            repeat_limit=chance.randint(2, 4),
            critic=chance.choice(["always", "when_gates_pass", "never"]),
            revision=chance.choice(["auto", "rewrite", "patch"]),
            width=chance.choice([1, 1, 1, 2, 3]),
        ),
    )


@dataclass
class Ground:
    """One server and one SDK client for all runs; a run is told from others by the name of its model."""

    server: OpenAITestServer
    where: Server
    sdk: Any
    faulty: dict[str, Faulty] = field(default_factory=dict)

    async def play(self, seed: int) -> tuple[Run, Faulty]:
        chance = random.Random(seed)
        policy = random_policy(chance)
        model = f"m-{seed}"
        self.faulty[model] = faulty = Faulty(seed, may_hang=policy.limits.elapsed_s == 0.2)
        specs = tuple(CheckSpec(name=f"check:{n}", kind="chance") for n in range(chance.randint(0, 2)))
        task = Task(text="Describe the sea in one sentence.", requirements=REQUIREMENTS, checks=specs)
        clients = [self.client(model) for _ in range(2)]
        roles = Roles(
            generator=Generator(clients[0], generator_prompt()),
            critic=Critic(clients[1], shipped_critic("grounded")),
            evidence=Checks(task, kinds={"chance": lambda spec, where: ChanceCheck(chance)}),
        )
        models = {role: ModelUse(requested=model) for role in ("generator", "critic")}
        run = Run(run_id=model, task=task, policy=policy, models=models, salt="s")
        return await run_loop(run, roles), faulty

    def client(self, model: str) -> OpenAIClient:
        async def sleep(seconds: float) -> None:
            """A wait takes no time."""

        return OpenAIClient(
            model=model, server=self.where, sdk=self.sdk, refused=RefusedParams(), prices=Flat(), max_tokens=MAX_TOKENS,
            clock=Clock(sleep=sleep, chance=lambda: 0.5),
        )  # fmt: skip

    def arrived(self, model: str) -> int:
        return sum(request.body["model"] == model for request in self.server.chats)


@asynccontextmanager
async def ground() -> AsyncIterator[Ground]:
    with OpenAITestServer() as server:
        where = Server(base_url=server.url, label="here")
        sdk = await asyncio.to_thread(open_sdk, where, 30.0)
        found = Ground(server, where, sdk)
        server.default = lambda body: found.faulty[body["model"]](body)
        try:
            yield found
        finally:
            await sdk.close()


def overcharged_tokens(row: LedgerRow) -> int:
    return max(0, spent_tokens([row]) - (row.reserved_tokens or 0))


def overcharged_cost(row: LedgerRow, limits: Limits) -> float:
    return max(0.0, spent_cost([row], limits) - (row.reserved_cost or 0.0))


def assert_kept(run: Run, faulty: Faulty, arrived: int) -> None:
    """The laws, for one run."""
    limits, ledger = run.policy.limits, run.ledger
    assert run.outcome is not None and run.outcome.message
    assert run.outcome.error is None or run.outcome.error.kind != "internal", run.outcome.error
    unsure = sum(row.status == "cancelled" for row in ledger)  # the deadline may cut one that has not arrived yet
    assert len(ledger) - unsure <= arrived <= len(ledger)
    assert load_run(dump_run(run)) == run
    assert len(run.rounds) <= 1 + limits.revisions
    assert run.usage.calls <= (limits.model_calls if limits.model_calls is not None else 10**9)
    critic_calls = len({row.call for row in ledger if row.role == "critic"})
    assert critic_calls <= (limits.critic_calls if limits.critic_calls is not None else 10**9)
    assert tool_calls(run) <= (limits.tool_calls if limits.tool_calls is not None else 10**9)
    over = sum(overcharged_tokens(row) for row in ledger)
    for number, row in enumerate(ledger):
        before = ledger[:number]
        if limits.total_tokens is not None:
            assert spent_tokens(before) + (row.reserved_tokens or 0) <= limits.total_tokens, "it was not in the budget"
        if limits.cost is not None:
            assert spent_cost(before, limits) + (row.reserved_cost or 0) <= limits.cost + TOLERANCE
    if limits.total_tokens is not None:
        assert spent_tokens(ledger) <= limits.total_tokens + over
    if limits.cost is not None:
        dear = sum(overcharged_cost(row, limits) for row in ledger)
        assert spent_cost(ledger, limits) <= limits.cost + dear + TOLERANCE
    if limits.strict and not faulty.lies:
        assert over == 0, "a strict reservation is never passed by a server that counts honestly"
    told = [n for n in run.notices if n.kind == "overshoot" and "tokens where" in n.message]
    assert bool(told) == (over > 0 and limits.total_tokens is not None)


async def play_all(seeds: range) -> dict[str, int]:
    """Plays a run per seed; how often each reason and dimension ended one."""
    seen: dict[str, int] = {}
    async with ground() as found:
        gate = asyncio.Semaphore(AT_ONCE)

        async def one(seed: int) -> None:
            async with gate:
                run, faulty = await found.play(seed)
            try:
                assert_kept(run, faulty, found.arrived(f"m-{seed}"))
            except AssertionError as failed:
                raise AssertionError(f"seed {seed}: {failed}") from failed
            assert run.outcome is not None
            end = run.outcome.budget_dimension or run.outcome.stop_reason
            seen[end] = seen.get(end, 0) + 1

        await asyncio.gather(*(one(seed) for seed in seeds))
    return seen


async def test_no_limit_is_passed_beyond_what_was_overcharged() -> None:
    seen = await play_all(range(100, 300))
    wanted = {"pass", "error", "total_tokens", "model_calls", "cost", "tool_calls", "revisions", "elapsed_s"}
    assert wanted <= seen.keys(), seen


@pytest.mark.slow
async def test_no_limit_is_passed_in_a_thousand_runs() -> None:
    seen = await play_all(range(300, 1_300))
    assert sum(seen.values()) == 1_000, seen
