"""The law of the span tree (DESIGN 4.4): it agrees with the events on ids, hashes, tokens and decisions, on random
runs of the real loop, wide rounds, deadlines and odd answers included."""

from __future__ import annotations

import asyncio
from typing import Any

from hypothesis import given
from opentelemetry.sdk.trace import ReadableSpan

from reflect_lab.core.policy import Policy
from reflect_lab.core.run import ModelUse, Run
from reflect_lab.core.selection import candidates
from reflect_lab.loop import run_loop
from reflect_lab.tracing import attributes as names
from tests.core.simulate import Turn
from tests.core.strategies import LAW, ODD_TASK, POLICIES, TURNS
from tests.players import Player
from tests.tracing.test_spans import Traced


def named(spans: tuple[ReadableSpan, ...], name: str) -> list[Any]:
    found = [span for span in spans if span.name == name]
    return [dict(span.attributes or {}) for span in sorted(found, key=lambda span: span.start_time or 0)]


@LAW
@given(TURNS, POLICIES)
def test_the_span_tree_agrees_with_the_run_on_ids_hashes_tokens_and_decisions(turns: list[Turn], under: Policy) -> None:
    made = Traced()
    models = {"generator": ModelUse(requested="m"), "critic": ModelUse(requested="m")}
    start = Run(run_id="01JRUN0000000000000000000A", task=ODD_TASK, policy=under, models=models)
    run = asyncio.run(run_loop(start, Player(turns).roles, [made.observer]))
    spans = made.played(run).spans
    assert run.outcome is not None
    (root,) = named(spans, "invoke_workflow reflect")
    assert {(span.attributes or {})[names.RUN_ID] for span in spans} == {run.run_id}
    assert (root[names.STOP_REASON], root[names.OUTCOME]) == (run.outcome.stop_reason, run.outcome.status)
    assert root.get(names.SELECTED_DRAFT) == run.outcome.draft_index
    written = [span[names.DRAFT_SHA256] for span in named(spans, "reflect.generate") if names.DRAFT_SHA256 in span]
    assert written == [c.draft.sha256 for r in run.rounds for c in candidates(r)]
    chats = [span for span in named(spans, "chat m") if names.INPUT_TOKENS in span]
    counted = [(span[names.INPUT_TOKENS], span[names.OUTPUT_TOKENS]) for span in chats]
    assert counted == [(row.input_tokens, row.output_tokens) for row in run.ledger]
    assert (root.get("reflect.usage.input_tokens"), root.get("reflect.usage.output_tokens")) == (
        run.usage.input_tokens, run.usage.output_tokens,
    )  # fmt: skip
    decided = [span[names.DECISION_REASON] for span in named(spans, "reflect.decide")]
    made_by_decide = [r.decision.reason for r in run.rounds if r.decision][: len(decided)]
    assert decided == made_by_decide
    assert len(decided) >= len([r for r in run.rounds if r.decision and r.decision.action == "revise"])
