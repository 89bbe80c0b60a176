"""Grounds: which of a critic's issues code can verify, and on what (DESIGN 4.2).

An issue is kept only if it names an existing requirement, or if its evidence shares with a source a run of words:
three or more with at least one content word, or the whole of a shorter source. Sources are the task's text, each
requirement, each fact and each finding of a check; the draft itself only where the policy allows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from reflect_lab.core.critique import Ground, GroundKind, RaisedIssue
from reflect_lab.core.evidence import Evidence
from reflect_lab.core.policy import Policy
from reflect_lab.core.run import Draft
from reflect_lab.core.task import Task, text_sha256
from reflect_lab.core.words import Word, is_content, words

QUOTE_WORDS = 3
"""Words that a quote must share with a source that is at least as long."""


@dataclass(frozen=True)
class Source:
    """A text that may be quoted. `offset` is where it starts in the named source's own text."""

    kind: GroundKind
    name: str
    text: str
    offset: int = 0


@dataclass(frozen=True)
class Quote:
    """A shared run of words: where it stands in the source's own text, and the words."""

    source: Source
    start: int
    end: int
    words: tuple[str, ...]


@dataclass(frozen=True)
class Grounded:
    """A ground together with the issue key that it makes."""

    ground: Ground
    key: str
    requirement: str | None


class Sources:
    """Everything that an issue about one draft may quote, read once."""

    def __init__(self, task: Task, draft: Draft, evidence: Sequence[Evidence], policy: Policy) -> None:
        self._ids = {r.id for r in task.requirements}
        self._requirements = [_read(Source("requirement", r.id, r.text)) for r in task.requirements]
        self._others = [_read(Source("task", "task", task.text))]
        self._others += [_read(Source("fact", f"fact:{f.index}", f.text)) for f in task.facts]
        self._others += [_read(source) for piece in evidence for source in finding_sources(piece)]
        self._draft = _read(Source("draft", "draft", draft.text))
        self._draft_counts = policy.rules.draft_quotes == "allow"

    def ground(self, issue: RaisedIssue) -> Grounded | str:
        """The ground of an issue, or the reason why it has none."""
        quoted = words(issue.evidence)
        if issue.requirement in self._ids:
            own = longest_quote(quoted, [r for r in self._requirements if r[0].name == issue.requirement])
            span = (own.start, own.end) if own else (None, None)
            ground = Ground(kind="requirement", source=str(issue.requirement), start=span[0], end=span[1])
            return Grounded(ground, str(issue.requirement), issue.requirement)
        quote = longest_quote(quoted, self._requirements) or longest_quote(quoted, self._others)
        if quote is None and longest_quote(quoted, [self._draft]):
            if not self._draft_counts:
                return "it quotes only the draft, no source outside it"
            quote = longest_quote(quoted, [self._draft])
        if quote is None:
            return self._why_not(issue)
        ground = Ground(kind=quote.source.kind, source=quote.source.name, start=quote.start, end=quote.end)
        if quote.source.kind == "requirement":
            return Grounded(ground, quote.source.name, quote.source.name)
        return Grounded(ground, span_key(quote), None)

    def _why_not(self, issue: RaisedIssue) -> str:
        if issue.requirement:
            return f"there is no requirement {issue.requirement!r}, and its evidence quotes no source"
        if not issue.evidence.strip():
            return "it gives no evidence and names no requirement"
        return "its evidence quotes neither the task, a requirement, a fact nor a finding of a check"


def finding_sources(evidence: Evidence) -> Iterator[Source]:
    """The findings of one piece of evidence: of a check's text only these count, never what it copied from the draft.

    A check that names no findings has its whole text as its one finding.
    """
    name = f"evidence:{evidence.source}"
    if not evidence.findings:
        if evidence.text:
            yield Source("evidence", name, evidence.text)
        return
    for finding in evidence.findings:
        at = evidence.text.find(finding.message) if finding.message else -1
        if at >= 0:
            yield Source("evidence", name, finding.message, at)


def longest_quote(quoted: Sequence[Word], sources: Sequence[tuple[Source, tuple[Word, ...]]]) -> Quote | None:
    """The longest run of words that the quote shares with a source; the first of equals; None if all are too short."""
    best: Quote | None = None
    for source, source_words in sources:
        run = _longest_run(quoted, source_words)
        if run and (best is None or run[1] - run[0] > len(best.words)):
            shared = source_words[run[0] : run[1]]
            best = Quote(
                source, source.offset + shared[0].start, source.offset + shared[-1].end, tuple(w.text for w in shared)
            )
    return best


def span_key(quote: Quote) -> str:
    """A stable key of a quoted span: the source and the words, so that it survives a shift of offsets."""
    text = " ".join(quote.words)
    return (
        f"{quote.source.name}:{text}" if len(text) <= 80 else f"{quote.source.name}:{text[:60]}…{text_sha256(text)[:8]}"
    )


def _read(source: Source) -> tuple[Source, tuple[Word, ...]]:
    return source, words(source.text)


def _longest_run(quoted: Sequence[Word], source: Sequence[Word]) -> tuple[int, int] | None:
    """The longest valid shared run as a range of the source's words."""
    length = min(QUOTE_WORDS, len(source))
    if not length:
        return None
    starts: dict[tuple[str, ...], list[int]] = {}
    for i in range(len(source) - length + 1):
        starts.setdefault(tuple(w.text for w in source[i : i + length]), []).append(i)
    best: tuple[int, int] | None = None
    for j in range(len(quoted) - length + 1):
        for i in starts.get(tuple(w.text for w in quoted[j : j + length]), ()):
            if i and j and source[i - 1].text == quoted[j - 1].text:
                continue  # a part of a longer run that was measured from its start
            end = length
            while i + end < len(source) and j + end < len(quoted) and source[i + end].text == quoted[j + end].text:
                end += 1
            is_longer = best is None or end > best[1] - best[0]
            if is_longer and any(is_content(w.text) for w in source[i : i + end]):
                best = (i, i + end)
    return best
