"""How rounds compare: the order of drafts, gain, progress and repetition (DESIGN 4.1, 4.5)."""

from __future__ import annotations

import re
from collections.abc import Sequence

from reflect_lab.core.evidence import Evidence
from reflect_lab.core.policy import Rules
from reflect_lab.core.run import Round

TOLERANCE = 1e-9
"""Scores are compared with this margin, so that 0.1 + 0.2 is 0.3."""

_VOLATILE = re.compile(
    r"0x[0-9a-f]+"  # addresses
    r"|\b\d+(?:\.\d+)?\s*(?:ns|us|µs|ms|s|sec|secs|seconds)\b"  # timings
    r"|\b(?:line|lines|column|col|position|offset|char)\s*\d+(?:\s*[-–]\s*\d+)?"  # positions
    r"|:\d+(?::\d+)?\b"
)


def failed_evidence(round_: Round) -> tuple[Evidence, ...]:
    """Failed authoritative evidence: no critic can overrule it."""
    return tuple(e for e in round_.evidence or () if e.status == "failed" and e.is_authoritative)


def failed_count(round_: Round) -> int:
    """How many authoritative findings failed; a check that names none counts once."""
    return sum(max(1, len(e.failed_findings)) for e in failed_evidence(round_))


def blocking_keys(round_: Round) -> frozenset[str]:
    return frozenset(i.key for i in round_.critique.blocking) if round_.critique else frozenset()


def is_whole(round_: Round) -> bool:
    return not any(e.source == "whole" and e.status == "failed" for e in round_.evidence or ())


def is_better(a: Round, b: Round) -> bool:
    """Whether `a` is strictly better than the earlier round `b` (so that the earliest of equals stays).

    Whole before truncated, checked before unchecked, fewest failed findings, critique known before unknown, fewest
    blocking issues, then the higher score of the same kind; scores of two kinds are never compared. The score comes
    last, so that a high one can't outweigh a failed check or a blocking issue.
    """
    ranks = [
        (not is_whole(r), not _is_checked(r), failed_count(r), not _critique_is_known(r), len(blocking_keys(r)))
        for r in (a, b)
    ]
    if ranks[0] != ranks[1]:
        return ranks[0] < ranks[1]
    scores = _comparable_scores(a, b)
    return scores is not None and scores[0] > scores[1] + TOLERANCE


def best(rounds: Sequence[Round]) -> Round | None:
    """The best round so far."""
    chosen: Round | None = None
    for round_ in rounds:
        if chosen is None or is_better(round_, chosen):
            chosen = round_
    return chosen


def is_gain(new: Round, old: Round, rules: Rules) -> bool:
    """Whether the score of the same kind rose enough: by `min_gain`, or by half of what is left up to 1 where that is
    less (near 1 there is no room for `min_gain`: from .96 to .99 is progress)."""
    scores = _comparable_scores(new, old)
    if scores is None or scores[0] <= scores[1] + TOLERANCE:
        return False
    needed = min(rules.min_gain, (1 - scores[1]) / 2)
    return scores[0] - scores[1] >= needed - TOLERANCE


def is_progress(new: Round, old: Round, rules: Rules) -> bool:
    """Whether `new` got further than the best round before it: a strictly smaller set of blocking keys (one solved and
    one new is no shrinking), a gain in score, or fewer failed findings where the critic had not judged the best round
    (what it says of a draft that it sees for the first time then hides no progress)."""
    solved_checks = failed_count(new) < failed_count(old) and not _critique_is_known(old)
    return solved_checks or blocking_keys(new) < blocking_keys(old) or is_gain(new, old, rules)


def rounds_without_progress(rounds: Sequence[Round], rules: Rules) -> int:
    """How many rounds running, up to the last, made no progress."""
    count = 0
    for i in range(1, len(rounds)):
        before = best(rounds[:i])
        count = 0 if before is None or is_progress(rounds[i], before, rules) else count + 1
    return count


def signature(round_: Round) -> frozenset[str]:
    """Which findings fail and how, and which keys block; without case, whitespace, addresses, timings, positions.

    Made of keys, never of a critic's ids or a count: issues can't escape by another name, and two new problems in place
    of two old ones are not the same failure.
    """
    parts = {i.key for i in round_.critique.blocking if i.source == "critic"} if round_.critique else set()
    for evidence in failed_evidence(round_):
        for finding in evidence.failed_findings:
            parts.add(f"check:{evidence.source}/{finding.id}:{_stable(finding.message)}")
        if not evidence.failed_findings:
            parts.add(f"check:{evidence.source}:{_stable(evidence.text)}")
    return frozenset(parts)


def repetitions(rounds: Sequence[Round], rules: Rules) -> int:
    """How many rounds running, up to the last, had the same signature without a gain; 0 where nothing fails."""
    count = 0
    for i, round_ in enumerate(rounds):
        failing = signature(round_)
        before = best(rounds[:i])
        repeats = bool(i) and failing == signature(rounds[i - 1])
        gained = before is not None and is_gain(round_, before, rules)
        count = 0 if not failing else count + 1 if repeats and not gained else 1
    return count


def _is_checked(round_: Round) -> bool:
    """Whether a check or a critic looked; gates count as a look only where there are no other checks, so that a draft
    that does not even parse never ranks above one of which two cases fail."""
    evidence = round_.evidence or ()
    checks = [e for e in evidence if not e.gate] or evidence
    looked = any(e.status in ("passed", "failed") for e in checks)
    return looked or (round_.critique is not None and round_.critique.validity != "not_asked")


def _critique_is_known(round_: Round) -> bool:
    return round_.critique is not None and round_.critique.validity == "ok"


def _comparable_scores(a: Round, b: Round) -> tuple[float, float] | None:
    if not a.critique or not b.critique or a.critique.score_kind != b.critique.score_kind:
        return None
    if a.critique.score is None or b.critique.score is None:
        return None
    return a.critique.score, b.critique.score


def _stable(message: str) -> str:
    return " ".join(_VOLATILE.sub("", message.casefold()).split())
