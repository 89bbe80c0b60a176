"""Which model a name means, and the client for it.

`scripted:FILE` plays fixed replies · `local` is the embedded model · `NAME@ENDPOINT` is a server of
`reflect-lab.toml` · any other name goes to the server of `OPENAI_BASE_URL` / `OPENAI_API_KEY`.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol
from weakref import WeakSet, WeakValueDictionary

from reflect_lab.core.chat import ChatClient
from reflect_lab.core.errors import NoModel, WrongUse
from reflect_lab.core.run import Role
from reflect_lab.documents import tour
from reflect_lab.documents.suggest import did_you_mean, nearest
from reflect_lab.models.config import EndpointConfig, ModelsConfig, checked_url, load_config
from reflect_lab.models.openai_client import (
    DEFAULT_MAX_TOKENS,
    DEFAULT_TIMEOUT_S,
    OpenAIClient,
    Server,
    offered_models,
    open_sdk,
)
from reflect_lab.models.prices import Prices
from reflect_lab.models.refused import FILE_NAME, RefusedParams, cache_folder
from reflect_lab.models.secret import Secret
from reflect_lab.models.tokens import TokenEstimator

SCRIPTED = "scripted:"
LOCAL = "local"
RECORDED = "recorded"
LOCAL_MAX_TOKENS = 384
"""Output tokens of a call to the embedded model: it writes some 20 a second, and seldom knows when to end."""
OPENAI_URL = "https://api.openai.com/v1"
ENV_LABEL = "OPENAI_BASE_URL"

NO_MODEL = """\
{problem} Three ways to go on:

  1. See a whole run now, without any model:
       %reflect tour                      (in a notebook)
       reflect-lab run tour               (in a terminal)

  2. Use the small embedded model, which needs no key and no network once it is installed:
       reflect-lab model install          then: --model local

  3. Use a server that speaks the OpenAI protocol (OpenAI, vLLM, llama.cpp, Ollama, LM Studio, …):
       export OPENAI_BASE_URL=http://127.0.0.1:8000/v1     (and OPENAI_API_KEY where it wants a key)
       export OPENAI_MODEL=NAME           or: --model NAME
     or name it in reflect-lab.toml, then: --model NAME@work
       [endpoints.work]
       base_url = "https://models.example/v1"
       api_key_env = "WORK_API_KEY\""""


class Embedded(Protocol):
    """The embedded model's server, where it is installed. `url` is the server's root, known after `start`."""

    model: str
    api_key: str
    url: str | None

    async def start(self) -> None: ...

    async def stop(self) -> None: ...


def installed_model() -> Embedded | None:
    """The embedded model's server, not started yet; None where the model is not installed."""
    from reflect_lab.models.embedded import EmbeddedServer, is_installed

    return EmbeddedServer() if is_installed() else None


@dataclass(frozen=True, kw_only=True)
class _Target:
    """A model on a server, and how it is called there."""

    requested: str
    model: str
    server: Server
    max_tokens: int | None = None
    timeout_s: float | None = None


