"""The keys of a policy file: the policy's own ones, and the names that other policy files use for them.

The aliases are the names of the multidimensional budget (attempts, evaluator calls, tokens, time, cost, a repeated
failure signature) and of the terminal rules that a published reflection policy uses. Each is read in its own unit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, get_args, get_type_hints

from reflect_lab.core.policy import Rules, Views
from reflect_lab.documents import policy_values as values
from reflect_lab.documents.policy_values import Reader


class Key(NamedTuple):
    """A key by its section; the top level's section is the empty text."""

    section: str
    name: str

    def __str__(self) -> str:
        return f"{self.section}.{self.name}" if self.section else self.name


@dataclass(frozen=True, kw_only=True)
class Alias:
    """Another name of a key, where it stands in a file. `read` takes the alias's own unit.

    `part` says that the alias is only a part of the key's meaning, so that its other parts may stand beside it.
    `implied` is what the alias says of further keys.
    """

    key: Key
    of: Key
    read: Reader
    part: bool = False
    implied: Mapping[Key, object] = field(default_factory=dict)


SECTIONS = ("limits", "rules", "views")

_RULE_TYPES = get_type_hints(Rules)
_CHOICES = ("critic", "coverage", "draft_quotes", "signal", "select", "critique")
_STOP = values.one_of(("stop",))

READERS: Mapping[str, Mapping[str, Reader]] = {
    "": {"profile": values.text, "on_exhaustion": values.exhaustion, "on_denied": _STOP},
    "limits": {
        "revisions": values.count(0),
        "model_calls": values.count(0, optional=True),
        "critic_calls": values.count(0, optional=True),
        "total_tokens": values.count(0, optional=True),
        "elapsed_s": values.seconds,
        "cost": values.cost,
        "currency": values.currency,
        "tool_calls": values.count(0, optional=True),
        "rates": values.rates,
        "strict": values.flag,
    },
    "rules": {
        "min_gain": values.share,
        "patience": values.count(1),
        "repeat_limit": values.count(1),
        "pass_score": values.share,
        "max_issues": values.count(1),
        "revision": values.one_of(get_args(_RULE_TYPES["revision"])),
        **{name: values.one_of(get_args(_RULE_TYPES[name])) for name in _CHOICES},
        "width": values.count(1),
    },
    "views": {
        "generator": values.sections,
        "critic": values.sections,
        "draft_role": values.one_of(get_args(get_type_hints(Views)["draft_role"])),
    },
}
"""What reads each of the policy's own keys, by section."""

ALIASES = (
    Alias(key=Key("", "profile_name"), of=Key("", "profile"), read=values.text),
    Alias(key=Key("limits", "actor_attempts"), of=Key("limits", "revisions"), read=values.attempts),
    Alias(
        key=Key("limits", "evaluator_calls"),
        of=Key("limits", "critic_calls"),
        read=READERS["limits"]["critic_calls"],
    ),
    Alias(key=Key("limits", "elapsed_ms"), of=Key("limits", "elapsed_s"), read=values.milliseconds),
    Alias(
        key=Key("limits", "estimated_cost_usd"),
        of=Key("limits", "cost"),
        read=values.cost,
        implied={Key("limits", "currency"): "USD"},
    ),
    *(
        Alias(
            key=Key(section, "repeated_failure_signature"),
            of=Key("rules", "repeat_limit"),
            read=READERS["rules"]["repeat_limit"],
        )
        for section in ("limits", "rules")  # the source counts it among the limits, here it is a rule
    ),
    Alias(key=Key("", "on_policy_denial"), of=Key("", "on_denied"), read=_STOP, part=True),
    Alias(key=Key("", "on_authorization_failure"), of=Key("", "on_denied"), read=_STOP, part=True),
)

BY_NAME: Mapping[Key, Alias] = {alias.key: alias for alias in ALIASES}


def is_key(key: Key) -> bool:
    """Whether a file may hold this key, by its own name or by an alias."""
    return key in BY_NAME or key.name in READERS[key.section]


def names_in(section: str) -> tuple[str, ...]:
    """Everything that may stand in a section, its own names first."""
    aliases = (alias.key.name for alias in ALIASES if alias.key.section == section)
    return (*READERS[section], *(() if section else SECTIONS), *aliases)
