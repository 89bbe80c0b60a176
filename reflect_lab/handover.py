"""Handing over (DESIGN 4.5): under `on_exhaustion: model:NAME` a run that is exhausted is continued by one child run of
that model, from the task on, on what is left of the budget."""

from __future__ import annotations

from dataclasses import replace

from reflect_lab.core.budget import checking_seconds, run_usage, shortage, tool_calls
from reflect_lab.core.policy import Policy
from reflect_lab.core.reducer import EXHAUSTION
from reflect_lab.core.roles import Roles
from reflect_lab.core.run import Carried, Notice, Run
from reflect_lab.core.steps import WriteDraft
from reflect_lab.sizing import Asked, estimate

MODEL = "model:"


def successor(policy: Policy) -> str | None:
    """The model that takes over when a run under this policy is exhausted; None where nobody does."""
    return policy.on_exhaustion.removeprefix(MODEL) if policy.on_exhaustion.startswith(MODEL) else None


def is_exhausted(run: Run) -> bool:
    """Whether a run ended in a way after which another model may be tried."""
    return run.outcome is not None and run.outcome.stop_reason in EXHAUSTION


def continued(parent: Run, empty: Run) -> Run:
    """The child as it starts: an empty run of the other model, with what the parent had used.

    The parent's calls open its ledger, so that calls are numbered on and every limit but that of revisions counts both
    runs; `paid_by` tells whose they are, and totals over many runs count them where they were paid.
    """
    rows = tuple(replace(row, paid_by=row.paid_by or parent.run_id) for row in parent.ledger)
    carried = Carried(seconds=checking_seconds(parent), tool_calls=tool_calls(parent))
    assert parent.outcome is not None
    stop = parent.outcome.budget_dimension or parent.outcome.stop_reason
    text = (
        f"{empty.models['generator'].requested} took over from {parent.models['generator'].requested}, whose run "
        f"{parent.run_id} had stopped ({stop}); the calls and totals here are of both runs"
    )
    child = replace(
        empty,
        parent_run=parent.run_id,
        ledger=rows,
        carried=carried,
        lessons=parent.lessons,
        notices=(Notice(kind="handed_over", message=text),),
    )
    return replace(child, usage=run_usage(child))


async def why_not_continued(child: Run, roles: Roles) -> str | None:
    """Why what is left does not reach for a first draft of the child and a critique of it; None where it does.

    The critique is sized by the draft's prompt, which is the least of what its own prompt will hold.
    """
    writer = roles.generator
    messages = writer.messages(child, WriteDraft(index=0))
    judge = None if roles.critic is None else Asked(roles.critic.client, messages, "critic")
    sizes = await estimate(child.policy.limits, generator=Asked(writer.client, messages), critic=judge)
    short = shortage(child, "draft", sizes)
    return None if short is None else short.message


def not_continued(parent: Run, child: Run, why: str) -> Run:
    """The parent as the last word, with the reason why nobody took over."""
    text = f"{child.models['generator'].requested} did not take over: {why}"
    return replace(parent, notices=(*parent.notices, Notice(kind="not_handed_over", message=text)))


def has_draft(run: Run) -> bool:
    """Whether a run returns a draft."""
    return run.outcome is not None and run.outcome.draft is not None


def failed_to_continue(parent: Run, child: Run) -> Run:
    """The parent as the last word where the child ended before its first draft: the parent's was paid for. What the
    child took stands in its own record."""
    assert child.outcome is not None
    return not_continued(parent, child, f"its run {child.run_id} ended before a draft: {child.outcome.message}")
