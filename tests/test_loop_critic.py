"""The critic's protocols against a real server: how it is asked, what is asked again, and what an answer is worth."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from reflect_lab.core.policy import Policy, Rules
from reflect_lab.core.roles import Roles
from reflect_lab.core.run import Run
from reflect_lab.loop import run_loop
from reflect_lab.models.refused import RefusedParams
from reflect_lab.roles.critic import Critic
from reflect_lab.roles.generator import Generator
from reflect_lab.roles.prompt import generator_prompt, shipped_critic
from tests.models.recording import client_of
from tests.openai_server import OpenAITestServer, Reply
from tests.test_loop import NoChecks, empty_run, roles

ISSUE = {
    "id": "a", "severity": "blocking", "requirement": "R1", "location": None, "evidence": "", "suggestion": "",
}  # fmt: skip
CLEAN = json.dumps({"issues": [], "score": 0.9, "requirements_checked": []})
LOW = json.dumps({"issues": [], "score": 0.1, "requirements_checked": []})
BLOCKED = json.dumps({"issues": [ISSUE], "score": 0.4, "requirements_checked": []})


@pytest.fixture
def server() -> Iterator[OpenAITestServer]:
    with OpenAITestServer() as started:
        yield started


async def critique(
    server: OpenAITestServer, *answers: Reply | str, refused: RefusedParams | None = None, **rules: Any
) -> Run:
    """The run of one draft and a critic with these answers. Only the critic's requests reach the server twice."""
    server.add(Reply("The repair is soon."))
    for answer in answers:
        server.add(Reply(answer) if isinstance(answer, str) else answer)
    known = refused or RefusedParams()
    who = Roles(
        generator=Generator(client_of(server, refused=known), generator_prompt()),
        critic=Critic(client_of(server, refused=known), shipped_critic("grounded"), temperature=None),
        evidence=NoChecks(),
    )
    under = Policy(limits=replace(Policy().limits, revisions=0), rules=Rules(**rules))
    try:
        return await run_loop(replace(empty_run(), policy=under), who)
    finally:
        await who.close()


def asked(server: OpenAITestServer) -> list[tuple[str | None, str, str]]:
    """The critic's requests: the response format, the system message, the user's message."""
    chats = [chat.body for chat in server.chats[1:]]
    return [
        ((b.get("response_format") or {}).get("type"), b["messages"][0]["content"], b["messages"][-1]["content"])
        for b in chats
    ]


async def test_a_server_that_takes_a_schema_is_asked_for_one(server: OpenAITestServer) -> None:
    run = await critique(server, CLEAN)
    assert run.rounds[0].critique and run.rounds[0].critique.protocol == "schema"
    assert [form for form, _, _ in asked(server)] == ["json_schema"]
    assert run.ledger[-1].protocol == "schema"


async def test_without_schemas_json_mode_is_asked_for(server: OpenAITestServer) -> None:
    server.refuse_params = ("json_schema",)
    run = await critique(server, CLEAN)
    assert [form for form, _, _ in asked(server)] == ["json_schema", "json_object"]
    assert run.rounds[0].critique and run.rounds[0].critique.protocol == "json"
    assert run.outcome and run.outcome.stop_reason == "pass"
    assert [(r.status, r.protocol) for r in run.ledger[1:]] == [("retried", "schema"), ("ok", "json")]


async def test_without_any_form_the_critic_is_asked_anew_for_lines_within_the_same_call(
    server: OpenAITestServer,
) -> None:
    server.refuse_params = ("json_schema", "json_object")
    run = await critique(server, "PROBLEM: it never names the day of the repair")
    forms = asked(server)
    assert [form for form, _, _ in forms] == ["json_schema", "json_object", None]
    assert ["PROBLEM:" in system for _, system, _ in forms] == [False, False, True]
    assert "one JSON object" not in forms[2][1]
    assert [(r.call, r.attempt, r.protocol) for r in run.ledger[1:]] == [
        (2, 1, "schema"),
        (2, 2, "json"),
        (2, 3, "lines"),
    ]
    found = run.rounds[0].critique
    assert found and (found.validity, found.protocol, found.score) == ("ok", "lines", None)
    assert [(i.id, i.severity, i.key) for i in found.issues] == [("p1", "blocking", "R1")]


async def test_what_was_refused_is_known_to_the_next_call(server: OpenAITestServer) -> None:
    server.refuse_params = ("json_schema", "json_object")
    known = RefusedParams()
    await critique(server, "No problems found.", refused=known)
    before = len(server.chats)
    run = await critique(server, "No problems found. Well done.", refused=known)
    assert len(server.chats) - before == 2
    assert run.ledger[-1].protocol == "lines" and run.outcome and run.outcome.stop_reason == "pass"


async def test_json_where_lines_were_asked_for_is_invalid(server: OpenAITestServer) -> None:
    server.refuse_params = ("json_schema", "json_object")
    run = await critique(server, CLEAN, CLEAN)
    assert run.outcome and run.outcome.stop_reason == "invalid_critique"


