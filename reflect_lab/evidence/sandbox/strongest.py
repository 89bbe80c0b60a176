"""Runs a program of ours that only looks at a text: at the strongest level that holds here, whatever was asked for."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path

from reflect_lab.evidence.sandbox import cage, selftest
from reflect_lab.evidence.sandbox.caged import Caged
from reflect_lab.evidence.sandbox.limits import Limits


async def run(program: Path, job: Mapping[str, object], limits: Limits, *, readable: Sequence[str] = ()) -> Caged:
    """As `cage.run`."""
    level = await asyncio.to_thread(selftest.strongest)
    return await cage.run(program, job, limits, level, readable=readable)


def run_blocking(program: Path, job: Mapping[str, object], limits: Limits) -> Caged:
    """As `run`, for threads."""
    return cage.run_blocking(program, job, limits, selftest.strongest())