class Endpoints:
    """The models within reach of one shell or process, and what their servers refused so far.

    `embedded` gives the embedded model's server, or None where it is not installed; it is asked when first needed, and
    `close` stops the server. `cwd` is where the search for `reflect-lab.toml` begins. The files are read anew for each
    client, so an edit takes effect at once.
    """

    def __init__(
        self, environ: Mapping[str, str], cwd: Path, embedded: Callable[[], Embedded | None] = installed_model
    ) -> None:
        self._environ = environ
        self._cwd = cwd
        self._find_embedded = embedded
        self._embedded: Embedded | None = None
        self._refused: RefusedParams | None = None
        self._prices: Prices | None = None
        self._clients: WeakSet[ChatClient] = WeakSet()
        self._estimators: WeakValueDictionary[tuple[str, str], TokenEstimator] = WeakValueDictionary()
        """By server and model, while a client of it lives: the critic knows what the generator's calls taught."""

    async def client(self, name: str | None, *, role: Role, script_base: Path) -> ChatClient:
        """The client for a model's name, for one role; None means the default model (DESIGN 5.1).

        A `scripted:FILE` is relative to `script_base` and is played from its beginning. Raises WrongUse for a name that
        means nothing here, NoModel (with the screen that helps) where nothing is configured, ModelFailed when the
        embedded model does not start.
        """
        chosen = await self._default() if name is None else name
        if chosen.startswith(SCRIPTED):
            client = await asyncio.to_thread(_scripted, chosen, script_base)
        elif chosen == LOCAL:
            client = await self._open(await self._local())
        else:
            client = await self._open(self._remote(chosen))
        self._clients.add(client)
        return client

    async def close(self) -> None:
        """Close the connections of all clients that are still in use, and stop the embedded model's server."""
        clients, self._clients = list(self._clients), WeakSet()
        server, self._embedded = self._embedded, None
        try:
            for client in clients:
                await client.close()
        finally:
            if server:
                await server.stop()

    def secrets(self) -> tuple[Secret, ...]:
        """The keys that are in reach, for whoever redacts logs and documents."""
        names = {"OPENAI_API_KEY"}
        names |= {e.api_key_env for e in self._config().endpoints.values() if e.api_key_env}
        found = tuple(Secret(self._environ[n], n) for n in sorted(names) if self._environ.get(n))
        return (*found, Secret(self._embedded.api_key, LOCAL)) if self._embedded else found

    def _local_model(self) -> Embedded | None:
        self._embedded = self._embedded or self._find_embedded()
        return self._embedded

    def _config(self) -> ModelsConfig:
        return load_config(self._cwd, self._environ)

    async def _default(self) -> str:
        if configured := self._config().default_model:
            return configured
        if self._environ.get("OPENAI_MODEL") and self._has_env_endpoint():
            return self._environ["OPENAI_MODEL"]
        if self._environ.get("OPENAI_BASE_URL"):
            return await self._only_model()
        if self._has_env_endpoint():
            raise WrongUse(
                "OPENAI_API_KEY is set, but no model is named: add `--model NAME` or set OPENAI_MODEL"
                + (" (or `--model local` for the embedded model)" if self._local_model() else "")
            )
        if self._local_model():
            return LOCAL
        raise NoModel(NO_MODEL.format(problem="No model is named and none is configured."))

    def _has_env_endpoint(self) -> bool:
        return bool(self._environ.get("OPENAI_BASE_URL") or self._environ.get("OPENAI_API_KEY"))

    async def _only_model(self) -> str:
        """The one model that the environment's server offers. Raises WrongUse when it does not offer exactly one."""
        server = self._env_server()
        found = await offered_models(server)
        if len(found) == 1:
            return found[0]
        some = ", ".join(found[:5]) + (", …" if len(found) > 5 else "")
        problem = f"offers {len(found)} models ({some})" if found else "does not say which models it has"
        raise WrongUse(f"{server.label} (OPENAI_BASE_URL) {problem}: name one with `--model NAME` or OPENAI_MODEL")

    async def _local(self) -> _Target:
        local = self._local_model()
        if local is None:
            raise NoModel(
                "the embedded model is not installed: run `reflect-lab model install`, or try `%reflect tour`"
            )
        await local.start()
        key = Secret(local.api_key, LOCAL)
        server = Server(base_url=f"{local.url}/v1", label=LOCAL, api_key=key, is_lasting=False, token_count="llama.cpp")
        return _Target(requested=LOCAL, model=local.model, server=server, max_tokens=LOCAL_MAX_TOKENS)

    def _remote(self, name: str) -> _Target:
        if name == RECORDED:
            raise WrongUse("`recorded` can't be used yet: this version records runs but does not replay their calls")
        model, at, endpoint = name.rpartition("@")
        if at:
            return self._named(name, model, endpoint)
        if not self._has_env_endpoint():
            near = nearest(name, [LOCAL, RECORDED, SCRIPTED])
            hint = f"; did you mean {near!r}?" if near else "."
            raise NoModel(NO_MODEL.format(problem=f"There is no server for the model `{name}`{hint}"))
        return _Target(requested=name, model=name, server=self._env_server())

    def _env_server(self) -> Server:
        url = checked_url(self._environ.get("OPENAI_BASE_URL") or OPENAI_URL, ENV_LABEL)
        key = self._environ.get("OPENAI_API_KEY")
        return Server(
            base_url=url, label=_shown(url), api_key=Secret(key, "OPENAI_API_KEY") if key else None, is_env=True
        )

    def _named(self, name: str, model: str, endpoint: str) -> _Target:
        config = self._config()
        known = config.endpoints.get(endpoint)
        if known is None:
            some = did_you_mean(endpoint, config.endpoints) if config.endpoints else "reflect-lab.toml names none"
            raise WrongUse(f"unknown endpoint `{endpoint}` in `{name}`; {some}")
        if not model:
            raise WrongUse(f"`{name}` names no model: write NAME@{endpoint}")
        key, way = self._key(known), known.token_count
        server = Server(base_url=known.base_url, label=endpoint, api_key=key, token_count=way)
        return _Target(
            requested=name, model=model, server=server, max_tokens=known.max_tokens, timeout_s=known.timeout_s
        )

    def _key(self, endpoint: EndpointConfig) -> Secret | None:
        if endpoint.api_key_env is None:
            return None
        key = self._environ.get(endpoint.api_key_env)
        if not key:
            raise WrongUse(f"endpoint `{endpoint.name}` needs a key: set {endpoint.api_key_env} ({endpoint.file})")
        return Secret(key, endpoint.api_key_env)

    async def _open(self, target: _Target) -> OpenAIClient:
        target = replace(target, server=replace(target.server, secrets=self.secrets()))
        if self._refused is None:
            self._refused = RefusedParams(cache_folder(self._environ) / FILE_NAME)
        if self._prices is None and not target.server.is_loopback:
            self._prices = await asyncio.to_thread(Prices.load)
        estimator = self._estimators.setdefault((target.server.base_url, target.model), TokenEstimator())
        return await asyncio.to_thread(_connect, target, self._refused, self._prices, estimator)


def _connect(target: _Target, refused: RefusedParams, prices: Prices | None, estimator: TokenEstimator) -> OpenAIClient:
    timeout_s = target.timeout_s or DEFAULT_TIMEOUT_S
    return OpenAIClient(
        model=target.model,
        requested=target.requested,
        server=target.server,
        sdk=open_sdk(target.server, timeout_s),
        refused=refused,
        prices=prices,
        estimator=estimator,
        max_tokens=target.max_tokens or DEFAULT_MAX_TOKENS,
        timeout_s=timeout_s,
    )


def _scripted(name: str, base: Path) -> ChatClient:
    from reflect_lab.models.scripted import Script, ScriptedClient

    file = name.removeprefix(SCRIPTED)
    if not file:
        raise WrongUse(f"`{SCRIPTED}` needs a file: {SCRIPTED}FILE")
    path = base / os.path.expanduser(file)  # unlike Path's, it leaves a user that is not there as written
    if file == tour.SCRIPT_NAME and not path.exists():
        path = tour.REPLIES
    return ScriptedClient(Script.load(path), model=name)


def _shown(url: str) -> str:
    """A URL for people and records: without query and fragment."""
    return url.partition("?")[0].partition("#")[0]
