"""Level W: an interpreter of its own (monty, the extra `interpreter`), for small pure functions on any system.

It knows a part of Python, and nothing of files, network, processes or the environment. It works in a worker process
that has its own limits; where this system has process limits, both it and what feeds it have those, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from importlib import metadata, util
from pathlib import Path

from reflect_lab.evidence.sandbox import cage, interpreter_runner, runner, subset
from reflect_lab.evidence.sandbox.caged import Caged
from reflect_lab.evidence.sandbox.levels import Level
from reflect_lab.evidence.sandbox.limits import Limits

PACKAGE = "pydantic-monty"
MISSING = "the interpreter is not installed (`pip install 'reflect-lab[interpreter]'`)"
SUBSET = "this interpreter runs a subset of Python"

_PROGRAM = Path(interpreter_runner.__file__)
_NEIGHBOURS = [runner.__file__, subset.__file__]


def found() -> Level | None:
    """Level W where its package is installed; it is not tested yet."""
    if util.find_spec("pydantic_monty") is None:
        return None
    try:
        return Level(number="W", version=metadata.version(PACKAGE))
    except metadata.PackageNotFoundError:
        return None


async def run(job: Mapping[str, object], limits: Limits, level: Level) -> Caged:
    """Performs a job of the python runner (`mode` `python`, split cases alone) or `syntax` in the interpreter."""
    return _named(await cage.run(_PROGRAM, _with_limits(job, limits), limits, level))


def run_blocking(job: Mapping[str, object], limits: Limits, level: Level) -> Caged:
    """As `run`, for threads."""
    return _named(cage.run_blocking(_PROGRAM, _with_limits(job, limits), limits, level=level))


def _named(caged: Caged) -> Caged:
    return replace(caged, python=f"monty {caged.level.version}", interpreter=PACKAGE)


def _with_limits(job: Mapping[str, object], limits: Limits) -> dict[str, object]:
    own = {"neighbours": _NEIGHBOURS, "wall_s": limits.wall_s, "memory_bytes": limits.heap_bytes}
    return {**job, **own}
