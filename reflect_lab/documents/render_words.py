"""What the parts of a run are called in the static renderings: plain words, still unescaped.

Texts of models, tools and users pass through here unchanged; each renderer escapes them for its own form. Only
`stop_title`, `spent`, `round_title` and `returned`'s title hold none and may stand as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from reflect_lab.core.critique import Discarded, Ground, Issue
from reflect_lab.core.evidence import Evidence, Finding, Location, Sandbox
from reflect_lab.core.run import Outcome, Round, Run, Usage

N = TypeVar("N", int, float)

STOP_TITLES = {
    "pass": "Accepted on the evidence shown",
    "unverified": "Not verified: something that the task names was not checked",
    "invalid_critique": "The critique could not be used",
    "repeated_failure": "The same failure came back",
    "stalled": "The revisions made no progress",
    "no_change": "The revision changed nothing",
    "oscillating": "The revision went back to an earlier draft",
    "no_signal": "There is nothing to check the draft against",
    "budget": "The next step is not in the budget",
    "denied": "An action was refused",
    "cancelled": "Cancelled",
    "error": "Ended by an error",
}
DIMENSIONS = {
    "revisions": "revisions",
    "model_calls": "model calls",
    "critic_calls": "critic calls",
    "total_tokens": "tokens",
    "elapsed_s": "seconds",
    "cost": "cost",
    "tool_calls": "tool calls",
}
OUTCOMES = {"accepted": "accepted", "escalated": "a person must decide", "stopped": "stopped"}
STATUSES = {
    "passed": "passed", "failed": "failed", "error": "could not be checked (error)", "denied": "refused",
    "not_run": "not run", "advisory": "note",
}  # fmt: skip
RANKS = {
    "deterministic": "deterministic check", "executed": "executed", "retrieval": "retrieved", "human": "by a person",
    "model": "by a model",
}  # fmt: skip
MODES = {
    "first": "first draft", "patch": "patch", "rewrite": "rewrite", "fixed": "fixed by a check",
    "edited": "edited by a person",
}  # fmt: skip
VALIDITIES = {
    "refused": "The critic refused to answer.",
    "truncated": "The critique was cut off.",
    "invalid": "The critique could not be read.",
    "contradictory": "The critique contradicts itself: a low score and no issue.",
    "not_asked": "The critic was not asked.",
}


@dataclass(frozen=True, kw_only=True)
class Caps:
    """How much a static rendering shows at most. Characters: of the returned draft, of a draft that is not returned, of
    a report, of a quote, of any other line; rows of a diff; issues of a round; entries of other lists; rounds."""

    draft: int = 400_000
    older: int = 100_000
    report: int = 20_000
    quote: int = 4_000
    line: int = 2_000
    rows: int = 5_000
    issues: int = 500
    entries: int = 500
    rounds: int = 200


LEVELS = (
    Caps(
        draft=40_000, older=20_000, report=3_000, quote=2_000, line=1_000, rows=600, issues=100, entries=60, rounds=20
    ),
    Caps(draft=20_000, older=3_000, report=800, quote=800, line=400, rows=300, issues=60, entries=20, rounds=20),
    Caps(draft=20_000, older=800, report=200, quote=400, line=240, rows=150, issues=40, entries=8, rounds=15),
    Caps(draft=12_000, older=200, report=100, quote=240, line=160, rows=80, issues=20, entries=5, rounds=10),
    Caps(draft=5_000, older=100, report=80, quote=160, line=120, rows=40, issues=8, entries=3, rounds=5),
    Caps(draft=1_000, older=80, report=60, quote=100, line=80, rows=10, issues=3, entries=2, rounds=2),
)
"""From all that is sensible in a notebook to the least that still tells the story: reports and older drafts shrink
first, then lists, then quotes and diffs, the returned draft last. A bundle takes the first level that fits."""


def stop_title(outcome: Outcome | None) -> str:
    """Why the run ended, in plain words; an accepted run is accepted on its evidence, never called correct."""
    if outcome is None:
        return "The record ends before the run did"
    if outcome.stop_reason == "budget" and outcome.budget_dimension is not None:
        dimension = DIMENSIONS.get(outcome.budget_dimension, "a dimension unknown here")
        return f"The budget of {dimension} does not allow another step"
    return STOP_TITLES[outcome.stop_reason]


def stop_numbers(run: Run) -> list[tuple[str, str]]:
    """The numbers that caused the stop, by name."""
    last = run.round.decision if run.round else None
    if last is None or last.action != "stop":
        return []
    return [(name.replace("_", " "), number(value)) for name, value in last.numbers.items()]


def number(value: float | int | str | None) -> str:
    if value is None:
        return "unknown"
    if isinstance(value, float):
        return f"{value:,.3f}".rstrip("0").rstrip(".")
    return f"{value:,}" if isinstance(value, int) else value


def count(amount: int, word: str) -> str:
    return f"{amount:,} {word}{'' if amount == 1 else 's'}"


def seconds(value: float) -> str:
    return f"{value * 1000:.0f} ms" if value < 0.1 else f"{value:.1f} s"


def cost(usage: Usage) -> str:
    if usage.cost is None:
        return "cost unknown"
    digits = 6 if usage.cost and abs(usage.cost) < 0.01 else 3
    currency = "".join(c for c in usage.currency or "" if c.isascii() and c.isalnum())[:8]
    return f"{usage.cost:.{digits}f} {currency}".strip()


def tokens(usage: Usage) -> str:
    """Tokens in and out; unknown as soon as one of them is."""
    if usage.input_tokens is None or usage.output_tokens is None:
        known_in, known_out = number(usage.input_tokens), number(usage.output_tokens)
        return f"tokens unknown (in {known_in}, out {known_out})"
    total = usage.input_tokens + usage.output_tokens
    return f"{total:,} tokens ({usage.input_tokens:,} in, {usage.output_tokens:,} out)"


def spent(usage: Usage) -> str:
    return " · ".join((count(usage.calls, "model call"), tokens(usage), seconds(usage.seconds), cost(usage)))


def score(round_: Round) -> str:
    critique = round_.critique
    if critique is None or critique.score is None:
        return "score unknown"
    return f"score {critique.score:.2f} ({critique.score_kind})"


def is_not_recorded(run: Run, pointer: str) -> bool:
    """Whether the source of this run never had the part at `pointer`, which is not the same as none or zero."""
    return any(pointer == p or pointer.startswith(f"{p}/") for p in run.not_recorded)


def missing(run: Run, pointer: str, otherwise: str) -> str:
    return "not recorded" if is_not_recorded(run, pointer) else otherwise


def validity(run: Run, round_: Round) -> str:
    """What became of the critique of a round, where it is not valid."""
    assert round_.critique is not None
    if round_.critique.validity == "not_asked" and any(
        row.role == "critic" and row.round == round_.index for row in run.ledger
    ):
        return "The critic was asked and gave no answer."
    return VALIDITIES[round_.critique.validity]


def is_judged(round_: Round) -> bool:
    """Whether "0 blocking" says something about a round's draft: there is a valid critique or, where no critic was
    asked, a check that ran. What nobody looked at must not look clean."""
    if round_.critique is None:
        return False
    ran = any(e.status in ("passed", "failed") for e in round_.evidence or ())
    return round_.critique.validity == "ok" or (round_.critique.validity == "not_asked" and ran)


def draft_notes(run: Run, round_: Round) -> list[str]:
    """What a reader should know about how a draft came to be; it may hold a model's own words."""
    draft, others = round_.draft, len(round_.others)
    chosen = f"chosen from {others + 1} candidates (select: {run.policy.rules.select})" if others else None
    failed = f"the patch did not apply: {draft.patch_failed}" if draft.patch_failed else None
    return [note for note in (draft.refused, draft.ambiguous, failed, chosen) if note]


