"""Loops of the literature, built of policies, views and roles alone: what the plain loop does is untouched.

Self-consistency: Wang et al. 2022. Best of N. Intrinsic self-correction: Huang et al. 2023. Self-Refine: Madaan et al.
2023. A model's opinion as evidence of the lowest rank.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from reflect_lab.core.chat import ChatReply, Message
from reflect_lab.core.evidence import Evidence
from reflect_lab.core.policy import Limits, Policy, Rules, Views
from reflect_lab.core.replay import replay
from reflect_lab.core.roles import EvidenceHooks, Roles
from reflect_lab.core.run import Run, Shortage
from reflect_lab.loop import run_loop
from reflect_lab.options import RunOptions
from reflect_lab.session import Session
from tests.store.driver import PlayedClient, empty_run, play, roles

MEAN = (
    "Write `mean(xs)`.\n```python check\nassert mean([2, 4]) == 3\nassert mean([]) == 0\nassert mean([5]) == 5\n```\n"
)


def code(body: str) -> str:
    return f"```python\ndef mean(xs):\n    return {body}\n```"


async def scripted(folder: Path, cell: str, policy: dict[str, Any], *lines: dict[str, Any], **options: Any) -> Run:
    (folder / "s.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    async with Session(traces=folder / "traces", environ={"HOME": str(folder)}, cwd=folder) as session:
        run = await session.reflect(cell, RunOptions(model="scripted:s.jsonl", policy=policy, **options))
        assert session.open_traces().run(run.run_id) == run, "the log holds the whole run"
    assert run.outcome is not None and replay(run, run.policy).run == run
    return run


def drafts(*texts: str) -> list[dict[str, Any]]:
    return [{"role": "generator", "text": text} for text in texts]


async def test_self_consistency_is_a_vote_over_one_round(tmp_path: Path) -> None:
    texts = ("3 + 4 = 8.\nAnswer: 8", "3 and 4 make 7.\nAnswer: 7", "Four more than 3.\nAnswer: 7.0")
    policy = {
        "limits": {"revisions": 0},
        "rules": {"width": 3, "select": "vote", "critic": "never", "signal": "optional"},
    }
    run = await scripted(tmp_path, "What is 3 + 4?", policy, *drafts(*texts))
    assert run.outcome and run.outcome.draft == texts[1]
    assert run.usage.calls == 3 and [o.draft.text for o in run.rounds[0].others] == [texts[0], texts[2]]
    assert run.outcome.status != "accepted", "agreement with oneself is no evidence"


async def test_best_of_n_is_ranked_by_the_checks(tmp_path: Path) -> None:
    texts = [code("sum(xs) / len(xs)"), code("sum(xs) / len(xs) if xs else 0"), code("1")]
    policy = {"limits": {"revisions": 0}, "rules": {"width": 3, "select": "rank", "critic": "never"}}
    run = await scripted(tmp_path, MEAN, policy, *drafts(*texts))
    assert run.outcome and (run.outcome.stop_reason, run.usage.calls) == ("pass", 3)
    assert run.rounds[0].draft.candidate == 1 and "if xs" in run.rounds[0].draft.text
    failed = {o.draft.candidate: len(o.evidence[-1].failed_findings) for o in run.rounds[0].others if o.evidence}
    assert failed == {0: 1, 2: 3}


async def test_an_intrinsic_loop_has_no_evidence_and_judges_by_the_draft_alone(tmp_path: Path) -> None:
    policy = {
        "rules": {"signal": "optional", "draft_quotes": "allow", "select": "last"},
        "views": {"critic": ["task", "draft"]},
    }
    wrong = {"id": "w", "severity": "blocking", "evidence": "the sum is eight today", "suggestion": "add again"}
    lines = [
        *drafts("I say the sum is eight today.", "I say the sum is seven."),
        {"role": "critic", "json": {"issues": [wrong], "score": 0.3}},
        {"role": "critic", "json": {"issues": [], "score": 0.9}},
    ]
    run = await scripted(tmp_path, "What is 3 + 4?", policy, *lines, critic="intrinsic")
    assert run.outcome and (run.outcome.stop_reason, run.outcome.draft_index) == ("pass", 1)
    assert [i.ground.kind for i in run.rounds[0].critique.issues if i.ground] == ["draft"]  # type: ignore[union-attr]
    assert run.prompts["critic"].name == "intrinsic" and all(r.evidence == () for r in run.rounds)


SELF_REFINE = Policy(
    limits=Limits(revisions=3),
    rules=Rules(critique="text", signal="optional", draft_quotes="allow", select="last", patience=4, repeat_limit=9),
    views=Views(
        generator=("task", "history", "draft", "critique"), critic=("task", "history", "draft"), draft_role="assistant"
    ),
)


async def test_self_refine_sees_all_earlier_drafts_and_what_was_said_of_them() -> None:
    said = [
        "The words a grey sea of rain are dull.",
        "The words a blue sea of light are still dull.",
        "No problems found.",
    ]
    made = roles(["a grey sea of rain", "a blue sea of light", "a wide blue sea of light"], said)
    run = await play([], run=empty_run(policy=SELF_REFINE), actors=made)
    assert run.outcome and (run.outcome.stop_reason, run.outcome.draft_index) == ("pass", 2)
    assert [r.critique.text for r in run.rounds if r.critique][:2] == said[:2]


async def test_the_history_view_grows_and_carries_the_draft_as_the_generator_s_own_answer() -> None:
    requests = []
    made = roles(
        ["a grey sea of rain", "a blue sea of light", "a wide blue sea of light"],
        ["The words a grey sea of rain are dull.", "The words a blue sea of light are dull.", "No problems found."],
    )
    for role in (made.generator, made.critic):
        role.client.before = requests.append  # type: ignore[union-attr]
    await play([], run=empty_run(policy=SELF_REFINE), actors=made)
    writing = [r.messages for r in requests if r.role == "generator"]
    assert [m.role for m in writing[0]] == ["system", "user"]
    assert [m.role for m in writing[2]] == ["system", "user", "assistant", "user"]
    assert writing[2][2].content == "a blue sea of light"
    assert "a grey sea of rain" in writing[2][1].content and "are dull" in writing[2][1].content
    assert "a blue sea of light" not in writing[2][1].content
    criticising = [r.messages[-1].content for r in requests if r.role == "critic"]
    assert "a grey sea of rain" not in criticising[0].split("# The draft")[0]
    assert "a grey sea of rain" in criticising[2] and "a blue sea of light" in criticising[2]


async def test_peers_are_the_other_answers_of_a_round() -> None:
    policy = Policy(
        limits=Limits(revisions=1),
        rules=Rules(width=2, select="best", critic="never"),
        views=Views(generator=("task", "draft", "peers", "feedback")),
    )
    requests: list[Any] = []
    made = roles(["a sea", "the sea", "a wide blue sea"], [])
    made.generator.client.before = requests.append  # type: ignore[attr-defined]
    run = await play([], run=empty_run(policy=policy), actors=made)
    assert "# Other answers" not in requests[0].messages[-1].content
    assert "the sea" in requests[2].messages[-1].content.split("# Other answers")[1]
    assert run.rounds[0].others[0].draft.text == "the sea"


class Opinion:
    """Asks a model what it thinks, where the budget allows."""

    def __init__(self, *answers: str) -> None:
        self.client = PlayedClient(list(answers))

    async def gather(self, run: Run, hooks: EvidenceHooks) -> tuple[Evidence, ...]:
        draft = run.rounds[-1].draft.text
        answer = await hooks.ask(self.client, (Message(role="user", content=f"Is this right? {draft}"),))
        if isinstance(answer, Shortage):
            return (Evidence(source="opinion", kind="model", rank="model", status="not_run", text=answer.message),)
        assert isinstance(answer, ChatReply)
        status = "passed" if answer.text == "yes" else "failed"
        return (Evidence(source="opinion", kind="model", rank="model", status=status, text=answer.text),)  # type: ignore[arg-type]


def with_opinion(*answers: str) -> Roles:
    made = roles(["a wide blue sea"], ['{"issues": [], "score": 0.9}'])
    return Roles(generator=made.generator, critic=made.critic, evidence=Opinion(*answers))


async def test_a_model_s_evidence_is_metered_and_never_overrules() -> None:
    run = await run_loop(empty_run(), with_opinion("no, it is not"))
    assert run.outcome and run.outcome.stop_reason == "unverified", "the task's own check was not run"
    assert [(row.role, row.call) for row in run.ledger] == [("generator", 1), ("evidence", 2), ("critic", 3)]
    assert run.usage.calls == 3 and run.rounds[0].critique and not run.rounds[0].critique.issues


async def test_a_model_s_evidence_that_can_t_be_afforded_was_not_run() -> None:
    run = await run_loop(empty_run(policy=Policy(limits=Limits(model_calls=1))), with_opinion("yes"))
    assert run.rounds[0].evidence and run.rounds[0].evidence[0].status == "not_run"
    assert "needs up to 1 model call, 0 are left" in run.rounds[0].evidence[0].text
    assert run.usage.calls == 1


@pytest.mark.parametrize("at", [0, 1])
async def test_a_fork_through_a_session_is_recorded_as_a_run_of_its_own(tmp_path: Path, at: int) -> None:
    texts = [code("0"), code("sum(xs) / len(xs)"), code("sum(xs) / len(xs) if xs else 0")]
    policy = {"limits": {"revisions": 1}, "rules": {"critic": "never"}}
    run = await scripted(tmp_path, MEAN, policy, *drafts(*texts[:2]))
    assert run.outcome and run.outcome.stop_reason == "budget"
    run = replace(run, lessons=("mind the empty list",))
    (tmp_path / "more.jsonl").write_text(json.dumps(drafts(texts[2])[0]) + "\n")
    async with Session(traces=tmp_path / "traces", environ={"HOME": str(tmp_path)}, cwd=tmp_path) as session:
        child = await session.fork(run, at, RunOptions(model="scripted:more.jsonl", max_revisions=2))
        traces = session.open_traces()
        assert traces.run(child.run_id) == child
        assert (child.parent_run, child.forked_at, child.lessons) == (run.run_id, at, run.lessons)
        assert child.outcome and child.outcome.stop_reason == "pass" and len(child.rounds) == at + 2
        assert child.usage.calls == 1 and traces.sql("SELECT sum(calls)::INT FROM runs").rows == ((3,),)
        assert traces.sql("SELECT count(*)::INT FROM calls").rows == ((3,),)
