"""The record of one loop: drafts, rounds, ledger, outcome. A run is the fold of its events (see `reducer`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from reflect_lab.core.critique import Critique
from reflect_lab.core.evidence import Evidence
from reflect_lab.core.policy import Policy
from reflect_lab.core.sameness import comparable
from reflect_lab.core.task import Task, text_sha256

SCHEMA = "reflect-lab/run/1"

Mode = Literal["first", "patch", "rewrite", "fixed", "edited"]
FeedbackMode = Literal["patch", "rewrite"]
StopReason = Literal[
    "pass", "unverified", "invalid_critique", "repeated_failure", "stalled", "no_change", "oscillating",
    "no_signal", "budget", "denied", "cancelled", "error",
]  # fmt: skip
OutcomeStatus = Literal["accepted", "escalated", "stopped"]
LedgerStatus = Literal["ok", "retried", "refused", "failed", "cancelled", "cached"]
ErrorKind = Literal[
    "provider_refused", "provider_error", "rate_limited", "timeout", "context_overflow", "bad_response",
    "script_ended", "internal",
]  # fmt: skip
Role = Literal["generator", "critic", "evidence"]
PaidStep = Literal["draft", "candidate", "evidence", "critique", "repair", "revision"]
"""What the budget calls a step that calls a model; a `candidate` is a further draft of a round."""


@dataclass(frozen=True, kw_only=True)
class Usage:
    """What calls took. `calls` are logical calls; tokens, cost and cached/reasoning parts are None where unknown.

    `cached_tokens` are a part of `input_tokens`, `reasoning_tokens` a part of `output_tokens`; `seconds` are summed
    active durations (checks that overlap count once); `cost` is in `currency`.
    """

    calls: int = 0
    input_tokens: int | None = 0
    cached_tokens: int | None = None
    output_tokens: int | None = 0
    reasoning_tokens: int | None = None
    seconds: float = 0.0
    cost: float | None = None
    currency: str | None = None


@dataclass(frozen=True, kw_only=True)
class LedgerRow:
    """One attempt of one logical call. `call` counts logical calls of the run from 1, `attempt` from 1 within a call.

    `reserved_tokens` is the estimate that was set aside before the call, `reserved_cost` the price of it, in the
    limit's currency, where cost has a limit. `cost_uncertain`: the provider may have charged for an attempt whose usage
    never arrived. `paid_by` is the run that made the attempt, where that is the one that handed over to this one.
    `seconds` includes a wait before the attempt.
    """

    role: Role
    round: int
    call: int
    attempt: int
    model: str
    status: LedgerStatus
    error: str | None = None
    input_tokens: int | None = None
    cached_tokens: int | None = None
    output_tokens: int | None = None
    reasoning_tokens: int | None = None
    cost: float | None = None
    currency: str | None = None
    seconds: float = 0.0
    reserved_tokens: int | None = None
    reserved_cost: float | None = None
    finish_reason: str | None = None
    answered: str | None = None
    protocol: str | None = None
    dropped_params: tuple[str, ...] = ()
    cost_uncertain: bool = False
    paid_by: str | None = None
    text: str | None = None


@dataclass(frozen=True, kw_only=True)
class Hunk:
    """A changed run of lines between a draft and its parent: lines `old_start..old_end` became `new_start..new_end`
    (half open, counted from 0). `old_marks` and `new_marks` are the changed spans `(line, start, end)` in code points,
    where a line was altered rather than replaced."""

    old_start: int
    old_end: int
    new_start: int
    new_end: int
    old_marks: tuple[tuple[int, int, int], ...] = ()
    new_marks: tuple[tuple[int, int, int], ...] = ()


@dataclass(frozen=True, kw_only=True)
class Draft:
    """One version of the answer. `parent` is the index of the draft that it revises.

    `extraction` names the rule by which `text` was taken from the reply. `raw` is the reply where it differs from the
    text; `reasoning` is kept apart and reaches no prompt. `refused` holds a refusal's words. `candidate` counts the
    drafts of one round from 0. `patch_failed` says why a patch did not apply, where this rewrite took its place.
    """

    index: int
    text: str
    mode: Mode = "first"
    parent: int | None = None
    extraction: str = "whole"
    truncated: bool = False
    raw: str | None = None
    reasoning: str | None = None
    refused: str | None = None
    ambiguous: str | None = None
    candidate: int = 0
    patch_failed: str | None = None
    diff: tuple[Hunk, ...] | None = None
    sha256: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "sha256", text_sha256(self.text))

    @cached_property
    def comparable(self) -> str:
        """The text as it is compared with other drafts, worked out once: each step asks for it again."""
        return comparable(self.text)


@dataclass(frozen=True, kw_only=True)
class Feedback:
    """What the generator is sent: ids of issues in the order sent, and the ids that the cap held back."""

    mode: FeedbackMode
    sent: tuple[str, ...]
    withheld: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Decision:
    """What the controller answered after a round, in words and with the numbers that caused it."""

    action: Literal["revise", "stop"]
    reason: str
    message: str
    numbers: Mapping[str, float | int | str | None] = field(default_factory=dict)
    budget_dimension: str | None = None


@dataclass(frozen=True, kw_only=True)
class Shortage:
    """A step that can't be afforded: `needed` and `left` are in the unit of `dimension`."""

    step: PaidStep
    dimension: str
    needed: float
    left: float
    message: str


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """What a step's calls may take. `generator` and `critic` are prompt sizes in tokens of one call each; None where
    the step makes no such call.

    `*_output` is what must be left for the answer, in tokens; `*_cost` is the most that the call may cost, in the
    limit's currency, None where cost has no limit.
    """

    generator: int | None = None
    critic: int | None = None
    generator_output: int = 64
    critic_output: int = 64
    generator_cost: float | None = None
    critic_cost: float | None = None


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """A draft beside the chosen one of its round; `evidence` is None where the choice needed none."""

    draft: Draft
    evidence: tuple[Evidence, ...] | None = None


