"""Looks at one text with one check, outside any run: for those who write checks, and for the examples of the docs."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace

from reflect_lab.core.evidence import Evidence, Location
from reflect_lab.core.policy import Policy
from reflect_lab.core.run import Draft, Round, Run
from reflect_lab.core.task import CheckSpec, Task
from reflect_lab.evidence.check import Factory
from reflect_lab.evidence.gather import Checks
from reflect_lab.evidence.named import CheckRegistry, Registrable


@dataclass(frozen=True)
class Look:
    """What a check reported; `summary` is its status and each finding that is no pass, with its place."""

    evidence: Evidence

    @property
    def status(self) -> str:
        return self.evidence.status

    @property
    def summary(self) -> str:
        told = [f for f in self.evidence.findings if f.status != "passed"]
        lines = [f"- {f.status} {f.id}: {f.message}{_place(f.location)}" for f in told]
        return "\n".join([self.evidence.status, *lines])


def look(
    check: str | Registrable,
    draft: str,
    options: Mapping[str, object] | None = None,
    *,
    task: Task | None = None,
    known: Iterable[Registrable] = (),
    kinds: Mapping[str, Factory] | None = None,
) -> Look:
    """What a check (a built-in kind by its name, a decorated function, a model class) reports on a text.

    For scripts, tests and examples: it starts an event loop of its own, so it can't be called in a notebook. Code of
    the text may run, as in a script of one's own. `known` are classes and functions that `options` name;
    `kinds` are kinds that no plug-in brings yet, by name.

    Raises WrongUse for options that the check can't use.
    """
    registry, (*_, name) = CheckRegistry().with_checks([*known, check])
    new = kinds or {}
    spec = CheckSpec(name=name, kind=name if name in new else "custom", options=dict(options or {}))
    resolved = registry.resolve(replace(task or Task(text="Write it."), checks=(spec,), sha256=""))
    performing = {**resolved.kinds, **new}
    checks = Checks(
        resolved.task, code_is_trusted=True, kinds=performing, named=resolved.named, objects=resolved.objects
    )
    rounds = (Round(index=0, draft=Draft(index=0, text=draft)),)
    run = Run(run_id="look", task=resolved.task, policy=Policy(), rounds=rounds)
    return Look(asyncio.run(checks.gather(run, _Unheard()))[0])


class _Unheard:
    """Hooks that nobody listens to."""

    @contextmanager
    def check(self, spec: CheckSpec) -> Iterator[None]:
        yield

    def evidence(self, evidence: Evidence) -> None:
        return

    @contextmanager
    def pausing(self) -> Iterator[None]:
        yield


def _place(location: Location | None) -> str:
    if location is None or location.kind == "whole":
        return ""
    return f" ({location.kind})" if location.value is None else f" ({location.kind} {location.value})"
