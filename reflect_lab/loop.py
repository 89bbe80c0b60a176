"""The loop: performs what the controller asks, with observers around it.

One coroutine, no policy of its own. Whatever ends it (a limit, a fault, an interrupt), the run keeps everything that
was paid for and returns the best draft so far with the reason.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace

from reflect_lab.core.budget import output_room, seconds_left, shortage
from reflect_lab.core.chat import ChatClient, ChatReply, ChatRequest, Message
from reflect_lab.core.controller import decide, next_step
from reflect_lab.core.errors import ModelFailed, Unaffordable
from reflect_lab.core.events import (
    Cancelled,
    CriticAnswered,
    DeadlinePassed,
    DraftWritten,
    Event,
    EvidenceGathered,
    NotAfforded,
    StepFailed,
)
from reflect_lab.core.evidence import sound
from reflect_lab.core.observer import Observer
from reflect_lab.core.reducer import with_rows
from reflect_lab.core.roles import AsksModel, Roles
from reflect_lab.core.run import Draft, Estimate, Role, Run, RunError, Shortage
from reflect_lab.core.selection import with_candidate
from reflect_lab.core.steps import AskCritic, Decide, GatherEvidence, Step, Stop, WriteDraft
from reflect_lab.roles.patch import PatchFailed
from reflect_lab.sizing import Asked, draft_sizes, estimate, price
from reflect_lab.watch import CallWatch, CheckWatch, Watch, budget_step

log = logging.getLogger(__name__)


async def run_loop(run: Run, roles: Roles, observers: Sequence[Observer] = ()) -> Run:
    """Runs the loop to its end and returns the finished run.

    An interrupt (`asyncio.CancelledError`) is folded in as `cancelled`, shown to the observers, and raised again.
    """
    watch = Watch(observers)
    cancelled: asyncio.CancelledError | None = None
    with watch.around("around_run", run):
        while not isinstance(step := next_step(run), Stop):
            try:
                event = await _perform(run, step, roles, watch)
            except asyncio.CancelledError as error:
                if _is_interrupted():
                    cancelled, event = error, Cancelled(ledger=watch.collected())
                else:
                    event = StepFailed(error=_internal(error, step), ledger=watch.collected())
            run = _folded(run, event, watch)
        await watch.settle()
    run = watch.marked(run)
    watch.tell("on_end", run)
    if cancelled is not None:
        raise cancelled
    return run


def _is_interrupted() -> bool:
    """Whether somebody cancelled this task; a role may also raise CancelledError of its own (a task of its own that was
    cancelled), which is a fault."""
    task = asyncio.current_task()
    return task is None or task.cancelling() > 0


def _folded(run: Run, event: Event, watch: Watch) -> Run:
    """The run after the event. One that can't be folded in (a check that reports nonsense) ends the run as our fault,
    with all that was paid for."""
    try:
        return watch.fold(run, event)
    except Exception as fault:
        return watch.fold(run, StepFailed(error=_internal(fault, event), ledger=getattr(event, "ledger", ())))


def _internal(fault: BaseException, during: Step | Event) -> RunError:
    log.exception("a step failed for a reason of our own: %s", type(during).__name__)
    return RunError(kind="internal", message=f"{type(fault).__name__}: {fault}")


async def _perform(run: Run, step: Step, roles: Roles, watch: Watch) -> Event:
    """Performs one step within the time that is left; every fault becomes an event."""
    with watch.around("around_step", run, step):
        limit = run.policy.limits.elapsed_s
        started = asyncio.get_running_loop().time()
        try:
            async with asyncio.timeout(seconds_left(run)) as deadline:
                return await _ask(run, step, roles, watch, deadline)
        except Unaffordable as short:
            return NotAfforded(shortage=short.shortage, ledger=watch.collected())
        except ModelFailed as failure:
            error = RunError(kind=failure.kind, message=str(failure))
        except Exception as fault:
            if isinstance(fault, TimeoutError) and deadline.expired():
                seconds = run.usage.seconds + asyncio.get_running_loop().time() - started
                return DeadlinePassed(seconds=seconds, limit=limit or 0.0, ledger=watch.collected())
            error = _internal(fault, step)
        return StepFailed(error=error, ledger=watch.collected())


async def _ask(run: Run, step: Step, roles: Roles, watch: Watch, deadline: asyncio.Timeout) -> Event:
    if isinstance(step, WriteDraft):
        return await _write(run, step, roles, watch)
    if isinstance(step, AskCritic):
        return await _criticise(run, step, roles, watch)
    if isinstance(step, GatherEvidence):
        seen = with_candidate(run, step.candidate)
        evidence = await roles.evidence.gather(seen, _Hooks(seen, watch, deadline, step))
        return EvidenceGathered(evidence=sound(evidence), candidate=step.candidate, ledger=watch.collected())
    assert isinstance(step, Decide)
    return await _decide(run, roles)


async def _decide(run: Run, roles: Roles) -> Event:
    """The decision. Only where a revision is due its prompts are sized, which may take asking a server."""
    due: list[WriteDraft] = []

    def note(revision: WriteDraft) -> Estimate:
        due.append(revision)
        return Estimate()

    decided = decide(run, note)
    if not due:
        return decided
    sizes = await draft_sizes(run, due[0], roles)
    return decide(run, lambda revision: sizes)


async def _write(run: Run, step: WriteDraft, roles: Roles, watch: Watch) -> Event:
    """One draft. A check's own fix costs no call; a patch that does not apply is asked for once more, as a rewrite: a
    call of its own."""
    if step.fixed is not None:
        return DraftWritten(draft=Draft(index=step.index, text=step.fixed, mode="fixed", extraction="fix"))
    role = roles.generator
    if step.candidate or step.index == 0:  # a revision was reserved, with its critique, when it was decided
        short = shortage(run, budget_step(step), await draft_sizes(run, step, roles))
        if short is not None:
            return NotAfforded(shortage=short)
    reply = await _generate(run, step, roles, watch)
    problem, notices = None, reply.notices
    try:
        draft = role.draft(run, step, reply)
    except PatchFailed as failed:
        watch.keep(reply.text)
        assert step.feedback is not None, "only a revision can be a patch"
        step = replace(step, feedback=replace(step.feedback, mode="rewrite"))
        run = with_rows(run, watch.rows)
        short = shortage(run, budget_step(step), await draft_sizes(run, step, roles))
        if short is not None:
            return NotAfforded(shortage=short, ledger=watch.collected())
        reply = await _generate(run, step, roles, watch)
        problem, notices = str(failed), notices + reply.notices
        draft = role.draft(run, step, reply)
    draft = replace(draft, candidate=step.candidate, patch_failed=problem)
    return DraftWritten(draft=draft, ledger=watch.collected(), notices=notices)


async def _generate(run: Run, step: WriteDraft, roles: Roles, watch: Watch) -> ChatReply:
    role = roles.generator
    sizes = await draft_sizes(run, step, roles)
    request = _request(run, step, "generator", role, role.messages(run, step), sizes)
    return await _call(run, step, role.client, request, watch)


async def _criticise(run: Run, step: AskCritic, roles: Roles, watch: Watch) -> Event:
    role = roles.critic
    assert role is not None, "the policy calls for a critic and none was given"
    messages = role.messages(run, step)
    sizes = await estimate(run.policy.limits, critic=Asked(role.client, messages, "critic"))
    short = shortage(run, budget_step(step), sizes)
    if short is not None:
        return NotAfforded(shortage=short)
    request = _request(run, step, "critic", role, messages, sizes)
    if run.policy.rules.critique == "issues":
        request = replace(request, schema=role.schema, in_lines=role.in_lines(run, step))
    reply = await _call(run, step, role.client, request, watch)
    answer, notices = role.read(run, reply), reply.notices
    if answer.validity != "ok":
        watch.keep(reply.text)
    return CriticAnswered(reply=answer, ledger=watch.collected(), notices=notices)


def _request(
    run: Run,
    step: WriteDraft | AskCritic | GatherEvidence,
    name: Role,
    role: AsksModel,
    messages: tuple[Message, ...],
    sizes: Estimate,
) -> ChatRequest:
    limits = run.policy.limits
    drafts = run.policy.rules.width - step.candidate if isinstance(step, WriteDraft) and step.index else 1
    room = output_room(run, sizes, drafts)
    max_tokens = role.client.max_tokens if room is None else min(role.client.max_tokens, room)
    prompt = (sizes.critic if name == "critic" else sizes.generator) or 0
    return ChatRequest(
        role=name,
        round=step.index,
        call=run.usage.calls + 1,
        messages=messages,
        max_tokens=max_tokens,
        reserved_tokens=prompt + max_tokens,
        reserved_cost=price(limits, role.client, name, prompt, max_tokens),
        temperature=role.temperature,
        seed=role.seed,
        seconds_left=seconds_left(run),
    )


@dataclass
class _Hooks(CheckWatch):
    """What an evidence source may do while it works on a draft of `step`."""

    step: GatherEvidence

    async def ask(
        self, client: ChatClient, messages: tuple[Message, ...], *, temperature: float | None = 0.0
    ) -> ChatReply | Shortage:
        run = with_rows(self.run, self.watch.rows)
        # In the generator's place: a step has one call or two, and this one is alone.
        sizes = await estimate(run.policy.limits, generator=Asked(client, messages, "evidence"))
        short = shortage(run, "evidence", sizes)
        if short is not None:
            return short
        asker = _Asker(client=client, temperature=temperature)
        request = _request(run, self.step, "evidence", asker, messages, sizes)
        return await _call(run, self.step, client, request, self.watch)


@dataclass(kw_only=True)
class _Asker:
    """Who wants a model's opinion."""

    client: ChatClient
    temperature: float | None
    seed: int | None = None


async def _call(run: Run, step: Step, client: ChatClient, request: ChatRequest, watch: Watch) -> ChatReply:
    await watch.settle()
    with watch.around("around_call", run, request, client.model):
        reply = await client.complete(request, CallWatch(run, step, watch))
        watch.tell("on_reply", run, reply)
    return reply
