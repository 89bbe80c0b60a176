"""The options of a run: one list for the `%%reflect` magic and for `reflect-lab run`."""

from __future__ import annotations

import argparse
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NoReturn, get_args

from reflect_lab.core.errors import WrongUse
from reflect_lab.core.policy import Policy
from reflect_lab.documents.front_matter import CellOptions
from reflect_lab.documents.policy_file import apply_overrides, checked_policy, load_policy, policy_names, read_policy
from reflect_lab.documents.suggest import did_you_mean, nearest, shown
from reflect_lab.evidence.check import SandboxChoice
from reflect_lab.roles.prompt import shipped_critics

_CHOICES = {
    "reflection": ("on", "off"),
    "signal": ("required", "optional"),
    "sandbox": get_args(SandboxChoice),
}


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """What a user may say about one run; None where nothing was said. Budgets are in the unit of their name. `checks`
    come beside those of the task: names, functions that `check` decorated, pydantic model classes.

    Raises WrongUse for a value that no run can follow: a slip must not read as "nothing was said".
    """

    model: str | None = None
    critic: str | None = None
    critic_model: str | None = None
    checks: tuple[object, ...] = ()
    policy: str | Mapping[str, object] | Policy | None = None
    max_revisions: int | None = None
    budget_tokens: int | None = None
    budget_calls: int | None = None
    budget_seconds: float | None = None
    budget_cost: float | None = None
    temperature: float | None = None
    seed: int | None = None
    reflection: Literal["on", "off"] | None = None
    signal: Literal["required", "optional"] | None = None
    sandbox: SandboxChoice | None = None
    name: str | None = None
    tags: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, known in _CHOICES.items():
            value = getattr(self, name)
            if value is not None and value not in known:
                raise WrongUse(f"{name} is {shown(value)}; {did_you_mean(str(value), known)}")
        temperature = self.temperature
        if temperature is not None and (isinstance(temperature, bool) or not isinstance(temperature, int | float)):
            raise WrongUse(f"temperature must be a number, not {shown(temperature)}")
        if temperature is not None and not 0 <= temperature < math.inf:
            raise WrongUse(f"temperature must be a finite number, 0 or more, not {shown(temperature)}")
        if self.seed is not None and (isinstance(self.seed, bool) or not isinstance(self.seed, int)):
            raise WrongUse(f"seed must be a whole number, not {shown(self.seed)}")
        if isinstance(self.checks, str) or not isinstance(self.checks, list | tuple):
            raise WrongUse(f"checks must be a list of checks, not {shown(self.checks)}")
        object.__setattr__(self, "checks", tuple(self.checks))
        if not all(isinstance(word, str) for pair in self.tags.items() for word in pair):
            raise WrongUse("tags must be pairs of texts")

    def over(self, cell: CellOptions) -> RunOptions:
        """These options with the cell's front matter where nothing was said here. Raises WrongUse for a preset."""
        if cell.preset is not None:
            raise WrongUse(f"preset {shown(cell.preset)}: presets are not built yet; leave the line out")
        return RunOptions(
            model=self.model or cell.model,
            critic=self.critic or cell.critic,
            critic_model=self.critic_model or cell.critic_model,
            checks=self.checks,
            policy=self.policy if self.policy is not None else cell.policy,
            max_revisions=self.max_revisions,
            budget_tokens=self.budget_tokens,
            budget_calls=self.budget_calls,
            budget_seconds=self.budget_seconds,
            budget_cost=self.budget_cost,
            temperature=self.temperature,
            seed=self.seed,
            reflection=self.reflection or cell.reflection,
            signal=self.signal,
            sandbox=self.sandbox,
            name=self.name or cell.name,
            tags={**cell.tags, **self.tags},
        )


