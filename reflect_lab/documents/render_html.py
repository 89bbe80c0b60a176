"""A run as static HTML for places without our view: nbconvert, GitHub, nbviewer, other notebook programs.

It stands alone: no script, no style element, no link, no request. Sanitizers may strip the inline styles; the words
carry the meaning. Colours are thin washes over the page's own, so that light and dark pages both read well. Every text
of a run is escaped, hidden characters are shown by name, and MathJax is told to leave it alone (a formula can hold a
link).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from reflect_lab.core.critique import Discarded, Issue
from reflect_lab.core.evidence import Evidence, Finding
from reflect_lab.core.run import Run
from reflect_lab.documents import render_words as words
from reflect_lab.documents.render_diff import Row, draft_rows
from reflect_lab.documents.render_words import Caps
from reflect_lab.documents.visible import visible, visible_line

NO_MATH = "tex2jax_ignore mathjax_ignore"

_TONES = {"accepted": "46,160,67", "escalated": "210,153,34", "stopped": "128,128,128", "error": "248,81,73"}
_WASHES = {"old": "rgba(248,81,73,.15)", "new": "rgba(46,160,67,.15)"}
_SIGNS = {"same": " ", "old": "-", "new": "+", "fold": " "}
_PRE = "margin:4px 0;padding:6px 8px;border:1px solid rgba(128,128,128,.35);white-space:pre-wrap;overflow-wrap:anywhere"
_QUIET = "opacity:.8"


def run_html(run: Run, *, traces: str | None = None, caps: Caps | None = None, left_out: Sequence[str] = ()) -> str:
    """The whole run as one HTML fragment. `traces` says where its record is; `left_out` names what is missing here."""
    caps = caps or Caps()
    parts = [
        _banner(run, caps),
        *(_notice(n.message, caps) for n in run.notices[: caps.entries]),
        _final_draft(run, caps),
        *_rounds(run, caps),
        _task(run, caps),
        _usage(run, caps),
        _footer(run, traces, left_out),
    ]
    style = "line-height:1.45;max-width:100%;overflow-wrap:anywhere"
    return f'<div class="{NO_MATH}" style="{style}">' + "".join(parts) + "</div>"


def _text(text: str, limit: int) -> str:
    """A text of the run within a line, kept apart from the direction of its neighbours."""
    return f"<bdi>{escape(visible_line(text, limit))}</bdi>"


def _block(text: str, limit: int) -> str:
    """A text of the run as it stands, cut after `limit` characters."""
    cut = f"\n… {len(text) - limit:,} more characters" if len(text) > limit else ""
    return f'<pre class="{NO_MATH}" dir="auto" style="{_PRE}">{escape(visible(text[:limit]))}{cut}</pre>'


def _list(items: Sequence[str]) -> str:
    """A list of ready-made HTML items; nothing where there are none."""
    style = "margin:2px 0 6px"
    return f'<ul style="{style}">' + "".join(f"<li>{item}</li>" for item in items) + "</ul>" if items else ""


def _more(shown: int, total: int, what: str) -> str:
    return (
        f'<div style="{_QUIET}">… {words.count(total - shown, what)} more, not shown here</div>'
        if total > shown
        else ""
    )


def _banner(run: Run, caps: Caps) -> str:
    outcome = run.outcome
    tone: str = "stopped" if outcome is None else outcome.status
    if outcome is not None and outcome.stop_reason in ("error", "denied"):
        tone = "error"
    rgb = _TONES[tone]
    style = f"border-left:4px solid rgb({rgb});background:rgba({rgb},.12);padding:8px 12px;margin:0 0 8px"
    lines = [f"<strong>{escape(words.stop_title(outcome))}</strong>"]
    if outcome is not None:
        lines[0] += f" <code>{outcome.stop_reason}</code> · {words.OUTCOMES[outcome.status]}"
        lines += [_text(outcome.message, caps.line)] if outcome.message else []
        if outcome.error is not None and outcome.error.message != outcome.message:
            lines.append(f"{outcome.error.kind}: {_text(outcome.error.message, caps.line)}")
        if not outcome.recorded:
            lines.append("<strong>The record of this run is not whole: a recording failed.</strong>")
    numbers = words.stop_numbers(run)[: caps.entries]
    if numbers:
        lines.append(" · ".join(f"{_text(k, caps.line)} <strong>{_text(v, caps.line)}</strong>" for k, v in numbers))
    lines.append(f"{words.count(len(run.rounds), 'draft')} · {escape(words.spent(run.usage))}")
    if run.review is not None:
        lines.append(
            f"Decided by a person: <strong>{run.review.action}</strong>, {_text(run.review.reviewer, caps.line)}, "
            f"{_text(run.review.time, 60)} {_text(run.review.note, caps.line)}"
        )
    return f'<div style="{style}">' + "<br>".join(lines) + "</div>"


def _notice(message: str, caps: Caps) -> str:
    return f'<div style="margin:4px 0">⚠ {_text(message, caps.line)}</div>'


def _details(summary: str, body: str, *, is_open: bool = False) -> str:
    state = " open" if is_open else ""
    return (
        f'<details{state} style="margin:6px 0"><summary style="cursor:pointer">{summary}</summary>'
        f'<div style="margin:4px 0 8px 16px">{body}</div></details>'
    )


def _final_draft(run: Run, caps: Caps) -> str:
    final = words.returned(run)
    if final is None:
        return f"<div>{words.missing(run, '/outcome/draft', 'No draft was written.')}</div>"
    title, text = final
    return _details(f"<strong>{title}</strong>", _block(text, caps.draft), is_open=True)


def _rounds(run: Run, caps: Caps) -> Iterator[str]:
    skipped = max(0, len(run.rounds) - caps.rounds)
    if skipped:
        yield f'<div style="{_QUIET}">… {words.count(skipped, "earlier round")}, not shown here</div>'
    for position in range(skipped, len(run.rounds)):
        round_ = run.rounds[position]
        body = "".join(_round(run, position, caps))
        yield _details(f"<strong>{escape(words.round_title(round_))}</strong>", body, is_open=True)


def _round(run: Run, position: int, caps: Caps) -> Iterator[str]:
    round_ = run.rounds[position]
    yield _draft(run, position, caps)
    yield _evidence_list(run, position, caps)
    yield _issues(run, position, caps)
    if round_.feedback is not None:
        sent = ", ".join(_text(i, caps.line) for i in round_.feedback.sent[: caps.entries])
        held = f", {len(round_.feedback.withheld)} withheld" if round_.feedback.withheld else ""
        yield f"<div>Sent to the generator as a {round_.feedback.mode}: {sent or 'nothing'}{held}</div>"
    if round_.decision is not None:
        d = round_.decision
        yield f"<div>Decision: <strong>{d.action}</strong> ({_text(d.reason, 60)}). {_text(d.message, caps.line)}</div>"
    yield f'<div style="{_QUIET}">This round: {escape(words.spent(round_.usage))}</div>'


def _draft(run: Run, position: int, caps: Caps) -> str:
    draft = run.rounds[position].draft
    notes = words.draft_notes(run, run.rounds[position])
    body = "".join(f"<div>⚠ {_text(note, caps.line)}</div>" for note in notes)
    if draft.truncated:
        body += "<div>⚠ This draft is truncated.</div>"
    rows = draft_rows(run, position)
    if rows is None:
        return body + _details(f"Draft {draft.index} as written", _block(draft.text, caps.older))
    if not any(row.kind in ("old", "new") for row in rows):
        return f"{body}<div>Draft {draft.index} is the same as draft {draft.parent}.</div>"
    title = f"<div>What changed from draft {draft.parent} to draft {draft.index}</div>"
    return f"{body}{title}{diff_html(rows, caps)}"


def diff_html(rows: Sequence[Row], caps: Caps) -> str:
    """The rows of a diff as a block of HTML, as many and as long as `caps` allows. All text in it is escaped."""
    lines = "".join(_row(row, caps) for row in rows[: caps.rows])
    return f'<pre class="{NO_MATH}" style="{_PRE}">{lines}</pre>{_more(caps.rows, len(rows), "diff line")}'


def _row(row: Row, caps: Caps) -> str:
    parts: list[str] = []
    at = 0
    text = row.text[: caps.line]
    for start, end in row.marks:
        parts.append(escape(visible(text[at:start])))
        changed = escape(visible(text[max(at, start) : end]))
        parts.append(f'<b style="text-decoration:underline">{changed}</b>' if changed else "")
        at = max(at, end)
    parts.append(escape(visible(text[at:])))
    if len(row.text) > caps.line:
        parts.append(f" … {len(row.text) - caps.line:,} more characters")
    line = f"{_SIGNS[row.kind]} {'… ' if row.kind == 'fold' else ''}{''.join(parts)}"
    wash = _WASHES.get(row.kind)
    style = f"background:{wash}" if wash else _QUIET
    return f'<span style="{style}">{line}</span>\n'


def _evidence_list(run: Run, position: int, caps: Caps) -> str:
    evidence = run.rounds[position].evidence
    if not evidence:
        none = "none" if evidence == () else words.missing(run, f"/rounds/{position}/evidence", "not gathered")
        return f"<div>Evidence: {none}</div>"
    shown = "".join(_evidence(e, caps) for e in evidence[: caps.entries])
    return f"<div><strong>Evidence</strong></div>{shown}{_more(caps.entries, len(evidence), 'piece')}"


def _evidence(evidence: Evidence, caps: Caps) -> str:
    mark = {"passed": "✓", "failed": "✗"}.get(evidence.status, "○")
    head = f"{mark} {_text(evidence.source, caps.line)}: {_text(', '.join(words.evidence_words(evidence)), caps.line)}"
    failed = [f for f in evidence.findings if f.status != "passed"]
    body = _list([_finding(finding, caps) for finding in failed[: caps.entries]]) + _more(
        caps.entries, len(failed), "finding"
    )
    body += _block(evidence.text, caps.report) if evidence.text else ""
    return _details(head, body, is_open=evidence.status != "passed") if body else f"<div>{head}</div>"


def _finding(finding: Finding, caps: Caps) -> str:
    place = words.finding_place(finding)
    at = f" at {_text(place, caps.line)}" if place else ""
    return f"{_text(finding.id, caps.line)} {words.STATUSES[finding.status]}{at}: {_text(finding.message, caps.line)}"


def _issues(run: Run, position: int, caps: Caps) -> str:
    critique = run.rounds[position].critique
    if critique is None:
        return f"<div>Critique: {words.missing(run, f'/rounds/{position}/critique', 'none')}</div>"
    body = ""
    if critique.validity != "ok":
        body = f"<div>{words.validity(run, run.rounds[position])} {_text(critique.problem or '', caps.line)}</div>"
    if critique.issues:
        body += "<div><strong>Issues</strong></div>" + _list([_issue(i, caps) for i in critique.issues[: caps.issues]])
        body += _more(caps.issues, len(critique.issues), "issue")
    elif critique.validity == "ok":
        body += "<div>Issues: none found</div>"
    if critique.discarded:
        lost = [_discarded(i, caps) for i in critique.discarded[: caps.entries]]
        body += f"<div><strong>Discarded</strong></div>{_list(lost)}"
        body += _more(caps.entries, len(critique.discarded), "issue")
    return body


def _issue(issue: Issue, caps: Caps) -> str:
    ground = words.ground_words(issue.ground)
    return _claim(issue, caps) + (
        f'<br><span style="{_QUIET}">Ground: {_text(ground, caps.line)}</span>' if ground else ""
    )


def _discarded(issue: Discarded, caps: Caps) -> str:
    return f"<del>{_claim(issue, caps)}</del><br>Discarded: {_text(issue.reason, caps.line)}"


def _claim(issue: Issue | Discarded, caps: Caps) -> str:
    head = " · ".join(_text(w, caps.line) for w in words.issue_head(issue))
    parts = [f"<strong>{head}</strong> {_text(issue.id, caps.line)}"]
    place = words.place(issue.location)
    if place:
        parts.append(f"At: {_text(place, caps.line)}")
    if issue.evidence:
        parts.append(f"Quote: “{_text(issue.evidence, caps.quote)}”")
    if issue.suggestion:
        parts.append(f"Suggestion: {_text(issue.suggestion, caps.quote)}")
    return "<br>".join(parts)


def _task(run: Run, caps: Caps) -> str:
    task = run.task
    body = _block(task.text, caps.report)
    for title, lines in (
        ("Requirements", [f"{r.id}: {r.text}" for r in task.requirements]),
        ("Facts", [f.text for f in task.facts]),
        ("Checks", [c.name for c in task.checks]),
    ):
        if lines:
            shown = _list([_text(line, caps.line) for line in lines[: caps.entries]])
            body += f"<div><strong>{title}</strong></div>{shown}{_more(caps.entries, len(lines), 'line')}"
    return _details("Task", body)


def _usage(run: Run, caps: Caps) -> str:
    roles = [f"{role}: {escape(words.spent(usage))}" for role, usage in words.roles_spent(run)]
    models = [
        f"{_text(role, 60)}: {_text(used.requested, caps.line)}, "
        f"answered by {_text(used.answered or 'unknown', caps.line)}"
        for role, used in list(run.models.items())[: caps.entries]
    ]
    return _details("Usage", f"<div>In all: {escape(words.spent(run.usage))}</div>{_list(roles)}{_list(models)}")


def _footer(run: Run, traces: str | None, left_out: Sequence[str]) -> str:
    lines = [f"Run {_text(run.run_id, 80)}" + (f" · traces in {_text(traces, 300)}" if traces else "")]
    if left_out:
        lines.append(
            f"Left out here: {_text('; '.join(left_out), 1000)}. The whole run: "
            f"<code>%reflect show {escape(visible_line(run.run_id, 80))}</code>"
        )
    return f'<div style="{_QUIET};margin-top:8px">' + "<br>".join(lines) + "</div>"
