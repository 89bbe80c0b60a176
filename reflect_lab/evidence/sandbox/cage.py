"""Runs a program of ours on hostile input in a process with limits, and ends all that it began.

    we -- control pipe --> warden (reaps and kills by descent) --> program (limits, own session)
    we <-- status pipe --- warden        we -- job pipe --> program        we <-- result and output pipes -- program

The program gets its job as JSON on standard input and answers with JSON lines on a descriptor of its own; a line
without this run's nonce is no answer. Nothing here waits for the end of a pipe that somebody else may hold open.
"""

from __future__ import annotations

import asyncio
import json
import marshal
import os
import secrets
import selectors
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import IO

from reflect_lab.evidence.sandbox import external, portable, warden
from reflect_lab.evidence.sandbox.caged import Caged, End, read_answers, with_report
from reflect_lab.evidence.sandbox.levels import Level
from reflect_lab.evidence.sandbox.limits import Limits
from reflect_lab.evidence.sandbox.stop_switch import StopSwitch
from reflect_lab.evidence.sandbox.stream import Stream
from reflect_lab.evidence.sandbox.surroundings import compiled, environment, kill_marked, remove_folder

_ANSWER_BYTES = 1 << 20
_GRACE_S = 0.25
_HERE = "reflect_lab.evidence.sandbox"
_WARDEN = f"""
import sys
for name in {[_HERE.rsplit(".", n)[0] for n in (2, 1, 0)]!r}:
    module = sys.modules[name] = type(sys)(name)
    module.__path__ = []
module.__path__ = [{str(Path(__file__).parent)!r}]
from {_HERE}.warden import main
main(sys.argv[1:])
"""
"""The warden is imported, not run as a script: its compiled form is read then. Of the packages above it only the names
are there. Both are for speed."""


async def run(
    program: Path,
    job: Mapping[str, object],
    limits: Limits,
    level: Level,
    *,
    readable: Sequence[str] = (),
) -> Caged:
    """Runs `program` on `job` at `level` without blocking the event loop. Above level 1 the program reads the
    system's files, this Python's, itself and what is `readable` (absolute paths), and writes below its home folder
    alone. When the caller is cancelled, all processes are ended before the cancellation goes on."""
    switch = StopSwitch()
    call = partial(run_blocking, program, job, limits, level, switch, readable=readable)
    work = asyncio.get_running_loop().run_in_executor(None, call)
    work.add_done_callback(lambda _: switch.close())
    try:
        return await asyncio.shield(work)
    except asyncio.CancelledError:
        switch.stop()
        await asyncio.wait({work}, timeout=2 * warden._KILL_S)
        if work.done() and not work.cancelled():
            work.exception()  # the run is over and nobody wants its answer
        raise


def _python() -> tuple[str, ...]:
    """As -I, but PYTHONHASHSEED is obeyed (-I ignores every PYTHON* variable); ours are the only ones there."""
    return sys.executable, "-s", "-P"


def has_process_limits() -> bool:
    """Whether this system has what levels 1 to 3 are made of."""
    return os.name == "posix"


def run_blocking(
    program: Path,
    job: Mapping[str, object],
    limits: Limits,
    level: Level,
    switch: StopSwitch | None = None,
    *,
    readable: Sequence[str] = (),
) -> Caged:
    """As `run`, for threads. Never raises for anything that the program or the machine does: see `Caged.end`."""
    started = time.monotonic()
    ended = Caged(end="not_started", level=level, limits=limits)
    if not has_process_limits():
        if level.number == "W":
            return portable.run(program, job, ended, switch)
        return replace(ended, problem="process limits need a POSIX system")
    home = None
    try:
        home = tempfile.mkdtemp(prefix="reflect-lab-")
        program = program if level.number == "X" else compiled(program)
        confinement = level.confinement(program, home, readable, limits.disk_bytes)
        with ExitStack() as stack:
            caged = _Session(program, job, limits, level, confinement, switch, home, started, stack).run()
            caged = replace(caged, level=level, limits=limits)
            return external.concluded(caged) if level.number == "X" else caged
    except (OSError, RecursionError) as error:
        return replace(ended, problem=f"{type(error).__name__}: {error}", seconds=time.monotonic() - started)
    finally:
        if home is not None:
            remove_folder(home, until=started + limits.wall_s)


