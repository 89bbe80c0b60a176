"""How often real critiques are grounded: against the task that they are about, and against a shuffled wrong one.

    python benchmarks/grounding.py DATA_FOLDER [--half tune|report]

Prints Markdown tables; `docs/grounding.md` says what they mean, and from where the data sets come (none is part of this
repository). The same folder gives the same tables.
"""

from __future__ import annotations

import argparse
import random
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from critiques_read import Criticised, Surroundings, read_all

from reflect_lab.core.critique import RaisedIssue
from reflect_lab.core.grounding import Grounded, Sources
from reflect_lab.core.policy import Policy, Rules
from reflect_lab.core.runs_of_words import THRESHOLDS, Thresholds
from reflect_lab.core.words import is_content

SHUFFLES = 20
QUOTED = 20
MARKED = re.compile(r'"[^"\n]{3,}"|“[^”\n]{3,}”|`[^`\n]+`|\\\(.+?\\\)|\\\[.+?\\\]|\$[^$\n]+\$', re.DOTALL)
MECHANICAL = "LDB failures"
WEAK_WORDS = frozenset(("length", "list", "number", "sum"))


@dataclass(frozen=True)
class Judged:
    """One issue: its ground against the right task, and against the wrong task of each shuffle (None: discarded)."""

    data_set: str
    key: str
    is_first: bool
    quotes_source: bool
    quotes_draft: bool
    is_marked: bool
    right: str | None
    wrong: tuple[str | None, ...]


def judge(
    records: Sequence[Criticised], policy: Policy, thresholds: Thresholds = THRESHOLDS, shuffles: int = SHUFFLES
) -> list[Judged]:
    """Every issue of the records. A wrong task comes whole, with its own draft and evidence, from the same data set."""
    wrong = [derangement(records, seed) for seed in range(shuffles)]
    read = {id(r.seen): Sources(r.seen.task, r.seen.draft, r.seen.evidence, policy, thresholds) for r in records}
    judged = []
    seen_tasks: set[tuple[str, str]] = set()
    for at, record in enumerate(records):
        for issue in record.issues:
            judged.append(
                Judged(
                    data_set=record.data_set,
                    key=record.key,
                    is_first=(record.data_set, record.key) not in seen_tasks,
                    quotes_source=shares_text(issue, source_texts(record.seen)),
                    quotes_draft=shares_text(issue, [record.seen.draft.text]),
                    is_marked=MARKED.search(issue.evidence) is not None,
                    right=_kind(read[id(record.seen)], issue),
                    wrong=tuple(_kind(read[id(others[at])], issue) for others in wrong),
                )
            )
            seen_tasks.add((record.data_set, record.key))
    return judged


def derangement(records: Sequence[Criticised], seed: int) -> list[Surroundings]:
    """For each record what a critic saw of another task of the same data set: the tasks, shuffled, each give way to the
    next, so that none stays in its place."""
    mapping: dict[tuple[str, str], Surroundings] = {}
    first = {(r.data_set, r.key): r.seen for r in reversed(records)}
    for data_set in sorted({r.data_set for r in records}):
        keys = sorted(key for name, key in first if name == data_set)
        random.Random(seed).shuffle(keys)
        for key, other in zip(keys, keys[1:] + keys[:1], strict=True):
            mapping[data_set, key] = first[data_set, other]
    return [mapping[r.data_set, r.key] for r in records]


def source_texts(seen: Surroundings) -> list[str]:
    return [seen.task.text, *(finding.message for piece in seen.evidence for finding in piece.findings)]


def shares_text(issue: RaisedIssue, texts: Sequence[str]) -> bool:
    """Whether the issue holds 20 characters in a row of a text (small letters, single spaces): the rule by which it
    *does quote*, which knows no words, no stop list and no values."""
    said = _squeezed(issue.evidence)
    pieces = {said[at : at + QUOTED] for at in range(len(said) - QUOTED + 1)}
    return any(piece in text for text in map(_squeezed, texts) for piece in pieces)


def wilson(kept: int, of: int) -> tuple[float, float]:
    """The 95 % interval of a share (Wilson 1927), both ends in 0..1."""
    z = 1.959964
    share = kept / of
    middle = share + z * z / (2 * of)
    reach = z * (share * (1 - share) / of + z * z / (4 * of * of)) ** 0.5
    low, high = (middle - reach) / (1 + z * z / of), (middle + reach) / (1 + z * z / of)
    return max(0.0, low), min(1.0, high)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--half", choices=["tune", "report"], default="report")
    asked = parser.parse_args()
    halves = {True: [], False: []}
    for record in read_all(asked.folder):
        halves[record.is_for_tuning].append(record)
    shown = halves[asked.half == "tune"]
    plain, allowing = Policy(), Policy(rules=Rules(draft_quotes="allow"))

    judged = judge(shown, plain)
    print(f"### Issues that do quote a source ({asked.half} half)\n")
    _table(judged, lambda one: one.quotes_source)
    print(f"\n### All issues ({asked.half} half)\n")
    _table(judged, lambda one: True)
    print(f"\n### Other cuts of the critics' issues ({asked.half} half)\n")
    _cuts(judged)
    print(f"\n### With `draft_quotes: allow`, issues that quote a source or the draft ({asked.half} half)\n")
    _table(judge(shown, allowing), lambda one: one.quotes_source or one.quotes_draft)
    print("\n### Thresholds tried (tuning half)\n")
    _alternatives(halves[True], plain)


