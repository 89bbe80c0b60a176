"""A run as Markdown. Texts of the run stand in code spans and fences alone, each longer than any run of backticks in
it, so that nothing in them is markup, a link, a formula or the end of its own block."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from reflect_lab.core.critique import Discarded, Issue
from reflect_lab.core.evidence import Evidence
from reflect_lab.core.run import Run
from reflect_lab.documents import render_words as words
from reflect_lab.documents.render_diff import Row, draft_rows
from reflect_lab.documents.render_words import Caps
from reflect_lab.documents.visible import visible, visible_line

_SIGNS = {"same": " ", "old": "-", "new": "+", "fold": "@"}


def run_markdown(run: Run, *, traces: str | None = None, caps: Caps | None = None, left_out: Sequence[str] = ()) -> str:
    """The whole run as Markdown. `traces` says where its record is; `left_out` names what is missing here."""
    caps = caps or Caps()
    blocks = [
        *_banner(run, caps),
        *(f"⚠ {code(n.message, caps.line)}" for n in run.notices[: caps.entries]),
        *_final_draft(run, caps),
        *_rounds(run, caps),
        *_footer(run, traces, left_out),
    ]
    return "\n\n".join(blocks) + "\n"


def code(text: str, limit: int) -> str:
    """A text as a code span that it can't leave; an empty one as a dash."""
    line = visible_line(text, limit)
    if not line:
        return "–"
    ticks = "`" * (_longest_run(line) + 1)
    pad = " " if line[0] == "`" or line[-1] == "`" else ""
    return f"{ticks}{pad}{line}{pad}{ticks}"


def fence(text: str, language: str, limit: int) -> str:
    """A text as a fenced block that it can't close, cut after `limit` characters."""
    shown = visible(text[:limit]).removesuffix("\n")
    if len(text) > limit:
        shown += f"\n… {len(text) - limit:,} more characters"
    ticks = "`" * max(3, _longest_run(shown) + 1)
    return f"{ticks}{language}\n{shown}\n{ticks}"


def _longest_run(text: str) -> int:
    return max((len(run) for run in re.findall("`+", text)), default=0)


def _more(shown: int, total: int, what: str) -> list[str]:
    return [f"… {words.count(total - shown, what)} more, not shown here"] if total > shown else []


def _banner(run: Run, caps: Caps) -> Iterator[str]:
    outcome = run.outcome
    if outcome is None:
        yield f"**{words.stop_title(None)}**"
    else:
        title = words.stop_title(outcome)
        yield f"**{title}** (`{outcome.stop_reason}`, {words.OUTCOMES[outcome.status]})"
        if outcome.message:
            yield code(outcome.message, caps.line)
        if outcome.error is not None and outcome.error.message != outcome.message:
            yield f"`{outcome.error.kind}`: {code(outcome.error.message, caps.line)}"
        if not outcome.recorded:
            yield "**The record of this run is not whole: a recording failed.**"
    numbers = words.stop_numbers(run)[: caps.entries]
    if numbers:
        yield " · ".join(f"{code(name, caps.line)} {code(value, caps.line)}" for name, value in numbers)
    yield f"{words.count(len(run.rounds), 'draft')} · {words.spent(run.usage)}"
    if run.review is not None:
        who, note = code(run.review.reviewer, caps.line), code(run.review.note, caps.line)
        yield f"Decided by a person: **{run.review.action}**, {who}, {code(run.review.time, 60)} {note}"


def _final_draft(run: Run, caps: Caps) -> Iterator[str]:
    final = words.returned(run)
    if final is None:
        yield words.missing(run, "/outcome/draft", "No draft was written.")
        return
    title, text = final
    language = run.task.language or "text"
    yield f"### {title}"
    yield fence(text, language if re.fullmatch("[a-z]+", language) else "text", caps.draft)


def _rounds(run: Run, caps: Caps) -> Iterator[str]:
    skipped = max(0, len(run.rounds) - caps.rounds)
    if skipped:
        yield f"… {words.count(skipped, 'earlier round')}, not shown here"
    for position in range(skipped, len(run.rounds)):
        yield f"### {words.round_title(run.rounds[position])}"
        yield from _draft(run, position, caps)
        yield from _evidence(run, position, caps)
        yield from _critique(run, position, caps)
        yield from _decision(run, position, caps)


def _draft(run: Run, position: int, caps: Caps) -> Iterator[str]:
    draft = run.rounds[position].draft
    for note in words.draft_notes(run, run.rounds[position]):
        yield f"⚠ {code(note, caps.line)}"
    if draft.truncated:
        yield "⚠ This draft is truncated."
    rows = draft_rows(run, position)
    if rows is None:
        yield f"Draft {draft.index} as written:"
        yield fence(draft.text, "text", caps.older)
    elif not any(row.kind in ("old", "new") for row in rows):
        yield f"Draft {draft.index} is the same as draft {draft.parent}."
    else:
        yield f"What changed from draft {draft.parent} to draft {draft.index}:"
        lines = "\n".join(_row(row, caps.line) for row in rows[: caps.rows])
        yield fence(lines, "diff", len(lines))
        yield from _more(caps.rows, len(rows), "diff line")