@dataclass(frozen=True, kw_only=True)
class Round:
    """A draft, its evidence, its critique and the decision. None means "not there yet"; `()` means "none found".

    `others` are the candidates beside the chosen draft. `shortage` says why a critic (or a further candidate) was not
    asked for. `quote` are the prompt sizes by which the decision judged what a revision would take.
    """

    index: int
    draft: Draft
    evidence: tuple[Evidence, ...] | None = None
    critique: Critique | None = None
    others: tuple[Candidate, ...] = ()
    feedback: Feedback | None = None
    decision: Decision | None = None
    shortage: Shortage | None = None
    quote: Estimate | None = None
    usage: Usage = Usage()


@dataclass(frozen=True, kw_only=True)
class RunError:
    """Why a run ended with `error`; `message` is one clear line for the user."""

    kind: ErrorKind
    message: str


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What became of a run. `draft` is the text that is returned: the draft that passed, else the best so far.

    `recorded` is False where a recording (log, index, spans) failed: the run is right, its record is not whole.
    """

    status: OutcomeStatus
    stop_reason: StopReason
    budget_dimension: str | None = None
    draft_index: int | None = None
    draft: str | None = None
    open_blocking: tuple[str, ...] = ()
    message: str = ""
    error: RunError | None = None
    recorded: bool = True


@dataclass(frozen=True, kw_only=True)
class Review:
    """What a person decided on an escalated run."""

    action: Literal["approve", "reject", "edit", "return"]
    reviewer: str
    time: str
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class ModelUse:
    """Which model a role asked for, which one answered, and where. None: not known (yet)."""

    requested: str
    answered: str | None = None
    endpoint: str | None = None


@dataclass(frozen=True, kw_only=True)
class PromptUse:
    """A role's prompt by name and content hash; `rubric` are its task-list items."""

    name: str
    sha256: str
    rubric: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Notice:
    """Something that the reader of a run should know and that changed no decision."""

    kind: str
    message: str


@dataclass(frozen=True, kw_only=True)
class Carried:
    """What the checks of the run that handed over to this one had taken; its calls stand in the ledger."""

    seconds: float = 0.0
    tool_calls: int = 0


@dataclass(frozen=True, kw_only=True)
class Run:
    """The whole record of one loop on one task.

    `not_recorded` holds JSON pointers of parts that a source never had. `salt` makes prompt delimiters unpredictable
    to the author of quoted text and stable for replay. `started_at` is UTC in ISO 8601, given from outside the core.
    `parent_run` started this one; where `forked_at` is a number, the rounds up to it are the parent's and were paid for
    there. `carried` stands where the parent handed over what was left of its budget (`on_exhaustion: model:NAME`): its
    calls open the ledger, and every limit but that of revisions counts both runs. `lessons` come from earlier trials on
    the task.
    """

    run_id: str
    task: Task
    policy: Policy
    rounds: tuple[Round, ...] = ()
    outcome: Outcome | None = None
    review: Review | None = None
    usage: Usage = Usage()
    ledger: tuple[LedgerRow, ...] = ()
    models: Mapping[str, ModelUse] = field(default_factory=dict)
    prompts: Mapping[str, PromptUse] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    notices: tuple[Notice, ...] = ()
    not_recorded: tuple[str, ...] = ()
    tags: Mapping[str, str] = field(default_factory=dict)
    name: str | None = None
    preset: str | None = None
    parent_run: str | None = None
    forked_at: int | None = None
    carried: Carried | None = None
    lessons: tuple[str, ...] = ()
    started_at: str | None = None
    salt: str = ""
    schema: str = SCHEMA

    @property
    def round(self) -> Round | None:
        """The current round, or None before the first draft."""
        return self.rounds[-1] if self.rounds else None
