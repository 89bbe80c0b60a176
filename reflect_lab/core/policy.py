"""What the controller obeys: limits, rules and what each role sees (DESIGN 5.3)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Literal

from reflect_lab.core.task import content_sha256

Section = Literal[
    "task", "requirements", "facts", "draft", "evidence", "feedback", "critique", "history", "peers", "lessons"
]
Select = Literal["pass", "best", "last", "vote", "rank"]


@dataclass(frozen=True, kw_only=True)
class Limits:
    """The budget. None means that the dimension has no limit; `elapsed_s` is in seconds of active work.

    `cost` is in `currency` (US dollars where none is named). `rates` converts other currencies into it:
    `{"EUR": 1.08}` reads "1 EUR = 1.08 of the limit's currency". A cost limit needs a known price of each call.
    `strict` reserves a hard bound before each call, not an estimate: a prompt by its bytes, and all of `max_tokens`.
    """

    revisions: int = 2
    model_calls: int | None = 12
    critic_calls: int | None = None
    total_tokens: int | None = 40_000
    elapsed_s: float | None = 300.0
    cost: float | None = None
    currency: str | None = None
    tool_calls: int | None = None
    rates: Mapping[str, float] = field(default_factory=dict)
    strict: bool = False

    @property
    def cost_currency(self) -> str:
        """The currency of the cost limit and of total costs."""
        return self.currency or "USD"


@dataclass(frozen=True, kw_only=True)
class Rules:
    """How a round is judged. Scores and gains are in 0..1.

    `width` drafts are written in each round and `select` chooses among them, and, where nothing passed, among the
    rounds (see `selection`). `critique` says what a critic answers with: issues, or free text.
    """

    min_gain: float = 0.05
    patience: int = 1
    repeat_limit: int = 2
    pass_score: float = 0.5
    max_issues: int = 5
    revision: Literal["auto", "patch", "rewrite"] = "auto"
    critic: Literal["always", "when_gates_pass", "never"] = "when_gates_pass"
    coverage: Literal["reported", "required"] = "reported"
    draft_quotes: Literal["discard", "allow"] = "discard"
    signal: Literal["required", "optional"] = "required"
    width: int = 1
    select: Select = "pass"
    critique: Literal["issues", "text"] = "issues"


@dataclass(frozen=True, kw_only=True)
class Views:
    """Which parts of the record each role sees, in the order in which they stand in its prompt.

    `draft_role` is the chat role that carries a draft to the generator: quoted in the user's message, or as the
    assistant's own last answer.
    """

    generator: tuple[Section, ...] = ("task", "requirements", "facts", "draft", "feedback")
    critic: tuple[Section, ...] = ("task", "requirements", "facts", "draft", "evidence")
    draft_role: Literal["user", "assistant"] = "user"


@dataclass(frozen=True, kw_only=True)
class Policy:
    """Everything that `decide` obeys. `sha256` is that of the content and is recorded with each run."""

    profile: str = "standard"
    limits: Limits = Limits()
    rules: Rules = Rules()
    views: Views = Views()
    on_exhaustion: str = "review"
    on_denied: Literal["stop"] = "stop"
    sha256: str = ""

    def __post_init__(self) -> None:
        content = asdict(self)
        del content["sha256"]
        object.__setattr__(self, "sha256", content_sha256(content))

    @property
    def is_off(self) -> bool:
        """Whether reflection is switched off: one draft, checked, never criticised and never revised."""
        return self.limits.revisions == 0 and self.rules.critic == "never"
