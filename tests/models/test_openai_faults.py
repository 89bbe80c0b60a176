"""Everything that can go wrong between the client and a server (DESIGN 6.1), on a real server."""

from __future__ import annotations

import asyncio
import io
import logging
import socket
import time
import traceback
from collections.abc import Iterator

import pytest

from reflect_lab.core.errors import ModelFailed
from reflect_lab.core.run import ErrorKind
from reflect_lab.models import wire
from reflect_lab.models.retry import RetryPolicy
from tests.models.recording import KEY, Recording, Waits, client_of, request
from tests.openai_server import Behaviour, Hang, OpenAITestServer, Raw, Reply, Reset, Status


@pytest.fixture
def server() -> Iterator[OpenAITestServer]:
    with OpenAITestServer() as running:
        yield running


async def fails(server: OpenAITestServer, hooks: Recording, **options: object) -> ModelFailed:
    client = client_of(server, **options)  # type: ignore[arg-type]
    with pytest.raises(ModelFailed) as failed:
        await client.complete(request(), hooks)
    await client.close()
    return failed.value


@pytest.mark.parametrize("code", [408, 409, 429, 500, 503])
async def test_a_passing_error_is_tried_again_and_costs_nothing(server: OpenAITestServer, code: int) -> None:
    server.add(Status(code), Status(code))
    hooks, waits = Recording(), Waits()
    reply = await client_of(server, waits=waits).complete(request(), hooks)
    assert reply.text == "ok"
    assert hooks.statuses == ["retried", "retried", "ok"]
    assert [row.attempt for row in hooks.rows] == [1, 2, 3]
    assert {row.call for row in hooks.rows} == {1}
    assert waits.slept == [0.5, 1.0]
    assert not any(row.cost_uncertain for row in hooks.rows)


@pytest.mark.parametrize(("code", "kind"), [(500, "provider_error"), (429, "rate_limited")])
async def test_a_call_is_tried_three_times_and_no_more(server: OpenAITestServer, code: int, kind: ErrorKind) -> None:
    server.default = Status(code)
    hooks = Recording()
    error = await fails(server, hooks)
    assert error.kind == kind
    assert hooks.statuses == ["retried", "retried", "failed"]
    assert len(server.chats) == 3
    assert "here" in str(error) and str(code) in str(error) and "3 tries" in str(error)


@pytest.mark.parametrize(
    "status",
    [
        Status(401, "bad key"),
        Status(403, "not yours"),
        Status(404, "no such model"),
        Status(429, "You exceeded your current quota", "insufficient_quota"),
        Status(400, "the messages are not to my taste"),
    ],
)
async def test_a_provider_that_refuses_is_not_asked_again(server: OpenAITestServer, status: Status) -> None:
    server.add(status)
    hooks = Recording()
    error = await fails(server, hooks)
    assert error.kind == "provider_refused"
    assert status.message in str(error)
    assert hooks.statuses == ["refused"]
    assert (hooks.rows[0].cost_uncertain, hooks.rows[0].error is None) == (False, False)
    assert len(server.chats) == 1


async def test_a_server_is_waited_for_as_long_as_it_asks(server: OpenAITestServer) -> None:
    server.add(Status(429, headers={"Retry-After": "7"}), Status(503, headers={"retry-after-ms": "1500"}))
    waits = Waits()
    await client_of(server, waits=waits).complete(request(), Recording())
    assert waits.slept == [7.0, 1.5]


async def test_a_wait_that_is_too_long_ends_the_call_at_once(server: OpenAITestServer) -> None:
    server.add(Status(429, headers={"Retry-After": "3600"}))
    hooks, waits = Recording(), Waits()
    error = await fails(server, hooks, waits=waits)
    assert error.kind == "rate_limited"
    assert "3600" in str(error)
    assert (waits.slept, hooks.statuses) == ([], ["failed"])


NO_COMPLETIONS = {
    "html": Raw("<html><body>Welcome to the hotel's network</body></html>", "text/html"),
    "html that claims to be a stream": Raw("<html></html>", "text/event-stream"),
    "empty": Raw(""),
    "empty stream": Raw("", "text/event-stream"),
    "stream without a choice": Raw("data: {}\n\ndata: [DONE]\n\n", "text/event-stream"),
    "broken json": Raw('{"choices": [{"message": {"content": "hal'),
    "broken json in a stream": Raw("data: {\"choices\": [\n\n", "text/event-stream"),
    "not utf-8": Raw(b'{"choices": [{"message": {"content": "\xff\xfe"}}]}'),
    "no choices": Raw('{"object": "chat.completion"}'),
    "choices null": Raw('{"choices": null}'),
    "choices empty": Raw('{"choices": []}'),
    "no message": Raw('{"choices": [{"message": null}]}'),
    "error with 200": Raw('{"error": {"message": "the model is busy"}}'),
    "a list": Raw("[]"),
    "very deep": Raw('{"a":' + "[" * 200_000),
    "a number without end": Raw('{"usage": {"prompt_tokens": ' + "9" * 5000 + "}}"),
    "a number without end in a stream": Raw('data: {"usage": ' + "9" * 5000 + "}\n\n", "text/event-stream"),
}  # fmt: skip


