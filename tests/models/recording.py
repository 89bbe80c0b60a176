"""What the tests of the model clients share: hooks that keep everything, requests, clients on a test server."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from reflect_lab.core.chat import ChatRequest, Message
from reflect_lab.core.run import LedgerRow
from reflect_lab.models.openai_client import OpenAIClient, Server, open_sdk
from reflect_lab.models.refused import RefusedParams
from reflect_lab.models.retry import Clock
from reflect_lab.models.secret import Secret
from tests.openai_server import OpenAITestServer

KEY = "sk-test-4f9b1c77aa"


@dataclass
class Recording:
    """Hooks that keep what they are told. `on_text` is called with each delta."""

    rows: list[LedgerRow] = field(default_factory=list)
    deltas: list[str] = field(default_factory=list)
    on_text: Callable[[str], object] | None = None

    def attempt(self, row: LedgerRow) -> None:
        self.rows.append(row)

    def again(self) -> None:
        """There is always room for another try."""

    def text(self, delta: str) -> None:
        self.deltas.append(delta)
        if self.on_text:
            self.on_text(delta)

    @property
    def statuses(self) -> list[str]:
        return [row.status for row in self.rows]


@dataclass
class Waits:
    """A clock whose sleeps take no time and are kept."""

    slept: list[float] = field(default_factory=list)

    @property
    def clock(self) -> Clock:
        async def sleep(seconds: float) -> None:
            self.slept.append(seconds)

        return Clock(sleep=sleep, chance=lambda: 0.0)


def request(text: str = "Say hello.", **changes: Any) -> ChatRequest:
    fields: dict[str, Any] = {
        "role": "generator",
        "round": 0,
        "call": 1,
        "messages": (Message(role="system", content="You are brief."), Message(role="user", content=text)),
        "max_tokens": 100,
        "reserved_tokens": 150,
    }
    return ChatRequest(**{**fields, **changes})


def client_of(
    server: OpenAITestServer,
    *,
    waits: Waits | None = None,
    refused: RefusedParams | None = None,
    model: str = "test-model",
    timeout_s: float = 30.0,
    base_url: str | None = None,
    **options: Any,
) -> OpenAIClient:
    where = Server(base_url=base_url or server.url, label="here", api_key=Secret(KEY, "TEST_KEY"))
    return OpenAIClient(
        model=model,
        server=where,
        sdk=open_sdk(where, timeout_s),
        refused=refused or RefusedParams(),
        timeout_s=timeout_s,
        clock=(waits or Waits()).clock,
        **options,
    )


def refused_file(folder: Path) -> RefusedParams:
    return RefusedParams(folder / "refused-params.json", today=lambda: datetime(2026, 5, 1, tzinfo=UTC).date())
