"""The loop: observers that fail, recordings that fail, limits, faults and interrupts."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from reflect_lab.core.events import Event
from reflect_lab.core.evidence import Evidence, Finding
from reflect_lab.core.observer import Latest, Observer
from reflect_lab.core.policy import Limits, Policy
from reflect_lab.core.roles import EvidenceHooks, Roles
from reflect_lab.core.run import ModelUse, Run
from reflect_lab.core.steps import AskCritic, Step
from reflect_lab.core.task import Requirement, Task
from reflect_lab.loop import run_loop
from reflect_lab.models.scripted import Script, ScriptedClient
from reflect_lab.roles.critic import Critic
from reflect_lab.roles.generator import Generator
from reflect_lab.roles.prompt import generator_prompt, shipped_critic

TASK = Task(text="Write a note.", requirements=(Requirement(id="R1", text="names the day of the repair"),))
BLOCKED = {"issues": [{"id": "a", "severity": "blocking", "requirement": "R1", "evidence": ""}], "score": 0.4}
CLEAN: dict[str, object] = {"issues": [], "score": 0.9}
TOKENS = {"input_tokens": 50, "output_tokens": 10}
REVISED = [
    {"role": "generator", "text": "one", "usage": TOKENS},
    {"role": "critic", "json": BLOCKED, "usage": TOKENS},
    {"role": "generator", "text": "two", "usage": TOKENS},
    {"role": "critic", "json": CLEAN, "usage": TOKENS},
]


class NoChecks:
    async def gather(self, run: Run, hooks: EvidenceHooks) -> tuple[Evidence, ...]:
        return ()


class BrokenChecks:
    async def gather(self, run: Run, hooks: EvidenceHooks) -> tuple[Evidence, ...]:
        raise RuntimeError("the check tripped over itself")


def roles(folder: Path, lines: list[dict[str, Any]], evidence: Any = None) -> Roles:
    path = folder / "script.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    client = [ScriptedClient(Script.load(path), model="scripted") for _ in range(2)]
    return Roles(
        generator=Generator(client[0], generator_prompt()),
        critic=Critic(client[1], shipped_critic("grounded")),
        evidence=evidence or NoChecks(),
    )


def empty_run(**limits: Any) -> Run:
    policy = Policy(limits=Limits(**limits))
    return Run(run_id="r", task=TASK, policy=policy, models={"generator": ModelUse(requested="scripted")}, salt="s")


class Recorder(Observer):
    """Remembers the events, and what the steps were."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.steps: list[str] = []
        self.last: Run | None = None
        self.settled = 0
        self.asked_critic = asyncio.Event()

    @contextmanager
    def around_step(self, run: Run, step: Step) -> Iterator[None]:
        self.steps.append(type(step).__name__)
        if isinstance(step, AskCritic):
            self.asked_critic.set()
        yield

    def on_event(self, run: Run, event: Event) -> None:
        self.events.append(event)
        self.last = run

    async def settle(self) -> None:
        self.settled += 1


class Failing(Observer):
    """Fails in one of its methods."""

    def __init__(self, method: str) -> None:
        def fail(*args: object) -> Any:
            raise OSError(f"disk full in {method}")

        setattr(self, method, fail)


METHODS = ["around_run", "around_step", "around_call", "on_attempt", "on_reply", "on_text", "on_event", "settle"]


async def test_a_run_goes_through_its_steps_and_is_settled_before_each_paid_call(tmp_path: Path) -> None:
    recorder = Recorder()
    run = await run_loop(empty_run(), roles(tmp_path, REVISED), [recorder])
    one_round = ["WriteDraft", "GatherEvidence", "AskCritic", "Decide"]
    assert recorder.steps == one_round * 2
    assert run.outcome and run.outcome.stop_reason == "pass"
    assert recorder.settled == 5, "before each of the four calls, and at the end"
    assert (run.usage.input_tokens, run.usage.output_tokens, run.usage.calls) == (200, 40, 4)


@pytest.mark.parametrize("method", METHODS)
async def test_an_observer_that_fails_changes_nothing(method: str, tmp_path: Path) -> None:
    plain = await run_loop(empty_run(), roles(tmp_path, REVISED))
    watched = await run_loop(empty_run(), roles(tmp_path, REVISED), [Failing(method), Recorder()])
    assert watched.outcome == plain.outcome
    assert [r.decision for r in watched.rounds] == [r.decision for r in plain.rounds]
    assert watched.notices == ()


@pytest.mark.parametrize("method", METHODS)
async def test_a_recording_that_fails_is_shown_in_the_run_and_its_outcome(method: str, tmp_path: Path) -> None:
    broken = Failing(method)
    broken.is_recording = True
    run = await run_loop(empty_run(), roles(tmp_path, REVISED), [broken])
    assert run.outcome and run.outcome.recorded is False
    assert [n.kind for n in run.notices] == ["unrecorded"]
    assert "disk full" in run.notices[0].message


