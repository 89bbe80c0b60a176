"""What the name of a check means: a built-in kind, a function or model class of the user's, a plug-in's.

Plug-ins are entry points of the group `reflect_lab.checks`: the entry's name is the kind, its object a factory (a class
made from a spec and its surroundings), a function that `check` decorated, or a pydantic model class. Nothing of a
plug-in is imported before a task names it.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import metadata
from typing import Any

from reflect_lab.core.errors import WrongUse
from reflect_lab.core.run import Notice
from reflect_lab.core.task import CheckSpec, Task
from reflect_lab.documents.suggest import did_you_mean, shown
from reflect_lab.evidence.check import Factory
from reflect_lab.evidence.foreign import PlugIn
from reflect_lab.evidence.kinds.command import PROSE, language_by_file
from reflect_lab.evidence.kinds.custom import CustomCheck, FunctionCheck
from reflect_lab.evidence.registry import BUILT_IN
from reflect_lab.evidence.wording import raised

GROUP = "reflect_lab.checks"

Registrable = CustomCheck | type
"""What a user may hand over as a check: a decorated function, or a pydantic model class."""


@dataclass(frozen=True, kw_only=True)
class Resolved:
    """A task whose checks have their kinds, and what performs them: `kinds` by kind, `named` by a check's name.
    `objects` are the model classes that pydantic checks name."""

    task: Task
    kinds: Mapping[str, Factory]
    named: Mapping[str, Factory]
    objects: Mapping[str, object]
    notices: tuple[Notice, ...] = ()


class CheckRegistry:
    """The checks that a session knows. `namespace` is where the user's own names live (a notebook's variables): only
    what `check` decorated, and model classes, count there."""

    def __init__(self, namespace: Mapping[str, object] | None = None) -> None:
        self._namespace: Mapping[str, object] = {} if namespace is None else namespace
        self._registered: dict[str, Registrable] = {}

    def register(self, check: Registrable) -> str:
        """Makes a check known by its name, and answers with it. Raises WrongUse for anything else."""
        name = getattr(check, "name", None) if isinstance(check, CustomCheck) else getattr(check, "__name__", None)
        if not isinstance(check, CustomCheck) and not is_model(check):
            raise WrongUse(f"{shown(name or check)} is no check: decorate the function with @rl.check")
        assert isinstance(name, str)
        if name in BUILT_IN:
            raise WrongUse(f"{name} is a built-in kind of check; give yours another name")
        self._registered[name] = check
        return name

    def with_checks(self, given: Iterable[object]) -> tuple[CheckRegistry, tuple[str, ...]]:
        """A registry that knows these too (names, or what `register` takes), and the names that were asked for."""
        more = CheckRegistry(self._namespace)
        more._registered = dict(self._registered)
        names = [one if isinstance(one, str) else more.register(one) for one in given]  # type: ignore[arg-type]
        return more, tuple(dict.fromkeys(names))

    @property
    def names(self) -> tuple[str, ...]:
        """All names: built-in kinds, the user's own, plug-ins."""
        own = [value.name for value in list(self._namespace.values()) if isinstance(value, CustomCheck)]
        return tuple(dict.fromkeys((*BUILT_IN, *self._registered, *own, *(e.name for e in _plug_ins()))))

    def resolve(self, task: Task, asked: Sequence[str] = (), scripted: Collection[str] | None = ()) -> Resolved:
        """The task with the checks of these names beside its own, each with its kind. Names that a script plays stay as
        they are. Raises WrongUse for one that means nothing, and for a plug-in that can't be loaded."""
        there = {spec.name for spec in task.checks}
        added = [CheckSpec(name=name, kind="custom") for name in asked if name not in there]
        found = _Found()
        specs = tuple(self._resolved(spec, task, found, scripted or ()) for spec in (*task.checks, *added))
        language = _language(task, specs, found)
        if specs != task.checks or language != task.language:
            task = replace(task, checks=specs, language=language, sha256="")
        notices = tuple(_shadowed({spec.kind for spec in specs}))
        return Resolved(task=task, kinds=found.kinds, named=found.named, objects=found.objects, notices=notices)

    def _resolved(self, spec: CheckSpec, task: Task, found: _Found, scripted: Collection[str]) -> CheckSpec:
        if spec.kind == "pydantic":
            self._find_model(spec, found)
        if spec.kind not in ("custom", "scripted"):
            if spec.kind not in BUILT_IN:
                self._plug_in(spec.kind, spec, found)
            return spec
        if spec.name in scripted:
            return spec
        options = dict(spec.options)
        kind, gate = options.pop("kind", None), options.pop("gate", None)
        if gate is not None and not isinstance(gate, bool):
            raise WrongUse(f"check {spec.name}: gate is true or false, not {shown(gate)}")
        name = _without_number(spec.name) if kind is None else str(kind)
        if name in BUILT_IN:
            spec = replace(spec, kind=name, options=options, gate=_gate(gate, BUILT_IN[name]))
            if name == "pydantic":
                self._find_model(spec, found)
            return spec
        value = self._own(name) or self._plug_in(name, spec, found)
        if value is None:
            if kind is not None:
                raise WrongUse(f"check {spec.name}: there is no kind {shown(name)}; {did_you_mean(name, self.names)}")
            raise WrongUse(f"there is no check named {shown(spec.name)}; {did_you_mean(spec.name, self.names)}")
        return _with_value(spec, value, name, options, gate, task, found)

    def _own(self, name: str) -> Registrable | None:
        if name in self._registered:
            return self._registered[name]
        by_name = [v for v in list(self._namespace.values()) if isinstance(v, CustomCheck) and v.name == name]
        value = by_name[-1] if by_name else self._namespace.get(name)
        if value is None:
            return None
        if not isinstance(value, CustomCheck) and not is_model(value):
            if callable(value):
                raise WrongUse(f"{name} is a function here, but no check: decorate it with @rl.check")
            return None
        return value  # type: ignore[return-value]

    def _plug_in(self, name: str, spec: CheckSpec, found: _Found) -> object | None:
        """The object of a plug-in; a factory is noted under its kind."""
        entries = [entry for entry in _plug_ins() if entry.name == name]
        if not entries:
            return None
        packages = sorted({_package(entry) for entry in entries})
        if len(packages) > 1:
            raise WrongUse(f"check {spec.name}: {' and '.join(packages)} both bring a check {name}; uninstall one")
        try:
            value: object = entries[0].load()
        except (Exception, SystemExit) as error:
            where = f"check {spec.name}: the plug-in {name} of {packages[0]}"
            raise WrongUse(f"{where} can't be loaded: {raised(error)}") from None
        if not callable(value):
            raise WrongUse(f"check {spec.name}: the plug-in {name} of {packages[0]} is {shown(value)}, no check")
        if not isinstance(value, CustomCheck) and not is_model(value):
            value = PlugIn(value, f"check {spec.name}: the plug-in {name} of {packages[0]}")
            found.kinds[name] = value
        return value

    def _find_model(self, spec: CheckSpec, found: _Found) -> None:
        name = spec.options.get("model")
        if not isinstance(name, str):
            raise WrongUse(f"check {spec.name}: model must be the name of a model class, not {shown(name)}")
        model = self._own(name) or self._plug_in(name, spec, found)
        if not is_model(model):
            known = [n for n, v in [*self._namespace.items(), *self._registered.items()] if is_model(v)]
            raise WrongUse(f"check {spec.name}: there is no model class {shown(name)}; {did_you_mean(name, known)}")
        found.objects[name] = model