def _table(judged: Sequence[Judged], counts: Callable[[Judged], bool]) -> None:
    """One row for each data set, and one for all critics together."""
    _head("data set")
    names = list(dict.fromkeys(one.data_set for one in judged))
    for name in names:
        _row(name, [one for one in judged if one.data_set == name and counts(one)])
    _row("**all critics**", [one for one in judged if one.data_set != MECHANICAL and counts(one)])


def _cuts(judged: Sequence[Judged]) -> None:
    _head("cut")
    critics = [one for one in judged if one.data_set != MECHANICAL]
    _row("all", critics)
    _row("marks a quotation (quotation marks, backticks, formula)", [one for one in critics if one.is_marked])
    _row("marks none", [one for one in critics if not one.is_marked])
    _row("shares no 20 characters with a source", [one for one in critics if not one.quotes_source])
    _row("the first issue of each task", [one for one in critics if one.is_first])
    _row("the first issue of each task, quoting", [one for one in critics if one.is_first and one.quotes_source])


def _head(first: str) -> None:
    columns = (
        first,
        "issues (tasks)",
        "kept right",
        "kept wrong",
        f"wrong, {SHUFFLES} shuffles",
        "right by",
        "wrong by",
    )
    print(f"| {' | '.join(columns)} |")
    print("|---|---|---|---|---|---|---|")


def _row(name: str, judged: Sequence[Judged]) -> None:
    n = len(judged)
    if not n:
        print(f"| {name} | 0 | | | | | |")
        return
    tasks = len({(one.data_set, one.key) for one in judged})
    right = sum(one.right is not None for one in judged)
    first = sum(one.wrong[0] is not None for one in judged)
    mean = sum(kind is not None for one in judged for kind in one.wrong) / (n * len(judged[0].wrong))
    by_right = _by([one.right for one in judged])
    by_wrong = _by([kind for one in judged for kind in one.wrong])
    print(
        f"| {name} | {n} ({tasks}) | {_share(right, n)} | {_share(first, n)} | {mean:.1%} | {by_right} | {by_wrong} |"
    )


def _by(kinds: Sequence[str | None]) -> str:
    shares = {kind: kinds.count(kind) / len(kinds) for kind in ("task", "evidence", "absent", "draft")}
    return ", ".join(f"{kind} {share:.1%}" for kind, share in shares.items() if share) or "none"


def _share(kept: int, of: int) -> str:
    low, high = wilson(kept, of)
    return f"{kept / of:.0%} ({low:.0%} to {high:.0%})"


def _alternatives(records: Sequence[Criticised], policy: Policy) -> None:
    print("| thresholds | quoting: right | quoting: wrong | all: right | all: wrong |")
    print("|---|---|---|---|---|")
    for name, thresholds in _variants():
        judged = [one for one in judge(records, policy, thresholds) if one.data_set != MECHANICAL]
        cells = []
        for group in ([one for one in judged if one.quotes_source], judged):
            right = sum(one.right is not None for one in group) / len(group)
            wrong = sum(kind is not None for one in group for kind in one.wrong) / (len(group) * SHUFFLES)
            cells += [f"{right:.1%}", f"{wrong:.1%}"]
        print(f"| {name} | {' | '.join(cells)} |")


def _variants() -> Iterator[tuple[str, Thresholds]]:
    yield "**taken**: 3 words, 1 of content, numbers of 2 digits", Thresholds()
    yield "2 words, 1 of content", Thresholds(words=2)
    yield "3 words, 2 of content", Thresholds(content_words=2)
    yield "4 words, 1 of content", Thresholds(words=4)
    yield "4 words, 2 of content", Thresholds(words=4, content_words=2)
    yield (
        "single digits are not content",
        Thresholds(is_content=lambda w: is_content(w) and not (len(w) == 1 and w.isdigit())),
    )
    yield (
        "`length`, `list`, `number`, `sum` are not content",
        Thresholds(is_content=lambda w: is_content(w) and w not in WEAK_WORDS),
    )
    yield "any bare number is pointed at", Thresholds(digits=1)
    yield "numbers of 3 digits", Thresholds(digits=3)


def _kind(sources: Sources, issue: RaisedIssue) -> str | None:
    found = sources.ground(issue)
    return found.ground.kind if isinstance(found, Grounded) else None


def _squeezed(text: str) -> str:
    return re.sub(r"\s+", " ", text).casefold()


if __name__ == "__main__":
    main()
