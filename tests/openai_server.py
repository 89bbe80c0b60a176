"""A real HTTP server on 127.0.0.1 that speaks the OpenAI Chat Completions protocol and can fail in every known way.

In a test:

    with OpenAITestServer() as server:
        server.add(Reply("first answer"), Status(503), Reply("second answer"))
        ...                                  # point a client at server.url ("http://127.0.0.1:PORT/v1")
        assert len(server.requests) == 3     # method, path, headers and JSON body of each request, in order
        assert server.tokens_sent == (24, 7) # prompt and completion tokens that the answers' `usage` named

Behaviours are taken one per request, in order; when none is left, `server.default` answers: a behaviour, or a function
of the request's body that gives one (`server.default = lambda body: Reply(body["messages"][-1]["content"])`). Rules of
the server itself (`refuse_params`, `api_key`, `models`) hold for every request and take no behaviour.

`server.hang_up()` waits until clients have dropped open requests: proof that a cancelled call closed its stream.

As a process, for tests that need one (`--script` is JSON Lines, one behaviour per line: `{"reply": {"text": "hi"}}`,
`{"status": {"code": 503}}`, `{"raw": {"body": "<html>"}}`, `{"hang": {}}`; it plays the last line again and again):

    python tests/openai_server.py --port 0 --script behaviours.jsonl   # prints the URL, serves until stdin closes

`GET /requests` answers with all recorded bodies and the tokens handed out, for the parent process to read.
"""

from __future__ import annotations

import argparse
import json
import math
import select
import socket
import struct
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Literal

COUNTED = "counted"
"""Usage as this server counts it: a token per 4 characters of the prompt and of the answer."""


@dataclass(frozen=True)
class Reply:
    """A completion, streamed when the request asks for it.

    `usage` is `COUNTED`, None (not sent at all) or the very object to send. `pieces` are the stream's deltas (default:
    words); `delay_s` is waited before each. `end` says how a stream ends: `done` properly, `no_finish` without a finish
    reason (an orderly close), `reset` with a TCP reset after the last piece, `error` with an error event, `hang` never.
    `extra` is merged into the message, `top` into the object (and into every chunk).
    """

    text: str | None = "ok"
    usage: Any = COUNTED
    finish_reason: str | None = "stop"
    reasoning: str | None = None
    refusal: str | None = None
    model: str | None = None
    pieces: Sequence[str] | None = None
    delay_s: float = 0.0
    end: Literal["done", "no_finish", "reset", "error", "hang"] = "done"
    ignores_stream: bool = False
    extra: Mapping[str, Any] = field(default_factory=dict)
    top: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Status:
    """An HTTP error. `body` is sent as JSON, or as it is where it is a text; `error` builds OpenAI's shape."""

    code: int
    message: str = "the test server says no"
    error_code: str | None = None
    param: str | None = None
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Raw:
    """Exactly these bytes as a 200 answer. `length` overrides Content-Length (a longer one: the body breaks off)."""

    body: bytes | str
    content_type: str = "application/json"
    length: int | None = None


@dataclass(frozen=True)
class Hang:
    """Nothing at all until the client goes away, after the headers if `headers` is set."""

    headers: bool = False


@dataclass(frozen=True)
class Reset:
    """The connection is reset before any answer."""


Behaviour = Reply | Status | Raw | Hang | Reset


