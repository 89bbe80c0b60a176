"""Runs a program of ours on systems without process limits: with a deadline alone.

For level W only, whose program holds the draft in an interpreter of its own and prints nothing but its answers.
"""

from __future__ import annotations

import json
import os
import secrets
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from reflect_lab.evidence.sandbox.caged import Caged, End, read_answers
from reflect_lab.evidence.sandbox.stop_switch import StopSwitch
from reflect_lab.evidence.sandbox.surroundings import environment

_LOOK_S = 0.05
_END_S = 2.0
_OF_WINDOWS = ("SYSTEMROOT",)


def run(program: Path, job: Mapping[str, object], ended: Caged, switch: StopSwitch | None) -> Caged:
    """What became of the program, as `cage.run_blocking` tells it, beside what `ended` knows already."""
    started, nonce = time.monotonic(), secrets.token_hex(16)
    data = json.dumps({**job, "nonce": nonce}).encode()
    try:
        with tempfile.TemporaryDirectory(prefix="reflect-lab-", ignore_cleanup_errors=True) as home:
            printed = Path(home, "printed")
            own = {name: os.environ[name] for name in _OF_WINDOWS if name in os.environ}
            with printed.open("wb") as errors:
                process = subprocess.Popen(
                    [sys.executable, "-s", "-P", str(program), "1"],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=errors,
                    cwd=home,
                    env={**environment(home, nonce), **own},
                )
            end, answered = _attended(process, data, started + ended.limits.wall_s, switch)
            output = printed.read_bytes()[: ended.limits.output_bytes].decode("utf-8", "replace")
    except OSError as error:
        return replace(ended, problem=f"{type(error).__name__}: {error}")
    answers, malformed = read_answers(answered, nonce)
    if end in ("timeout", "stopped"):
        _end_workers(answers)
    return replace(
        ended,
        end=end,
        code=process.returncode if end in ("exited", "signal") else None,
        answers=answers,
        malformed=malformed,
        output=output,
        seconds=time.monotonic() - started,
    )


def _attended(
    process: subprocess.Popen[bytes], data: bytes, deadline: float, switch: StopSwitch | None
) -> tuple[End, bytes]:
    """How it ended and what it answered."""
    end: End | None = None
    sending: bytes | None = data
    while end is None:
        try:
            answered, _ = process.communicate(sending, timeout=_LOOK_S)
            return "signal" if process.returncode < 0 else "exited", answered
        except subprocess.TimeoutExpired:
            sending = None  # it remembers what is still to be sent
            if switch is not None and switch.is_stopped:
                end = "stopped"
            elif time.monotonic() > deadline:
                end = "timeout"
    process.kill()
    with suppress(subprocess.TimeoutExpired):
        answered, _ = process.communicate(timeout=_END_S)
        return end, answered
    return end, b""


def _end_workers(answers: Sequence[Mapping[str, object]]) -> None:
    """The interpreter's own process outlives the program, and would work on until its own limit."""
    for answer in answers:
        pid = answer.get("worker")
        if isinstance(pid, int):
            with suppress(OSError):  # it ended by itself
                os.kill(pid, signal.SIGTERM)
