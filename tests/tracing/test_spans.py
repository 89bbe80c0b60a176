"""The span tree: its shape, and that it says what the events say."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from reflect_lab.core.policy import Limits, Policy, Rules, Select
from reflect_lab.core.run import Run
from reflect_lab.core.selection import candidates
from reflect_lab.core.task import Task
from reflect_lab.tracing import attributes as names
from reflect_lab.tracing.content import Content
from reflect_lab.tracing.spans import SpanObserver
from tests.store.driver import (
    COLOUR_MISSING,
    REVISED,
    UNGROUNDED,
    PlayedClient,
    critique,
    empty_run,
    play,
    refused,
    roles,
)


@dataclass
class Played:
    """A run and its spans."""

    run: Run | None
    spans: tuple[ReadableSpan, ...]

    def named(self, name: str) -> list[ReadableSpan]:
        found = [span for span in self.spans if span.name == name]
        return sorted(found, key=lambda span: span.start_time)

    def one(self, name: str) -> ReadableSpan:
        (span,) = self.named(name)
        return span

    def tree(self) -> list[Any]:
        """Names as nested lists, children in the order of their start."""

        def below(parent: int | None) -> list[Any]:
            children = [span for span in self.spans if (span.parent and span.parent.span_id) == parent]
            children.sort(key=lambda span: span.start_time)
            return [[span.name, *below(span.context.span_id)] for span in children]

        return below(None)


class Traced:
    """A provider that keeps its spans, and an observer on it."""

    def __init__(self, content: Content | None = None) -> None:
        self.exporter = InMemorySpanExporter()
        self.provider = TracerProvider()
        self.provider.add_span_processor(SimpleSpanProcessor(self.exporter))
        self.observer = SpanObserver(self.provider.get_tracer("test"), content)

    def played(self, run: Run | None) -> Played:
        return Played(run, self.exporter.get_finished_spans())


async def traced(*arguments: Any, content: Content | None = None, **keywords: Any) -> Played:
    made = Traced(content)
    return made.played(await play([made.observer], *arguments, **keywords))


ROUND = ["reflect.round",
    ["reflect.generate", ["chat played"]],
    ["reflect.evidence", ["execute_tool length"]],
    ["reflect.critique", ["chat played"]],
    ["reflect.decide"],
]  # fmt: skip


async def test_the_tree_is_the_documented_one() -> None:
    played = await traced()
    assert played.tree() == [["invoke_workflow reflect", ROUND, ROUND]]
    kinds = {span.name: span.kind for span in played.spans}
    assert kinds.pop("chat played") is SpanKind.CLIENT
    assert set(kinds.values()) == {SpanKind.INTERNAL}
    icons = {span.name: span.attributes[names.OPENINFERENCE_KIND] for span in played.spans}
    assert icons["reflect.critique"] == "EVALUATOR" and icons["invoke_workflow reflect"] == "CHAIN"


async def test_a_revision_links_to_the_critique_that_caused_it() -> None:
    played = await traced()
    first, second = played.named("reflect.generate")
    assert not first.links
    (link,) = second.links
    assert link.context.span_id == played.named("reflect.critique")[0].context.span_id
    assert link.attributes[names.LINK_TYPE] == "addresses_critique"
    assert len(link.attributes[names.LINK_ISSUE_IDS]) == 2
    (chosen,) = played.one("invoke_workflow reflect").links
    assert chosen.context.span_id == second.context.span_id


async def test_a_revision_on_checks_alone_links_to_the_evidence() -> None:
    policy = Policy(rules=Policy().rules.__class__(critic="never"))
    played = await traced(run=empty_run(policy=policy))
    (link,) = played.named("reflect.generate")[1].links
    assert link.attributes[names.LINK_TYPE] == "addresses_evidence"
    assert link.context.span_id == played.named("reflect.evidence")[0].context.span_id
    assert "reflect.critique" not in {span.name for span in played.spans}


def agrees(run: Run, spans: Sequence[ReadableSpan]) -> None:
    """The law: ids, hashes, tokens and decisions of the tree are those of the run."""
    played = Played(run, tuple(spans))
    root = played.one("invoke_workflow reflect")
    assert root.attributes[names.RUN_ID] == run.run_id
    assert all(span.attributes[names.RUN_ID] == run.run_id for span in spans)
    assert {span.context.trace_id for span in spans} == {root.context.trace_id}
    assert root.attributes[names.STOP_REASON] == run.outcome.stop_reason
    assert root.attributes[names.OUTCOME] == run.outcome.status
    assert root.attributes.get(names.SELECTED_DRAFT) == run.outcome.draft_index
    rounds = [span for span in played.named("reflect.round") if names.DRAFT_INDEX in span.attributes]
    assert [span.attributes[names.ROUND_INDEX] for span in rounds] == [one.index for one in run.rounds]
    drafts = [span for span in played.named("reflect.generate") if names.DRAFT_SHA256 in span.attributes]
    written = [candidate for one in run.rounds for candidate in candidates(one)]
    assert [span.attributes[names.DRAFT_SHA256] for span in drafts] == [one.draft.sha256 for one in written]
    chats = played.named("chat played")
    ok = [row for row in run.ledger if row.input_tokens is not None]
    for name, field in ((names.INPUT_TOKENS, "input_tokens"), (names.OUTPUT_TOKENS, "output_tokens")):
        assert [s.attributes[name] for s in chats if name in s.attributes] == [getattr(row, field) for row in ok]
        assert all(name not in span.attributes for span in spans if span.name != "chat played")
        assert root.attributes.get(f"reflect.usage.{field}") == getattr(run.usage, field)
    decisions = [one.decision for one in run.rounds if one.decision is not None]
    decided = [span.attributes[names.DECISION_REASON] for span in played.named("reflect.decide")]
    assert decided == [decision.reason for decision in decisions][: len(decided)]
    judged = [span for span in played.named("reflect.critique") if names.CRITIQUE_VALIDITY in span.attributes]
    last = {span.attributes[names.ROUND_INDEX]: span.attributes for span in judged}
    for index, said in last.items():
        assert said[names.CRITIQUE_VALIDITY] == run.rounds[index].critique.validity
        assert said.get(names.CRITIQUE_SCORE) == run.rounds[index].critique.score
    checks = [span.attributes[names.CHECK_STATUS] for span in played.named("execute_tool length")]
    assert checks == [piece.status for one in written for piece in one.evidence or ()]


DRAFT = st.sampled_from(["a sea", "blue", "a sea, blue and wide", "a\ud800\0 sea", "", refused(), ValueError("own")])
CRITIQUE = st.sampled_from(
    [critique(), critique(COLOUR_MISSING, UNGROUNDED, score=0.2), "not JSON", refused(), critique(score=0.1)]
)


@settings(max_examples=40, deadline=None)
@given(
    drafts=st.lists(DRAFT, min_size=4, max_size=4),
    critiques=st.lists(CRITIQUE, min_size=8, max_size=8),
    calls=st.integers(0, 6),
    rules=st.builds(Rules, width=st.integers(1, 3), select=st.sampled_from(get_args(Select))),
)
async def test_the_tree_agrees_with_the_run_whatever_happens(
    drafts: list, critiques: list, calls: int, rules: Rules
) -> None:
    policy = Policy(limits=Limits(model_calls=calls), rules=rules)
    played = await traced(drafts, critiques, run=empty_run(policy=policy))
    assert played.run is not None
    agrees(played.run, played.spans)
    for span in played.spans:
        parents = {other.context.span_id: other for other in played.spans}
        if span.parent is not None:
            parent = parents[span.parent.span_id]
            assert parent.start_time <= span.start_time and span.end_time <= parent.end_time


async def test_a_stop_without_success_is_no_error_of_the_span() -> None:
    played = await traced(["a sea", "a lake", "a pond"], [critique(COLOUR_MISSING, score=0.3)] * 3)
    assert played.run.outcome.stop_reason in ("stalled", "repeated_failure")
    assert {span.status.status_code for span in played.spans} == {StatusCode.UNSET}


async def test_an_error_is_one_and_its_text_stays_out() -> None:
    error = refused("the key sk-secret-secret-secret was refused")
    played = await traced([error])
    failed = {span.name for span in played.spans if span.status.status_code is StatusCode.ERROR}
    assert failed == {"invoke_workflow reflect", "reflect.generate", "chat played"}
    for span in played.spans:
        if span.name in failed:
            assert span.attributes[names.ERROR_TYPE] == "provider_refused"
        assert "sk-secret" not in span.to_json()
        assert not [event for event in span.events if event.name == "exception"]


async def test_what_could_not_be_afforded_leaves_no_span() -> None:
    played = await traced(run=empty_run(policy=Policy(limits=Limits(model_calls=0))))
    assert played.run.outcome.stop_reason == "budget"
    assert played.tree() == [["invoke_workflow reflect"]]
    played = await traced(run=empty_run(policy=Policy(limits=Limits(model_calls=1))))
    assert [span.name for span in played.named("chat played")] == ["chat played"]
    assert "reflect.critique" not in {span.name for span in played.spans}


async def test_a_cancelled_run_ends_its_spans_without_an_error() -> None:
    made = Traced()
    actors = roles(REVISED, [critique()])
    reached = asyncio.Event()

    async def hang(*arguments: object) -> None:
        reached.set()
        await asyncio.Event().wait()

    actors.generator.client.complete = hang
    task = asyncio.create_task(play([made.observer], actors=actors))
    await reached.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    played = made.played(None)
    assert played.tree() == [["invoke_workflow reflect", ["reflect.round", ["reflect.generate", ["chat played"]]]]]
    assert {span.status.status_code for span in played.spans} == {StatusCode.UNSET}
    assert played.one("invoke_workflow reflect").attributes[names.STOP_REASON] == "cancelled"
    assert played.one("chat played").attributes[names.STEP_CUT] == "cancelled"


WORDS = ("blue and wide", "names a colour", "Describe", "poetic", "say blue", "2 words")


async def test_no_words_stand_on_spans_unless_they_are_asked_for() -> None:
    played = await traced()
    everything = "".join(span.to_json() for span in played.spans)
    assert [word for word in WORDS if word in everything] == []


async def test_words_stand_on_spans_where_the_standard_variable_asks_for_them() -> None:
    variable = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
    content = Content.from_environ({variable: "span_and_event"})
    played = await traced(content=content)
    chat = played.named("chat played")[0]
    (message,) = json.loads(chat.attributes[names.INPUT_MESSAGES])
    assert message["role"] == "user" and "Describe the sea." in message["parts"][0]["content"]
    assert json.loads(chat.attributes[names.OUTPUT_MESSAGES])[0]["parts"][0]["content"] == "a sea"
    issues = json.loads(played.named("reflect.critique")[0].attributes[names.ISSUES])
    assert [issue["id"] for issue in issues] == ["length/words", "i1", "i2"]
    assert issues[1]["suggestion"] == "say blue" and issues[2]["discard_reason"]
    for off in ("", "NO_CONTENT", "EVENT_ONLY", "true"):
        assert not Content.from_environ({variable: off}).is_captured


async def test_a_span_of_an_instrumented_client_hangs_below_the_chat_span() -> None:
    made = Traced()
    actors = roles(["a sea, blue and wide"], [critique()])
    tracer = made.provider.get_tracer("some instrumentation")

    class Instrumented(PlayedClient):
        async def complete(self, *arguments: Any) -> Any:
            with tracer.start_as_current_span("POST"):
                return await super().complete(*arguments)

    actors.generator.client = Instrumented(["a sea, blue and wide"])
    played = made.played(await play([made.observer], actors=actors))
    post, chat = played.one("POST"), played.named("chat played")[0]
    assert post.parent.span_id == chat.context.span_id
    assert chat.attributes[names.INPUT_TOKENS] > 0  # the attempt is found though another span was current


async def test_a_span_that_the_users_program_has_open_is_left_alone() -> None:
    made = Traced()
    with made.provider.get_tracer("notebook").start_as_current_span("cell") as cell:
        run = await play([made.observer])
        assert trace.get_current_span() is cell
    played = made.played(run)
    assert played.one("invoke_workflow reflect").parent is None
    agrees(run, [span for span in played.spans if span.name != "cell"])


async def test_concurrent_runs_keep_their_spans_apart() -> None:
    made = Traced()
    runs = await asyncio.gather(*(play([made.observer], run=empty_run(f"run-{n}")) for n in range(4)))
    for run in runs:
        agrees(run, [s for s in made.played(None).spans if s.attributes[names.RUN_ID] == run.run_id])


async def test_a_flood_of_issues_is_counted_whole_and_listed_in_part() -> None:
    flood = [{"id": f"i{n}", "severity": "minor", "requirement": "R1", "evidence": "x" * 50} for n in range(2000)]
    played = await traced(["a sea, blue and wide"], [critique(*flood)])
    said = played.one("reflect.critique").attributes
    assert len(json.loads(said[names.ISSUES])) == 50
    kept = played.run.rounds[0].critique
    assert said["reflect.critique.issues.minor"] == len(kept.issues) > 50


async def test_hostile_names_and_numbers_reach_every_exporter() -> None:
    task = Task(text="\ud800", name="\ud800")
    played = await traced(["\ud800 sea"], [critique()], run=empty_run("run-\ud800", task=task))
    assert encode_spans(played.spans).ByteSize() > 0