def _row(row: Row, limit: int) -> str:
    text = visible(row.text[:limit])
    more = f" … {len(row.text) - limit:,} more characters" if len(row.text) > limit else ""
    return f"@@ {text} @@" if row.kind == "fold" else f"{_SIGNS[row.kind]}{text}{more}"


def _evidence(run: Run, position: int, caps: Caps) -> Iterator[str]:
    evidence = run.rounds[position].evidence
    if not evidence:
        none = "none" if evidence == () else words.missing(run, f"/rounds/{position}/evidence", "not gathered")
        yield f"Evidence: {none}"
        return
    yield "Evidence:"
    lines: list[str] = []
    for piece in evidence[: caps.entries]:
        lines += _evidence_lines(piece, caps)
        if piece.status != "passed" and piece.text:
            yield "\n".join(lines)
            yield fence(piece.text, "text", caps.report)
            lines = []
    if lines:
        yield "\n".join(lines)
    yield from _more(caps.entries, len(evidence), "piece")


def _evidence_lines(piece: Evidence, caps: Caps) -> Iterator[str]:
    status, *rest = words.evidence_words(piece)
    yield f"- {code(piece.source, caps.line)}: **{status}**, {code(', '.join(rest), caps.line)}"
    failed = [f for f in piece.findings if f.status != "passed"]
    for finding in failed[: caps.entries]:
        said = code(finding.message, caps.line)
        place = words.finding_place(finding)
        at = f" at {code(place, caps.line)}" if place else ""
        yield f"  - {code(finding.id, caps.line)} {words.STATUSES[finding.status]}{at}: {said}"
    if len(failed) > caps.entries:
        yield f"  - {words.count(len(failed) - caps.entries, 'finding')} more, not shown here"


def _critique(run: Run, position: int, caps: Caps) -> Iterator[str]:
    critique = run.rounds[position].critique
    if critique is None:
        yield f"Critique: {words.missing(run, f'/rounds/{position}/critique', 'none')}"
        return
    if critique.validity != "ok":
        yield f"{words.validity(run, run.rounds[position])} {code(critique.problem or '', caps.line)}"
    if critique.issues:
        yield "Issues:"
        yield "\n".join(_issue(issue, caps) for issue in critique.issues[: caps.issues])
        yield from _more(caps.issues, len(critique.issues), "issue")
    elif critique.validity == "ok":
        yield "Issues: none found"
    if critique.discarded:
        yield "Discarded:"
        yield "\n".join(_discarded(issue, caps) for issue in critique.discarded[: caps.entries])
        yield from _more(caps.entries, len(critique.discarded), "issue")


def _issue(issue: Issue, caps: Caps) -> str:
    ground = words.ground_words(issue.ground)
    return _claim(issue, caps) + (f"; ground: {code(ground, caps.line)}" if ground else "")


def _discarded(issue: Discarded, caps: Caps) -> str:
    return f"{_claim(issue, caps)}; discarded because: {code(issue.reason, caps.line)}"


def _claim(issue: Issue | Discarded, caps: Caps) -> str:
    severity, *requirement = words.issue_head(issue)
    parts = [f"- **{severity}** " + " ".join(code(w, caps.line) for w in (*requirement, issue.id))]
    place = words.place(issue.location)
    if place:
        parts.append(f"at {code(place, caps.line)}")
    if issue.evidence:
        parts.append(f"quote {code(issue.evidence, caps.quote)}")
    if issue.suggestion:
        parts.append(f"suggestion {code(issue.suggestion, caps.quote)}")
    return "; ".join(parts)


def _decision(run: Run, position: int, caps: Caps) -> Iterator[str]:
    round_ = run.rounds[position]
    if round_.feedback is not None:
        sent = ", ".join(code(i, caps.line) for i in round_.feedback.sent[: caps.entries])
        held = f", {len(round_.feedback.withheld)} withheld" if round_.feedback.withheld else ""
        yield f"Sent to the generator as a {round_.feedback.mode}: {sent or 'nothing'}{held}"
    if round_.decision is not None:
        decision = round_.decision
        yield f"Decision: **{decision.action}** ({code(decision.reason, 60)}). {code(decision.message, caps.line)}"
    yield f"This round: {words.spent(round_.usage)}"


def _footer(run: Run, traces: str | None, left_out: Sequence[str]) -> Iterator[str]:
    roles = [f"{role}: {words.spent(usage)}" for role, usage in words.roles_spent(run)]
    yield "Usage: " + "; ".join([f"in all {words.spent(run.usage)}", *roles])
    yield f"Run {code(run.run_id, 80)}" + (f" · traces in {code(traces, 300)}" if traces else "")
    if left_out:
        show = code(f"%reflect show {run.run_id}", 120)
        yield f"Left out here: {code('; '.join(left_out), 1000)}. The whole run: {show}"