@pytest.mark.parametrize("body", NO_COMPLETIONS.values(), ids=NO_COMPLETIONS.keys())
async def test_a_body_that_is_no_completion_is_tried_once_more(server: OpenAITestServer, body: Raw) -> None:
    server.add(body)
    hooks = Recording()
    reply = await client_of(server).complete(request(), hooks)
    assert reply.text == "ok"
    assert hooks.statuses == ["retried", "ok"]
    assert (hooks.rows[0].input_tokens, hooks.rows[0].output_tokens) == (None, None)
    assert hooks.rows[0].cost_uncertain


@pytest.mark.parametrize("body", NO_COMPLETIONS.values(), ids=NO_COMPLETIONS.keys())
async def test_a_body_that_is_no_completion_twice_is_a_bad_response(server: OpenAITestServer, body: Raw) -> None:
    server.add(body, body)
    hooks = Recording()
    error = await fails(server, hooks)
    assert error.kind == "bad_response"
    assert hooks.statuses == ["retried", "failed"]
    assert len(server.chats) == 2


async def test_a_stream_without_a_finish_reason_is_truncated(server: OpenAITestServer) -> None:
    server.add(Reply("half of the", end="no_finish"))
    hooks = Recording()
    reply = await client_of(server).complete(request(), hooks)
    assert (reply.text, reply.finish_reason, reply.truncated) == ("half of the", None, True)
    assert [n.kind for n in reply.notices] == ["no_finish_reason"]
    assert (hooks.statuses, hooks.rows[0].cost_uncertain) == (["ok"], True)


async def test_a_plain_body_without_a_finish_reason_is_whole_with_a_notice(server: OpenAITestServer) -> None:
    server.add(Reply("all of it", finish_reason=None, ignores_stream=True))
    hooks = Recording()
    reply = await client_of(server).complete(request(), hooks)
    assert (reply.text, reply.truncated) == ("all of it", False)
    assert [n.kind for n in reply.notices] == ["no_finish_reason"]
    assert not hooks.rows[0].cost_uncertain


@pytest.mark.parametrize("end", ["reset", "error"])
async def test_a_stream_that_breaks_leaves_its_text_in_the_ledger_only(server: OpenAITestServer, end: str) -> None:
    server.add(Reply("the first half", end=end), Reply("another whole answer"))  # type: ignore[arg-type]
    hooks = Recording()
    reply = await client_of(server).complete(request(), hooks)
    assert reply.text == "another whole answer"
    broken, whole = hooks.rows
    assert (broken.status, broken.text, broken.cost_uncertain) == ("retried", "the first half", True)
    assert (whole.status, whole.text) == ("ok", None)


async def test_a_stream_that_breaks_each_time_is_a_provider_error(server: OpenAITestServer) -> None:
    server.default = Reply("never whole", end="reset")
    hooks = Recording()
    assert (await fails(server, hooks)).kind == "provider_error"
    assert hooks.statuses == ["retried", "retried", "failed"]


async def test_a_body_shorter_than_announced_is_a_connection_fault(server: OpenAITestServer) -> None:
    server.add(Raw('{"choices": [', length=500))
    hooks = Recording()
    await client_of(server).complete(request(), hooks)
    assert hooks.statuses == ["retried", "ok"]
    assert "broke off" in str(hooks.rows[0].error)


async def test_a_reset_before_the_answer_is_tried_again(server: OpenAITestServer) -> None:
    server.add(Reset())
    hooks = Recording()
    await client_of(server).complete(request(), hooks)
    assert hooks.statuses == ["retried", "ok"]
    assert hooks.rows[0].cost_uncertain


async def test_an_attempt_that_never_connected_is_a_row_that_cost_nothing(server: OpenAITestServer) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound but not listening: connections are refused
        hooks = Recording()
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        error = await fails(server, hooks, base_url=url)
    assert error.kind == "provider_error"
    assert "can't be reached" in str(error)
    assert hooks.statuses == ["retried", "retried", "failed"]
    assert not any(row.cost_uncertain for row in hooks.rows)