@dataclass(frozen=True)
class Recorded:
    """One request as it arrived; `time` is of the monotonic clock."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: Any
    time: float


class OpenAITestServer:
    """See the module's text. `url` ends in `/v1`. `models` None: the list of models is a web page. `token_count`: the
    server counts a prompt when asked, in that server's way."""

    def __init__(
        self,
        *behaviours: Behaviour,
        default: Behaviour | Callable[[Any], Behaviour] = Reply(),
        models: Sequence[str] | None = ("test-model",),
        api_key: str | None = None,
        refuse_params: Sequence[str] = (),
        token_count: Literal["llama.cpp", "vllm"] | None = None,
        port: int = 0,
    ) -> None:
        self.behaviours: deque[Behaviour] = deque(behaviours)
        self.default = default
        self.models = models
        self.api_key = api_key
        self.refuse_params = tuple(refuse_params)
        self.token_count = token_count
        self.requests: list[Recorded] = []
        self.prompt_tokens_sent = 0
        self.completion_tokens_sent = 0
        self._lock = threading.Condition()
        self._open = 0
        self._closing, self._wake = socket.socketpair()
        self._http = _Server(("127.0.0.1", port), self)
        self.url = f"http://127.0.0.1:{self._http.server_port}/v1"
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True)

    def __enter__(self) -> OpenAITestServer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._wake.close()  # wakes what hangs
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()
        self._closing.close()

    def add(self, *behaviours: Behaviour) -> None:
        """Behaviours of the next requests, one each."""
        with self._lock:
            self.behaviours.extend(behaviours)

    @property
    def chats(self) -> list[Recorded]:
        """The requests for completions (others ask for the list of models)."""
        return [r for r in self.requests if r.path.endswith("/chat/completions")]

    @property
    def tokens_sent(self) -> tuple[int, int]:
        """Prompt and completion tokens in the `usage` of all answers sent so far."""
        return self.prompt_tokens_sent, self.completion_tokens_sent

    def await_requests(self, count: int, timeout_s: float = 10.0) -> None:
        """Wait until `count` requests have arrived. Raises TimeoutError."""
        self._await(lambda: len(self.requests) >= count, timeout_s, f"{count} requests")

    def hang_up(self, timeout_s: float = 10.0) -> None:
        """Wait until no request is open any more: answered, or dropped by its client. Raises TimeoutError."""
        self._await(lambda: self._open == 0, timeout_s, "all requests to be over")

    def _await(self, done: Callable[[], bool], timeout_s: float, what: str) -> None:
        with self._lock:
            if not self._lock.wait_for(done, timeout_s):
                raise TimeoutError(f"waited {timeout_s:g} s for {what}")

    def _begin(self, request: Recorded) -> None:
        with self._lock:
            self.requests.append(request)
            self._open += 1
            self._lock.notify_all()

    def _end(self) -> None:
        with self._lock:
            self._open -= 1
            self._lock.notify_all()

    def _next(self, body: Any) -> Behaviour:
        with self._lock:
            if self.behaviours:
                return self.behaviours.popleft()
        return self.default(body) if callable(self.default) else self.default

    def _sent(self, usage: Any) -> None:
        if not isinstance(usage, Mapping):
            return
        with self._lock:
            for name in ("prompt_tokens", "completion_tokens"):
                count = usage.get(name)
                if isinstance(count, int):
                    setattr(self, f"{name}_sent", getattr(self, f"{name}_sent") + count)


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, address: tuple[str, int], owner: OpenAITestServer) -> None:
        self.owner = owner
        super().__init__(address, _Handler)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients that go away are what these tests are about; anything else is a fault of this server."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def log_message(self, format: str, *args: Any) -> None:
        """Keep the test's output clean; requests are recorded."""

    def do_GET(self) -> None:
        owner = self.server.owner
        if self.path == "/requests":
            bodies = [{"path": r.path, "body": r.body} for r in owner.requests]
            return self._json(200, {"requests": bodies, "tokens_sent": owner.tokens_sent})
        self._record(None)
        try:
            if not self._is_allowed():
                return self._send_status(Status(401, "Incorrect API key provided", "invalid_api_key"))
            if self.path.endswith("/models") and owner.models is None:
                return self._json(200, "<html>This server has a page here.</html>")
            if self.path.endswith("/models"):
                data = [{"id": name, "object": "model"} for name in owner.models or ()]
                return self._json(200, {"object": "list", "data": data})
            return self._send_status(Status(404, f"unknown path {self.path}"))
        finally:
            owner._end()

    def do_POST(self) -> None:
        owner = self.server.owner
        length = int(self.headers.get("Content-Length", 0))
        data = self.rfile.read(length)
        if len(data) < length:  # the client went away within its request: none has arrived
            self.close_connection = True
            return
        body = json.loads(data or b"null")
        self._record(body)
        try:
            self._answer(owner, body)
        finally:
            owner._end()

    def _record(self, body: Any) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.server.owner._begin(Recorded(self.command, self.path, headers, body, time.monotonic()))

    def _is_allowed(self) -> bool:
        key = self.server.owner.api_key
        return key is None or self.headers.get("Authorization") == f"Bearer {key}"

    def _answer(self, owner: OpenAITestServer, body: Any) -> None:
        if not self._is_allowed():
            sent = (self.headers.get("Authorization") or "").removeprefix("Bearer ")
            return self._send_status(Status(401, f"Incorrect API key provided: {sent}", "invalid_api_key"))
        if owner.token_count == "llama.cpp" and self.path == "/v1/chat/completions/input_tokens":
            return self._json(200, {"input_tokens": _prompt_tokens(body), "object": "response.input_tokens"})
        if owner.token_count == "vllm" and self.path == "/tokenize":
            return self._json(200, {"count": _prompt_tokens(body), "max_model_len": 4096, "tokens": []})
        if not self.path.endswith("/chat/completions"):
            return self._send_status(Status(404, f"unknown path {self.path}"))
        for name in owner.refuse_params:
            if _sends(body, name):
                message = f"Unsupported parameter: '{name}' is not supported with this model."
                return self._send_status(Status(400, message, "unsupported_parameter", name))
        behaviour = owner._next(body)
        match behaviour:
            case Reply():
                self._send_reply(behaviour, body)
            case Status():
                self._send_status(behaviour)
            case Raw():
                self._send_raw(behaviour)
            case Hang():
                if behaviour.headers:
                    self._begin_stream()
                self._hang()
            case Reset():
                self._reset()

    def _json(self, code: int, body: Any, headers: Mapping[str, str] | None = None) -> None:
        data = body.encode() if isinstance(body, str) else json.dumps(body).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def _send_status(self, status: Status) -> None:
        error = {"message": status.message, "type": "error", "code": status.error_code, "param": status.param}
        self._json(status.code, {"error": error} if status.body is None else status.body, status.headers)

    def _send_raw(self, raw: Raw) -> None:
        data = raw.body.encode() if isinstance(raw.body, str) else raw.body
        self.send_response(200)
        self.send_header("Content-Type", raw.content_type)
        self.send_header("Content-Length", str(len(data) if raw.length is None else raw.length))
        self.end_headers()
        self.wfile.write(data)
        self.close_connection = raw.length is not None

    def _send_reply(self, reply: Reply, body: Any) -> None:
        usage = _count(reply, body) if reply.usage is COUNTED else reply.usage
        top = {"id": "chatcmpl-test", "created": 0, "model": reply.model or body.get("model"), **reply.top}
        if body.get("stream") and not reply.ignores_stream:
            return self._stream(reply, top, usage if (body.get("stream_options") or {}).get("include_usage") else None)
        message = {"role": "assistant", "content": reply.text, **reply.extra}
        if reply.reasoning is not None:
            message["reasoning_content"] = reply.reasoning
        if reply.refusal is not None:
            message["refusal"] = reply.refusal
        choice = {"index": 0, "message": message, "finish_reason": reply.finish_reason}
        time.sleep(reply.delay_s)
        self._json(200, {**top, "object": "chat.completion", "choices": [choice], **_usage(usage)})
        self.server.owner._sent(usage)

    def _stream(self, reply: Reply, top: Mapping[str, Any], usage: Any) -> None:
        self._begin_stream()
        deltas: list[dict[str, Any]] = [{"role": "assistant", "content": "", **reply.extra}]
        if reply.reasoning is not None:
            deltas.append({"reasoning_content": reply.reasoning})
        if reply.refusal is not None:
            deltas.append({"refusal": reply.refusal})
        pieces = _words(reply.text or "") if reply.pieces is None else reply.pieces
        deltas += [{"content": piece} for piece in pieces]
        for delta in deltas:
            if reply.delay_s and self._waits(reply.delay_s):
                return
            self._event({**top, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
        if reply.end == "error":
            self._event({"error": {"message": "the test server broke within its stream", "code": 500}})
        elif reply.end == "hang":
            return self._hang()
        elif reply.end == "reset":
            return self._reset()
        elif reply.end == "done":
            self._event({**top, "choices": [{"index": 0, "delta": {}, "finish_reason": reply.finish_reason}]})
            if usage is not None:
                self._event({**top, "choices": [], "usage": usage})
                self.server.owner._sent(usage)
            self._chunk(b"data: [DONE]\n\n")
        self._chunk(b"")

    def _begin_stream(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self.wfile.flush()

    def _event(self, body: Any) -> None:
        self._chunk(b"data: " + json.dumps(body).encode() + b"\n\n")

    def _chunk(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()

    def _waits(self, seconds: float | None) -> bool:
        """Wait, and say whether the client went away or the server is closing meanwhile."""
        readable, _, _ = select.select([self.connection, self.server.owner._closing], [], [], seconds)
        return bool(readable)

    def _hang(self) -> None:
        self._waits(None)
        self.close_connection = True

    def _reset(self) -> None:
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()
        self.close_connection = True

    def finish(self) -> None:
        if self.connection.fileno() != -1:
            super().finish()


def _sends(body: Mapping[str, Any], name: str) -> bool:
    """Whether a request holds the parameter; `json_schema` and `json_object` stand for that kind of response format."""
    if name in ("json_schema", "json_object"):
        return bool((body.get("response_format") or {}).get("type") == name)
    return name in body


def _words(text: str) -> list[str]:
    return [word if i == 0 else f" {word}" for i, word in enumerate(text.split(" "))] if text else []


def _count(reply: Reply, body: Any) -> dict[str, int]:
    prompt = _prompt_tokens(body)
    answer = math.ceil(len(reply.text or "") / 4)
    return {"prompt_tokens": prompt, "completion_tokens": answer, "total_tokens": prompt + answer}


def _prompt_tokens(body: Any) -> int:
    return math.ceil(sum(len(m.get("content") or "") for m in body.get("messages", [])) / 4)


def _usage(usage: Any) -> dict[str, Any]:
    return {} if usage is None else {"usage": usage}


def behaviour_from(line: Mapping[str, Any]) -> Behaviour:
    """A behaviour from its JSON form: one key (`reply`, `status`, `raw`, `hang`, `reset`) with the fields as object."""
    kinds: dict[str, type[Behaviour]] = {"reply": Reply, "status": Status, "raw": Raw, "hang": Hang, "reset": Reset}
    ((kind, fields),) = line.items()
    return kinds[kind](**fields)


def main(arguments: Sequence[str] | None = None) -> None:
    """Serve until standard input closes, so that no server outlives the test that started it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--script", type=Path)
    parser.add_argument("--api-key")
    parser.add_argument("--model", action="append", dest="models")
    parser.add_argument("--refuse", action="append", default=[], metavar="PARAMETER")
    options = parser.parse_args(arguments)
    lines = options.script.read_text(encoding="utf-8").splitlines() if options.script else []
    behaviours = [behaviour_from(json.loads(line)) for line in lines if line.strip()]
    with OpenAITestServer(
        *behaviours,
        default=behaviours[-1] if behaviours else Reply(),
        models=options.models or ("test-model",),
        api_key=options.api_key,
        refuse_params=options.refuse,
        port=options.port,
    ) as server:
        print(server.url, flush=True)
        sys.stdin.buffer.read()


if __name__ == "__main__":
    main()