class _Found:
    """What was found while the checks of a task were resolved."""

    def __init__(self) -> None:
        self.kinds: dict[str, Factory] = dict(BUILT_IN)
        self.named: dict[str, Factory] = {}
        self.objects: dict[str, object] = {}

    def language(self, spec: CheckSpec) -> str | None:
        """The language that a kind of check wants the draft in, so that it is taken from its fence."""
        if spec.kind == "command":
            said = spec.options.get("language")
            return said if isinstance(said, str) and said != PROSE else None
        return getattr(self.kinds.get(spec.kind), "language", None)


def _language(task: Task, specs: Sequence[CheckSpec], found: _Found) -> str | None:
    """The language of the draft: the task's own, else that of its checks, else the one that a command's file ends in.

    Raises WrongUse where two checks want languages that no draft can have both. JSON is YAML: of these the first holds.
    """
    wanted: dict[str, str] = {}
    for spec in specs:
        if (language := found.language(spec)) is not None:
            wanted.setdefault(language, spec.name)
    if len(wanted) > 1 and not wanted.keys() <= {"json", "yaml"}:
        (one, check), (other, beside) = list(wanted.items())[:2]
        raise WrongUse(f"check {check} wants the draft in {one}, check {beside} in {other}; leave one of them out")
    by_file = (language_by_file(spec.options) for spec in specs if spec.kind == "command")
    return task.language or next(iter(wanted), None) or next(filter(None, by_file), None)


def _with_value(
    spec: CheckSpec,
    value: object,
    name: str,
    options: Mapping[str, object],
    gate: bool | None,
    task: Task,
    found: _Found,
) -> CheckSpec:
    """The spec of a check that the user or a plug-in brings."""
    if isinstance(value, CustomCheck):
        custom = value
        found.named[spec.name] = lambda spec, surroundings: FunctionCheck(custom, spec, surroundings)
        covered = spec.requirements or custom.requirements
        known = [requirement.id for requirement in task.requirements]
        for wanted in covered:
            if wanted not in known:
                raise WrongUse(f"check {spec.name}: there is no requirement {shown(wanted)}; {_hint(wanted, known)}")
        return replace(spec, options=options, requirements=covered, gate=custom.gate if gate is None else gate)
    if is_model(value):
        found.objects[name] = value
        gate = True if gate is None else gate
        return replace(spec, kind="pydantic", options={"model": name, **options}, gate=gate)
    return replace(spec, kind=name, options=options, gate=_gate(gate, value))


def is_model(value: object) -> bool:
    """Whether something is a pydantic model class. Nothing is imported: where there is one, pydantic is there."""
    pydantic: Any = sys.modules.get("pydantic")
    return isinstance(value, type) and pydantic is not None and issubclass(value, pydantic.BaseModel)


def _gate(said: bool | None, factory: object) -> bool:
    return bool(getattr(factory, "is_gate", False)) if said is None else said


def _hint(wanted: str, known: Sequence[str]) -> str:
    return did_you_mean(wanted, known)


def _without_number(name: str) -> str:
    """`text:2`, the second check of its kind, is a `text`."""
    base, _, number = name.rpartition(":")
    return base if base and number.isdigit() else name


def _plug_ins() -> tuple[metadata.EntryPoint, ...]:
    return tuple(metadata.entry_points(group=GROUP))


def _package(entry: metadata.EntryPoint) -> str:
    return entry.dist.name if entry.dist is not None else entry.value


def _shadowed(kinds: Collection[str]) -> Iterable[Notice]:
    """A plug-in that has the name of a built-in kind is never used, and never silently."""
    for entry in _plug_ins():
        if entry.name in BUILT_IN and entry.name in kinds:
            text = f"the check {entry.name} of {_package(entry)} is not used: {entry.name} is a built-in kind of check"
            yield Notice(kind="plug_in_ignored", message=text)