async def test_lines_where_the_server_took_a_form_and_ignored_it_are_invalid(server: OpenAITestServer) -> None:
    run = await critique(server, "No problems found.", "PROBLEM: it names no day")
    assert run.outcome and run.outcome.stop_reason == "invalid_critique"
    assert run.rounds[0].critique and run.rounds[0].critique.protocol == "schema"


@pytest.mark.parametrize(
    ("refuses", "bad", "good", "agreed", "other"),
    [
        ((), "It looks good.", CLEAN, "Answer with one JSON object", "PROBLEM:"),
        (("json_schema", "json_object"), "- PROBLEM: x", "No problems found.", "PROBLEM:", "one JSON object"),
    ],
)
async def test_one_repair_names_the_problem_quotes_the_answer_and_repeats_the_form(
    refuses: tuple[str, ...], bad: str, good: str, agreed: str, other: str, server: OpenAITestServer
) -> None:
    server.refuse_params = refuses
    run = await critique(server, bad, good)
    found = run.rounds[0].critique
    assert found and (found.validity, found.repairs) == ("ok", 1)
    content = asked(server)[-1][2]
    first = next(row for row in run.ledger if row.text)
    assert first.text == bad
    assert "# Your last answer could not be used: " in content
    assert f"\n{bad}\n</answer " in content
    assert agreed in content.split("Answer again")[1] and other not in content.split("Answer again")[1]
    assert run.outcome and run.outcome.stop_reason == "pass"


@pytest.mark.parametrize(
    ("answer", "validity"),
    [
        (Reply(BLOCKED), "ok"),
        (Reply(None, refusal="I won't judge."), "refused"),
        (Reply("{", finish_reason="content_filter"), "refused"),
        (Reply(CLEAN, finish_reason="length"), "truncated"),
        (Reply(f"<think>{CLEAN}"), "truncated"),
        (Reply("Fine."), "invalid"),
        (Reply(""), "invalid"),
        (Reply(LOW), "contradictory"),
    ],
)
async def test_the_validity_of_an_answer(answer: Reply, validity: str, server: OpenAITestServer) -> None:
    run = await critique(server, answer, answer)
    found = run.rounds[0].critique
    assert found and found.validity == validity
    assert found.repairs == (0 if validity == "ok" else 1), "one repair and no more"
    assert len(server.chats) == (2 if validity == "ok" else 3)
    assert found.critic_score == {"ok": 0.4, "contradictory": 0.1}.get(validity)
    if validity != "ok":
        assert run.outcome and run.outcome.stop_reason == "invalid_critique"


async def test_a_critic_that_the_policy_never_calls_is_not_asked(server: OpenAITestServer) -> None:
    run = await critique(server, critic="never")
    found = run.rounds[0].critique
    assert found and found.validity == "not_asked" and len(server.chats) == 1


async def test_a_critique_in_prose_is_asked_for_and_kept(server: OpenAITestServer) -> None:
    text = "It never names the day of the repair.\nSay which day."
    run = await critique(server, f"<think>hm</think>{text}", critique="text")
    form, system, _ = asked(server)[0]
    assert form is None and "plain prose" in system and "one JSON object" not in system
    found = run.rounds[0].critique
    assert found and (found.validity, found.protocol, found.text, found.score) == ("ok", "text", text, None)
    assert [(i.id, i.evidence, i.key) for i in found.issues] == [("critique", text, "R1")]
    assert run.ledger[-1].protocol is None, "no form was asked of the server"


async def test_prose_that_quotes_nothing_is_discarded_and_the_text_stays(server: OpenAITestServer) -> None:
    run = await critique(server, "Too dull.", critique="text")
    found = run.rounds[0].critique
    assert found and (found.issues, found.text) == ((), "Too dull.")
    assert [d.id for d in found.discarded] == ["critique"]


async def test_prose_without_a_problem_passes(server: OpenAITestServer) -> None:
    run = await critique(server, "No problems found.", critique="text")
    assert run.outcome and run.outcome.stop_reason == "pass"


async def test_a_scripted_critic_may_speak_in_lines_or_in_prose(tmp_path: Path) -> None:
    lines = [
        {"role": "generator", "text": "soon"},
        {"role": "critic", "text": "PROBLEM: names the day of the repair: it does not", "protocol": "lines"},
        {"role": "generator", "text": "on Monday"},
        {"role": "critic", "text": "No problems found.", "protocol": "lines"},
    ]
    run = await run_loop(empty_run(), roles(tmp_path, lines))
    assert [r.critique.protocol for r in run.rounds if r.critique] == ["lines", "lines"]
    assert run.outcome and run.outcome.stop_reason == "pass"
    prose = [{**line, "protocol": None} for line in lines]
    under = replace(empty_run(), policy=Policy(rules=Rules(critique="text")))
    run = await run_loop(under, roles(tmp_path, prose))
    assert [r.critique.text for r in run.rounds if r.critique] == [lines[1]["text"], "No problems found."]
    assert run.outcome and run.outcome.stop_reason == "pass"
