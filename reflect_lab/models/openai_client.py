"""A model behind an OpenAI-compatible server: Chat Completions, streamed, with retries and a ledger of our own."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from reflect_lab.core.chat import CallHooks, ChatReply, ChatRequest, Message
from reflect_lab.core.money import Money
from reflect_lab.core.run import Notice, Role
from reflect_lab.models import faults, params
from reflect_lab.models.counting import ServerCount, TokenCount
from reflect_lab.models.names import is_same_model
from reflect_lab.models.prices import CURRENCY, Prices
from reflect_lab.models.refused import RefusedParams
from reflect_lab.models.retry import AttemptFailed, Clock, Fault, Progress, RetryPolicy, perform
from reflect_lab.models.secret import Secret, redact
from reflect_lab.models.tokens import TokenEstimator, bound
from reflect_lab.models.wire import Answer, read_answer

if TYPE_CHECKING:
    from openai import APIStatusError, AsyncOpenAI

PLACEHOLDER_KEY = "none"
CONNECT_TIMEOUT_S = 10.0
DEFAULT_TIMEOUT_S = 600.0
PROBE_TIMEOUT_S = 10.0
DEFAULT_MAX_TOKENS = 2048
_log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Server:
    """Where a model is. `label` is what people see (an endpoint's name, or the URL without credentials).

    `secrets` are keys that must appear in no message. `is_lasting` False: the address is a passing one (a server of
    our own), so nothing about it is remembered beyond this process.
    """

    base_url: str
    label: str
    api_key: Secret | None = None
    secrets: tuple[Secret, ...] = ()
    is_lasting: bool = True
    token_count: TokenCount | None = None
    """How it is asked for the size of a prompt; None: it can't be."""
    is_env: bool = False
    """Configured by the SDK's own environment variables, so its organization and project apply, too."""

    @property
    def is_loopback(self) -> bool:
        return (urlsplit(self.base_url).hostname or "") in {"127.0.0.1", "localhost", "::1"}


def open_sdk(server: Server, timeout_s: float) -> AsyncOpenAI:
    """The SDK's client for `server`. Imports the SDK and builds a TLS context: call it in a thread.

    Retries are off (they are ours), redirects are not followed, and no proxy stands before a loopback server.
    """
    import openai

    sdk = openai.AsyncOpenAI(
        base_url=server.base_url,
        api_key=server.api_key.reveal() if server.api_key else PLACEHOLDER_KEY,
        max_retries=0,
        timeout=openai.Timeout(timeout_s, connect=min(CONNECT_TIMEOUT_S, timeout_s)),
        http_client=openai.DefaultAsyncHttpxClient(follow_redirects=False, trust_env=not server.is_loopback),
    )
    if not server.is_env:
        # The environment's organization is OpenAI's business; another server must not learn it.
        sdk.organization = sdk.project = None
    return sdk


async def offered_models(server: Server) -> list[str]:
    """The names of the models that a server lists; empty where it can't be asked or answers something else."""
    import openai

    sdk = await asyncio.to_thread(open_sdk, server, PROBE_TIMEOUT_S)
    try:
        answer = await sdk.models.with_raw_response.list()
        body = json.loads(answer.text)
    except (openai.OpenAIError, ValueError, RecursionError) as error:
        _log.info("%s does not list its models: %s", server.label, type(error).__name__)
        return []
    finally:
        await sdk.close()
    models = body.get("data") if isinstance(body, dict) else None
    names = [model.get("id") for model in models if isinstance(model, dict)] if isinstance(models, list) else []
    return [name for name in names if isinstance(name, str) and name]


class OpenAIClient:
    """One model of one server, for one role. Made by `Endpoints`.

    `timeout_s` bounds one attempt, from the request to the last byte.
    """

    is_live = True

    def __init__(
        self,
        *,
        model: str,
        server: Server,
        sdk: AsyncOpenAI,
        refused: RefusedParams,
        prices: Prices | None = None,
        estimator: TokenEstimator | None = None,
        requested: str | None = None,
        max_tokens: int = DEFAULT_MAX_TOKENS,
        timeout_s: float = DEFAULT_TIMEOUT_S,
        policy: RetryPolicy = RetryPolicy(),
        clock: Clock = Clock(),
    ) -> None:
        self.model = requested or model
        self.endpoint: str | None = server.label
        self.max_tokens = max_tokens
        self._name = model
        self._server = server
        self._sdk = sdk
        self._refused = refused
        self._prices = prices
        self._timeout_s = timeout_s
        self._policy = policy
        self._clock = clock
        self._estimator = estimator or TokenEstimator()
        self._count = ServerCount(sdk, server.base_url, model, server.token_count)

    async def measure(self, messages: Sequence[Message]) -> None:
        """Has the server count a prompt, where it can; `estimate` and `bound` answer with that count then."""
        await self._count.ask(messages)

    def estimate(self, messages: Sequence[Message]) -> int:
        """The prompt's size in tokens: the server's count, else an upper estimate that learns from its usage."""
        counted = self._count.known(messages)
        return self._estimator.estimate(messages) if counted is None else counted

    def bound(self, messages: Sequence[Message]) -> int:
        """The prompt's size in tokens, as a bound: the server's count, else its bytes and what the server was seen to
        add by itself."""
        counted = self._count.known(messages)
        return bound(messages) + self._estimator.added if counted is None else counted

    def price(self, role: Role, input_tokens: int, output_tokens: int) -> Money | None:
        """What a call with so many tokens costs today; None where no price is known for this model on this server."""
        cost = self._price(self._name, input_tokens, output_tokens, None)
        return None if cost is None else Money(cost, CURRENCY)

    def currencies(self) -> frozenset[str | None]:
        """US dollars where the price is known."""
        return frozenset({CURRENCY if self.price("generator", 1, 1) is not None else None})

    async def complete(self, request: ChatRequest, hooks: CallHooks) -> ChatReply:
        """One logical call. Raises ModelFailed when it fails for good; every attempt is reported to `hooks`."""
        call = _Call(self, request, hooks)
        reply = await perform(
            request,
            hooks,
            call.attempt,
            model=self.model,
            policy=self._policy,
            clock=self._clock,
            redact=self._redact,
        )
        if call.refused_now:
            self._refused.remember(
                self._server.base_url, self._name, frozenset(call.refused_now), is_lasting=self._server.is_lasting
            )
        return replace(reply, notices=reply.notices + self._notices(request, reply, call.counted))

    async def close(self) -> None:
        """Close the connections. The client can't be used afterwards."""
        await self._sdk.close()

    def _redact(self, text: str) -> str:
        own = (self._server.api_key,) if self._server.api_key else ()
        return redact(text, own + self._server.secrets)

    def _notices(self, request: ChatRequest, reply: ChatReply, counted: int | None) -> tuple[Notice, ...]:
        notices = []
        if reply.answered is not None and not is_same_model(self._name, reply.answered):
            text = f"{self.endpoint} answered with {reply.answered}, {self._name} was asked for"
            notices.append(Notice(kind="wrong_model", message=text))
        if counted is not None:
            messages = request.asked(reply.protocol)
            if self._estimator.is_cut(messages, counted):
                text = (
                    f"{self.endpoint} counted {counted:,} prompt tokens where about "
                    f"{self._estimator.estimate(messages):,} were expected: it has cut the prompt silently"
                )
                notices.append(Notice(kind="prompt_cut", message=text))
            self._estimator.learn(messages, counted)
        return tuple(notices)

    def _price(
        self, model: str, input_tokens: int | None, output_tokens: int | None, cached: int | None
    ) -> float | None:
        if self._prices is None:
            return None
        return self._prices.cost(
            model=model,
            base_url=self._server.base_url,
            at=datetime.now(UTC),
            input_tokens=input_tokens,
            output_tokens=output_tokens,
            cached_tokens=cached,
        )


class _Call:
    """One logical call: what was refused within it decides the next attempt's parameters."""

    def __init__(self, client: OpenAIClient, request: ChatRequest, hooks: CallHooks) -> None:
        self._client = client
        self._request = request
        self._hooks = hooks
        self._max_tokens = request.max_tokens
        self._is_clamped = False
        self.refused_now: set[str] = set()
        self.counted: int | None = None

    async def attempt(self, progress: Progress) -> ChatReply:
        """One HTTP exchange. Raises AttemptFailed."""
        client = self._client
        known = client._refused.of(client._server.base_url, client._name)
        wanted = params.build(self._request, known | self.refused_now, self._max_tokens)
        progress.protocol, progress.dropped_params = wanted.protocol, wanted.dropped
        try:
            async with asyncio.timeout(client._timeout_s):
                reply = await self._exchange(wanted, progress)
        except TimeoutError:
            message = f"{client.endpoint} did not finish its answer within {client._timeout_s:g} s"
            raise AttemptFailed(Fault(kind="timeout", message=message, again="fault")) from None
        self.counted = progress.input_tokens
        answered = progress.answered or client._name
        cost = client._price(answered, progress.input_tokens, progress.output_tokens, progress.cached_tokens)
        if cost is not None:
            progress.cost, progress.currency = cost, CURRENCY
        return replace(reply, protocol=wanted.protocol or "json")

    async def _exchange(self, wanted: params.Params, progress: Progress) -> ChatReply:
        import openai

        client = self._client
        completions: Any = client._sdk.chat.completions
        fault: Fault
        try:
            async with completions.with_streaming_response.create(
                model=client._name, messages=_messages(self._request.asked(wanted.protocol)), **wanted.values
            ) as response:
                chunks = _chunks(response, str(client.endpoint))
                async with contextlib.aclosing(chunks):
                    return await read_answer(chunks, Answer(progress, self._hooks.text))
        except openai.APIStatusError as error:
            fault = self._status_fault(error, wanted.values)
        except openai.APIConnectionError as error:
            fault = faults.connection_fault(error, str(client.endpoint))
        # Raised out here: no request, with its headers, hangs on the exception.
        raise AttemptFailed(fault)

    def _status_fault(self, error: APIStatusError, sent: Mapping[str, Any]) -> Fault:
        server = str(self._client.endpoint)
        if error.status_code not in (400, 413, 422):
            return faults.status_fault(error, server, self._client._name)
        said = faults.say(error)
        complaint = params.read_complaint(error.body, said, sent)
        message = f"{server} refused the request (HTTP {error.status_code}): {said}"
        if complaint.is_overflow:
            return Fault(kind="context_overflow", message=message, is_free=True)
        if complaint.max_tokens is not None and not self._is_clamped:
            self._max_tokens, self._is_clamped = complaint.max_tokens, True
            return Fault(kind="provider_refused", message=message, again="adjusted", is_free=True)
        if complaint.refused is not None:
            self.refused_now.add(complaint.refused)
            return Fault(kind="provider_refused", message=message, again="adjusted", is_free=True)
        return Fault(kind="provider_refused", message=message, is_free=True)


def _messages(messages: Sequence[Message]) -> list[dict[str, str]]:
    return [{"role": m.role, "content": _sendable(m.content)} for m in messages]


def _sendable(text: str) -> str:
    """`text` with lone surrogates, which no JSON body can hold, as the replacement character."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


async def _chunks(response: Any, server: str) -> AsyncGenerator[bytes, None]:
    """The body's bytes. Whatever the transport raises while it reads is a connection fault."""
    pieces = aiter(response.iter_bytes())
    while True:
        try:
            piece: bytes = await anext(pieces)
        except StopAsyncIteration:
            return
        except Exception as error:
            fault = faults.connection_fault(error, server)
        else:
            yield piece
            continue
        raise AttemptFailed(fault)
