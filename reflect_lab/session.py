"""Composition: one object for a shell or process that joins endpoints, checks, critics, traces and the loop."""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from reflect_lab.core.errors import StoreError, WrongUse
from reflect_lab.core.observer import Observer
from reflect_lab.core.replay import fork
from reflect_lab.core.roles import Roles
from reflect_lab.core.run import ModelUse, Notice, Run
from reflect_lab.core.stop_rules import has_critic
from reflect_lab.core.task import Task
from reflect_lab.core.version import __version__
from reflect_lab.documents.front_matter import CellOptions
from reflect_lab.documents.run_document import dump_run, load_run
from reflect_lab.documents.task_cell import Cell, parse_cell
from reflect_lab.evidence.check import Consent
from reflect_lab.evidence.gather import Checks
from reflect_lab.evidence.named import CheckRegistry
from reflect_lab.handover import (
    continued,
    failed_to_continue,
    has_draft,
    is_exhausted,
    not_continued,
    successor,
    why_not_continued,
)
from reflect_lab.loop import run_loop
from reflect_lab.models.config import checked_command, load_config
from reflect_lab.models.endpoints import Endpoints
from reflect_lab.models.prices import check_cost_limit
from reflect_lab.models.scripted import ScriptedClient
from reflect_lab.options import RunOptions, resolve_policy
from reflect_lab.recording import Recording
from reflect_lab.roles.critic import Critic
from reflect_lab.roles.critic_registry import CriticRegistry
from reflect_lab.roles.generator import Generator
from reflect_lab.roles.prompt import Prompt, generator_prompt
from reflect_lab.store.layout import traces_folder
from reflect_lab.store.redact import Redactor

if TYPE_CHECKING:
    from reflect_lab.core.chat import ChatClient
    from reflect_lab.store.traces import Traces

DEFAULT_CRITIC = "grounded"
VERSIONED = ("openai", "duckdb", "opentelemetry-sdk", "genai-prices", "xllamacpp")


