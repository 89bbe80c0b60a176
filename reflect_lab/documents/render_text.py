"""A run as plain text for terminals: compact, no colours, and no control character of any text reaches the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from reflect_lab.core.critique import Discarded, Issue
from reflect_lab.core.evidence import Finding
from reflect_lab.core.run import Run
from reflect_lab.documents import render_words as words
from reflect_lab.documents.render_diff import Row, draft_rows
from reflect_lab.documents.render_words import Caps
from reflect_lab.documents.visible import visible, visible_line

_SIGNS = {"same": "  ", "old": "- ", "new": "+ ", "fold": "  … "}
_MARKS = {"passed": "ok", "failed": "FAILED", "error": "ERROR", "denied": "REFUSED", "not_run": "NOT RUN"}


def run_text(run: Run, *, traces: str | None = None, caps: Caps | None = None, left_out: Sequence[str] = ()) -> str:
    """The whole run as lines of text. `traces` says where its record is; `left_out` names what is missing here."""
    caps = caps or Caps()
    lines = [
        *_banner(run, caps),
        *(f"! {visible_line(n.message, caps.line)}" for n in run.notices[: caps.entries]),
        *_rounds(run, caps),
        *_final_draft(run, caps),
        *_footer(run, traces, left_out),
    ]
    return "\n".join(lines) + "\n"


def _indented(text: str, limit: int, indent: str) -> Iterator[str]:
    for line in visible(text[:limit]).removesuffix("\n").split("\n"):
        yield f"{indent}{line}"
    if len(text) > limit:
        yield f"{indent}… {len(text) - limit:,} more characters"


def _more(shown: int, total: int, what: str) -> list[str]:
    return [f"    … {words.count(total - shown, what)} more, not shown here"] if total > shown else []


def _banner(run: Run, caps: Caps) -> Iterator[str]:
    outcome = run.outcome
    if outcome is None:
        yield words.stop_title(None)
    else:
        yield f"{words.stop_title(outcome)} [{outcome.stop_reason}, {words.OUTCOMES[outcome.status]}]"
        if outcome.message:
            yield f"  {visible_line(outcome.message, caps.line)}"
        if outcome.error is not None and outcome.error.message != outcome.message:
            yield f"  {outcome.error.kind}: {visible_line(outcome.error.message, caps.line)}"
        if not outcome.recorded:
            yield "  The record of this run is not whole: a recording failed."
    numbers = words.stop_numbers(run)[: caps.entries]
    if numbers:
        yield "  " + ", ".join(f"{visible_line(k, caps.line)} {visible_line(v, caps.line)}" for k, v in numbers)
    if run.review is not None:
        who = ", ".join(
            visible_line(t, caps.line) for t in (run.review.reviewer, run.review.time, run.review.note) if t
        )
        yield f"  Decided by a person: {run.review.action}, {who}"


def _rounds(run: Run, caps: Caps) -> Iterator[str]:
    skipped = max(0, len(run.rounds) - caps.rounds)
    if skipped:
        yield f"… {words.count(skipped, 'earlier round')}, not shown here"
    for position in range(skipped, len(run.rounds)):
        round_ = run.rounds[position]
        yield f"{words.round_title(round_)}  ({words.spent(round_.usage)})"
        yield from _draft(run, position, caps)
        yield from _evidence(run, position, caps)
        yield from _critique(run, position, caps)
        if round_.decision is not None:
            yield f"  -> {round_.decision.action}: {visible_line(round_.decision.message, caps.line)}"


def _draft(run: Run, position: int, caps: Caps) -> Iterator[str]:
    draft = run.rounds[position].draft
    for note in words.draft_notes(run, run.rounds[position]):
        yield f"  ! {visible_line(note, caps.line)}"
    if draft.truncated:
        yield "  ! this draft is truncated"
    rows = draft_rows(run, position)
    if rows is None:
        is_returned = run.outcome is None or run.outcome.draft_index == draft.index
        if not is_returned:
            yield from _indented(draft.text, caps.older, "    ")
    elif not any(row.kind in ("old", "new") for row in rows):
        yield f"  draft {draft.index} is the same as draft {draft.parent}"
    else:
        yield f"  draft {draft.parent} -> draft {draft.index}"
        yield from (f"    {line}" for line in diff_lines(rows, caps))
        yield from _more(caps.rows, len(rows), "diff line")


def diff_lines(rows: Sequence[Row], caps: Caps) -> Iterator[str]:
    """The rows of a diff as lines of text, as many and as long as `caps` allows."""
    return (_row(row, caps.line) for row in rows[: caps.rows])


def _row(row: Row, limit: int) -> str:
    more = f" … {len(row.text) - limit:,} more characters" if len(row.text) > limit else ""
    return f"{_SIGNS[row.kind]}{visible(row.text[:limit])}{more}"


def _evidence(run: Run, position: int, caps: Caps) -> Iterator[str]:
    evidence = run.rounds[position].evidence
    if not evidence:
        none = "none" if evidence == () else words.missing(run, f"/rounds/{position}/evidence", "not gathered")
        yield f"  evidence: {none}"
        return
    for piece in evidence[: caps.entries]:
        what = visible_line(", ".join(words.evidence_words(piece)[1:]), caps.line)
        yield f"  {_MARKS[piece.status]:<8}{visible_line(piece.source, caps.line)} ({what})"
        failed = [f for f in piece.findings if f.status != "passed"]
        for finding in failed[: caps.entries]:
            yield f"          {_finding(finding, caps)}"
        yield from _more(caps.entries, len(failed), "finding")
        if not failed and piece.status != "passed" and piece.text:
            yield from _indented(piece.text, caps.report, "          ")
    yield from _more(caps.entries, len(evidence), "piece")


def _finding(finding: Finding, caps: Caps) -> str:
    """A failure as it is; a note, and what could not be checked, by these words first."""
    kind = "" if finding.status == "failed" else f"{words.STATUSES[finding.status]} "
    place = words.finding_place(finding)
    at = f" at {visible_line(place, caps.line)}" if place else ""
    return f"{kind}{visible_line(finding.id, caps.line)}{at}: {visible_line(finding.message, caps.line)}"


def _critique(run: Run, position: int, caps: Caps) -> Iterator[str]:
    critique = run.rounds[position].critique
    if critique is None:
        yield f"  critique: {words.missing(run, f'/rounds/{position}/critique', 'none')}"
        return
    if critique.validity != "ok":
        state = words.validity(run, run.rounds[position])
        yield f"  {state} {visible_line(critique.problem or '', caps.line)}".rstrip()
    elif not critique.issues:
        yield "  issues: none found"
    for issue in critique.issues[: caps.issues]:
        yield from _issue(issue, caps)
        ground = words.ground_words(issue.ground)
        if ground:
            yield f"      ground: {visible_line(ground, caps.line)}"
    yield from _more(caps.issues, len(critique.issues), "issue")
    for discarded in critique.discarded[: caps.entries]:
        yield from _issue(discarded, caps)
        yield f"      discarded: {visible_line(discarded.reason, caps.line)}"
    yield from _more(caps.entries, len(critique.discarded), "discarded issue")


def _issue(issue: Issue | Discarded, caps: Caps) -> Iterator[str]:
    sign = "x" if isinstance(issue, Discarded) else "*"
    head = " ".join(visible_line(w, caps.line) for w in (*words.issue_head(issue), issue.id))
    place = words.place(issue.location)
    yield f"  {sign} {head}" + (f" at {visible_line(place, caps.line)}" if place else "")
    if issue.evidence:
        yield f'      quote: "{visible_line(issue.evidence, caps.quote)}"'
    if issue.suggestion:
        yield f"      suggestion: {visible_line(issue.suggestion, caps.quote)}"


def _final_draft(run: Run, caps: Caps) -> Iterator[str]:
    final = words.returned(run)
    if final is None:
        yield words.missing(run, "/outcome/draft", "No draft was written.")
        return
    title, text = final
    yield f"{title}:"
    yield from _indented(text, caps.draft, "    ")


def _footer(run: Run, traces: str | None, left_out: Sequence[str]) -> Iterator[str]:
    yield f"In all: {words.count(len(run.rounds), 'draft')}, {words.spent(run.usage)}"
    for role, usage in words.roles_spent(run):
        yield f"  {role}: {words.spent(usage)}"
    yield f"Run {visible_line(run.run_id, 80)}" + (f", traces in {visible_line(traces, 300)}" if traces else "")
    if left_out:
        yield f"Left out here: {visible_line('; '.join(left_out), 1000)}"
        yield f"The whole run: %reflect show {visible_line(run.run_id, 80)}"
