"""Real runs for tests of observers: the real loop and roles, with a client and checks that play what a test says."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from reflect_lab.core.chat import CallHooks, ChatReply, ChatRequest, Message
from reflect_lab.core.errors import ModelFailed
from reflect_lab.core.evidence import Evidence, Finding, Sandbox
from reflect_lab.core.observer import Observer
from reflect_lab.core.policy import Policy
from reflect_lab.core.roles import EvidenceHooks, Roles
from reflect_lab.core.run import LedgerRow, ModelUse, Run
from reflect_lab.core.task import CheckSpec, Requirement, Task
from reflect_lab.loop import run_loop
from reflect_lab.roles.critic import Critic
from reflect_lab.roles.generator import Generator
from reflect_lab.roles.prompt import generator_prompt, shipped_critic

TASK = Task(
    text="Describe the sea.",
    name="sea",
    requirements=(Requirement(id="R1", text="names a colour"),),
    checks=(CheckSpec(name="length", kind="text", requirements=("R1",)),),
)
REVISED = ("a sea", "a sea, blue and wide")
"""Two drafts: the check fails on the first and passes on the second."""


def critique(*issues: dict[str, object], score: float | None = 0.9) -> str:
    return json.dumps({"issues": list(issues), "score": score, "requirements_checked": ["R1"]})


COLOUR_MISSING = {
    "id": "i1",
    "severity": "blocking",
    "requirement": "R1",
    "evidence": "names a colour",
    "suggestion": "say blue",
}
UNGROUNDED = {"id": "i2", "severity": "minor", "evidence": "not poetic enough"}


@dataclass
class PlayedClient:
    """Answers with the next text; each answer costs its number of words. An exception in the list is raised, after
    its attempt was reported. `before` is called before each answer."""

    answers: list[str | Exception]
    model: str = "played"
    endpoint: str | None = "https://models.example/v1"
    is_live: bool = False
    max_tokens: int = 200
    before: Callable[[ChatRequest], None] | None = None
    boast: int = 0
    """Input tokens that are claimed on top of the true ones."""
    handed_out: list[tuple[int, int]] = field(default_factory=list)
    """(input, output) tokens of each answer: the truth that records are compared with."""

    async def measure(self, messages: Sequence[Message]) -> None:
        """Nothing can be asked."""

    def estimate(self, messages: Sequence[Message]) -> int:
        return sum(len(message.content) for message in messages) // 3

    async def complete(self, request: ChatRequest, hooks: CallHooks) -> ChatReply:
        if self.before is not None:
            self.before(request)
        answer = self.answers.pop(0)
        row = LedgerRow(
            role=request.role, round=request.round, call=request.call, attempt=1, model=self.model, status="ok"
        )
        if isinstance(answer, Exception):
            hooks.attempt(replace(row, status="failed", error=type(answer).__name__))
            raise answer
        tokens = (self.boast + len(request.messages[-1].content.split()), len(answer.split()))
        self.handed_out.append(tokens)
        hooks.text(answer)
        hooks.attempt(
            replace(
                row,
                input_tokens=tokens[0],
                output_tokens=tokens[1],
                seconds=0.25,
                finish_reason="stop",
                answered=f"{self.model}-1",
            )
        )
        return ChatReply(text=answer, answered=f"{self.model}-1")

    async def close(self) -> None:
        """Nothing is open."""


@dataclass
class LengthCheck:
    """Fails where a draft has fewer than four words."""

    async def gather(self, run: Run, hooks: EvidenceHooks) -> tuple[Evidence, ...]:
        spec = run.task.checks[0]
        with hooks.check(spec):
            words = len(run.rounds[-1].draft.text.split())
            problem = Finding(id="words", status="failed", message=f"{words} words, at least 4 wanted")
            evidence = Evidence(
                source=spec.name,
                kind=spec.kind,
                rank="deterministic",
                status="passed" if words >= 4 else "failed",
                text=f"{words} words",
                findings=() if words >= 4 else (problem,),
                requirements=spec.requirements,
                sandbox=Sandbox(level=1, name="process limits", verdict_integrity="split"),
                seconds=0.5,
            )
            hooks.evidence(evidence)
        return (evidence,)


def empty_run(run_id: str = "01JRUN0000000000000000000A", task: Task = TASK, policy: Policy = Policy()) -> Run:
    use = ModelUse(requested="played", endpoint="https://models.example/v1")
    return Run(
        run_id=run_id,
        task=task,
        policy=policy,
        models={"generator": use, "critic": use},
        prompts={"generator": generator_prompt().use, "critic": shipped_critic("grounded", ()).use},
        versions={"reflect_lab": "0.1.0"},
        started_at="2026-03-01T10:00:00+00:00",
        salt="salt",
        tags={"course": "one"},
    )


def roles(drafts: Sequence[str | Exception], critiques: Sequence[str | Exception]) -> Roles:
    return Roles(
        generator=Generator(PlayedClient(list(drafts)), generator_prompt()),
        critic=Critic(PlayedClient(list(critiques)), shipped_critic("grounded", ())),
        evidence=LengthCheck(),
    )


async def play(
    observers: Sequence[Observer],
    drafts: Sequence[str | Exception] = REVISED,
    critiques: Sequence[str | Exception] = (critique(COLOUR_MISSING, UNGROUNDED, score=0.3), critique()),
    run: Run | None = None,
    actors: Roles | None = None,
) -> Run:
    """One run to its end. The default is accepted in its second round."""
    return await run_loop(run or empty_run(), actors or roles(drafts, critiques), observers)


def refused(message: str = "no credit") -> ModelFailed:
    return ModelFailed("provider_refused", message)
