"""What the controller costs per step, beside LangGraph's cost per step for the same graph, in one run.

    python benchmarks/next_step.py [RUNS]

Both sides run a loop of ten rounds of four steps (generator, checks, critic, decide) with stub roles that answer at
once: no model, no check, no recording; what is timed is the machinery alone. Ours does more within it: it judges the
round, grounds the critique, diffs the drafts and sums the ledger. CPU time of one process on one machine times both
sides, so the ratio means something where the microseconds do not.

Measured on two busy cores, with Python 3.11 and LangGraph 1.2: next_step takes 5 µs where it costs most (2,400 µs
before drafts kept the form in which they are compared). LangGraph's step takes 0.6 to 1.1 times what a step of
reflect-lab's loop takes, and 1.3 to 4.5 times that where it keeps every state, as a run of ours does.

LangGraph is no dependency of this project. To compare, install it in an environment of its own and run the benchmark
from the project's root with that interpreter:

    python -m venv /tmp/lg && /tmp/lg/bin/pip install langgraph pydantic
    PYTHONPATH=. /tmp/lg/bin/python benchmarks/next_step.py
"""

from __future__ import annotations

import argparse
import asyncio
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count
from statistics import median
from typing import Any

from reflect_lab.core.chat import CallHooks, ChatReply, ChatRequest, Message
from reflect_lab.core.controller import decide, next_step
from reflect_lab.core.critique import CriticReply, RaisedIssue
from reflect_lab.core.events import CriticAnswered, DraftWritten, Event, EvidenceGathered
from reflect_lab.core.evidence import Evidence, Finding
from reflect_lab.core.policy import Limits, Policy, Rules
from reflect_lab.core.reducer import after
from reflect_lab.core.run import Draft, Estimate, LedgerRow, Role, Run
from reflect_lab.core.steps import AskCritic, Decide, GatherEvidence, Step, Stop, WriteDraft
from reflect_lab.core.task import CheckSpec, Requirement, Task

ROUNDS = 10
GOAL_US = 50.0
"""What `next_step` may cost at ten rounds, in microseconds."""
TEXT = "\n".join(f"Line {n} of a draft that holds some words, as drafts do." for n in range(40))
TASK = Task(
    text="Write a note.",
    requirements=(Requirement(id="R1", text="names the day of the repair"),),
    checks=(CheckSpec(name="tests", kind="custom"),),
)
POLICY = Policy(
    limits=Limits(revisions=ROUNDS - 1, model_calls=None, total_tokens=None, elapsed_s=None),
    rules=Rules(patience=ROUNDS, repeat_limit=ROUNDS),
)
FAILED = Evidence(
    source="tests", kind="custom", rank="deterministic", status="failed", text="case 1 is wrong",
    findings=(Finding(id="case:1", status="failed", message="case 1 is wrong"),),
)  # fmt: skip


def draft(index: int) -> Draft:
    return Draft(index=index, text=f"{TEXT}\nThis is version {index}.")


def reply(index: int) -> CriticReply:
    issue = RaisedIssue(id=f"i{index}", severity="blocking", requirement="R1", evidence="it names no day")
    return CriticReply(validity="ok", issues=(issue,), score=0.2)


def row(run: Run, role: Role, index: int) -> LedgerRow:
    return LedgerRow(
        role=role, round=index, call=run.usage.calls + 1, attempt=1, model="stub", status="ok", input_tokens=100,
        output_tokens=50, reserved_tokens=500,
    )  # fmt: skip


def stub(run: Run, step: Step) -> Event:
    """The event of a role that answers at once."""
    match step:
        case WriteDraft(index=index):
            return DraftWritten(draft=draft(index), ledger=(row(run, "generator", index),))
        case GatherEvidence():
            return EvidenceGathered(evidence=(FAILED,))
        case AskCritic(index=index):
            return CriticAnswered(reply=reply(index), ledger=(row(run, "critic", index),))
        case _:
            return decide(run, lambda _: Estimate(generator=100, critic=100))


def states() -> Iterator[tuple[Run, Step]]:
    """Every state of a run of ten rounds, with its next step."""
    run = Run(run_id="r", task=TASK, policy=POLICY)
    while not isinstance(step := next_step(run), Stop):
        yield run, step
        run = after(run, stub(run, step))
    yield run, step


@dataclass
class StubClient:
    """A model that answers at once."""

    answer: str
    model: str = "stub"
    endpoint: str | None = None
    is_live: bool = False
    max_tokens: int = 200

    def estimate(self, messages: Any) -> int:
        return 100

    bound = estimate

    async def measure(self, messages: Any) -> None: ...

    def price(self, *asked: object) -> None:
        return None

    def currencies(self) -> frozenset[str | None]:
        return frozenset()

    async def complete(self, request: ChatRequest, hooks: CallHooks) -> ChatReply:
        hooks.attempt(
            LedgerRow(
                role=request.role, round=request.round, call=request.call, attempt=1, model="stub", status="ok",
                input_tokens=100, output_tokens=50, reserved_tokens=500,
            )
        )  # fmt: skip
        return ChatReply(text=self.answer)

    async def close(self) -> None: ...


