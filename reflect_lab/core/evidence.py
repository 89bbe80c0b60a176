"""What a source outside the generator reported on one draft."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import inf
from typing import Literal

Status = Literal["passed", "failed", "error", "denied", "not_run"]
Rank = Literal["deterministic", "executed", "retrieval", "human", "model"]
SandboxLevel = Literal[0, 1, 2, 3, "W", "X"]
LocationKind = Literal["whole", "line", "lines", "clause", "path", "paragraph", "quote"]

BUILT_IN_GATES: frozenset[str] = frozenset({"whole", "format"})
"""Gates of no check: the draft is cut off, empty or refused, or it is not clear which part of the reply it is."""
WEAK_RANKS: frozenset[str] = frozenset({"retrieval", "model"})
"""Ranks whose failures a critic may overrule. A rank that nobody knows is not among them: it fails safe."""


@dataclass(frozen=True, kw_only=True)
class Location:
    """A place in the draft. `value` is a line number (`3`), a range (`3-7`), a path, a clause or a quote; None where
    the kind says it all. A critic's free words that stand nowhere in the draft have no kind."""

    kind: LocationKind | None
    value: str | None = None


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One thing that a check found. `id` is stable over rounds (`case:2`, `INV-55821`); `advisory` never blocks.

    `message` says what is wrong in words of the check; it holds no text copied from the draft beyond the value itself.
    """

    id: str
    status: Literal["passed", "failed", "error", "not_run", "advisory"]
    message: str
    requirement: str | None = None
    location: Location | None = None


@dataclass(frozen=True, kw_only=True)
class Sandbox:
    """Where executed evidence ran. `level` 0 off, 1 process limits (no isolation), 2 kernel-confined, 3 namespaced;
    beside this order W, interpreter-only, and X, an external command.

    `verdict_integrity` is `split` where the parent compared plain values and `in_process` where asserts ran beside the
    code under test, which could have forged them.
    """

    level: SandboxLevel
    name: str
    abi: int | None = None
    limits: Mapping[str, float | int | str] = field(default_factory=dict)
    selftest: str | None = None
    verdict_integrity: Literal["split", "in_process"] | None = None

    @property
    def number(self) -> int | None:
        """The level's place in the order 0 to 3; None for W and X, which have none."""
        return self.level if isinstance(self.level, int) else None


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """What one source reported on one draft.

    `source` is the check's name. `text` is the report in words, capped. `executions` counts tool calls (a retry after
    `error` is a second one). `seconds` is its own wall time, and `began` how many seconds after the gathering it began:
    checks may overlap (None: not recorded, then it overlapped with none). `provenance` holds hashes, interpreter and
    versions. `fix` is the whole draft with this source's problems mended deterministically, where it can do that.
    """

    source: str
    kind: str
    rank: Rank
    status: Status
    gate: bool = False
    text: str = ""
    findings: tuple[Finding, ...] = ()
    requirements: tuple[str, ...] = ()
    sandbox: Sandbox | None = None
    provenance: Mapping[str, str] = field(default_factory=dict)
    seconds: float = 0.0
    began: float | None = None
    executions: int = 1
    fix: str | None = None

    @property
    def is_authoritative(self) -> bool:
        """Whether a failure of this source can't be overruled by a critic."""
        return self.rank not in WEAK_RANKS

    @property
    def failed_findings(self) -> tuple[Finding, ...]:
        return tuple(f for f in self.findings if f.status == "failed")


def active_seconds(gathered: Iterable[Evidence]) -> float:
    """The wall time of one gathering in which some check was at work: what overlaps counts once (DESIGN 4.1: seconds
    are active durations). Checks whose beginning is not recorded ran one after the other."""
    total, end = 0.0, 0.0
    pieces = [piece for piece in gathered if piece.seconds]
    for piece in sorted((p for p in pieces if p.began is not None), key=lambda p: p.began or 0.0):
        begin, over = piece.began or 0.0, (piece.began or 0.0) + piece.seconds
        total += max(0.0, over - max(begin, end))
        end = max(end, over)
    return total + sum(p.seconds for p in pieces if p.began is None)


def sound(evidence: Iterable[Evidence]) -> tuple[Evidence, ...]:
    """What checks reported, as long as it is evidence that takes time and tool calls, and gives none back.

    Raises TypeError or ValueError otherwise: a check of somebody else may answer with anything.
    """
    gathered = tuple(evidence)
    for piece in gathered:
        if not isinstance(piece, Evidence):
            raise TypeError(f"a check answered with {type(piece).__name__}, not with evidence")
        begins_well = piece.began is None or 0 <= piece.began < inf
        if not 0 <= piece.seconds < inf or not begins_well or piece.executions < 0:
            raise ValueError(f"{piece.source} says that it took {piece.seconds} s and {piece.executions} executions")
    return gathered
