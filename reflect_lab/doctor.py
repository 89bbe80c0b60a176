"""What this machine has for reflect-lab, and what to do about the rest. It calls no model and changes nothing."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from reflect_lab.core.errors import WrongUse
from reflect_lab.evidence.sandbox import selftest
from reflect_lab.evidence.sandbox.landlock import SCOPES_SIGNALS
from reflect_lab.evidence.sandbox.levels import Level, told_command
from reflect_lab.models import embedded
from reflect_lab.models.config import load_config
from reflect_lab.session import Session, versions

State = Literal["ok", "missing", "note"]
MARKS: dict[State, str] = {"ok": "✓", "missing": "✗", "note": "·"}


@dataclass(frozen=True, kw_only=True)
class Diagnosis:
    """One part of the machine: what was found, and what to do where something is missing."""

    part: str
    state: State
    found: str
    advice: str | None = None


def examine(session: Session) -> list[Diagnosis]:
    """All parts, in the order in which a user meets them."""
    return list(_parts(session))


def report(diagnoses: Sequence[Diagnosis]) -> str:
    """The diagnoses as text, one part a line."""
    width = max(len(d.part) for d in diagnoses)
    lines = []
    for diagnosis in diagnoses:
        lines.append(f"{MARKS[diagnosis.state]} {diagnosis.part:<{width}}  {diagnosis.found}")
        if diagnosis.advice:
            lines.append(f"  {'':<{width}}  {diagnosis.advice}")
    return "\n".join(lines)


def _parts(session: Session) -> Iterator[Diagnosis]:
    known = versions()
    yield Diagnosis(part="python", state="ok", found=f"{known['python']} ({sys.executable})")
    packages = ", ".join(f"{name} {version}" for name, version in known.items() if name != "python")
    yield Diagnosis(part="packages", state="ok", found=packages)
    yield _live_view()
    yield from _models(session)
    yield from _sandbox()
    yield _interpreter()
    yield _external(session)
    yield _traces(session)
    yield _spans(session)


def _live_view() -> Diagnosis:
    static = Path(__file__).with_name("static")
    if not (static / "widget.js").exists():
        return Diagnosis(
            part="live view", state="missing", found="the front end is not built", advice="run `make setup`"
        )
    if importlib.util.find_spec("jupyterlab") is None:
        advice = "install JupyterLab 4.6 or newer beside this, or open the notebook in another environment's"
        return Diagnosis(part="live view", state="note", found="built; JupyterLab is not installed here", advice=advice)
    return Diagnosis(part="live view", state="ok", found="built, with JupyterLab")


def _models(session: Session) -> Iterator[Diagnosis]:
    yield from _settings(session)
    why = embedded.why_missing()
    if why is None:
        yield Diagnosis(part="embedded model", state="ok", found=f"{embedded.MODEL_NAME} (--model local)")
    else:
        yield Diagnosis(part="embedded model", state="missing", found=why)
    base, key = session.environ.get("OPENAI_BASE_URL"), session.environ.get("OPENAI_API_KEY")
    if base or key:
        server = "OPENAI_BASE_URL is set" if base else "OPENAI_API_KEY is set, the server is OpenAI's own"
        yield Diagnosis(part="endpoint", state="ok", found=f"{server}; {'a key is set' if key else 'no key is set'}")
    else:
        advice = "set OPENAI_BASE_URL (and OPENAI_API_KEY), or name an endpoint in reflect-lab.toml"
        yield Diagnosis(part="endpoint", state="note", found="none in the environment", advice=advice)


def _settings(session: Session) -> Iterator[Diagnosis]:
    try:
        config = load_config(session.cwd, session.environ)
    except WrongUse as error:
        yield Diagnosis(part="configuration", state="missing", found=str(error), advice="mend or remove the file")
        return
    if config.default_model:
        yield Diagnosis(part="default model", state="ok", found=f"{config.default_model} (reflect-lab.toml)")
    for name, endpoint in config.endpoints.items():
        key = endpoint.api_key_env
        is_set = key is None or bool(session.environ.get(key))
        url = session.redactor.text(endpoint.base_url)
        found = f"{url} (--model NAME@{name}); {f'{key} is set' if key and is_set else 'no key is set'}"
        advice = None if is_set else f"set {key}"
        yield Diagnosis(part=f"endpoint {name}", state="ok" if is_set else "missing", found=found, advice=advice)


def _sandbox() -> Iterator[Diagnosis]:
    """The levels that hold here by their self-test, then what is missing and how to get it."""
    machine = selftest.machine()
    best = machine.strongest
    if best.number == 1:
        advice = (
            "code of a live model runs in the interpreter of level W if it is there and can run it; else not until you "
            "consent in the live view, or say --sandbox process"
        )
        yield Diagnosis(part="sandbox", state="missing", found=f"level 1: {best.name}", advice=advice)
    else:
        held = f"level {best.number}: {best.name}; self-test passed"
        yield Diagnosis(part="sandbox", state="ok", found=held, advice=_weaknesses(best))
    for test in machine.tests:
        if test.level == best:
            continue
        state: State = "ok" if test.why is None else "missing"
        said = "passed" if test.why is None else f"failed: {test.why}"
        part, found = f"sandbox level {test.level.number}", f"{test.level.name}; self-test {said}"
        more = _weaknesses(test.level) if test.why is None else _what_to_do(test)
        yield Diagnosis(part=part, state=state, found=found, advice=more)
    for reason in machine.missing:
        part, _, why = reason.partition(": ")
        yield Diagnosis(part=f"sandbox {part}" if why else "sandbox", state="note", found=why or reason)


def _interpreter() -> Diagnosis:
    """Level W."""
    part, test = "sandbox level W", selftest.interpreted()
    if isinstance(test, str):
        advice = "it runs small pure functions on any system, by --sandbox interpreter"
        return Diagnosis(part=part, state="note", found=test, advice=advice)
    if test.why is not None:
        advice = "it is not used; another release of pydantic-monty may do"
        return Diagnosis(
            part=part, state="missing", found=f"{test.level.name}; self-test failed: {test.why}", advice=advice
        )
    advice = "a part of Python, for small pure functions: --sandbox interpreter"
    return Diagnosis(part=part, state="ok", found=f"{test.level.name}; self-test passed", advice=advice)


def _external(session: Session) -> Diagnosis:
    """Level X: the command of the settings file, which is started for its self-test."""
    part = "sandbox level X"
    try:
        command = session.external_command()
    except WrongUse:
        advice = "name one that runs a Python program, [sandbox] command = [...] in reflect-lab.toml: docs/sandbox.md"
        return Diagnosis(part=part, state="note", found="no command is named", advice=advice)
    words = session.redactor.text(told_command(command))
    test = selftest.commanded(command)
    if isinstance(test, str) or test.why is not None:
        why = test if isinstance(test, str) else f"self-test failed: {test.why}"
        return Diagnosis(part=part, state="missing", found=f"{words}; {why}", advice="try the command by hand")
    advice = "what it isolates is for you to know; it is used by --sandbox external alone"
    return Diagnosis(part=part, state="ok", found=f"{words}; self-test {test.level.selftest}", advice=advice)


def _weaknesses(level: Level) -> str | None:
    """What an older Landlock leaves open, or takes from honest code."""
    if level.number != 2 or (level.abi or 0) >= SCOPES_SIGNALS:
        return None
    return "this Landlock can't scope signals (Linux 6.12 can): code may signal its own process group only"


def _what_to_do(test: selftest.SelfTest) -> str:
    """What fits the failure: where the probe did run, nothing forbade the level itself."""
    why = test.why or ""
    if why.startswith(selftest.REACHED):
        return "it is not used, since it does not confine here"
    if why.startswith(selftest.LACKED):
        return (
            "it is not used, since a draft would lack that, too; a full disk or a limit on processes may be the cause"
        )
    if test.level.number == 3:
        return "a container or a hardened system may forbid user namespaces; level 2 needs none"
    return "a container's seccomp profile may forbid Landlock; newer ones allow it"


def _traces(session: Session) -> Diagnosis:
    folder = session.folder()
    existing = next(path for path in (folder, *folder.parents) if path.exists())
    if not os.access(existing, os.W_OK):
        advice = "name another folder with --traces or REFLECT_TRACES"
        return Diagnosis(part="traces", state="missing", found=f"{folder} can't be written", advice=advice)
    return Diagnosis(part="traces", state="ok", found=str(folder))


def _spans(session: Session) -> Diagnosis:
    away = session.recording().leaves_machine
    found = f"sent to {away}" if away else "kept in the traces folder"
    return Diagnosis(part="spans", state="note" if away else "ok", found=found)