def resolve_policy(options: RunOptions, folder: Path) -> Policy:
    """The policy of a run: named or given, with single limits and rules replaced. `folder` anchors a policy file."""
    given = options.policy
    if isinstance(given, Policy):
        policy = checked_policy(given)
    elif isinstance(given, Mapping):
        policy = load_policy(given)
    else:
        policy = read_policy(given or "standard", folder)
    limits: dict[str, object] = {
        "revisions": options.max_revisions,
        "total_tokens": options.budget_tokens,
        "model_calls": options.budget_calls,
        "elapsed_s": options.budget_seconds,
        "cost": options.budget_cost,
    }
    return apply_overrides(policy, limits=limits, rules={"signal": options.signal}, reflection=options.reflection)


class OptionParser(argparse.ArgumentParser):
    """An argparse parser whose errors are WrongUse: one line that names the option and the nearest right one."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{"allow_abbrev": False, **kwargs})

    def error(self, message: str) -> NoReturn:
        raise WrongUse(f"{self.prog}: {message}")

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        """As argparse, but a word that is no option is an error here, where the right ones are known."""
        known, unknown = super().parse_known_args(args, namespace)
        if unknown:
            options = [name for action in self._actions for name in action.option_strings if name.startswith("--")]
            wrong = next((word for word in unknown if word.startswith("-")), unknown[0])
            near = nearest(wrong.partition("=")[0], options)
            hint = f"did you mean {near}?" if near else f"see {self.prog} --help"
            raise WrongUse(f"{self.prog}: there is no option {wrong}; {hint}")
        return known, unknown


def add_run_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options of a run; the few of the first help screen come first."""
    add = parser.add_argument
    add("--model", metavar="NAME", help="model to write with: NAME, NAME@ENDPOINT, local, scripted:FILE")
    add("--critic", metavar="NAME", help=f"critic prompt: {', '.join(shipped_critics())}, one of %%%%critic, or a file")
    check = "a check beside those of the task: a decorated function, a model class, a built-in or a plug-in's kind"
    add("--check", action="append", default=[], dest="checks", metavar="NAME", help=f"{check}; may be repeated")
    more = parser.add_argument_group("more")
    add_policy_options(parser, more)
    add = more.add_argument
    add("--critic-model", metavar="NAME", help="another model for the critic")
    add("--temperature", type=float, metavar="T", help="temperature of the generator")
    add("--seed", type=int, metavar="N", help="seed of the model, where it keeps one")
    sandbox = "process: run code of a live model without isolation; interpreter, external: see docs/sandbox.md"
    add("--sandbox", choices=_CHOICES["sandbox"], help=sandbox)
    add("--name", metavar="NAME", help="name of the run in the traces")
    add("--tag", action="append", default=[], metavar="KEY=VALUE", help="a tag of the run, may be repeated")
    add("--traces", metavar="DIR", help="folder of the traces")


def add_policy_options(parser: argparse.ArgumentParser, more: argparse._ArgumentGroup) -> None:
    """Adds what makes a policy: its name, its limits, whether it reflects at all."""
    add = parser.add_argument
    add("--policy", metavar="NAME", help=f"policy: {', '.join(policy_names())}, or a YAML file")
    add("--max-revisions", type=int, metavar="N", help="revisions after the first draft (drafts = revisions + 1)")
    add("--budget-tokens", type=int, metavar="N", help="tokens of all calls together")
    add = more.add_argument
    add("--budget-calls", type=int, metavar="N", help="model calls")
    add("--budget-seconds", type=float, metavar="S", help="seconds of active work")
    cost = "cost, in the policy's currency (US dollars where it names none)"
    add("--budget-cost", type=float, metavar="X", help=cost)
    add("--reflection", choices=["on", "off"], help="off: one draft, checked, never revised")
    add("--signal", choices=["required", "optional"], help="optional: ask a critic although nothing checks it")


def run_options(parsed: argparse.Namespace) -> RunOptions:
    """The options that were parsed, those of a policy or of a run. Raises WrongUse for a tag without a value."""
    names = RunOptions.__dataclass_fields__.keys() - {"tags", "checks"}
    tags = dict(map(_tag, getattr(parsed, "tag", ())))
    return RunOptions(
        tags=tags, checks=tuple(getattr(parsed, "checks", ())), **{name: getattr(parsed, name, None) for name in names}
    )


def _tag(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise WrongUse(f"--tag {text}: write key=value")
    return key.strip(), value.strip()