@dataclass
class Session:
    """What lives as long as a shell or a process: model clients, critic prompts, the open trace files.

    `traces` names the folder of the traces (see `traces_folder`); `cwd` anchors relative paths; `sandbox_command` is
    what `sandbox="external"` starts, by default the one of `reflect-lab.toml`. Use it as an async context manager, or
    call `close()`; the embedded model and the trace files are released then.
    """

    traces: str | Path | None = None
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)
    cwd: Path = field(default_factory=Path.cwd)
    critics: CriticRegistry = field(default_factory=CriticRegistry)
    checks: CheckRegistry = field(default_factory=CheckRegistry)
    sandbox_command: Sequence[str] = ()

    def __post_init__(self) -> None:
        self.endpoints = Endpoints(self.environ, self.cwd)
        self.redactor = Redactor(self.environ)
        self.notices: tuple[Notice, ...] = ()
        """What recordings that are closed had to say: spans that did not arrive, settings that can't be followed."""
        self._recordings: dict[Path, Recording] = {}

    def folder(self, explicit: str | Path | None = None) -> Path:
        """Where the traces go."""
        return traces_folder(explicit or self.traces, self.environ, self.cwd)

    def open_traces(self, explicit: str | Path | None = None) -> Traces:
        """The traces for reading."""
        from reflect_lab.store.traces import Traces

        return Traces(self.folder(explicit))

    async def reflect(
        self,
        task: Cell | Task | str,
        options: RunOptions | None = None,
        *,
        observers: Sequence[Observer] = (),
        traces: str | Path | None = None,
        base: Path | None = None,
        consent: Consent | None = None,
    ) -> Run:
        """Runs the bounded loop on a task and returns the finished run; raises WrongUse before anything is spent.

        `base` anchors relative paths of the options (script, policy, critic file); it is the task file's folder. Under
        `on_exhaustion: model:NAME` a run that is exhausted is followed by a child run, which is returned then.
        `consent` is asked each time that code of a live model could run with process limits only.
        """
        cell = read_cell(task)
        chosen = (options or RunOptions()).over(cell.options)
        base = base or self.cwd
        run, roles = await self.prepare(cell.task, chosen, base, consent=consent)
        return await self._perform(run, roles, chosen, base, [*observers], traces)

    async def fork(
        self,
        run: Run,
        at: int,
        options: RunOptions | None = None,
        *,
        observers: Sequence[Observer] = (),
        traces: str | Path | None = None,
        base: Path | None = None,
    ) -> Run:
        """A new run that continues another one from its round `at`, with what the options change: the model of the
        revisions to come, the policy, the critic (a named critic or critic model judges the draft of round `at` anew).
        What is not said is as it was in the run. Raises WrongUse before anything is spent.
        """
        given = options or RunOptions()
        asked = {role: use.requested for role, use in run.models.items()}
        chosen = replace(
            given,
            model=given.model or asked.get("generator"),
            critic=given.critic or (run.prompts["critic"].name if "critic" in run.prompts else None),
            critic_model=given.critic_model or (None if given.model else asked.get("critic")),
            policy=given.policy or run.policy,
        )
        base = base or self.cwd
        fresh, roles = await self.prepare(run.task, chosen, base)
        is_judged_anew = given.critic is not None or given.critic_model is not None
        kept = replace(run, prompts=fresh.prompts)  # whether there is a critic depends on its rubric, too
        start = fork(kept, at, run_id=fresh.run_id, policy=fresh.policy, recritique=is_judged_anew)
        begun = replace(
            fresh,
            rounds=start.rounds,
            parent_run=start.parent_run,
            forked_at=start.forked_at,
            lessons=start.lessons,
        )
        return await self._perform(begun, roles, chosen, base, [*observers], traces)

    async def _perform(
        self,
        run: Run,
        roles: Roles,
        options: RunOptions,
        base: Path,
        observers: list[Observer],
        traces: str | Path | None,
    ) -> Run:
        """The run performed to its end, and the child run after it where the policy names another model."""
        async with contextlib.AsyncExitStack() as opened:
            opened.push_async_callback(roles.close)
            model, heir = successor(run.policy), None
            if model is not None:  # prepared now: a name that means nothing is wrong use before anything is spent
                heir = await self.prepare(run.task, replace(options, model=model), base, script_base=self.cwd)
                opened.push_async_callback(heir[1].close)
            self._learn_keys()
            watched = [*self.recording(traces).observers(), *observers]
            ended = await run_loop(run, roles, watched)
            if heir is None or not is_exhausted(ended):
                return ended
            empty, others = heir
            child = continued(ended, replace(empty, run_id=new_run_id(), started_at=_now()))
            why = await why_not_continued(child, others)
            if why is not None:
                return not_continued(ended, child, why)
            taken_over = await run_loop(child, others, watched)
            return taken_over if has_draft(taken_over) else failed_to_continue(ended, taken_over)

    async def prepare(
        self,
        task: Task,
        options: RunOptions,
        base: Path,
        *,
        script_base: Path | None = None,
        consent: Consent | None = None,
    ) -> tuple[Run, Roles]:
        """The empty run and the roles that will perform it. `script_base` anchors the model's script, where that is not
        `base`."""
        policy = resolve_policy(options, base)
        script_base = script_base or base
        critic_prompt = self.critic_prompt(options.critic or DEFAULT_CRITIC, base)
        prompt = generator_prompt()
        client = await self.endpoints.client(options.model, role="generator", script_base=script_base)
        script = client.script if isinstance(client, ScriptedClient) else None
        known, asked = self.checks.with_checks(options.checks)
        played = script.check_names if script else None
        resolved = await asyncio.to_thread(known.resolve, task, asked, played)  # a plug-in may take long to import
        task = resolved.task
        generator = Generator(client, prompt, temperature=options.temperature, seed=options.seed)
        run = Run(
            run_id=new_run_id(),
            task=task,
            policy=policy,
            models={"generator": _use(client)},
            prompts={"generator": prompt.use, "critic": critic_prompt.use},
            versions=versions(),
            name=options.name or task.name,
            tags=options.tags,
            notices=resolved.notices,
            started_at=_now(),
            salt=secrets.token_hex(8),
        )
        critic = None
        if has_critic(run):
            name = options.critic_model or client.model  # the default model is looked up once
            where = base if options.critic_model else script_base
            critic_client = await self.endpoints.client(name, role="critic", script_base=where)
            critic = Critic(critic_client, critic_prompt, seed=options.seed)
            run = replace(run, models={**run.models, "critic": _use(critic_client)})
        else:
            run = replace(run, prompts={"generator": prompt.use})
        check_cost_limit(policy.limits, [client] if critic is None else [client, critic.client])
        checks = await asyncio.to_thread(  # a schema is tried in a process of its own, which takes a moment
            Checks,
            task,
            sandbox=options.sandbox or "auto",
            code_is_trusted=not client.is_live,
            consent=consent,
            sandbox_command=self.external_command() if options.sandbox == "external" else (),
            scripted=script.next_check if script else None,
            scripted_names=script.check_names if script else None,
            kinds=resolved.kinds,
            named=resolved.named,
            objects=resolved.objects,
            folder=base,
        )
        return run, Roles(generator=generator, critic=critic, evidence=checks)

    def critic_prompt(self, name: str, base: Path) -> Prompt:
        """A critic prompt: one registered in this session, a shipped one, or a file. Raises WrongUse otherwise."""
        if name in self.critics:
            return self.critics[name]
        path = base / name
        if path.suffix in (".md", ".txt") or os.path.isfile(path):
            try:
                return Prompt(path.stem, path.read_text("utf-8-sig"))
            except (OSError, ValueError) as error:
                raise WrongUse(f"the critic file {name} can't be read: {error}") from None
        return self.critics[name]

    def external_command(self) -> tuple[str, ...]:
        """What level X of the sandbox starts. Raises WrongUse where nothing says it."""
        given = checked_command(self.sandbox_command, "sandbox_command")
        command = given or load_config(self.cwd, self.environ).sandbox_command
        if not command:
            advice = '[sandbox] with `command = ["docker", "run", "-i", …]` in reflect-lab.toml, or sandbox_command='
            raise WrongUse(f"sandbox external needs a command: write {advice}")
        return command

    def recording(self, explicit: str | Path | None = None) -> Recording:
        """What records runs in a traces folder; it stays open until the session is closed."""
        folder = self.folder(explicit)
        if folder not in self._recordings:
            self._recordings[folder] = Recording(folder, self.environ, self.redactor, versions()["reflect_lab"])
        return self._recordings[folder]

    def destination(self, explicit: str | Path | None = None) -> str:
        """Where runs are recorded, in words; it says so when they leave the machine."""
        away = self.recording(explicit).leaves_machine
        return f"{self.folder(explicit)}" + (f", and as spans at {away}" if away else "")

    def shown(self, run: Run) -> Run:
        """The run as it may be displayed: without any key that is known here."""
        return load_run(self.redactor.value(dump_run(run)))

    async def close(self) -> None:
        """Releases model clients, the embedded model's server and the trace files. What could not be kept is in
        `notices` then."""
        try:
            await asyncio.to_thread(self.close_recordings)  # a collector that hangs is waited for
        finally:
            await self.endpoints.close()

    def close_recordings(self) -> None:
        """Releases the trace files alone: all that must be done where the process ends, and nothing can be awaited."""
        recordings, self._recordings = self._recordings, {}
        for recording in recordings.values():
            try:
                recording.close()
            except StoreError as error:
                self.notices += (Notice(kind="unrecorded", message=str(error)),)
            self.notices += recording.notices

    def _learn_keys(self) -> None:
        """Keys that were set since the session was opened (`%env`, `os.environ`, an endpoint's) are hidden as well."""
        self.redactor.learn(self.environ, {secret.name: secret.reveal() for secret in self.endpoints.secrets()})

    async def __aenter__(self) -> Session:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


def read_cell(task: Cell | Task | str) -> Cell:
    """A task in any of the forms that a user may have it in."""
    if isinstance(task, Cell):
        return task
    if isinstance(task, Task):
        return Cell(task=task, options=CellOptions())
    return parse_cell(task, where="task")


def new_run_id() -> str:
    """A ULID: 48 bits of milliseconds and 80 random bits in Crockford's base 32, so that ids sort by time."""
    value = int(time.time() * 1000) << 80 | secrets.randbits(80)
    alphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
    return "".join(alphabet[value >> shift & 31] for shift in range(125, -1, -5))


def versions() -> dict[str, str]:
    """Versions of what a run depends on; a package that is not installed is left out."""
    found = {"reflect_lab": __version__, "python": ".".join(map(str, sys.version_info[:3]))}
    for name in VERSIONED:
        try:
            found[name.replace("-", "_")] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def _use(client: ChatClient) -> ModelUse:
    return ModelUse(requested=client.model, endpoint=client.endpoint)