def round_title(round_: Round) -> str:
    """One line about a round, of our own words and numbers alone."""
    parts = [f"Round {round_.index}", MODES[round_.draft.mode], score(round_)]
    if round_.critique is not None:
        blocking = len(round_.critique.blocking)
        parts.append(f"{blocking} blocking" if blocking or is_judged(round_) else "not judged")
    failed = sum(e.status == "failed" for e in round_.evidence or ())
    if failed:
        parts.append(f"{count(failed, 'check')} failed")
    if round_.decision is not None:
        parts.append("stop" if round_.decision.action == "stop" else "revise")
    return " · ".join(parts)


def evidence_words(evidence: Evidence) -> list[str]:
    """Status, rank and where it ran; the source's name is left to the caller (a user wrote it)."""
    words = [STATUSES[evidence.status], RANKS[evidence.rank], *(["gate"] if evidence.gate else [])]
    if evidence.sandbox is not None:
        words.append(sandbox_words(evidence.sandbox))
    if "trust" in evidence.provenance:
        words.append("trusted, not confined")
    words.append(seconds(evidence.seconds))
    return words


def sandbox_words(sandbox: Sandbox) -> str:
    words = f"sandbox level {sandbox.level}, {sandbox.name}"
    if sandbox.verdict_integrity == "in_process":
        words += "; asserts ran beside the code under test"
    return words