async def test_a_recording_that_fails_at_the_very_last_event_is_shown_too(tmp_path: Path) -> None:
    class LateFailure(Observer):
        is_recording = True

        def on_event(self, run: Run, event: Event) -> None:
            if run.outcome is not None:
                raise OSError("disk full")

    run = await run_loop(empty_run(), roles(tmp_path, REVISED), [LateFailure()])
    assert run.outcome and run.outcome.recorded is False


async def test_a_fault_of_our_own_keeps_the_draft_and_says_internal(tmp_path: Path) -> None:
    run = await run_loop(empty_run(), roles(tmp_path, REVISED, BrokenChecks()))
    assert run.outcome and run.outcome.error
    assert (run.outcome.stop_reason, run.outcome.error.kind, run.outcome.draft) == ("error", "internal", "one")


async def test_evidence_that_cannot_be_read_ends_the_run_with_the_draft_that_was_paid_for(tmp_path: Path) -> None:
    class Nonsense:
        async def gather(self, run: Run, hooks: EvidenceHooks) -> tuple[Evidence, ...]:
            text: Any = None
            finding = Finding(id="a", status="failed", message="wrong")
            return (
                Evidence(source="own", kind="own", rank="executed", status="failed", text=text, findings=(finding,)),
            )

    recorder = Recorder()
    run = await run_loop(empty_run(), roles(tmp_path, REVISED, Nonsense()), [recorder])
    assert run.outcome and run.outcome.error
    assert (run.outcome.stop_reason, run.outcome.error.kind, run.outcome.draft) == ("error", "internal", "one")
    assert len(run.ledger) == 1 and recorder.last == run


async def test_a_call_cut_by_the_deadline_is_budget_with_the_call_in_the_ledger(tmp_path: Path) -> None:
    slow = [REVISED[0], {**REVISED[1], "delay_s": 60}]
    run = await run_loop(empty_run(elapsed_s=0.3), roles(tmp_path, slow))
    assert run.outcome
    assert (run.outcome.stop_reason, run.outcome.budget_dimension) == ("budget", "elapsed_s")
    assert [(r.role, r.status) for r in run.ledger] == [("generator", "ok"), ("critic", "cancelled")]
    assert run.usage.input_tokens is None, "what a cut call cost is unknown, not zero"
    assert run.outcome.draft == "one"


async def test_an_interrupt_is_folded_in_shown_and_raised_again(tmp_path: Path) -> None:
    slow = [REVISED[0], {**REVISED[1], "delay_s": 60}]
    recorder = Recorder()
    running = asyncio.ensure_future(run_loop(empty_run(), roles(tmp_path, slow), [recorder]))
    await recorder.asked_critic.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert recorder.last and recorder.last.outcome
    assert (recorder.last.outcome.stop_reason, recorder.last.outcome.draft) == ("cancelled", "one")


async def test_what_an_interrupted_run_failed_to_record_is_known_at_its_end(tmp_path: Path) -> None:
    class NoDisk(Recorder):
        is_recording = True

        async def settle(self) -> None:
            if self.last and self.last.outcome:
                raise OSError("disk full")

    slow = [REVISED[0], {**REVISED[1], "delay_s": 60}]
    broken, latest = NoDisk(), Latest()
    running = asyncio.ensure_future(run_loop(empty_run(), roles(tmp_path, slow), [broken, latest]))
    await broken.asked_critic.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert latest.ended and latest.ended.outcome
    assert (latest.ended.outcome.stop_reason, latest.ended.outcome.recorded) == ("cancelled", False)


async def test_max_tokens_are_clamped_to_what_the_budget_leaves(tmp_path: Path) -> None:
    seen: list[tuple[str, int, int]] = []

    class Calls(Observer):
        @contextmanager
        def around_call(self, run: Run, request: Any, model: str) -> Iterator[None]:
            seen.append((request.role, request.max_tokens, request.reserved_tokens))
            yield

    run = await run_loop(empty_run(total_tokens=1_500), roles(tmp_path, REVISED), [Calls()])
    assert all(64 <= max_tokens <= 1024 for _, max_tokens, _ in seen)
    assert any(max_tokens < 1024 for _, max_tokens, _ in seen)
    assert run.outcome is not None


async def test_without_room_for_a_useful_answer_no_call_is_made(tmp_path: Path) -> None:
    run = await run_loop(empty_run(total_tokens=100), roles(tmp_path, REVISED))
    assert run.outcome and run.outcome.budget_dimension == "total_tokens"
    assert run.ledger == () and run.rounds == ()
    assert "needs up to" in run.outcome.message