@dataclass
class StubRole:
    """Generator, critic and checks in one: what each would build or read is ready-made."""

    client: StubClient
    temperature: float | None = None
    seed: int | None = None
    schema: Any = None

    def messages(self, run: Run, step: Step) -> tuple[Message, ...]:
        return ()

    in_lines = messages

    def draft(self, run: Run, step: WriteDraft, answer: ChatReply) -> Draft:
        return draft(step.index)

    def read(self, run: Run, answer: ChatReply) -> CriticReply:
        return reply(0)

    async def gather(self, run: Run, hooks: Any) -> tuple[Evidence, ...]:
        return (FAILED,)


async def through_the_loop() -> int:
    """A run of ten rounds by the real driver; the number of its steps."""
    from reflect_lab.core.roles import Roles
    from reflect_lab.loop import run_loop

    role: Any = StubRole(StubClient("x"))
    run = await run_loop(Run(run_id="r", task=TASK, policy=POLICY), Roles(generator=role, critic=role, evidence=role))
    assert len(run.rounds) == ROUNDS, run.outcome
    return 4 * ROUNDS


def langgraph_loop(*, keeps_history: bool) -> Callable[[], int] | None:
    """A run of ten rounds by LangGraph (the same four nodes, a conditional edge), which keeps every state in memory or
    only the last one; None where it is not installed."""
    try:
        from langgraph.checkpoint.memory import InMemorySaver  # type: ignore[import-not-found, unused-ignore]
        from langgraph.graph import END, START, StateGraph  # type: ignore[import-not-found, unused-ignore]
    except ImportError:
        return None
    from typing import TypedDict

    class State(TypedDict, total=False):
        index: int
        draft: Draft
        evidence: tuple[Evidence, ...]
        critique: CriticReply
        revise: bool

    def generate(state: State) -> State:
        index = state["index"] + 1
        return {"index": index, "draft": draft(index)}

    graph = StateGraph(State)
    graph.add_node("generator", generate)
    graph.add_node("checks", lambda state: {"evidence": (FAILED,)})
    graph.add_node("critic", lambda state: {"critique": reply(state["index"])})
    graph.add_node("decide", lambda state: {"revise": state["index"] < ROUNDS - 1})
    for one, other in ((START, "generator"), ("generator", "checks"), ("checks", "critic"), ("critic", "decide")):
        graph.add_edge(one, other)
    graph.add_conditional_edges("decide", lambda state: "generator" if state["revise"] else END)
    app = graph.compile(checkpointer=InMemorySaver() if keeps_history else None)
    threads = count()

    def play() -> int:
        options = {"recursion_limit": 10 * ROUNDS, "configurable": {"thread_id": str(next(threads))}}
        ended = app.invoke({"index": -1}, options)
        assert ended["index"] == ROUNDS - 1
        return 4 * ROUNDS

    return play


def microseconds(work: Callable[[], object], runs: int, times: int = 200) -> list[float]:
    """The cost of one call in each of several series of calls."""
    costs = []
    for _ in range(runs):
        start = time.process_time()
        for _ in range(times):
            work()
        costs.append((time.process_time() - start) / times * 1e6)
    return costs


def per_step(play: Callable[[], int], runs: int) -> list[float]:
    """The cost of one step in each of several runs; a first one warms up."""
    play()
    costs = []
    for _ in range(runs):
        start = time.process_time()
        steps = play()
        costs.append((time.process_time() - start) / steps * 1e6)
    return costs


def show(what: str, costs: list[float]) -> float:
    print(f"  {what:<58} {median(costs):8.1f} µs, worst of {len(costs)}: {max(costs):8.1f} µs")
    return median(costs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", type=int, nargs="?", default=15)
    runs = parser.parse_args().runs
    played = list(states())
    late = [(run, step) for run, step in played if len(run.rounds) == ROUNDS]
    print(f"One call at {ROUNDS} rounds (median of {runs} series of 200):")
    worst = max(
        show(f"next_step -> {type(step).__name__}", microseconds(lambda r=run: next_step(r), runs))
        for run, step in late
    )
    print(f"  next_step: {worst:.1f} µs where it costs most; {'within' if worst < GOAL_US else 'OVER'} {GOAL_US:g} µs")
    for run, step in late:
        if isinstance(step, Stop):
            continue
        if isinstance(step, Decide):
            show("decide", microseconds(lambda r=run: decide(r), runs, 20))
        event = stub(run, step)
        show(f"after {type(event).__name__}", microseconds(lambda r=run, e=event: after(r, e), runs, 20))
    print(f"One step of a whole run of {ROUNDS} rounds x 4 steps with stub roles, no model (median of {runs} runs):")
    show("reflect-lab, the pure core (next_step, decide, after)", per_step(lambda: len(list(states())), runs))
    ours = show("reflect-lab, the loop (run_loop)", per_step(lambda: asyncio.run(through_the_loop()), runs))
    for keeps_history, what in ((False, "only the last state"), (True, "every state, as a run of ours does")):
        theirs = langgraph_loop(keeps_history=keeps_history)
        if theirs is None:
            print("  LangGraph is not installed here; how to compare with it: python benchmarks/next_step.py --help")
            return
        graph = show(f"LangGraph, invoke, keeps {what}", per_step(theirs, runs))
        print(f"    that is {graph / ours:.2f} times reflect-lab's loop")


if __name__ == "__main__":
    main()
