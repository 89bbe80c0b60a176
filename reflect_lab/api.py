"""The public Python API: `import reflect_lab as rl`."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reflect_lab.core import task as core
from reflect_lab.core.errors import ReflectLabError, WrongUse
from reflect_lab.core.evidence import Finding, Location
from reflect_lab.core.observer import Observer
from reflect_lab.core.policy import Limits, Policy
from reflect_lab.core.replay import Replay
from reflect_lab.core.replay import replay as core_replay
from reflect_lab.core.run import Run
from reflect_lab.documents.policy_file import apply_overrides, read_policy
from reflect_lab.documents.task_cell import Cell, parse_cell
from reflect_lab.evidence.check import Report
from reflect_lab.evidence.kinds.custom import check
from reflect_lab.options import RunOptions
from reflect_lab.session import Session

if TYPE_CHECKING:
    from reflect_lab.store.traces import Traces

__all__ = [
    "Finding",
    "Location",
    "Policy",
    "ReflectLabError",
    "Report",
    "Run",
    "RunOptions",
    "Session",
    "Task",
    "WrongUse",
    "check",
    "open_traces",
    "reflect",
    "reflect_sync",
    "replay",
]


class Task(core.Task):
    """A task, as in `reflect_lab.core.task`, which can be read from a cell's Markdown."""

    @classmethod
    def from_markdown(cls, text: str) -> Task:
        """The task of a cell or task file (its options and labels are left out). Raises WrongUse."""
        read = parse_cell(text, where="task").task
        return cls(**{field.name: getattr(read, field.name) for field in fields(core.Task)})


async def reflect(
    task: Cell | core.Task | str,
    options: RunOptions | None = None,
    *,
    traces: str | Path | None = None,
    observers: Sequence[Observer] = (),
    sandbox_command: Sequence[str] = (),
    **single: Any,
) -> Run:
    """Runs the bounded loop on a task (a Task, or a cell's Markdown) and returns the finished run.

    `sandbox_command` is what `sandbox="external"` starts, by default the one of `reflect-lab.toml`.
    The options are those of a `RunOptions`, or single fields of it by name, which go before: `model`, `critic`,
    `checks`, `policy`, `max_revisions`, … A run that can't start raises WrongUse; a run that ends with an error
    returns, with the error in `run.outcome`. To run many tasks, keep a `Session` and call its `reflect`.
    """
    from reflect_lab.documents.suggest import did_you_mean, shown

    if not isinstance(options, RunOptions | None):
        raise WrongUse(f"reflect() takes a task and RunOptions(…), not {shown(options)}; write reflect(task, model=…)")
    unknown = single.keys() - RunOptions.__dataclass_fields__.keys()
    if unknown:
        name = sorted(unknown)[0]
        raise WrongUse(f"reflect() has no option {name!r}; {did_you_mean(name, RunOptions.__dataclass_fields__)}")
    async with Session(traces=traces, sandbox_command=sandbox_command) as session:
        return await session.reflect(task, replace(options or RunOptions(), **single), observers=observers)


def reflect_sync(task: Cell | core.Task | str, options: RunOptions | None = None, **single: Any) -> Run:
    """`reflect` for scripts. In a notebook, where a loop is running already, write `await rl.reflect(…)`."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(reflect(task, options, **single))
    raise WrongUse("an event loop is running here (a notebook?): write `await rl.reflect(…)` instead")


def replay(run: Run, policy: Policy | str | None = None, /, **changes: Any) -> Replay:
    """What another policy would have decided on a recorded run, at zero calls (see `reflect_lab.core.replay`).

    `policy` is a Policy, the name of a shipped one or a file (default: the run's own); `changes` are single limits and
    rules by their names in a policy file: `rl.replay(run, revisions=1)`, `rl.replay(run, min_gain=0.01)`. The answer's
    `run` is the counterfactual one; where the record ends, its outcome is None and `unknown` says why.
    """
    base = policy if isinstance(policy, Policy) else read_policy(policy, Path.cwd()) if policy else run.policy
    limits = {name: value for name, value in changes.items() if name in Limits.__dataclass_fields__}
    rules = {name: value for name, value in changes.items() if name not in limits}
    return core_replay(run, apply_overrides(base, where="replay()", limits=limits, rules=rules))


def open_traces(folder: str | Path | None = None) -> Traces:
    """The traces of a folder (default: where runs made here are recorded)."""
    return Session().open_traces(folder)