@pytest.mark.parametrize("behaviour", [Hang(), Hang(headers=True), Reply("slow", delay_s=0.15, pieces="abcdefgh")])
async def test_an_answer_that_takes_too_long_is_a_timeout(server: OpenAITestServer, behaviour: Behaviour) -> None:
    server.default = behaviour
    hooks = Recording()
    error = await fails(server, hooks, timeout_s=0.4, policy=RetryPolicy(faults=1))
    assert error.kind == "timeout"
    assert hooks.statuses == ["retried", "failed"]
    assert all(row.cost_uncertain for row in hooks.rows)
    await asyncio.to_thread(server.hang_up)


async def test_an_answer_over_the_cap_is_cut_and_truncated(
    server: OpenAITestServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wire, "MAX_ANSWER_BYTES", 1001)
    hooks, client = Recording(), client_of(server)
    for ignores in (False, True):
        server.add(Reply("é" * 5000, pieces=["é" * 100] * 50, ignores_stream=ignores))
        reply = await client.complete(request(), hooks)
        assert reply.text == "é" * 500
        assert reply.truncated
    assert hooks.statuses == ["ok", "ok"]
    assert hooks.rows[0].cost_uncertain  # the stream was left before its usage came
    assert not hooks.rows[1].cost_uncertain
    await asyncio.to_thread(server.hang_up)


async def test_redirects_are_not_followed(server: OpenAITestServer) -> None:
    with OpenAITestServer() as elsewhere:
        server.add(Status(307, headers={"Location": f"{elsewhere.url}/chat/completions?token=abc"}))
        hooks = Recording()
        error = await fails(server, hooks)
        assert elsewhere.requests == []
    assert error.kind == "provider_refused"
    assert elsewhere.url in str(error) and "abc" not in str(error)


@pytest.mark.parametrize(
    "behaviour", [Hang(), Hang(headers=True), Reply("first words", end="hang")], ids=["silent", "headers", "mid-stream"]
)
async def test_a_cancelled_call_is_over_at_once_and_closes_its_stream(
    server: OpenAITestServer, behaviour: Behaviour
) -> None:
    server.add(behaviour)
    heard = asyncio.Event()
    hooks = Recording(on_text=lambda delta: heard.set() if "words" in delta else None)
    client = client_of(server)
    task = asyncio.create_task(client.complete(request(), hooks))
    await asyncio.to_thread(server.await_requests, 1)
    if isinstance(behaviour, Reply):
        await heard.wait()
    began = time.monotonic()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert time.monotonic() - began < 0.1
    (row,) = hooks.rows
    assert (row.status, row.cost_uncertain) == ("cancelled", True)
    assert (row.input_tokens, row.output_tokens, row.cost) == (None, None, None)
    assert row.text == ("first words" if isinstance(behaviour, Reply) else None)
    await asyncio.to_thread(server.hang_up)  # the server saw the connection close
    await client.close()


async def test_a_call_cancelled_while_it_waits_reports_no_second_attempt(server: OpenAITestServer) -> None:
    server.add(Status(503, headers={"Retry-After": "60"}))
    hooks = Recording()
    waiting = asyncio.Event()

    async def sleep(seconds: float) -> None:
        waiting.set()
        await asyncio.Event().wait()

    client = client_of(server)
    client._clock = type(client._clock)(sleep=sleep)
    task = asyncio.create_task(client.complete(request(), hooks))
    await waiting.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert hooks.statuses == ["retried"]


async def test_the_key_appears_in_no_error_row_log_or_traceback(server: OpenAITestServer) -> None:
    server.api_key = "another-key"  # the server's 401 quotes the key that it was sent
    log = io.StringIO()
    handler = logging.StreamHandler(log)
    root, level = logging.getLogger(), logging.getLogger().level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    hooks, client = Recording(), client_of(server)
    try:
        await client.complete(request(), hooks)
        raise AssertionError("the call should have failed")
    except ModelFailed as error:
        shown = traceback.TracebackException.from_exception(error, capture_locals=True)
        text = "".join(shown.format(chain=True)) + str(error) + repr(error)
    finally:
        root.removeHandler(handler)
        root.setLevel(level)
    assert server.chats[0].headers["authorization"] == f"Bearer {KEY}"
    assert "[redacted:TEST_KEY]" in text
    for place in (text, log.getvalue(), repr(hooks.rows), repr(vars(client))):
        assert KEY not in place


async def test_a_fault_of_our_own_is_internal_and_still_one_row(server: OpenAITestServer) -> None:
    def broken(delta: str) -> None:
        raise ZeroDivisionError

    hooks = Recording(on_text=broken)
    error = await fails(server, hooks)
    assert error.kind == "internal"
    assert "ZeroDivisionError" in str(error)
    assert hooks.statuses == ["failed"]