class _Session:
    """One caged run: its pipes, its warden, its deadline."""

    def __init__(
        self,
        program: Path,
        job: Mapping[str, object],
        limits: Limits,
        level: Level,
        confinement: Mapping[str, object],
        switch: StopSwitch | None,
        home: str,
        started: float,
        stack: ExitStack,
    ) -> None:
        self._limits, self._switch, self._started = limits, switch, started
        self._nonce, self._status_nonce, self._marker = (secrets.token_hex(16) for _ in range(3))
        self._open: set[int] = set()
        job_read, self._job_write = self._pipe(stack)
        result_read, result_write = self._pipe(stack)
        status_read, status_write = self._pipe(stack)
        output_read, output_write = self._pipe(stack)
        self._result = Stream(result_read, _ANSWER_BYTES)
        self._status = Stream(status_read, 4096)
        self._output = Stream(output_read, limits.output_bytes)
        sent, is_external = {**job, "nonce": self._nonce}, level.number == "X"
        self._job = memoryview(
            external.standard_input(program, sent, limits) if is_external else json.dumps(sent).encode()
        )
        ends = (job_read, result_write, status_write)
        self._process: subprocess.Popen[bytes] = subprocess.Popen(
            self._command(level.command or (*_python(), str(program), str(result_write)), confinement, ends),
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=output_write,
            stderr=output_write,
            pass_fds=ends,
            cwd=home,
            env={**environment(home, self._marker), **(external.environment() if is_external else {})},
            start_new_session=True,
        )
        stack.callback(self._end_warden)
        assert self._process.stdin is not None
        self._control: IO[bytes] = self._process.stdin
        for descriptor in (*ends, output_write):
            self._close(descriptor)

    def _pipe(self, stack: ExitStack) -> tuple[int, int]:
        ends = os.pipe()
        self._open.update(ends)
        for descriptor in ends:
            stack.callback(self._close, descriptor)
        return ends

    def _close(self, descriptor: int) -> None:
        if descriptor in self._open:
            self._open.discard(descriptor)
            os.close(descriptor)

    def _command(
        self, command: Sequence[str], confinement: Mapping[str, object], ends: tuple[int, int, int]
    ) -> list[str]:
        orders = marshal.dumps({"limits": self._limits.of_processes, "confinement": dict(confinement)}).hex()
        return [*_python(), "-S", "-c", _WARDEN, *map(str, ends), orders, *command]

    def run(self) -> Caged:
        with suppress(BrokenPipeError):
            self._control.write(f"{self._status_nonce}\n".encode())
        end = self._attend(self._started + self._limits.wall_s)
        if end is not None:
            self._control.close()
            self._read_on(time.monotonic() + _GRACE_S, until_report=True)
        if b"\n" not in self._status.kept:
            # The warden is stopped or gone: what it would have done is done from here.
            warden.kill_below(self._process.pid)
            self._process.kill()
            kill_marked(self._marker)
        # Nobody is left to write: what there is can be read at once.
        self._read_on(time.monotonic() + _GRACE_S, until_report=False)
        return self._conclude(end)

    def _attend(self, deadline: float) -> End | None:
        """Moves data until the warden has reported, or something must end the run."""
        with self._selector() as selector:
            if self._job:
                os.set_blocking(self._job_write, False)
                selector.register(self._job_write, selectors.EVENT_WRITE, None)
            if self._switch is not None:
                selector.register(self._switch.fileno(), selectors.EVENT_READ, None)
            while b"\n" not in self._status.kept and self._status.is_open:
                left = deadline - time.monotonic()
                if left <= 0:
                    return "timeout"
                for key, _ in selector.select(left):
                    if isinstance(key.data, Stream):
                        self._read(selector, key)
                    elif key.fd == self._job_write:
                        if not self._send_job():
                            selector.unregister(key.fd)
                            self._close(self._job_write)
                    else:
                        return "stopped"
                if self._output.size > self._limits.flood_bytes:
                    return "flood"
        return None

    def _read_on(self, deadline: float, *, until_report: bool) -> None:
        """Reads the pipes until the warden has reported, or (without) until there is nothing in them."""
        with self._selector() as selector:
            while (left := deadline - time.monotonic()) > 0 and selector.get_map():
                if until_report and b"\n" in self._status.kept:
                    return
                ready = selector.select(left if until_report else 0)
                for key, _ in ready:
                    self._read(selector, key)
                if not (ready or until_report):
                    return

    def _selector(self) -> selectors.DefaultSelector:
        """The pipes that are read from, as far as they are open."""
        selector = selectors.DefaultSelector()
        for stream in (self._result, self._status, self._output):
            if stream.is_open:
                os.set_blocking(stream.descriptor, False)
                selector.register(stream.descriptor, selectors.EVENT_READ, stream)
        return selector

    def _read(self, selector: selectors.DefaultSelector, key: selectors.SelectorKey) -> None:
        key.data.read()
        if not key.data.is_open:
            selector.unregister(key.fd)

    def _send_job(self) -> bool:
        """Writes what the pipe takes; False when the whole job is sent or nobody reads it any more."""
        try:
            sent = os.write(self._job_write, self._job[: 1 << 16])
        except BlockingIOError:
            return True
        except BrokenPipeError:
            sent = len(self._job)
        self._job = self._job[sent:]
        return bool(self._job)

    def _conclude(self, end: End | None) -> Caged:
        answers, malformed = read_answers(bytes(self._result.kept), self._nonce, self._result.size > _ANSWER_BYTES)
        report = bytes(self._status.kept).decode("utf-8", "replace").partition("\n")[0].split(" ")
        common = Caged(
            end=end or "lost",
            answers=answers,
            malformed=malformed,
            output=bytes(self._output.kept).decode("utf-8", "replace"),
            is_output_cut=self._output.size > len(self._output.kept),
            seconds=time.monotonic() - self._started,
        )
        return with_report(common, report[1:] if report[0] == self._status_nonce else [])

    def _end_warden(self) -> None:
        self._control.close()
        try:
            self._process.wait(1.0)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
