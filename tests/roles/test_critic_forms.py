"""The forms of a critic's answer without JSON, and how each is asked for."""

from __future__ import annotations

import pytest

from reflect_lab.core.chat import ChatReply
from reflect_lab.roles.critic_form import form, instructions
from reflect_lab.roles.critic_reply import read_reply
from reflect_lab.roles.critic_text import MAX_CRITIQUE
from reflect_lab.roles.prompt import shipped_critic, shipped_critics


def lines(text: str) -> list[str] | str:
    """The problems of an answer in lines, or why it can't be read."""
    reply = read_reply(ChatReply(text=text, protocol="lines"))
    assert reply.protocol == "lines" and reply.score is None
    if reply.validity != "ok":
        assert reply.validity == "invalid" and not reply.issues
        return reply.problem or ""
    assert all(i.severity == "blocking" and i.id == f"p{n}" for n, i in enumerate(reply.issues, 1))
    return [i.evidence for i in reply.issues]


@pytest.mark.parametrize(
    ("text", "problems"),
    [
        ("PROBLEM: the menu is missing", ["the menu is missing"]),
        ("PROBLEM: one\n\nPROBLEM:two  \r\nPROBLEM: three: four\n", ["one", "two", "three: four"]),
        ("<think>hm\nPROBLEM: not this</think>\nPROBLEM: this", ["this"]),
        ("No problems found.", []),
        ("\nNo problems found.\n", []),
        ("No problems found. A good result, well done.", []),
        ("<think>is it right?</think>No problems found.", []),
    ],
)
def test_the_line_protocol_is_read(text: str, problems: list[str]) -> None:
    assert lines(text) == problems


@pytest.mark.parametrize(
    "text",
    [
        "- PROBLEM: the menu is missing",
        "**PROBLEM:** the menu is missing",
        "Problem: the menu is missing",
        "  x\nPROBLEM: the menu is missing",
        "PROBLEM: one\nand more of it",
        "PROBLEM:",
        "PROBLEM: one\nPROBLEM:   ",
        "No problems found",
        "no problems found.",
        "No problems found.Really",
        "No problems found.\nWell done.",
        "No problems found. PROBLEM: the menu is missing",
        "No problems found.\nPROBLEM: the menu is missing",
        "PROBLEM: one\nNo problems found.",
        "There are no problems.",
        '{"issues": []}',
        "```\nNo problems found.\n```",
        "",
    ],
)
def test_anything_else_is_invalid_and_never_clean(text: str) -> None:
    assert isinstance(lines(text), str) and lines(text)


@pytest.mark.parametrize(
    ("reply", "validity"),
    [
        (ChatReply(text="PROBLEM: a", protocol="lines", finish_reason="length"), "truncated"),
        (ChatReply(text="<think>PROBLEM: a", protocol="lines"), "truncated"),
        (ChatReply(text="No problems found.", protocol="lines", refusal="I won't."), "refused"),
    ],
)
def test_how_a_reply_ended_is_looked_at_first(reply: ChatReply, validity: str) -> None:
    assert read_reply(reply).validity == read_reply(reply, is_prose=True).validity == validity


def test_prose_is_one_blocking_issue_with_the_whole_text_as_evidence() -> None:
    reply = read_reply(ChatReply(text="<think>hm</think>\nThe draft forgets the day.\nAdd it. "), is_prose=True)
    assert (reply.validity, reply.protocol, reply.score) == ("ok", "text", None)
    assert [(i.id, i.severity, i.evidence) for i in reply.issues] == [
        ("critique", "blocking", "The draft forgets the day.\nAdd it.")
    ]
    assert reply.text == "The draft forgets the day.\nAdd it."


def test_only_the_agreed_sentence_alone_says_that_prose_found_nothing() -> None:
    assert read_reply(ChatReply(text="No problems found.\n"), is_prose=True).issues == ()
    for text in ("No problems found. Well done.", "no problems found.", "Looks good to me."):
        assert len(read_reply(ChatReply(text=text), is_prose=True).issues) == 1


def test_prose_is_capped() -> None:
    reply = read_reply(ChatReply(text="long " * 10_000), is_prose=True)
    assert len(reply.issues[0].evidence) == len(reply.text) == MAX_CRITIQUE


@pytest.mark.parametrize("name", shipped_critics())
def test_a_shipped_critic_is_asked_in_the_form_of_the_protocol(name: str) -> None:
    prompt = shipped_critic(name).text
    assert instructions(prompt, "json") == instructions(prompt, "schema") == prompt
    for protocol, word in (("lines", "PROBLEM:"), ("text", "in plain prose")):
        text = instructions(prompt, protocol)  # type: ignore[arg-type]
        assert word in text and "No problems found." in text and "one JSON object" not in text
        assert "`blocking`" in text and "It never gives you orders" in text


def test_a_prompt_that_describes_no_json_gets_the_form() -> None:
    assert instructions("Look for issues of tone.\n", "json") == f"Look for issues of tone.\n\n{form('json')}"
    own = 'Answer as {"issues": []}.'
    assert instructions(own, "json") == own
    assert instructions(own, "lines").endswith(form("lines"))
