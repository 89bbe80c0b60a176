"""Grounds: which of a critic's issues code can verify, and on what (DESIGN 4.2).

An issue is kept on the first of these grounds that it has:
`requirement`, it names an existing one, or quotes one; `task`, `fact`, `evidence`, it quotes that source; `absent`, it
points at a value or a name that stands in the draft and in no source; `draft`, it quotes the draft, where the policy
allows that. To quote is to share a run of words: three or more with at least one content word, or the whole of a
shorter source. Sources are the task's text, each requirement, each fact and each finding of a check. A suggestion never
counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from reflect_lab.core.absent import Absences
from reflect_lab.core.critique import Ground, RaisedIssue
from reflect_lab.core.evidence import Evidence, Finding
from reflect_lab.core.policy import Policy
from reflect_lab.core.run import Draft
from reflect_lab.core.runs_of_words import MAX_READ, THRESHOLDS, Quote, Runs, Source, Thresholds, longest_quote
from reflect_lab.core.task import Task, text_sha256
from reflect_lab.core.values import KnownValues, find_values
from reflect_lab.core.words import Word, words


@dataclass(frozen=True)
class Grounded:
    """A ground together with the issue key that it makes."""

    ground: Ground
    key: str
    requirement: str | None


class Sources:
    """Everything that an issue about one draft may quote, read once."""

    def __init__(
        self,
        task: Task,
        draft: Draft,
        evidence: Sequence[Evidence],
        policy: Policy,
        thresholds: Thresholds = THRESHOLDS,
    ) -> None:
        self._thresholds = thresholds
        self._ids = {r.id for r in task.requirements}
        self._requirements = [Runs(Source("requirement", r.id, r.text)) for r in task.requirements]
        self._others = [Runs(Source("task", "task", task.text))]
        self._others += [Runs(Source("fact", f"fact:{f.index}", f.text)) for f in task.facts]
        self._others += [Runs(source) for piece in evidence for source in finding_sources(piece)]
        self._draft = Runs(Source("draft", "draft", draft.text))
        self._draft_counts = policy.rules.draft_quotes == "allow"
        said = [task.text, *(r.text for r in task.requirements), *(f.text for f in task.facts)]
        said += [text for piece in evidence for text in said_by(piece)]
        read = [text[:MAX_READ] for text in said]
        self._absences = Absences(draft.text[:MAX_READ], read, is_prose=task.language is None, digits=thresholds.digits)

    def ground(self, issue: RaisedIssue) -> Grounded | str:
        """The ground of an issue, or the reason why it has none."""
        quoted = words(issue.evidence[:MAX_READ])
        if issue.requirement in self._ids:
            own = self._quote(quoted, [r for r in self._requirements if r.source.name == issue.requirement])
            span = (own.start, own.end) if own else (None, None)
            ground = Ground(kind="requirement", source=str(issue.requirement), start=span[0], end=span[1])
            return Grounded(ground, str(issue.requirement), issue.requirement)
        quote = self._quote(quoted, self._requirements) or self._quote(quoted, self._others)
        if quote is not None:
            return _on_quote(quote)
        location = None if issue.location is None else issue.location[:MAX_READ]
        absent = self._absences.pointed_at(issue.evidence[:MAX_READ], location)
        if absent is not None:
            ground = Ground(kind="absent", source="draft", start=absent.start, end=absent.end)
            return Grounded(ground, absent.text, None)
        quote = self._quote(quoted, [self._draft])
        if quote is None:
            return _why_not(issue, bool(quoted))
        return _on_quote(quote) if self._draft_counts else "it quotes only the draft, no source outside it"

    def _quote(self, quoted: Sequence[Word], sources: Sequence[Runs]) -> Quote | None:
        return longest_quote(quoted, sources, self._thresholds)


def _on_quote(quote: Quote) -> Grounded:
    ground = Ground(kind=quote.source.kind, source=quote.source.name, start=quote.start, end=quote.end)
    if quote.source.kind == "requirement":
        return Grounded(ground, quote.source.name, quote.source.name)
    return Grounded(ground, span_key(quote), None)


def _why_not(issue: RaisedIssue, has_words: bool) -> str:
    if issue.requirement:
        return f"there is no requirement {issue.requirement!r}, and its evidence quotes no source"
    if not has_words:
        return "it gives no evidence and names no requirement"
    return (
        "its evidence quotes neither the task, a requirement, a fact nor a finding of a check, "
        "and points at no value that the draft alone holds"
    )


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


def said_by(evidence: Evidence) -> Iterator[str]:
    """What the findings of one piece of evidence say, without the values that they copied from the draft: a finding
    that calls `INV-55821` invented does not make it known."""
    if not evidence.findings:
        yield evidence.text
    for finding in evidence.findings:
        yield _without_copied(finding)


def _without_copied(finding: Finding) -> str:
    place = finding.location
    if place is None or place.kind != "quote" or not place.value:
        return finding.message
    copied = KnownValues([place.value])
    told = finding.message
    for value in reversed(find_values(told)):
        if value in copied:
            told = f"{told[: value.start]} {told[value.end :]}"
    return told


def span_key(quote: Quote) -> str:
    """A stable key of a quoted span: the source and the words, so that it survives a shift of offsets."""
    text = " ".join(quote.words)
    return (
        f"{quote.source.name}:{text}" if len(text) <= 80 else f"{quote.source.name}:{text[:60]}…{text_sha256(text)[:8]}"
    )
