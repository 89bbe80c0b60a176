"""Several drafts in one round, and which of them counts (DESIGN 4, "wide enough for the literature").

A round of width 1 holds one draft and none of this is asked. In a wider one the candidates are written one after the
other; `select` then makes one of them the round's draft, and everything after it (critic, decision, progress) is the
plain loop. The same rule says which round's draft is returned where nothing passed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from reflect_lab.core import progress
from reflect_lab.core.assessment import assess, share_of_checks
from reflect_lab.core.policy import Select
from reflect_lab.core.run import Candidate, Round, Run
from reflect_lab.core.stop_rules import lacks_signal
from reflect_lab.core.task import Task
from reflect_lab.core.words import words

JUDGED: frozenset[Select] = frozenset({"pass", "best", "rank"})
"""Rules that need every candidate's evidence; the others choose first, so that checks run on the chosen draft alone."""


def choose(rounds: Sequence[Round], select: Select, task: Task) -> Round | None:
    """The round whose draft counts, among candidates seen as rounds or among the rounds of a run.

    `pass` and `best`: the best by the order of drafts. `rank`: by the checks alone (fewest failed findings, largest
    share of passed checks). `vote`: the most frequent answer, which is the last line with words in it, compared word
    by word (Wang et al. 2022, self-consistency). `last`: the newest. Whole drafts come before truncated ones in every
    rule, and the earliest of equals is chosen.
    """
    if not rounds:
        return None
    whole = [r for r in rounds if progress.is_whole(r) and not r.draft.truncated and r.draft.text.strip()]
    whole = whole or list(rounds)
    if select == "last":
        return whole[-1]
    if select == "vote":
        votes = Counter(answer(r.draft.text) for r in whole)
        return max(whole, key=lambda r: votes[answer(r.draft.text)])
    if select == "rank":
        return min(whole, key=lambda r: (r.evidence is None, progress.failed_count(r), -_share(r, task)))
    return progress.best(rounds)


def answer(text: str) -> tuple[str, ...]:
    """What a draft answers, for a vote: the words of its last line that has any. Numbers match by value."""
    for line in reversed(text.splitlines()):
        found = tuple(word.text for word in words(line))
        if found:
            return found
    return ()


def next_candidate(run: Run) -> int | None:
    """The number of the next draft to write in the current round; None where the round has all that it will get."""
    current = run.rounds[-1]
    width = run.policy.rules.width
    written = 1 + len(current.others)
    if width == 1 or written >= width or current.critique is not None or current.draft.mode == "fixed":
        return None
    if current.shortage is not None or unchecked_candidate(run) is not None or lacks_signal(run):
        return None
    return None if run.policy.rules.select == "pass" and _newest_passed(run) else written


def unchecked_candidate(run: Run) -> int | None:
    """The number of the candidate whose evidence is due before the round's draft can be chosen; None also where it was
    chosen (a fork keeps its parent's choice)."""
    current = run.rounds[-1]
    if run.policy.rules.width == 1 or run.policy.rules.select not in JUDGED or current.critique is not None:
        return None
    return next((c.draft.candidate for c in candidates(current) if c.evidence is None), None)


def candidates(round_: Round) -> tuple[Candidate, ...]:
    """All drafts of a round, in the order in which they were written."""
    all_of_them = (Candidate(draft=round_.draft, evidence=round_.evidence), *round_.others)
    return tuple(sorted(all_of_them, key=lambda c: c.draft.candidate))


def with_candidate(run: Run, candidate: int) -> Run:
    """The run as a role sees it that works on one candidate: that draft is the current round's, the rest beside it."""
    current = run.rounds[-1]
    if current.draft.candidate == candidate:
        return run
    chosen = next(c for c in current.others if c.draft.candidate == candidate)
    others = tuple(c for c in candidates(current) if c.draft.candidate != candidate)
    seen = replace(current, draft=chosen.draft, evidence=chosen.evidence, others=others)
    return replace(run, rounds=(*run.rounds[:-1], seen))


def with_choice(run: Run) -> Run:
    """The run with the current round's draft chosen among its candidates by the policy's rule."""
    current = run.rounds[-1]
    trials = tuple(_trial(run, current.index, candidate) for candidate in candidates(current))
    chosen = choose(trials, run.policy.rules.select, run.task)
    assert chosen is not None
    others = tuple(Candidate(draft=t.draft, evidence=t.evidence) for t in trials if t is not chosen)
    current = replace(current, draft=chosen.draft, evidence=chosen.evidence, critique=chosen.critique, others=others)
    return replace(run, rounds=(*run.rounds[:-1], current))


def _trial(run: Run, index: int, candidate: Candidate) -> Round:
    """A candidate seen as a round of its own, judged by its evidence."""
    evidence = candidate.evidence
    critique = None if evidence is None else assess(run.task, run.policy, candidate.draft, evidence, None)
    return Round(index=index, draft=candidate.draft, evidence=evidence, critique=critique)


def _newest_passed(run: Run) -> bool:
    """Whether the newest candidate passed every check, so that writing more of them would be waste."""
    evidence = candidates(run.rounds[-1])[-1].evidence
    return bool(evidence) and all(e.status == "passed" for e in evidence or ())


def _share(round_: Round, task: Task) -> float:
    """The share of passed checks; an unknown one ranks below a known zero."""
    share = share_of_checks(task, round_.evidence or ())
    return -1.0 if share is None else share
