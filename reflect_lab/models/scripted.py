"""A model that plays fixed replies from a file (`scripted:FILE`), through the same retries and ledger as a real one."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from reflect_lab.core.chat import CallHooks, ChatReply, ChatRequest, Message
from reflect_lab.core.errors import ModelFailed
from reflect_lab.core.money import Money
from reflect_lab.core.run import Role
from reflect_lab.models.retry import AttemptFailed, Clock, Fault, Progress, RetryPolicy, is_retried_status, perform
from reflect_lab.models.script_lines import CheckLine, ReplyLine, ScriptedError, read_script
from reflect_lab.models.tokens import bound, script_estimate
from reflect_lab.models.wire import CONTENT_FILTERED

DEFAULT_MAX_TOKENS = 1024
NO_CRITIC = "; add one (docs/scripted-models.md tells how), or take `--policy repair`, which asks no critic"


class Script:
    """The lines of one script and how far each role has read. A run plays its script from the beginning."""

    def __init__(self, lines: Sequence[ReplyLine | CheckLine], file: str) -> None:
        self.file = file
        self.check_lines = tuple(line for line in lines if isinstance(line, CheckLine))
        self.reply_lines = tuple(line for line in lines if isinstance(line, ReplyLine))
        self._replies = {
            role: deque(line for line in self.reply_lines if line.role == role)
            for role in ("generator", "critic", "evidence")
        }
        self._checks = {name: iter([c for c in self.check_lines if c.name == name]) for name in self.check_names}

    @classmethod
    def load(cls, file: Path) -> Script:
        """Read a script. Raises WrongUse naming the file and the line that is wrong."""
        return cls(read_script(file), str(file))

    @property
    def check_names(self) -> tuple[str, ...]:
        """The names of the scripted checks, in the order of their first lines."""
        return tuple(dict.fromkeys(line.name for line in self.check_lines))

    def next_reply(self, role: str) -> ReplyLine:
        """The role's next line. Raises ModelFailed (`script_ended`) when there is none left."""
        if not self._replies.get(role):
            advice = NO_CRITIC if role == "critic" else ""
            raise ModelFailed("script_ended", f"{self.file} holds no further line for the {role}{advice}")
        return self._replies[role].popleft()

    def upcoming(self, role: str) -> ReplyLine | None:
        """The answer that the role's next call will get (errors before it are tried again); None where none is left."""
        return next((line for line in self._replies.get(role, ()) if line.error is None), None)

    def next_check(self, name: str) -> CheckLine | None:
        """The next line of the check `name`; None when the name is not scripted.

        Raises ModelFailed (`script_ended`) when its lines have run out.
        """
        if name not in self._checks:
            return None
        line = next(self._checks[name], None)
        if line is None:
            raise ModelFailed("script_ended", f"{self.file} holds no further line for the check {name!r}")
        return line


class ScriptedClient:
    """One role's replies of a script. Its errors are retried like those of a server."""

    is_live = False
    endpoint: str | None = None

    def __init__(
        self,
        script: Script,
        *,
        model: str,
        max_tokens: int = DEFAULT_MAX_TOKENS,
        policy: RetryPolicy = RetryPolicy(),
        clock: Clock = Clock(),
    ) -> None:
        self.script = script
        self.model = model
        self.max_tokens = max_tokens
        self._policy = policy
        self._clock = clock

    async def measure(self, messages: Sequence[Message]) -> None:
        """A script counts nothing."""

    def estimate(self, messages: Sequence[Message]) -> int:
        """UTF-8 bytes of all messages / 3, rounded up."""
        return script_estimate(messages)

    def bound(self, messages: Sequence[Message]) -> int:
        """A token per UTF-8 byte, and some per message."""
        return bound(messages)

    def price(self, role: Role, input_tokens: int, output_tokens: int) -> Money | None:
        """The cost that the role's next line states, whatever the counts; None where it states none."""
        line = self.script.upcoming(role)
        if line is None or line.usage.cost is None or line.usage.currency is None:
            return None
        return Money(line.usage.cost, line.usage.currency)

    def currencies(self) -> frozenset[str | None]:
        """The currencies of the costs that the script's lines state. A line that is an error needs none."""
        used = [line.usage for line in self.script.reply_lines if line.error is None]
        return frozenset(None if usage.cost is None else usage.currency for usage in used)

    def next_check(self, name: str) -> CheckLine | None:
        """The script's next report of a check, as `Script.next_check`."""
        return self.script.next_check(name)

    async def complete(self, request: ChatRequest, hooks: CallHooks) -> ChatReply:
        """Play the next line of the request's role. Raises ModelFailed as a server's client does."""

        async def attempt(progress: Progress) -> ChatReply:
            line = self.script.next_reply(request.role)
            has_form = request.role == "critic" and request.schema is not None
            progress.protocol = line.protocol or ("json" if has_form else None)
            if line.delay_s:
                await asyncio.sleep(line.delay_s)
            if line.error is not None:
                raise AttemptFailed(_fault(line.error, self.model))
            _fill(progress, line)
            if line.text:
                progress.text.append(line.text)
                hooks.text(line.text)
            return _reply(line)

        return await perform(request, hooks, attempt, model=self.model, policy=self._policy, clock=self._clock)

    async def close(self) -> None:
        """Nothing is open."""


def _fill(progress: Progress, line: ReplyLine) -> None:
    usage = line.usage
    progress.input_tokens, progress.output_tokens = usage.input_tokens, usage.output_tokens
    progress.cached_tokens, progress.reasoning_tokens = usage.cached_tokens, usage.reasoning_tokens
    progress.cost, progress.currency = usage.cost, usage.currency
    progress.finish_reason = line.finish_reason


def _reply(line: ReplyLine) -> ChatReply:
    reply = ChatReply(
        text=line.text,
        finish_reason=line.finish_reason,
        reasoning=line.reasoning,
        refusal=line.refusal or (CONTENT_FILTERED if line.finish_reason == "content_filter" else None),
        truncated=line.finish_reason in ("length", None),
    )
    return replace(reply, protocol=line.protocol) if line.protocol is not None else reply


def _fault(error: ScriptedError, model: str) -> Fault:
    if error.status is None:
        return Fault(kind="provider_error", message=f"{model} broke off the connection", again="fault")
    message = f"{model} answered HTTP {error.status}"
    if is_retried_status(error.status):
        return Fault(
            kind="rate_limited" if error.status == 429 else "provider_error",
            message=message,
            again="fault",
            retry_after=error.retry_after,
            is_free=True,
        )
    return Fault(kind="provider_refused", message=message, is_free=True)
