"""Runs a program of the user's, and ends all that it started: its group, and whatever left the group.

No shell, an environment of an allow-list, capped output, a deadline that nothing in a pipe can delay.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import signal
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import cast

from reflect_lab.evidence.sandbox.surroundings import environment, kill_marked

KEPT = 256 * 1024
"""Bytes that are kept of each stream."""
FLOOD = 64 << 20
"""Bytes of output over which a program is ended."""
_GRACE_S = 0.5
"""Seconds in which what is in the pipes is read when the program has ended; somebody else may hold them open."""


@dataclass(frozen=True, kw_only=True)
class Tool:
    """What to run: `argv` without a shell, `input` on standard input, in `folder` (which is its home, too). `env` are
    names of variables that it gets beside the usual ones."""

    argv: Sequence[str]
    input: bytes
    folder: str
    env: Sequence[str] = ()
    timeout_s: float = 60.0


@dataclass(frozen=True, kw_only=True)
class ToolEnded:
    """How it ended: `code`, or `why` there is none that counts. `output` and `errors` are what it printed, capped."""

    code: int | None = None
    why: str | None = None
    output: str = ""
    errors: str = ""
    is_cut: bool = False


@dataclass
class _Kept:
    """The beginning of a stream."""

    data: bytearray = field(default_factory=bytearray)
    size: int = 0

    def add(self, chunk: bytes) -> None:
        self.size += len(chunk)
        self.data += chunk[: max(0, KEPT - len(self.data))]

    @property
    def text(self) -> str:
        return self.data.decode("utf-8", "replace")


class _Watch(asyncio.SubprocessProtocol):
    """Told when the program itself ends, whoever still holds its pipes (`Process.wait` would wait for them, too)."""

    def __init__(self) -> None:
        self.streams = {1: _Kept(), 2: _Kept()}
        self.over, self.closed, self.exited = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self.is_flood, self._open = False, {1, 2}

    def pipe_data_received(self, fd: int, data: bytes | str) -> None:
        assert isinstance(data, bytes)
        self.streams[fd].add(data)
        if self.streams[fd].size > FLOOD:
            self.is_flood = True
            self.over.set()

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        self._open.discard(fd)
        if not self._open:
            self.closed.set()

    def process_exited(self) -> None:
        self.exited.set()
        self.over.set()


async def run_tool(tool: Tool) -> ToolEnded:
    """Runs a program to its end. Never raises for anything that it does; when the caller is cancelled, it is ended
    before the cancellation goes on."""
    marker = secrets.token_hex(16)
    own = {name: os.environ[name] for name in tool.env if name in os.environ}
    # A single thread for each library is for drafts; a tool of the user's may use what it likes.
    env = {name: value for name, value in environment(tool.folder, marker).items() if not name.endswith("_NUM_THREADS")}
    try:
        transport, watch = await asyncio.get_running_loop().subprocess_exec(
            _Watch, *tool.argv, cwd=tool.folder, env={**env, **own}, start_new_session=True
        )
    except (OSError, ValueError) as error:
        return ToolEnded(why=f"could not be started: {getattr(error, 'strerror', None) or error}")
    try:
        return await _attended(tool, transport, watch)
    finally:
        _end_group(transport.get_pid())
        kill_marked(marker)  # what left the group carries the mark in its environment
        try:
            # Closing collects a program that has ended; the loop's own watcher, if it came later, would complain.
            with suppress(TimeoutError):
                async with asyncio.timeout(_GRACE_S):
                    await watch.exited.wait()
        finally:
            transport.close()


async def _attended(tool: Tool, transport: asyncio.SubprocessTransport, watch: _Watch) -> ToolEnded:
    stdin = cast(asyncio.WriteTransport, transport.get_pipe_transport(0))
    stdin.write(tool.input)
    stdin.write_eof()
    why, code = None, None
    try:
        async with asyncio.timeout(tool.timeout_s):
            await watch.over.wait()
    except TimeoutError:
        why = f"gave no answer within {tool.timeout_s:g} s"
    if watch.is_flood:
        why = f"printed over {FLOOD >> 20} MB"
    if why is None:
        code = transport.get_returncode()
        _end_group(transport.get_pid())  # what it left behind may hold the pipes open
        with suppress(TimeoutError):
            async with asyncio.timeout(_GRACE_S):
                await watch.closed.wait()
        if code is None or code < 0:
            why, code = f"was ended by {_signal_name(-(code or 0))}", None
    output, errors = watch.streams[1], watch.streams[2]
    is_cut = max(output.size, errors.size) > KEPT
    return ToolEnded(code=code, why=why, output=output.text, errors=errors.text, is_cut=is_cut)


def _end_group(leader: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, signal.SIGKILL)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
