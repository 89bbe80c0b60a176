"""A critic's answer is read strictly: nothing is coerced, and unreadable is never "no issues"."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reflect_lab.core.chat import ChatReply
from reflect_lab.roles.critic_json import SCHEMA
from reflect_lab.roles.critic_reply import read_reply

ISSUE = {"id": "a", "severity": "blocking", "evidence": "x"}


def read(text: str, **fields: object) -> tuple[str, str]:
    answer = read_reply(ChatReply(text=text, **fields))  # type: ignore[arg-type]
    return answer.validity, answer.problem or ""


@pytest.mark.parametrize(
    "answer",
    [
        {"issues": []},
        {"issues": [], "score": None, "extra": 1},
        {"issues": [ISSUE], "score": 1, "requirements_checked": ["R1"]},
        {"issues": [{**ISSUE, "location": None, "requirement": None}], "score": 0.5},
    ],
)
def test_the_agreed_form_is_read(answer: dict[str, object]) -> None:
    assert read(json.dumps(answer)) == ("ok", "")
    assert read(f"```json\n{json.dumps(answer)}\n```") == ("ok", "")
    assert read(f"<think>hm</think>{json.dumps(answer)}") == ("ok", "")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "empty"),
        ("No problems found.", "not one JSON object"),
        ("Sure: {}", "not one JSON object"),
        ("[]", "a list"),
        ("{}", "issues"),
        ('{"issues": {}}', "issues"),
        ('{"issues": [3]}', "issue 1"),
        ('{"issues": [{"id": 1, "severity": "minor"}]}', "`id`"),
        ('{"issues": [{"id": "a"}]}', "severity"),
        ('{"issues": [{"id": "a", "severity": "fatal"}]}', "fatal"),
        ('{"issues": [{"id": "a", "severity": "minor", "evidence": 3}]}', "evidence"),
        ('{"issues": [], "score": NaN}', "NaN"),
        ('{"issues": [], "score": Infinity}', "Infinity"),
        ('{"issues": [], "score": 1.2}', "0..1"),
        ('{"issues": [], "score": -0.1}', "0..1"),
        ('{"issues": [], "score": "0.5"}', "a string"),
        ('{"issues": [], "score": true}', "true or false"),
        ('{"issues": [], "score": 1' + "0" * 400 + "}", "0..1"),
        ('{"issues": [], "requirements_checked": "R1"}', "requirements_checked"),
        ('{"issues": [], "requirements_checked": false}', "requirements_checked"),
        ("null", "null, not an object"),
        ('{"issues": [{"id": "a", "severity": "blocking"}], "issues": []}', "stands twice"),
        ('{"issues": [{"id": "a", "severity": "blocking", "severity": "minor"}]}', "stands twice"),
        ('{"issues": ' + "[" * 20_000, "not one JSON object"),
    ],
)
def test_anything_else_is_invalid_and_says_why(text: str, why: str) -> None:
    validity, problem = read(text)
    assert validity == "invalid" and why in problem


def test_how_an_answer_ended_comes_before_its_text() -> None:
    clean = '{"issues": []}'
    assert read(clean, finish_reason="length")[0] == "truncated"
    assert read(clean, truncated=True)[0] == "truncated"
    assert read(clean, refusal="No.")[0] == "refused"
    assert read(clean, finish_reason="content_filter")[0] == "refused"
    assert read("<think>never closed")[0] == "truncated"


def test_the_schema_that_servers_enforce_asks_for_what_is_read() -> None:
    import jsonschema

    answer = {"issues": [{**ISSUE, "requirement": None, "location": None, "suggestion": ""}], "score": 0.5}
    jsonschema.validate({**answer, "requirements_checked": []}, SCHEMA)
    assert read(json.dumps(answer))[0] == "ok"


@given(st.text(max_size=60) | st.recursive(st.none() | st.floats() | st.text(max_size=5), st.lists).map(json.dumps))
def test_no_text_makes_reading_fail(text: str) -> None:
    assert read(text)[0] in ("ok", "invalid", "truncated")


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("", {"refusal": "I must\x1b[2J not. " * 100_000}),
        ('{"issues": [{"id": "a", "severity": "' + "very " * 100_000 + '"}]}', {}),
    ],
)
def test_why_an_answer_is_not_valid_is_one_short_line(text: str, fields: dict[str, str]) -> None:
    _, problem = read(text, **fields)
    assert 0 < len(problem) <= 300 and problem.isprintable()