def ground_words(ground: Ground | None) -> str | None:
    if ground is None:
        return None
    if ground.kind == "absent":
        return "it points at a value of the draft that stands in no source"
    if ground.start is None or ground.end is None:
        return f"it names {ground.source}"
    return f"it quotes {ground.source}, characters {ground.start:,} to {ground.end:,}"


def place(location: Location | None) -> str | None:
    if location is None:
        return None
    if location.kind in (None, "quote"):
        return location.value
    return location.kind if location.value is None else f"{location.kind} {location.value}"


def finding_place(finding: Finding) -> str | None:
    """Where in the draft it was found, unless that is all of it."""
    return None if finding.location is None or finding.location.kind == "whole" else place(finding.location)


def issue_head(issue: Issue | Discarded) -> list[str]:
    """Severity, then what the issue belongs to."""
    words: list[str] = [issue.severity]
    if issue.requirement:
        words.append(issue.requirement)
    return words


def returned(run: Run) -> tuple[str, str] | None:
    """The title and the text of the draft that is returned; None where there is none."""
    outcome = run.outcome
    if outcome is None:
        return (f"Latest draft (draft {run.round.draft.index})", run.round.draft.text) if run.round else None
    if outcome.draft is None:
        return None
    kind = "Accepted draft" if outcome.status == "accepted" else "Best draft so far"
    index = "" if outcome.draft_index is None else f" (draft {outcome.draft_index})"
    return f"{kind}{index}", outcome.draft


def roles_spent(run: Run) -> list[tuple[str, Usage]]:
    """What each role's attempts took, from the ledger; unknown stays unknown."""
    found: list[tuple[str, Usage]] = []
    for role in dict.fromkeys(row.role for row in run.ledger):
        rows = [row for row in run.ledger if row.role == role]
        currencies = {row.currency for row in rows}
        found.append(
            (
                role,
                Usage(
                    calls=len({row.call for row in rows}),
                    input_tokens=_sum([row.input_tokens for row in rows]),
                    output_tokens=_sum([row.output_tokens for row in rows]),
                    seconds=sum(row.seconds for row in rows),
                    cost=_sum([row.cost for row in rows]) if len(currencies) == 1 else None,
                    currency=next(iter(currencies)) if len(currencies) == 1 else None,
                ),
            )
        )
    return found


def _sum(values: Sequence[N | None]) -> N | None:
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None
