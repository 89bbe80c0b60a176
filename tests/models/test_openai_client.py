"""The OpenAI-compatible client against a real server: answers, usage, parameters, notices."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from reflect_lab.core.chat import Message
from reflect_lab.core.errors import ModelFailed
from tests.models.recording import Recording, client_of, refused_file, request
from tests.openai_server import OpenAITestServer, Reply, Status

SCHEMA = {
    "type": "object",
    "properties": {"score": {"type": "number"}},
    "required": ["score"],
    "additionalProperties": False,
}


@pytest.fixture
def server() -> Iterator[OpenAITestServer]:
    with OpenAITestServer() as running:
        yield running


async def test_a_streamed_answer_arrives_in_pieces_and_whole(server: OpenAITestServer) -> None:
    server.add(Reply("Good morning to you"))
    hooks, client = Recording(), client_of(server)
    reply = await client.complete(request(temperature=0.0, seed=7), hooks)
    await client.close()
    assert reply.text == "Good morning to you"
    assert "".join(hooks.deltas) == reply.text
    assert len(hooks.deltas) == 4
    (row,) = hooks.rows
    assert (row.status, row.attempt, row.role, row.round, row.call) == ("ok", 1, "generator", 0, 1)
    assert (row.input_tokens, row.output_tokens) == server.tokens_sent != (0, 0)
    assert (row.cached_tokens, row.reasoning_tokens, row.cost, row.text) == (None, None, None, None)
    assert (row.reserved_tokens, row.finish_reason, row.answered) == (150, "stop", "test-model")
    body = server.chats[0].body
    assert body["messages"][1] == {"role": "user", "content": "Say hello."}
    assert body["stream_options"] == {"include_usage": True}
    assert (body["max_tokens"], body["temperature"], body["seed"]) == (100, 0.0, 7)


async def test_parts_of_the_usage_are_taken_over_as_sent(server: OpenAITestServer) -> None:
    usage = {
        "prompt_tokens": 50,
        "completion_tokens": 20,
        "prompt_tokens_details": {"cached_tokens": 40},
        "completion_tokens_details": {"reasoning_tokens": 15},
    }
    server.add(Reply("x", usage=usage))
    hooks = Recording()
    await client_of(server).complete(request(), hooks)
    row = hooks.rows[0]
    assert (row.input_tokens, row.cached_tokens, row.output_tokens, row.reasoning_tokens) == (50, 40, 20, 15)


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        (None, (None, None)),
        ({"prompt_tokens": "50", "completion_tokens": 3}, (None, 3)),
        ({"prompt_tokens": -1, "completion_tokens": True}, (None, None)),
        ({"prompt_tokens": 5.5, "completion_tokens": None}, (None, None)),
        ([1, 2], (None, None)),
        ({"prompt_tokens": 5, "completion_tokens": 0}, (5, 0)),
    ],
)
async def test_a_usage_that_is_no_count_is_unknown_and_never_zero(
    server: OpenAITestServer, usage: object, expected: tuple[int | None, int | None]
) -> None:
    server.add(Reply("x", usage=usage))
    hooks = Recording()
    await client_of(server).complete(request(), hooks)
    assert (hooks.rows[0].input_tokens, hooks.rows[0].output_tokens) == expected
    assert hooks.rows[0].cost is None


async def test_a_server_that_ignores_streaming_is_read_as_plain(server: OpenAITestServer) -> None:
    server.add(Reply("plain words", ignores_stream=True))
    hooks = Recording()
    reply = await client_of(server).complete(request(), hooks)
    assert (reply.text, reply.truncated, reply.notices) == ("plain words", False, ())
    assert hooks.deltas == ["plain words"]


@pytest.mark.parametrize("ignores_stream", [False, True])
async def test_reasoning_in_a_field_of_its_own_stays_out_of_the_text(
    server: OpenAITestServer, ignores_stream: bool
) -> None:
    server.add(Reply("answer", reasoning="let me think", ignores_stream=ignores_stream))
    hooks = Recording()
    reply = await client_of(server).complete(request(), hooks)
    assert (reply.text, reply.reasoning) == ("answer", "let me think")
    assert "think" not in "".join(hooks.deltas)


async def test_an_answer_at_the_token_limit_is_truncated(server: OpenAITestServer) -> None:
    server.add(Reply("half an ans", finish_reason="length"))
    reply = await client_of(server).complete(request(), Recording())
    assert (reply.finish_reason, reply.truncated) == ("length", True)


@pytest.mark.parametrize("ignores_stream", [False, True])
async def test_a_refusal_is_an_answer(server: OpenAITestServer, ignores_stream: bool) -> None:
    server.add(Reply(None, refusal="I won't.", ignores_stream=ignores_stream))
    hooks = Recording()
    reply = await client_of(server).complete(request(), hooks)
    assert (reply.text, reply.refusal) == ("", "I won't.")
    assert hooks.statuses == ["ok"]


async def test_a_content_filter_counts_as_a_refusal(server: OpenAITestServer) -> None:
    server.add(Reply("Well, ", finish_reason="content_filter"))
    reply = await client_of(server).complete(request(), Recording())
    assert reply.refusal is not None and "filter" in reply.refusal
    assert reply.finish_reason == "content_filter"


@pytest.mark.parametrize("ignores_stream", [False, True])
async def test_no_content_and_no_refusal_is_an_empty_answer(server: OpenAITestServer, ignores_stream: bool) -> None:
    server.add(Reply(None, ignores_stream=ignores_stream))
    reply = await client_of(server).complete(request(), Recording())
    assert (reply.text, reply.refusal, reply.truncated) == ("", None, False)
    assert len(server.chats) == 1


async def test_content_in_typed_parts_is_joined(server: OpenAITestServer) -> None:
    parts = [{"type": "text", "text": "two "}, {"type": "text", "text": "parts"}]
    server.add(Reply(ignores_stream=True, extra={"content": parts}))
    assert (await client_of(server).complete(request(), Recording())).text == "two parts"


@pytest.mark.parametrize(
    ("asked", "answered", "is_noticed"),
    [
        ("gpt-4o", "gpt-4o-2024-08-06", False),
        ("openai/gpt-4o", "gpt-4o", False),
        ("llama3:latest", "llama3", False),
        ("gpt-4o", "gpt-4o-mini", True),
        ("gpt-4", "gpt-4-turbo", True),
    ],
)
async def test_another_model_than_the_one_asked_for_is_noticed(
    server: OpenAITestServer, asked: str, answered: str, is_noticed: bool
) -> None:
    server.add(Reply("x", model=answered))
    hooks = Recording()
    reply = await client_of(server, model=asked).complete(request(), hooks)
    assert [n.kind for n in reply.notices] == ["wrong_model"] * is_noticed
    assert reply.answered == hooks.rows[0].answered == answered


async def test_a_prompt_that_the_server_cut_is_noticed(server: OpenAITestServer) -> None:
    long = request("A line of ordinary words, again and again. " * 200)
    server.add(Reply("x", usage={"prompt_tokens": 512, "completion_tokens": 1}), Reply("x"))
    client = client_of(server)
    cut = await client.complete(long, Recording())
    whole = await client.complete(long, Recording())
    assert [n.kind for n in cut.notices] == ["prompt_cut"]
    assert "512" in cut.notices[0].message
    assert whole.notices == ()


async def test_the_estimate_learns_from_what_the_server_counted(server: OpenAITestServer) -> None:
    messages = (Message(role="user", content="word " * 300),)
    client = client_of(server)
    assert client.estimate(messages) == 500 + 4
    server.add(Reply("x", usage={"prompt_tokens": 304, "completion_tokens": 1}))
    await client.complete(request(messages=messages), Recording())
    assert client.estimate(messages) == 345 + 4  # 0.2 per byte and 15 % of margin


async def test_what_a_server_adds_to_short_prompts_is_learnt(server: OpenAITestServer) -> None:
    client, short = client_of(server), request("Hi.")
    server.add(Reply("x", usage={"prompt_tokens": 60, "completion_tokens": 1}))
    assert client.estimate(short.messages) < 60
    await client.complete(short, Recording())
    assert client.estimate(short.messages) == 60


async def test_a_wanted_schema_is_sent_as_one(server: OpenAITestServer) -> None:
    hooks = Recording()
    reply = await client_of(server).complete(request(role="critic", schema=SCHEMA), hooks)
    form = server.chats[0].body["response_format"]
    assert form["json_schema"] == {"name": "critic", "schema": SCHEMA, "strict": True}
    assert (reply.protocol, hooks.rows[0].protocol, hooks.rows[0].dropped_params) == ("schema", "schema", ())


async def test_refused_response_formats_fall_back_to_json_mode_and_then_to_none(server: OpenAITestServer) -> None:
    server.refuse_params = ("json_schema", "json_object")
    client, hooks = client_of(server), Recording()
    reply = await client.complete(request(role="critic", schema=SCHEMA), hooks)
    kinds = [(r.body.get("response_format") or {}).get("type") for r in server.chats]
    assert kinds == ["json_schema", "json_object", None]
    assert hooks.statuses == ["retried", "retried", "ok"]
    assert reply.protocol == hooks.rows[-1].protocol == "json"
    assert hooks.rows[-1].dropped_params == ("response_format",)


@pytest.mark.parametrize("name", ["temperature", "seed", "stream_options", "stream"])
async def test_a_refused_parameter_is_dropped_recorded_and_not_sent_again(server: OpenAITestServer, name: str) -> None:
    server.refuse_params = (name,)
    client, hooks = client_of(server), Recording()
    asked = request(temperature=0.0, seed=1)
    await client.complete(asked, hooks)
    await client.complete(asked, hooks)
    assert hooks.statuses == ["retried", "ok", "ok"]
    assert [row.dropped_params for row in hooks.rows] == [(), (name,), (name,)]
    assert name not in server.chats[1].body
    assert (hooks.rows[0].input_tokens, hooks.rows[0].cost_uncertain) == (None, False)


async def test_max_tokens_goes_by_its_newer_name_where_the_old_one_is_refused(server: OpenAITestServer) -> None:
    message = "Unsupported parameter: 'max_tokens' is not supported. Use 'max_completion_tokens' instead."
    server.add(Status(400, message, param="max_tokens"))
    hooks = Recording()
    await client_of(server).complete(request(), hooks)
    body = server.chats[1].body
    assert (body["max_completion_tokens"], "max_tokens" in body) == (100, False)
    assert hooks.rows[1].dropped_params == ("max_tokens",)


async def test_a_422_that_names_a_field_is_a_refused_parameter(server: OpenAITestServer) -> None:
    detail = [{"loc": ["body", "seed"], "msg": "Extra inputs are not permitted", "input": {"temperature": 0}}]
    server.add(Status(422, body={"detail": detail}))
    hooks = Recording()
    await client_of(server).complete(request(seed=1, temperature=0.0), hooks)
    assert hooks.rows[1].dropped_params == ("seed",)
    assert server.chats[1].body["temperature"] == 0.0


async def test_what_a_server_refused_is_known_to_the_next_process(server: OpenAITestServer, tmp_path: Path) -> None:
    server.refuse_params = ("seed",)
    await client_of(server, refused=refused_file(tmp_path)).complete(request(seed=1), Recording())
    later = Recording()
    await client_of(server, refused=refused_file(tmp_path)).complete(request(seed=1), later)
    assert later.statuses == ["ok"]
    assert later.rows[0].dropped_params == ("seed",)
    other = Recording()
    await client_of(server, refused=refused_file(tmp_path), model="another").complete(request(seed=1), other)
    assert other.statuses == ["retried", "ok"]


async def test_a_refusal_that_did_not_help_is_not_remembered(server: OpenAITestServer, tmp_path: Path) -> None:
    refused = refused_file(tmp_path)
    server.add(Status(400, "Invalid value for temperature"), Status(403, "no"))
    with pytest.raises(ModelFailed):
        await client_of(server, refused=refused).complete(request(temperature=9.0), Recording())
    assert refused.of(server.url, "test-model") == frozenset()


@pytest.mark.parametrize(
    ("message", "param", "clamped"),
    [
        ("max_tokens is too large: 900. This model supports at most 512 completion tokens.", "max_tokens", 512),
        ("Invalid 'max_tokens': above the maximum. Expected a value <= 400, but got 900.", None, 400),
        ("'max_tokens' is too large: 900. This model's maximum context length is 1,000 tokens and your request has "
         "500 input tokens (900 > 1000 - 500).", None, 500),
    ],
)  # fmt: skip
async def test_too_large_max_tokens_are_clamped_to_what_the_server_says(
    server: OpenAITestServer, message: str, param: str | None, clamped: int
) -> None:
    server.add(Status(400, message, param=param))
    hooks = Recording()
    await client_of(server).complete(request(max_tokens=900), hooks)
    assert [r.body["max_tokens"] for r in server.chats] == [900, clamped]
    assert hooks.rows[1].dropped_params == ()


@pytest.mark.parametrize(
    "status",
    [
        Status(400, "This model's maximum context length is 4096 tokens.", "context_length_exceeded"),
        Status(400, body={"error": {"code": 400, "type": "exceed_context_size_error", "message": "too long"}}),
        Status(413, "the prompt is too long"),
    ],
)
async def test_a_context_overflow_is_not_retried(server: OpenAITestServer, status: Status) -> None:
    server.add(status)
    hooks = Recording()
    with pytest.raises(ModelFailed) as failed:
        await client_of(server).complete(request(), hooks)
    assert failed.value.kind == "context_overflow"
    assert hooks.statuses == ["failed"]
    assert len(server.chats) == 1


async def test_characters_that_no_body_can_hold_are_replaced(server: OpenAITestServer) -> None:
    reply = await client_of(server).complete(request("half a pair: \ud800!"), Recording())
    assert reply.text == "ok"
    assert server.chats[0].body["messages"][1]["content"] == "half a pair: \ufffd!"
